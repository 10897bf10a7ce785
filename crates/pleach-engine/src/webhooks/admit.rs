//! Calls admission webhooks.
//!
//! Mutating webhooks are called one after the other, each with what the one before made of the object;
//! what one of them changes is decoded as upstream does it, defaulted but not pruned, and enters the
//! write where the client's object did. Validating webhooks are called at once, up to a bound, with the
//! object as it will be stored.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use pleach_json::{Map, Str, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_patch::JsonPatch;
use pleach_schema::{Baseline, Record};

use super::answer::{self, Answer};
use super::attributes::{Attributes, Operation};
use super::caller::CallError;
use super::conditions::{self, Verdict};
use super::excerpt::{EXCERPT, excerpt, excerpt_of};
use super::hook::{FailurePolicy, Hook};
use super::registry::Hooks;
use super::review;
use super::rules::{self, GroupVersion};
use crate::decode;
use crate::engine::Engine;
use crate::keys;
use crate::kind::Kind;
use crate::limits;
use crate::options::Context;
use crate::rejection::Rejection;
use crate::settle;
use crate::target::{Subresource, Target};

/// How many validating webhooks are called at once for one write.
const CALLS_AT_ONCE: usize = 64;

/// How many bytes of a review are written in a step of work.
const BYTES_PER_STEP: u64 = 64;

/// A write that somebody wants to know of.
pub(crate) struct Question<'a> {
    hooks: Arc<Hooks>,
    target: &'a Target,
    operation: Operation,
    /// The name, where it is known before the object is.
    name: Str,
    options: Value,
    dry_run: bool,
}

