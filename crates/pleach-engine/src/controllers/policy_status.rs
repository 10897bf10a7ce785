//! The status of ValidatingAdmissionPolicies: expressions are checked with the types of the kinds that the policy
//! matches, and what is found is written as `status.typeChecking`, once per generation.
//!
//! A policy is checked some seconds after it was written: clients that write it several times in a row do not meet
//! conflicts with the status in between.

use std::sync::Arc;
use std::time::Duration;

use pleach_auth::UserInfo;
use pleach_json::{Str, Value, json, to_vec};
use pleach_work::with_limit;

use super::controller::{Change, Controller, Due, Progress, Worked};
use crate::engine::Engine;
use crate::keys;
use crate::kind::Kind;
use crate::kinds::admission_policy::type_check::{expression_warnings, matched_kinds, param_type};
use crate::kinds::admission_policy::{GROUP, VALIDATING_POLICIES};
use crate::options::{Body, Context, Format, WriteOptions};
use crate::rejection::Rejection;
use crate::target::Subresource;

/// How long after a policy was written it is checked.
const DELAY: Duration = Duration::from_secs(5);
/// The work that a check may take, which is that of a request. A policy that needs more has no warnings.
const STEPS: u64 = 60_000_000;
/// The manager of the status.
const MANAGER: &str = "validatingadmissionpolicy-status";
const USER_AGENT: &str = "kube-controller-manager";

/// Checks the expressions of policies.
pub(super) struct PolicyStatusController {
    engine: Arc<Engine>,
}

impl PolicyStatusController {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }
}

impl Controller for PolicyStatusController {
    type Item = Str;
    const NAME: &'static str = "validatingadmissionpolicy-status-controller";
    const WORKERS: usize = 2;

    fn observe(&self, change: &Change<'_>) -> Due<Str> {
        match (change, keys::split(change.key())) {
            (Change::Stored { .. }, Some((GROUP, VALIDATING_POLICIES, name))) => vec![(name.into(), DELAY)],
            _ => Vec::new(),
        }
    }

    async fn work(&self, name: &Str) -> Worked<Str> {
        let key = keys::object(GROUP, VALIDATING_POLICIES, None, name);
        let Some(record) = self.engine.stored(&key).await? else { return Ok(Progress::Finished) };
        let policy = record.parse()?;
        let number = |path: &[&str]| policy.at(path).and_then(Value::as_int).unwrap_or_default();
        let generation = number(&["metadata", "generation"]);
        if generation <= number(&["status", "observedGeneration"]) {
            return Ok(Progress::Finished);
        }
        let engine = self.engine.clone();
        // Threads that do I/O are not for long computations.
        let checked =
            tokio::task::spawn_blocking(move || with_limit(STEPS, || engine.type_check(&policy))).await;
        let warnings = match checked {
            Ok(Ok(warnings)) => warnings,
            Ok(Err(stopped)) => {
                tracing::warn!(policy = %name, %stopped, "the expressions of a policy are not type checked");
                return Ok(Progress::Finished);
            }
            Err(_) => return Err(Rejection::internal("the type check panicked")),
        };
        let checking =
            if warnings.is_empty() { Value::object() } else { json!({"expressionWarnings": (warnings)}) };
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": (name.clone())},
            "status": {"observedGeneration": (generation), "typeChecking": (checking)},
        });
        let Some(mut target) = self.engine.target_of(&key) else { return Ok(Progress::Finished) };
        target.subresource = Subresource::Status;
        let body = Body { bytes: to_vec(&configuration).into(), format: Format::Json };
        let options =
            WriteOptions { field_manager: Str::new_static(MANAGER), force: true, ..WriteOptions::default() };
        let user = UserInfo::controller(Self::NAME);
        let mut context = Context { user, user_agent: Str::new_static(USER_AGENT), ..Context::default() };
        match self.engine.apply(&target, &body, &options, &mut context).await {
            // A policy that is not found was deleted meanwhile.
            Ok(_) | Err(Rejection::NotFound(_)) => Ok(Progress::Finished),
            Err(error) if error.is_stored_too_large() => {
                tracing::warn!(policy = %name, %error, "a policy has no room for its status");
                Ok(Progress::Finished)
            }
            Err(error) => Err(error),
        }
    }
}

impl Engine {
    /// The warnings about a policy's expressions.
    fn type_check(&self, policy: &Value) -> Vec<Value> {
        let all = self.catalog.all();
        let all: Vec<&Kind> = all.iter().map(|kind| &***kind).collect();
        expression_warnings(policy, &matched_kinds(policy, &all), param_type(policy, &all).as_ref())
    }
}
