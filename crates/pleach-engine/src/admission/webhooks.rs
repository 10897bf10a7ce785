//! The common part of both webhook plugins: which webhooks are called, with which objects, and what their answers mean.

use std::borrow::Cow;

use bytes::Bytes;
use pleach_cel::AuthzUser;
use pleach_json::{Map, Value};
use pleach_meta::names::check_qualified_name;
use pleach_patch::JsonPatch;
use pleach_pipeline::Typed;
use pleach_pipeline::resource::Resource;
use pleach_policy::RequestAuthorizer;
use pleach_schema::Record;
use tokio::time::Instant;

use super::attributes::{AdmissionAttributes, AdmissionRequest, GroupVersion, group_version};
use super::metrics::CallOutcome;
use crate::audit;
use crate::decode;
use crate::engine::Engine;
use crate::keys;
use crate::kind::Kind;
use crate::limits;
use crate::rejection::Rejection;
use crate::settle;
use crate::target::Target;
use crate::webhooks::answer::{self, Answer};
use crate::webhooks::caller::{CallError, WebhookPlugin};
use crate::webhooks::conditions::Verdict;
use crate::webhooks::excerpt::{EXCERPT, excerpt, excerpt_of};
use crate::webhooks::hook::{FailurePolicy, Hook};
use crate::webhooks::review;

/// How many bytes of a review are written in a step of work.
const BYTES_PER_STEP: u64 = 64;

/// Whether any of the webhooks may be about a write, before its object is known.
pub(super) fn any_concerns(hooks: &[Hook], attributes: &AdmissionAttributes<'_>) -> bool {
    let target = attributes.target;
    // Before anything else: however many rules there are, they can be deleted.
    if hooks.is_empty() || target.kind.strategy.is_exempt_from_webhooks() {
        return false;
    }
    let (own, others) = (attributes.group_version(), attributes.equivalents());
    hooks.iter().any(|hook| {
        let operation = attributes.operation();
        hook.concerns(operation, (own, &others), &target.kind.plural, target.subresource.as_str())
    })
}

impl Engine {
    /// The input of a webhook, if it is called.
    pub(super) async fn interest<'a>(
        &self,
        attributes: &AdmissionAttributes<'_>,
        hook: &Hook,
        request: &AdmissionRequest<'a>,
        others: &[GroupVersion<'a>],
        labels: Option<&Value>,
        views: &mut Views,
    ) -> Result<Option<Call<'a>>, Rejection> {
        let Some(seen) = hook.matches(request, others, labels) else { return Ok(None) };
        let (object, old) = self.seen_as(attributes, seen, request, views).await?;
        let authorizer = || self.request_authorizer(attributes);
        match hook.judge(request, seen, object.as_deref(), old.as_deref(), authorizer) {
            Verdict::Call => {}
            Verdict::Skip => return Ok(None),
            Verdict::Refuse(why) => {
                let subject = attributes.target.kind.subject(&request.name);
                return Err(Rejection::Forbidden { subject, why, cause: None });
            }
        }
        Ok(Some(Call { seen, object, old }))
    }

    /// The object and the old one in the version that a webhook gets.
    pub(super) async fn seen_as<'a>(
        &self,
        attributes: &AdmissionAttributes<'_>,
        seen: GroupVersion<'_>,
        request: &AdmissionRequest<'a>,
        views: &mut Views,
    ) -> Result<View<Cow<'a, Value>>, Rejection> {
        let kind = &attributes.target.kind;
        let version = version(kind, seen);
        let own = attributes.target.version;
        if version == own || attributes.is_untyped() || attributes.unstored_kind().is_some() {
            return Ok((request.object.map(Cow::Borrowed), request.old.map(Cow::Borrowed)));
        }
        if let Some((_, (object, old))) = views.0.iter().find(|(known, _)| *known == version) {
            return Ok((object.clone().map(Cow::Owned), old.clone().map(Cow::Owned)));
        }
        let convert = async |object: Option<&Value>| match object {
            Some(object) => {
                self.convert(kind, own, version, object.clone(), &Typed::default()).await.map(Some)
            }
            None => Ok(None),
        };
        let view = (convert(request.object).await?, convert(request.old).await?);
        views.0.push((version, view.clone()));
        Ok((view.0.map(Cow::Owned), view.1.map(Cow::Owned)))
    }

    /// Calls a webhook, and counts the call.
    pub(super) async fn call_webhook(
        &self,
        hook: &Hook,
        call: &Call<'_>,
        request: &AdmissionRequest<'_>,
        may_patch: bool,
    ) -> Result<Answer, CallError> {
        let began = Instant::now();
        let answer = self.call_uncounted(hook, call, request, may_patch).await;
        let outcome = match &answer {
            Ok(answer) if answer.allowed => CallOutcome::Allowed,
            Ok(answer) => CallOutcome::Denied(answer.denial_code(&hook.name)),
            // The webhook was not called.
            Err(CallError::Overloaded) => return answer,
            Err(CallError::Failed(_)) if hook.on_failure == FailurePolicy::Ignore => CallOutcome::FailedOpen,
            Err(CallError::Failed(_)) => CallOutcome::Failed,
        };
        let operation = request.operation.as_str();
        self.admission_metrics.called(&hook.name, may_patch, operation, outcome, began.elapsed());
        answer
    }

    async fn call_uncounted(
        &self,
        hook: &Hook,
        call: &Call<'_>,
        request: &AdmissionRequest<'_>,
        may_patch: bool,
    ) -> Result<Answer, CallError> {
        let uid = self.new_uid();
        let version = hook.review.as_str();
        let mut body = match pleach_policy::admission_request(request, call.seen) {
            Value::Object(body) => body,
            _ => Map::new(),
        };
        body.insert("uid", uid.clone());
        body.insert("object", call.object.as_deref().cloned().unwrap_or_default());
        body.insert("oldObject", call.old.as_deref().cloned().unwrap_or_default());
        let mut out = review::envelope(answer::GROUP, version, "AdmissionReview");
        out.insert("request", body);
        let body = Bytes::from(pleach_json::to_vec(&out.into()));
        pleach_work::charge(body.len() as u64 / BYTES_PER_STEP);
        let plugin = if may_patch { WebhookPlugin::Mutating } else { WebhookPlugin::Validating };
        let answer = self.caller.call_for(plugin, &hook.address, body, hook.timeout).await;
        let answer = answer.map_err(|error| match error {
            CallError::Failed(problem) if problem.starts_with("unable to load root certificates") => {
                CallError::Failed(format!("could not get REST client: {problem}"))
            }
            CallError::Failed(problem) => CallError::Failed(format!("failed to call webhook: {problem}")),
            CallError::Overloaded => CallError::Overloaded,
        })?;
        let answer = Answer::read(&answer, version, &uid, may_patch)?;
        for (key, text) in &answer.audit_annotations {
            let key = format!("{}/{key}", hook.name);
            if check_qualified_name(&key).is_empty() {
                audit::annotate(&key, || text.clone());
            } else {
                tracing::warn!(webhook = %hook.name, "audit annotation of a webhook has an invalid key");
            }
        }
        Ok(answer)
    }

    /// The object after a webhook's patch: decoded and defaulted, in the version of the request.
    pub(super) async fn patched_object(
        &self,
        attributes: &AdmissionAttributes<'_>,
        seen: GroupVersion<'_>,
        patched: Value,
    ) -> Result<Value, Rejection> {
        let target = attributes.target;
        let kind = &target.kind;
        limits::check_nesting(&patched, None)?;
        if attributes.is_untyped() {
            return Ok(patched);
        }
        if let Some(kind) = attributes.unstored_kind() {
            let decoded = decode::object(Resource::new(kind, 0), patched, Record::Nothing, None);
            return Ok(decoded.map_err(Rejection::internal)?.value.into_value());
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
            return self
                .convert(kind, version, target.version, settled.into_value(), &Typed::default())
                .await;
        }
        let seen = Target { version, ..target.clone() };
        let decoded = decode::object(seen.resource(), patched, Record::Nothing, None);
        let settled = decoded.map_err(Rejection::internal)?.value;
        self.convert(kind, version, target.version, settled.into_value(), &Typed::default()).await
    }

    /// The `authorizer` of expressions about a write.
    pub(super) fn request_authorizer(&self, attributes: &AdmissionAttributes<'_>) -> AuthzUser {
        RequestAuthorizer::user(self.authorizer.clone(), attributes.user.clone())
    }

    /// The labels of the namespace that a write is in, for namespace selectors.
    pub(super) async fn namespace_labels(&self, target: &Target) -> Result<Option<Value>, Rejection> {
        let Some(namespace) = &target.namespace else { return Ok(None) };
        let record = self.stored(&keys::namespace(namespace)).await?;
        let Some(record) = record else { return Ok(None) };
        Ok(record.parse()?.at(&["metadata", "labels"]).cloned())
    }
}

