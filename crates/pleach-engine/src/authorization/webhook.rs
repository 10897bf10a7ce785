//! The webhook authorizer: SubjectAccessReviews sent to a server, with a cache and match conditions in CEL.
//!
//! A webhook that fails never allows: its failure policy makes it a denial or no opinion.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pleach_auth::{Answer, Attributes, Authorizer, Decision, Rules, UserInfo, Verdict};
use pleach_cel::{
    Activation, Bound, CelValue, CostBudget, DeclType, Declarations, Environment, ListKind, ObjectType,
    Program, Type,
};
use pleach_json::{Map, Str, Value, json, to_vec};
use pleach_meta::selector::{FieldRequirement, FieldSelector, LabelSelector, Operator, Requirement};
use pleach_work::Constant;

use crate::webhooks::{Address, CallError, Caller};

/// The cost limit of all match conditions together.
const BUDGET: i64 = 2_500_000;
/// Decisions that are remembered.
const REMEMBERED: usize = 8_192;
/// Larger reviews are not remembered.
const MAX_REMEMBERED_BYTES: usize = 10_000;

static ENVIRONMENT: Constant<Environment> = Constant::new(Environment::stored);
static VARIABLES: Constant<Declarations> =
    Constant::new(|| Declarations::new().with("request", request_type()));

/// The decision if the webhook fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// No opinion: the next authorizer decides.
    NoOpinion,
    /// The request is denied.
    Deny,
}

/// Settings of a webhook.
#[derive(Debug)]
pub struct WebhookOptions {
    /// Its name in the configuration.
    pub name: String,
    /// How long an allowed request is remembered.
    pub authorized_ttl: Duration,
    /// How long another one is.
    pub unauthorized_ttl: Duration,
    /// Whether allowed requests are remembered.
    pub cache_authorized: bool,
    /// Whether other responses are cached.
    pub cache_unauthorized: bool,
    /// How long a call may take.
    pub timeout: Duration,
    /// The decision on failure.
    pub failure_policy: FailurePolicy,
    /// Conditions that must be true for the webhook to be called.
    pub conditions: Vec<(String, Program)>,
}

/// Asks a server.
pub struct WebhookAuthorizer {
    options: WebhookOptions,
    caller: Arc<dyn Caller>,
    address: Address,
    remembered: Mutex<HashMap<Vec<u8>, (Instant, Decision)>>,
}

impl fmt::Debug for WebhookAuthorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookAuthorizer").field("name", &self.options.name).finish_non_exhaustive()
    }
}

/// Compiles a match condition.
pub(super) fn compile(expression: &str) -> Result<Program, String> {
    let checked = ENVIRONMENT
        .compile(expression, &VARIABLES)
        .map_err(|issues| format!("compilation failed: {issues}"))?;
    let output = checked.output_type();
    if *output != Type::Bool {
        return Err(format!("must evaluate to bool but got {output}"));
    }
    Program::new(&checked).map_err(|error| format!("program instantiation failed: {error}"))
}

fn request_type() -> DeclType {
    let text = || DeclType::string(None, None);
    let texts = || DeclType::list(text(), ListKind::Atomic, None);
    let object = |name: &'static str, fields: &[&'static str]| {
        fields.iter().fold(ObjectType::new(name), |object, field| object.with_field(*field, text()))
    };
    let requirement = |name: &'static str| {
        let requirement = object(name, &["key", "operator"]).with_field("values", texts());
        DeclType::list(DeclType::object(requirement, []), ListKind::Atomic, None)
    };
    let selector = |name: &'static str, of: &'static str| {
        let selector = object(name, &["rawSelector"]).with_field("requirements", requirement(of));
        DeclType::object(selector, [])
    };
    let resource = object(
        "kubernetes.ResourceAttributes",
        &["namespace", "verb", "group", "version", "resource", "subresource", "name"],
    )
    .with_field(
        "fieldSelector",
        selector("kubernetes.FieldSelectorAttributes", "kubernetes.FieldSelectorRequirement"),
    )
    .with_field(
        "labelSelector",
        selector("kubernetes.LabelSelectorAttributes", "kubernetes.LabelSelectorRequirement"),
    );
    let path = object("kubernetes.NonResourceAttributes", &["path", "verb"]);
    let request = object("kubernetes.SubjectAccessReviewSpec", &["user", "uid"])
        .with_field("resourceAttributes", DeclType::object(resource, []))
        .with_field("nonResourceAttributes", DeclType::object(path, []))
        .with_field("groups", texts())
        .with_field("extra", DeclType::map(texts(), None));
    DeclType::object(request, [])
}