impl Engine {
    /// The question to ask about a write, if anybody wants to know of it. `options` are what its request
    /// said.
    pub(crate) fn question<'a>(
        &self,
        target: &'a Target,
        operation: Operation,
        name: &str,
        dry_run: bool,
        options: impl FnOnce() -> Value,
    ) -> Option<Box<Question<'a>>> {
        let hooks = self.hooks.get()?;
        // Before anything else: however many rules there are, they can be deleted.
        if rules::is_exempt(&target.kind.group, &target.kind.kind) {
            return None;
        }
        let (own, others) = (own(target), others(target));
        let concerns = |hook: &Hook| {
            hook.concerns(operation, (own, &others), &target.kind.plural, target.subresource.as_str())
        };
        if !hooks.mutating.iter().chain(&hooks.validating).any(concerns) {
            return None;
        }
        Some(Box::new(Question { hooks, target, operation, name: name.into(), options: options(), dry_run }))
    }

    /// Has an object changed by those who may; without one they can only refuse. Whether it changed comes
    /// with it.
    pub(crate) async fn mutate(
        &self,
        question: &Question<'_>,
        object: Option<Value>,
        old: Option<&Value>,
        context: &mut Context,
    ) -> Result<(Option<Value>, bool), Rejection> {
        let mut warnings = Vec::new();
        let done = self.mutate_warning(question, object, old, context, &mut warnings).await;
        context.warnings.extend(warnings);
        done
    }

    async fn mutate_warning(
        &self,
        question: &Question<'_>,
        mut object: Option<Value>,
        old: Option<&Value>,
        context: &Context,
        warnings: &mut Vec<String>,
    ) -> Result<(Option<Value>, bool), Rejection> {
        let hooks = &question.hooks.mutating;
        let labels = self.namespace_labels(question.target).await?;
        let mut changed = false;
        let mut views = Views::default();
        // Who asked for it is asked again if somebody later changed the object, but only once.
        let (mut asked, mut again) = (vec![false; hooks.len()], vec![false; hooks.len()]);
        for reinvoking in [false, true] {
            for (at, hook) in hooks.iter().enumerate() {
                if reinvoking && !again[at] {
                    continue;
                }
                let attributes = question.attributes(object.as_ref(), old, context);
                let interest = self.interest(question, hook, &attributes, labels.as_ref(), &mut views);
                let Some(call) = interest.await? else { continue };
                let answered = self.call(hook, &call, &attributes, true).await;
                let Some((answer, patch)) = usable(hook, answered.and_then(with_patch))? else { continue };
                warnings.extend(answer.warnings.iter().cloned());
                if !answer.allowed {
                    return Err(Rejection::Denied(answer.denial(&hook.name).into()));
                }
                if !patch.is_empty() {
                    let Some(shown) = &call.object else {
                        return Err(Rejection::internal(format!(
                            "admission webhook \"{}\" attempted to modify the object, which is not supported for this operation",
                            hook.name
                        )));
                    };
                    let patched = pleach_patch::apply_json_patch(Value::clone(shown), &patch)
                        .map_err(|error| Rejection::internal(excerpt(&error.to_string())))?;
                    let new = self.reenter(question, call.seen, patched).await?;
                    if object.as_ref() != Some(&new) {
                        changed = true;
                        for (again, asked) in again.iter_mut().zip(&asked) {
                            *again |= *asked;
                        }
                    }
                    drop(call);
                    views = Views::default();
                    object = Some(new);
                }
                asked[at] = hook.reinvokes;
            }
        }
        Ok((object, changed))
    }

    /// Asks those who say yes or no. The first to say no, in the order of configurations, is the one that
    /// the client hears of.
    pub(crate) async fn approve(
        &self,
        question: &Question<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
        context: &mut Context,
    ) -> Result<(), Rejection> {
        let labels = self.namespace_labels(question.target).await?;
        let attributes = question.attributes(object, old, context);
        let mut calls = Vec::new();
        let mut views = Views::default();
        for hook in &question.hooks.validating {
            let interest = self.interest(question, hook, &attributes, labels.as_ref(), &mut views);
            if let Some(call) = interest.await? {
                calls.push((hook, call));
            }
        }
        // Reviews are written when their turn comes, so that no more of them are held than are under way.
        let answers = calls.iter().map(|(hook, call)| self.call(hook, call, &attributes, false));
        let mut answers = stream::iter(answers).buffered(CALLS_AT_ONCE).boxed();
        let mut verdict = Ok(());
        let mut warnings = Vec::new();
        for (hook, _) in &calls {
            let Some(answer) = answers.next().await else { break };
            if answer == Err(CallError::Overloaded) {
                return Err(Rejection::TooManyRequests);
            }
            let said = match usable(hook, answer) {
                Ok(None) => Ok(()),
                Ok(Some(answer)) => {
                    warnings.extend(answer.warnings.iter().cloned());
                    if answer.allowed {
                        Ok(())
                    } else {
                        Err(Rejection::Denied(answer.denial(&hook.name).into()))
                    }
                }
                Err(rejection) => Err(rejection),
            };
            verdict = verdict.and(said);
        }
        drop(answers);
        context.warnings.extend(warnings);
        verdict
    }

    /// What a webhook is to be asked, if it is.
    async fn interest<'a>(
        &self,
        question: &Question<'a>,
        hook: &Hook,
        attributes: &Attributes<'a>,
        labels: Option<&Value>,
        views: &mut Views,
    ) -> Result<Option<Call<'a>>, Rejection> {
        let Some(seen) = hook.matches(attributes, &others(question.target), labels) else { return Ok(None) };
        let (object, old) = self.seen_as(question, seen, attributes, views).await?;
        match hook.judge(attributes, seen, object.as_deref(), old.as_deref()) {
            Verdict::Call => {}
            Verdict::Skip => return Ok(None),
            Verdict::Refuse(why) => {
                let subject = question.target.kind.subject(&attributes.name);
                return Err(Rejection::Forbidden { subject, why, cause: None });
            }
        }
        if question.dry_run && !hook.allows_dry_run {
            let name = &hook.name;
            let why = format!("admission webhook \"{name}\" does not support dry run");
            return Err(Rejection::BadRequest(why));
        }
        Ok(Some(Call { seen, object, old }))
    }

    /// The object and the old one in the version that a webhook wants to see.
    async fn seen_as<'a>(
        &self,
        question: &Question<'_>,
        seen: GroupVersion<'_>,
        attributes: &Attributes<'a>,
        views: &mut Views,
    ) -> Result<View<Cow<'a, Value>>, Rejection> {
        let kind = &question.target.kind;
        let version = version(kind, seen);
        let own = question.target.version;
        if version == own || question.target.subresource == Subresource::Scale {
            return Ok((attributes.object.map(Cow::Borrowed), attributes.old.map(Cow::Borrowed)));
        }
        if let Some((_, (object, old))) = views.0.iter().find(|(known, _)| *known == version) {
            return Ok((object.clone().map(Cow::Owned), old.clone().map(Cow::Owned)));
        }
        let convert = async |object: Option<&Value>| match object {
            Some(object) => self.convert(kind, own, version, object.clone()).await.map(Some),
            None => Ok(None),
        };
        let view = (convert(attributes.object).await?, convert(attributes.old).await?);
        views.0.push((version, view.clone()));
        Ok((view.0.map(Cow::Owned), view.1.map(Cow::Owned)))
    }

    async fn call(
        &self,
        hook: &Hook,
        call: &Call<'_>,
        attributes: &Attributes<'_>,
        may_patch: bool,
    ) -> Result<Answer, CallError> {
        let uid = self.new_uid();
        let version = hook.review.as_str();
        let mut request = match conditions::request(attributes, call.seen) {
            Value::Object(request) => request,
            _ => Map::new(),
        };
        request.insert("uid", uid.clone());
        request.insert("object", call.object.as_deref().cloned().unwrap_or_default());
        request.insert("oldObject", call.old.as_deref().cloned().unwrap_or_default());
        let mut out = review::envelope(answer::GROUP, version, "AdmissionReview");
        out.insert("request", request);
        let body = Bytes::from(pleach_json::to_vec(&out.into()));
        pleach_work::charge(body.len() as u64 / BYTES_PER_STEP);
        let answer = self.caller.call(&hook.address, body, hook.timeout).await;
        let answer = answer.map_err(|error| match error {
            CallError::Failed(problem) if problem.starts_with("unable to load root certificates") => {
                CallError::Failed(format!("could not get REST client: {problem}"))
            }
            CallError::Failed(problem) => CallError::Failed(format!("failed to call webhook: {problem}")),
            CallError::Overloaded => CallError::Overloaded,
        })?;
        Ok(Answer::read(&answer, version, &uid, may_patch)?)
    }

    /// What a webhook made of an object, settled: the write goes on with it as with what its author made.
    async fn reenter(
        &self,
        question: &Question<'_>,
        seen: GroupVersion<'_>,
        patched: Value,
    ) -> Result<Value, Rejection> {
        let target = question.target;
        let kind = &target.kind;
        limits::check_nesting(&patched, None)?;
        if target.subresource == Subresource::Scale {
            return Ok(patched);
        }
        let version = version(kind, seen);
        let api_version = &kind.versions[version].api_version;
        let text = |key: &str| patched.get(key).and_then(Value::as_str).unwrap_or_default();
        if kind.is_custom() {
            if text("apiVersion") != api_version {
                return Err(Rejection::Plain(format!(
                    "{}, Kind={} is unstructured and is not suitable for converting to \"{api_version}\"",
                    excerpt_of(text("apiVersion"), EXCERPT / 2),
                    excerpt_of(text("kind"), EXCERPT / 2)
                )));
            }
            let settled = settle::mutated(kind, version, patched);
            return self.convert(kind, version, target.version, settled.into_value()).await;
        }
        let seen = Target { version, ..target.clone() };
        let decoded = decode::object(seen.resource(), patched, Record::Nothing, Baseline::Unknown);
        let settled = decoded.map_err(Rejection::internal)?.value;
        self.convert(kind, version, target.version, settled.into_value()).await
    }

    /// The labels of the namespace that a write is in.
    async fn namespace_labels(&self, target: &Target) -> Result<Option<Value>, Rejection> {
        let Some(namespace) = &target.namespace else { return Ok(None) };
        let record = self.stored(&keys::namespace(namespace)).await?;
        let Some(record) = record else { return Ok(None) };
        Ok(record.parse()?.at(&["metadata", "labels"]).cloned())
    }
}

