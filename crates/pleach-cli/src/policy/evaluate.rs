//! Policies evaluated on one object: matching, mutation, validation by the schema, validation by policies.

use std::borrow::Cow;
use std::sync::Arc;

use pleach_auth::UserInfo;
use pleach_json::{Str, Value, json};
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::convert::{Converted, convert};
use pleach_pipeline::kind::Kind;
use pleach_pipeline::resource::Resource;
use pleach_pipeline::{Typed, offline};
use pleach_policy::{
    Action, AdmissionRequest, Annotation, Binding, Cost, Decision, FailurePolicy, GroupVersion, Input,
    Operation, Policy, RequestAuthorizer, admission_request, condition_request, messages, namespace_object,
};
use pleach_schema::Record;

use super::mutate;
use super::setting::{BoundPolicy, Param, Setting};

/// The result of a policy, with a binding and a parameter, for an object.
#[derive(Clone, Debug)]
pub struct PolicyResult {
    /// Whether it is a policy that mutates.
    pub mutating: bool,
    /// The name of the policy.
    pub policy: Str,
    /// The name of the binding; none if the policy's configuration is at fault.
    pub binding: Option<Str>,
    /// Namespace and name of the parameter.
    pub params: Option<String>,
    /// The outcome.
    pub outcome: Outcome,
    /// The cost.
    pub cost: Cost,
}

/// The outcome of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its match conditions are not met.
    Skipped,
    /// It has no objection.
    Allowed,
    /// It changed the object.
    Mutated,
    /// It would have changed the object, and there was nothing to change.
    Unchanged,
    /// It says this.
    Messages(Vec<PolicyMessage>),
}

/// A message of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyMessage {
    /// Its effect.
    pub effect: Effect,
    /// The text.
    pub message: String,
    /// The reason in the answer, if it is a denial.
    pub reason: Option<Str>,
}

/// The effect of a message of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The write is refused.
    Denied,
    /// The answer has a warning.
    Warned,
    /// The request has an audit annotation.
    Audited,
    /// Nothing: an error that the failure policy ignores.
    Ignored,
}

impl Effect {
    /// The word in all outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Warned => "warned",
            Self::Audited => "audited",
            Self::Ignored => "ignored",
        }
    }
}

/// The result for an object.
#[derive(Debug, Default)]
pub struct ObjectResult {
    /// The operation; empty if the object could not be decoded.
    pub operation: &'static str,
    /// The results of the policies that match.
    pub policies: Vec<PolicyResult>,
    /// Why the write is refused, in the server's words.
    pub refused: Option<String>,
    /// The warnings of the answer.
    pub warnings: Vec<String>,
    /// The object after mutation, if a policy changed it.
    pub mutated: Option<Value>,
}

impl ObjectResult {
    /// The cost of all policies.
    pub fn cost(&self) -> u64 {
        self.policies.iter().map(|result| total(result.cost)).sum()
    }
}

/// The sum of the parts.
pub fn total(cost: Cost) -> u64 {
    cost.conditions + cost.expressions + cost.messages + cost.annotations
}

/// The write that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// The object is created, or replaces an old one.
    Store,
    /// The object is deleted.
    Delete,
}

/// A request for one object; its parts live as long as the evaluation.
pub(super) struct Request<'a> {
    pub(super) setting: &'a Setting,
    pub(super) kind: &'a Kind,
    pub(super) version: usize,
    pub(super) user: &'a Arc<UserInfo>,
    pub(super) operation: Operation,
    pub(super) old: Option<&'a Value>,
    namespace_name: Str,
    namespace: Option<Value>,
    labels: Option<Value>,
    options: Value,
}

/// A policy with a binding and a parameter that match.
pub(super) struct Invocation<'a> {
    pub(super) policy: &'a Policy,
    pub(super) binding: &'a Binding,
    pub(super) param: Param<'a>,
    pub(super) seen: usize,
}

/// A policy that matches and cannot be evaluated.
pub(super) struct ConfigurationError<'a> {
    pub(super) policy: &'a Policy,
    pub(super) binding: Option<&'a Binding>,
    pub(super) why: String,
}

pub(super) type Selected<'a> = Result<Invocation<'a>, ConfigurationError<'a>>;