/// The spec of the review of a request, without empty fields.
fn spec(attributes: &Attributes<'_>) -> Value {
    let mut out = Map::new();
    let put = |out: &mut Map, key: &str, text: &str| {
        if !text.is_empty() {
            out.insert(key, text);
        }
    };
    let verb = attributes.verb.as_str();
    let mut asked = Map::new();
    match &attributes.resource {
        Some(resource) => {
            for (key, text) in [
                ("namespace", resource.namespace),
                ("verb", verb),
                ("group", resource.group),
                ("version", resource.version),
                ("resource", resource.resource),
                ("subresource", resource.subresource),
                ("name", &*resource.name),
            ] {
                put(&mut asked, key, text);
            }
            for (key, requirements) in [
                ("fieldSelector", field_requirements(resource.field_selector)),
                ("labelSelector", label_requirements(resource.label_selector)),
            ] {
                if !requirements.is_empty() {
                    asked.insert(key, json!({"requirements": (requirements)}));
                }
            }
            out.insert("resourceAttributes", asked);
        }
        None => {
            put(&mut asked, "path", attributes.path);
            put(&mut asked, "verb", verb);
            out.insert("nonResourceAttributes", asked);
        }
    }
    let user = &attributes.user;
    let texts = |list: &[Str]| list.iter().map(|text| Value::from(text.clone())).collect::<Vec<_>>();
    put(&mut out, "user", &user.name);
    put(&mut out, "uid", &user.uid);
    if !user.groups.is_empty() {
        out.insert("groups", texts(&user.groups));
    }
    if !user.extra.is_empty() {
        let mut extra = Map::new();
        for (key, values) in &user.extra {
            extra.insert(key.as_str(), texts(values));
        }
        out.insert("extra", extra);
    }
    out.into()
}

/// The requirements of a field selector; none if it cannot be read.
fn field_requirements(selector: &str) -> Vec<Value> {
    let parsed = FieldSelector::parse(selector).unwrap_or_default();
    let requirement = |requirement: &FieldRequirement| {
        let operator = if requirement.equals { "In" } else { "NotIn" };
        let (key, value) = (requirement.field.as_str(), requirement.value.as_str());
        json!({"key": (key), "operator": (operator), "values": [(value)]})
    };
    parsed.requirements().iter().map(requirement).collect()
}

/// The requirements of a label selector that reviews know; none if it cannot be read.
fn label_requirements(selector: &str) -> Vec<Value> {
    let Ok(parsed) = LabelSelector::parse(selector) else { return Vec::new() };
    let requirement = |requirement: &Requirement| {
        let operator = match requirement.operator() {
            Operator::Equals | Operator::DoubleEquals | Operator::In => "In",
            Operator::NotEquals | Operator::NotIn => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            Operator::GreaterThan | Operator::LessThan => return None,
        };
        let mut out = Map::new();
        out.insert("key", requirement.key());
        out.insert("operator", operator);
        if !requirement.values().is_empty() {
            out.insert("values", requirement.values().iter().cloned().map(Value::from).collect::<Vec<_>>());
        }
        Some(out.into())
    };
    parsed.requirements().iter().filter_map(requirement).collect()
}

impl WebhookAuthorizer {
    /// A webhook at an address.
    pub fn new(options: WebhookOptions, caller: Arc<dyn Caller>, address: Address) -> Self {
        Self { options, caller, address, remembered: Mutex::default() }
    }

    /// Whether the conditions are true; the error is why they could not be evaluated.
    fn applies(&self, spec: &Value) -> Result<bool, String> {
        let variables = [Bound::Value(spec)];
        let activation = Activation::of_others(&variables);
        let mut budget = CostBudget::new(BUDGET);
        let mut problem = None;
        for (expression, program) in &self.options.conditions {
            match program.eval(&activation, &mut budget) {
                Ok(CelValue::Bool(true)) => {}
                // A false condition decides, even if others fail.
                Ok(_) => return Ok(false),
                Err(error) => problem = Some(format!("expression '{expression}' resulted in error: {error}")),
            }
        }
        problem.map_or(Ok(true), Err)
    }