/// An object and the old object.
pub(super) type View<T> = (Option<T>, Option<T>);

/// An object in other versions, each converted once for all webhooks.
#[derive(Default)]
pub(super) struct Views(Vec<(usize, View<Value>)>);

/// The input of a webhook.
pub(super) struct Call<'a> {
    /// The group and version that it gets.
    pub(super) seen: GroupVersion<'a>,
    pub(super) object: Option<Cow<'a, Value>>,
    old: Option<Cow<'a, Value>>,
}

/// Refuses a dry run if the webhook has side effects.
pub(super) fn check_dry_run(hook: &Hook, request: &AdmissionRequest<'_>) -> Result<(), Rejection> {
    if request.dry_run && !hook.allows_dry_run {
        let why = format!("admission webhook \"{}\" does not support dry run", hook.name);
        return Err(Rejection::BadRequest(why));
    }
    Ok(())
}

/// The answer of a webhook; `None` if the call failed and its failure policy is `Ignore`, which is noted in the audit
/// event under this key.
pub(super) fn usable<T>(
    hook: &Hook,
    answer: Result<T, CallError>,
    failed_open: impl FnOnce() -> String,
) -> Result<Option<T>, Rejection> {
    match (answer, hook.on_failure) {
        (Ok(answer), _) => Ok(Some(answer)),
        (Err(CallError::Overloaded), _) => Err(Rejection::TooManyRequests),
        (Err(CallError::Failed(problem)), FailurePolicy::Ignore) => {
            tracing::warn!(webhook = %hook.name, configuration = %hook.configuration, problem, "webhook failed, failure policy is Ignore");
            audit::annotate(&failed_open(), || hook.name.to_string());
            Ok(None)
        }
        (Err(CallError::Failed(problem)), FailurePolicy::Fail) => {
            Err(Rejection::internal(format!("failed calling webhook \"{}\": {problem}", hook.name)))
        }
    }
}

/// The patch of an answer.
pub(super) fn with_patch(answer: Answer) -> Result<(Answer, JsonPatch), CallError> {
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

pub(super) fn version(kind: &Kind, seen: GroupVersion<'_>) -> usize {
    let is = |version: &crate::kind::KindVersion| group_version(&version.api_version) == seen;
    kind.versions.iter().position(is).unwrap_or(kind.storage)
}