/// An object and what it was before.
type View<T> = (Option<T>, Option<T>);

/// An object in other versions, each converted once however many webhooks want to see it.
#[derive(Default)]
struct Views(Vec<(usize, View<Value>)>);

/// What a webhook is asked about.
struct Call<'a> {
    /// The group and version it wants to see.
    seen: GroupVersion<'a>,
    object: Option<Cow<'a, Value>>,
    old: Option<Cow<'a, Value>>,
}

impl<'a> Question<'a> {
    /// What the write is about.
    pub(crate) fn target(&self) -> &'a Target {
        self.target
    }

    fn attributes(
        &'a self,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
        context: &'a Context,
    ) -> Attributes<'a> {
        let target = self.target;
        let (group, version) = own(target);
        let name = match object {
            Some(object) if self.operation == Operation::Create => ObjectMeta::of(object).name(),
            _ => &self.name,
        };
        let object_type = match target.subresource {
            Subresource::Scale => ("autoscaling", "v1", "Scale"),
            _ => (group, version, target.kind.kind.as_str()),
        };
        Attributes {
            operation: self.operation,
            group,
            version,
            resource: &target.kind.plural,
            subresource: target.subresource.as_str(),
            object_type,
            name: name.into(),
            // A namespace is in itself.
            namespace: match &target.namespace {
                Some(namespace) => namespace,
                None if target.kind.strategy.is_its_own_namespace() => name,
                None => "",
            },
            object,
            old,
            options: &self.options,
            dry_run: self.dry_run,
            context,
        }
    }
}