/// Evaluates all policies on a write of an object. `old` is the stored object.
pub fn evaluate(
    setting: &Setting,
    user: &Arc<UserInfo>,
    object: &Value,
    old: Option<&Value>,
    write: Write,
) -> ObjectResult {
    let mut result = ObjectResult::default();
    if let Err(why) = try_evaluate(setting, user, object, old, write, &mut result) {
        result.refused.get_or_insert(why);
    }
    result
}

fn try_evaluate(
    setting: &Setting,
    user: &Arc<UserInfo>,
    object: &Value,
    old: Option<&Value>,
    write: Write,
    result: &mut ObjectResult,
) -> Result<(), String> {
    let (kind, version) = setting.kind_of(object)?;
    let resource = Resource::new(&kind, version);
    let decode = |value: &Value, record| -> Result<(Value, Vec<String>), String> {
        let decoded = offline::decode(resource, value.clone(), record)?;
        Ok((decoded.value.into_value(), decoded.strict))
    };
    let (mut object, unknown) = decode(object, Record::Unknown)?;
    result.warnings.extend(unknown.into_iter().map(|path| format!("unknown field \"{path}\"")));
    let old = match old {
        Some(old) => {
            let own = setting.kind_of(old)?.1;
            let decoded = offline::decode(Resource::new(&kind, own), old.clone(), Record::Nothing)?;
            Some(converted(&kind, own, version, decoded.value.into_value())?)
        }
        None => None,
    };
    // What is missing in a file is filled in by the stages below; policies must see it as well.
    complete(&kind, &mut object);
    let mut old = old;
    if let Some(old) = &mut old {
        complete(&kind, old);
    }
    let operation = match (write, &old) {
        (Write::Delete, _) => Operation::Delete,
        (Write::Store, Some(_)) => Operation::Update,
        (Write::Store, None) => Operation::Create,
    };
    result.operation = operation.as_str();
    if kind.strategy.is_exempt_from_policies() {
        return Ok(());
    }
    if write == Write::Delete {
        let stored = old.unwrap_or(object);
        let request = Request::new(setting, &kind, version, user, operation, Some(&stored), &stored);
        return request.validate(None, result);
    }
    let before = object.clone();
    let request = Request::new(setting, &kind, version, user, operation, old.as_ref(), &before);
    mutate::mutate(&request, &mut object, result)?;
    if object != before {
        result.mutated = Some(object.clone());
    }
    let verdict = match old.clone() {
        Some(mut old) => offline::update(resource, &mut object, &mut old),
        None => offline::create(resource, &mut object),
    };
    result.warnings.extend(verdict.warnings);
    if !verdict.errors.is_empty() {
        let errors: Vec<String> = verdict.errors.iter().map(ToString::to_string).collect();
        let name = ObjectMeta::of(&object).name();
        return Err(format!("{} is invalid: {}", kind.kind_subject(name), errors.join(", ")));
    }
    request.validate(Some(&object), result)
}

/// Sets the namespace of an object that is in one and does not say in which.
fn complete(kind: &Kind, object: &mut Value) {
    if !kind.is_namespaced() || !ObjectMeta::of(object).namespace().is_empty() {
        return;
    }
    pleach_pipeline::prepare::metadata_mut(object).insert("namespace", "default");
}

/// An object in another version. The error names the webhook that would be needed.
pub(super) fn converted(kind: &Kind, from: usize, to: usize, object: Value) -> Result<Value, String> {
    match convert(kind, from, to, object, &Typed::default()) {
        Ok(Converted::Done(value)) => Ok(value),
        Ok(Converted::ByWebhook(_)) => Err(format!(
            "objects of kind {} are converted by a webhook, which is not called offline",
            kind.kind
        )),
        Err(error) => Err(error.to_string()),
    }
}