    fn failed(&self, problem: &str) -> Decision {
        tracing::warn!(webhook = self.options.name, problem, "authorization webhook failed");
        match self.options.failure_policy {
            FailurePolicy::NoOpinion => Decision::failed(Verdict::NoOpinion, problem),
            FailurePolicy::Deny => Decision::failed(Verdict::Deny, problem),
        }
    }

    async fn review(&self, spec: Value) -> Decision {
        let key = to_vec(&spec);
        if let Some(decision) = self.recall(&key) {
            return decision;
        }
        let review = json!({
            "kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {},
            "spec": (spec), "status": {"allowed": false},
        });
        let body = Bytes::from(to_vec(&review));
        let answer = match self.caller.call(&self.address, body, self.options.timeout).await {
            Ok(answer) => answer,
            Err(CallError::Failed(problem)) => return self.failed(&problem),
            Err(CallError::Overloaded) => return self.failed("too many calls"),
        };
        let decision = match read(&answer) {
            Ok(decision) => decision,
            Err(problem) => return self.failed(&problem),
        };
        self.remember(key, &decision);
        decision
    }

    fn recall(&self, key: &[u8]) -> Option<Decision> {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, decision) = remembered.get(key)?;
        (Instant::now() < *until).then(|| decision.clone())
    }

    fn remember(&self, key: Vec<u8>, decision: &Decision) {
        let WebhookOptions { authorized_ttl, unauthorized_ttl, cache_authorized, cache_unauthorized, .. } =
            &self.options;
        let (ttl, is_cached) = if decision.is_allowed() {
            (*authorized_ttl, *cache_authorized)
        } else {
            (*unauthorized_ttl, *cache_unauthorized)
        };
        if !is_cached || key.len() > MAX_REMEMBERED_BYTES {
            return;
        }
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED {
            let now = Instant::now();
            remembered.retain(|_, (until, _)| *until > now);
            if remembered.len() >= REMEMBERED {
                remembered.clear();
            }
        }
        remembered.insert(key, (Instant::now() + ttl, decision.clone()));
    }
}

/// The decision in an answer.
fn read(answer: &[u8]) -> Result<Decision, String> {
    let review = pleach_json::parse(answer).map_err(|error| error.to_string())?;
    let status = review.get("status").and_then(Value::as_object).ok_or("the answer has no status")?;
    let flag = |key: &str| status.get(key).and_then(Value::as_bool).unwrap_or_default();
    let reason = status.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
    match (flag("allowed"), flag("denied")) {
        (true, true) => Err("webhook subject access review returned both allow and deny response".into()),
        (true, false) => Ok(Decision::allow(reason)),
        (false, true) => Ok(Decision::deny(reason)),
        (false, false) => Ok(Decision::no_opinion(reason)),
    }
}

impl Authorizer for WebhookAuthorizer {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> Answer<'a, Decision> {
        let spec = spec(attributes);
        if !self.options.conditions.is_empty() {
            match self.applies(&spec) {
                Ok(true) => {}
                Ok(false) => return Answer::Now(Decision::no_opinion("")),
                Err(problem) => return Answer::Now(self.failed(&problem)),
            }
        }
        Answer::later(self.review(spec))
    }

    fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> Answer<'a, Rules> {
        let evaluation_error = "webhook authorizer does not support user rule resolution".to_owned();
        Answer::Now(Rules { incomplete: true, evaluation_error, ..Rules::default() })
    }
}

#[cfg(test)]
mod tests {
    use pleach_auth::{ResourceAttributes, Verb};

    use super::*;
    use crate::webhooks::{CallFuture, Place};

    struct FixedResponse {
        answers: Mutex<Vec<Result<&'static str, ()>>>,
    }

    impl Caller for FixedResponse {
        fn call<'a>(&'a self, _: &'a Address, body: Bytes, _: Duration) -> CallFuture<'a> {
            Box::pin(async move {
                let review = pleach_json::parse(&body).unwrap();
                assert_eq!(
                    review.at(&["spec", "resourceAttributes", "resource"]).unwrap().as_str(),
                    Some("foos")
                );
                match self.answers.lock().unwrap().pop().expect("one more call") {
                    Ok(status) => Ok(format!("{{\"status\":{status}}}").into()),
                    Err(()) => Err(CallError::Failed("gone".into())),
                }
            })
        }
    }