/// An answer that counts; `None` if a webhook failed that may be ignored.
fn usable<T>(hook: &Hook, answer: Result<T, CallError>) -> Result<Option<T>, Rejection> {
    match (answer, hook.on_failure) {
        (Ok(answer), _) => Ok(Some(answer)),
        (Err(CallError::Overloaded), _) => Err(Rejection::TooManyRequests),
        (Err(CallError::Failed(problem)), FailurePolicy::Ignore) => {
            tracing::warn!(webhook = %hook.name, configuration = %hook.configuration, problem, "webhook failed and is ignored");
            Ok(None)
        }
        (Err(CallError::Failed(problem)), FailurePolicy::Fail) => {
            Err(Rejection::internal(format!("failed calling webhook \"{}\": {problem}", hook.name)))
        }
    }
}

fn with_patch(answer: Answer) -> Result<(Answer, JsonPatch), CallError> {
    if answer.patch.is_empty() {
        return Ok((answer, JsonPatch::default()));
    }
    let patch = JsonPatch::parse(&answer.patch).map_err(|error| {
        format!("received undecodable patch in webhook response: {}", excerpt(&error.to_string()))
    })?;
    match answer.unsupported_patch() {
        Some(other) if !patch.is_empty() => {
            Err(format!("unsupported patch type \"{}\"", excerpt(other)).into())
        }
        _ => Ok((answer, patch)),
    }
}

/// The group and version of a request.
fn own(target: &Target) -> GroupVersion<'_> {
    group_version(&target.version().api_version)
}

/// The others that the same objects are served in.
fn others(target: &Target) -> Vec<GroupVersion<'_>> {
    let versions = target.kind.versions.iter().enumerate();
    let others = versions.filter(|(at, version)| *at != target.version && version.served);
    others.map(|(_, version)| group_version(&version.api_version)).collect()
}

fn group_version(api_version: &str) -> GroupVersion<'_> {
    api_version.split_once('/').unwrap_or(("", api_version))
}

fn version(kind: &Kind, seen: GroupVersion<'_>) -> usize {
    let is = |version: &crate::kind::KindVersion| group_version(&version.api_version) == seen;
    kind.versions.iter().position(is).unwrap_or(kind.storage)
}