impl<'a> Request<'a> {
    fn new(
        setting: &'a Setting,
        kind: &'a Kind,
        version: usize,
        user: &'a Arc<UserInfo>,
        operation: Operation,
        old: Option<&'a Value>,
        object: &Value,
    ) -> Self {
        let meta = ObjectMeta::of(object);
        let namespace_name: Str = if kind.is_namespaced() {
            meta.namespace().into()
        } else if kind.strategy.is_its_own_namespace() {
            meta.name().into()
        } else {
            Str::default()
        };
        let namespace = if kind.is_namespaced() { setting.namespace(&namespace_name) } else { None };
        let options = match operation {
            Operation::Create => json!({"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}),
            Operation::Update => json!({"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions"}),
            Operation::Delete => json!({"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions"}),
            Operation::Connect => Value::Null,
        };
        Self {
            labels: namespace.as_ref().and_then(|n| n.at(&["metadata", "labels"]).cloned()),
            namespace: namespace.map(|namespace| namespace_object(&namespace)),
            options,
            namespace_name,
            setting,
            kind,
            version,
            user,
            operation,
            old,
        }
    }

    /// The attributes of the request with an object.
    pub(super) fn attributes<'r>(&'r self, object: Option<&'r Value>) -> AdmissionRequest<'r> {
        let (group, version) = self.group_version(self.version);
        AdmissionRequest {
            operation: self.operation,
            group,
            version,
            resource: &self.kind.plural,
            subresource: "",
            object_type: (group, version, &self.kind.kind),
            name: object.or(self.old).map(|object| ObjectMeta::of(object).name().into()).unwrap_or_default(),
            namespace: &self.namespace_name,
            object,
            old: self.old,
            options: &self.options,
            dry_run: false,
            user: self.user,
        }
    }

    fn group_version(&self, version: usize) -> GroupVersion<'_> {
        (&self.kind.group, &self.kind.versions[version].name)
    }

    /// The policies, bindings and parameters that match.
    pub(super) fn select<'s>(
        &'s self,
        policies: &'s [BoundPolicy],
        object: Option<&'s Value>,
    ) -> Vec<Selected<'s>> {
        let request = self.attributes(object);
        let served = (0..self.kind.versions.len()).filter(|at| self.kind.versions[*at].served);
        let others: Vec<GroupVersion<'_>> =
            served.filter(|at| *at != self.version).map(|at| self.group_version(at)).collect();
        let mut selected = Vec::new();
        for BoundPolicy { policy, bindings } in policies {
            let Some(seen) = policy.constraints.matches(&request, &others, self.labels.as_ref()) else {
                continue;
            };
            let versions = self.kind.versions.iter();
            let seen = versions.map(|v| v.name.as_str()).position(|v| v == seen.1).unwrap_or(self.version);
            if bindings.is_empty() {
                continue;
            }
            let kind = match policy.param_kind.as_ref().map(|kind| self.setting.param_kind(kind)).transpose()
            {
                Ok(kind) => kind,
                Err(why) => {
                    let why = format!("failed to configure policy: {why}");
                    selected.push(Err(ConfigurationError { policy, binding: None, why }));
                    continue;
                }
            };
            for binding in bindings {
                let narrows = binding.resources.as_ref();
                if narrows.is_some_and(|r| r.matches(&request, &others, self.labels.as_ref()).is_none()) {
                    continue;
                }
                match self.setting.params(kind.as_ref(), binding.params.as_ref(), request.namespace) {
                    Ok(params) => selected.extend(
                        params.into_iter().map(|param| Ok(Invocation { policy, binding, param, seen })),
                    ),
                    Err(why) => {
                        let why = format!("failed to configure binding: {why}");
                        selected.push(Err(ConfigurationError { policy, binding: Some(binding), why }));
                    }
                }
            }
        }
        selected
    }

    /// Calls something with what expressions see.
    pub(super) fn with_input<T>(
        &self,
        invocation: &Invocation<'_>,
        object: Option<&Value>,
        call: impl FnOnce(&Input<'_>) -> T,
    ) -> Result<T, String> {
        let request = self.attributes(object);
        let seen = self.group_version(invocation.seen);
        let as_seen = |object: Option<&Value>| -> Result<Option<Value>, String> {
            object
                .map(|object| converted(self.kind, self.version, invocation.seen, object.clone()))
                .transpose()
        };
        let (object, old): (Option<Cow<'_, Value>>, Option<Cow<'_, Value>>) =
            if invocation.seen == self.version {
                (object.map(Cow::Borrowed), self.old.map(Cow::Borrowed))
            } else {
                (as_seen(object)?.map(Cow::Owned), as_seen(self.old)?.map(Cow::Owned))
            };
        let (shown, for_conditions) = (admission_request(&request, seen), condition_request(&request, seen));
        let authorizer = RequestAuthorizer::user(self.setting.authorizer.clone(), self.user.clone());
        let resource = RequestAuthorizer::request_resource(&request);
        Ok(call(&Input {
            object: object.as_deref(),
            old: old.as_deref(),
            request: &shown,
            condition_request: &for_conditions,
            namespace: self.namespace.as_ref(),
            params: invocation.param,
            authorizer: &authorizer,
            request_resource: &resource,
        }))
    }

    /// Evaluates the policies that validate.
    fn validate(&self, object: Option<&Value>, result: &mut ObjectResult) -> Result<(), String> {
        let name = self.attributes(object).name;
        let refuse = |why: &str| format!("{} is forbidden: {why}", self.kind.subject(&name));
        let mut first = None;
        for selected in self.select(&self.setting.validating, object) {
            let invocation = match selected {
                Ok(invocation) => invocation,
                Err(error) => {
                    let binding = error.binding.map(|binding| binding.name.as_str());
                    if error.policy.failure == FailurePolicy::Fail {
                        let why = messages::denial(&error.policy.name, binding, &error.why);
                        first.get_or_insert_with(|| refuse(&why));
                    }
                    result.policies.push(error.into_result(false));
                    continue;
                }
            };
            let (policy, binding) = (invocation.policy, invocation.binding);
            let validated = self.with_input(&invocation, object, |input| policy.validate(input))?;
            let mut said: Vec<PolicyMessage> = Vec::new();
            let skipped = validated.decisions.is_empty() && !policy.validations.is_empty();
            for decision in validated.decisions {
                match decision {
                    Decision::Admit => {}
                    Decision::Ignored(message) => {
                        said.push(PolicyMessage { effect: Effect::Ignored, message, reason: None });
                    }
                    Decision::Deny(denial) => {
                        for action in &binding.actions {
                            let effect = match action {
                                Action::Deny => Effect::Denied,
                                Action::Warn => Effect::Warned,
                                Action::Audit => Effect::Audited,
                            };
                            let (message, reason) = (denial.message.clone(), denial.reason.clone());
                            said.push(PolicyMessage { effect, message, reason });
                        }
                    }
                }
            }
            for annotation in validated.annotations {
                match annotation {
                    Annotation::Publish(key, value) => {
                        let message = format!("{}/{key}: {value}", policy.name);
                        said.push(PolicyMessage { effect: Effect::Audited, message, reason: None });
                    }
                    Annotation::Exclude => {}
                    Annotation::Failed(message) => {
                        said.push(PolicyMessage { effect: Effect::Denied, message, reason: None });
                    }
                }
            }
            for message in &said {
                match message.effect {
                    Effect::Denied => {
                        let why = messages::denial(&policy.name, Some(&binding.name), &message.message);
                        first.get_or_insert_with(|| refuse(&why));
                    }
                    Effect::Warned => {
                        let text = messages::warning(&policy.name, &binding.name, &message.message);
                        if !result.warnings.contains(&text) {
                            result.warnings.push(text);
                        }
                    }
                    Effect::Audited | Effect::Ignored => {}
                }
            }
            let outcome = match said.as_slice() {
                [] if skipped => Outcome::Skipped,
                [] => Outcome::Allowed,
                _ => Outcome::Messages(said),
            };
            result.policies.push(invocation.result(false, outcome, validated.cost));
        }
        first.map_or(Ok(()), Err)
    }
}

impl Invocation<'_> {
    pub(super) fn result(&self, mutating: bool, outcome: Outcome, cost: Cost) -> PolicyResult {
        let name = |value: &Value| {
            let meta = ObjectMeta::of(value);
            match meta.namespace() {
                "" => meta.name().to_owned(),
                namespace => format!("{namespace}/{}", meta.name()),
            }
        };
        PolicyResult {
            mutating,
            policy: self.policy.name.clone(),
            binding: Some(self.binding.name.clone()),
            params: self.param.map(name),
            outcome,
            cost,
        }
    }
}

impl ConfigurationError<'_> {
    pub(super) fn into_result(self, mutating: bool) -> PolicyResult {
        let counts = self.policy.failure == FailurePolicy::Fail;
        let effect = if counts { Effect::Denied } else { Effect::Ignored };
        PolicyResult {
            mutating,
            policy: self.policy.name.clone(),
            binding: self.binding.map(|binding| binding.name.clone()),
            params: None,
            outcome: Outcome::Messages(vec![PolicyMessage { effect, message: self.why, reason: None }]),
            cost: Cost::default(),
        }
    }
}