    fn webhook(
        answers: &[Result<&'static str, ()>],
        failure_policy: FailurePolicy,
        conditions: &[&str],
    ) -> WebhookAuthorizer {
        let options = WebhookOptions {
            name: "w".into(),
            authorized_ttl: Duration::from_mins(1),
            unauthorized_ttl: Duration::from_mins(1),
            cache_authorized: true,
            cache_unauthorized: true,
            timeout: Duration::from_secs(1),
            failure_policy,
            conditions: conditions.iter().map(|text| ((*text).to_owned(), compile(text).unwrap())).collect(),
        };
        let address = Address { place: Place::Url("https://x".into()), ca_bundle: Bytes::new() };
        let answers = Mutex::new(answers.iter().rev().copied().collect());
        WebhookAuthorizer::new(options, Arc::new(FixedResponse { answers }), address)
    }

    fn attributes(user: &str) -> Attributes<'static> {
        let resource = ResourceAttributes { resource: "foos", ..ResourceAttributes::default() };
        Attributes {
            user: UserInfo::authenticated(user, []),
            verb: Verb::Get,
            path: "",
            resource: Some(resource),
        }
    }

    #[tokio::test]
    async fn answers_are_decisions_and_are_remembered() {
        for (answer, policy, want) in [
            (Ok("{\"allowed\":true,\"reason\":\"yes\"}"), FailurePolicy::Deny, Decision::allow("yes")),
            (Ok("{\"denied\":true}"), FailurePolicy::NoOpinion, Decision::deny("")),
            (Ok("{\"allowed\":false}"), FailurePolicy::Deny, Decision::no_opinion("")),
        ] {
            let webhook = webhook(&[answer], policy, &[]);
            for _ in 0..2 {
                assert_eq!(webhook.authorize(&attributes("ann")).get().await, want);
            }
        }
    }

    #[tokio::test]
    async fn failures_never_allow_and_are_not_remembered() {
        for (policy, want) in
            [(FailurePolicy::Deny, Verdict::Deny), (FailurePolicy::NoOpinion, Verdict::NoOpinion)]
        {
            let both = "{\"allowed\":true,\"denied\":true}";
            let webhook = webhook(&[Err(()), Ok(both), Ok("1"), Ok("{\"allowed\":true}")], policy, &[]);
            for _ in 0..3 {
                let decision = webhook.authorize(&attributes("ann")).get().await;
                assert!(decision.verdict == want && decision.error.is_some(), "{decision:?}");
            }
            assert!(webhook.authorize(&attributes("ann")).get().await.is_allowed());
        }
    }

    #[tokio::test]
    async fn conditions_say_whether_the_webhook_is_asked() {
        let condition = "request.user == 'ann' && request.resourceAttributes.verb == 'get'";
        let webhook = webhook(&[Ok("{\"allowed\":true}")], FailurePolicy::Deny, &[condition]);
        assert_eq!(webhook.authorize(&attributes("bob")).get().await.verdict, Verdict::NoOpinion);
        assert!(webhook.authorize(&attributes("ann")).get().await.is_allowed());
        let failing = webhook_failing();
        assert_eq!(failing.authorize(&attributes("ann")).get().await.verdict, Verdict::Deny);
    }

    #[test]
    fn selectors_are_sent_as_requirements() {
        let resource = ResourceAttributes {
            resource: "foos",
            field_selector: "metadata.name=x,spec.a!=b",
            label_selector: "a=1,b in (3,2),c notin (4),d,!e,f>1",
            ..ResourceAttributes::default()
        };
        let mut attributes = attributes("ann");
        attributes.resource = Some(resource);
        let spec = spec(&attributes);
        let of = |name: &str| spec.at(&["resourceAttributes", name, "requirements"]).cloned().unwrap();
        let want = json!([
            {"key": "metadata.name", "operator": "In", "values": ["x"]},
            {"key": "spec.a", "operator": "NotIn", "values": ["b"]},
        ]);
        assert_eq!(of("fieldSelector"), want);
        let want = json!([
            {"key": "a", "operator": "In", "values": ["1"]}, {"key": "b", "operator": "In", "values": ["2", "3"]},
            {"key": "c", "operator": "NotIn", "values": ["4"]}, {"key": "d", "operator": "Exists"},
            {"key": "e", "operator": "DoesNotExist"},
        ]);
        assert_eq!(of("labelSelector"), want);
        assert!(field_requirements("nonsense").is_empty() && label_requirements("!").is_empty());
    }

    fn webhook_failing() -> WebhookAuthorizer {
        webhook(&[], FailurePolicy::Deny, &["request.nonResourceAttributes.path == '/x'"])
    }
}
