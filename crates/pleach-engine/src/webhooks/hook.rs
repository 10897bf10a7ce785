//! A webhook, as its configuration describes it.
//!
//! Read once per stored configuration: selectors are parsed and conditions compiled. A stored configuration
//! has been validated, so reading cannot fail; an invalid field reads as its empty value.

use std::time::Duration;

use bytes::Bytes;
use pleach_cel::AuthzUser;
use pleach_go::base64;
use pleach_json::{Str, Value};
use pleach_meta::selector::LabelSelector;
use pleach_policy::{Rule, selects_namespace, selects_object, texts};

use super::caller::{Address, Place};
use super::conditions::{Conditions, Verdict};
use crate::admission::GroupVersion;
use crate::admission::{AdmissionRequest, Operation};

/// The version of `AdmissionReview` that a webhook is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReviewVersion {
    /// `admission.k8s.io/v1`
    V1,
    /// `admission.k8s.io/v1beta1`
    V1beta1,
}

impl ReviewVersion {
    /// The version as it is written.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1beta1 => "v1beta1",
        }
    }
}

/// The failure policy: the decision if calling the webhook fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailurePolicy {
    /// It is refused.
    Fail,
    /// The write continues.
    Ignore,
}

/// One webhook of a configuration.
#[derive(Debug)]
pub(crate) struct Hook {
    /// Its own name.
    pub(crate) name: Str,
    /// The name of the configuration it is in.
    pub(crate) configuration: Str,
    /// Where it is.
    pub(crate) address: Address,
    /// The version of its reviews: the first it lists that this server supports.
    pub(crate) review: ReviewVersion,
    /// The failure policy.
    pub(crate) on_failure: FailurePolicy,
    /// How long it may take.
    pub(crate) timeout: Duration,
    /// Whether it has no side effects, so that it may be called for dry runs.
    pub(crate) allows_dry_run: bool,
    /// Whether it is called again if the object is changed after it.
    pub(crate) reinvokes: bool,
    /// Whether other versions of a resource count as the resource.
    equivalent: bool,
    rules: Vec<Rule>,
    /// How much there is to compare in all rules.
    rules_len: u64,
    namespaces: LabelSelector,
    objects: LabelSelector,
    conditions: Conditions,
}

/// The webhooks of a stored configuration, in its order.
pub(crate) fn decode(configuration: &Value) -> Vec<Hook> {
    let name = configuration.at(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    let webhooks = configuration.get("webhooks").and_then(Value::as_array);
    webhooks.into_iter().flatten().filter_map(|webhook| Hook::read(name, webhook)).collect()
}

impl Hook {
    /// None if it does not say where it is.
    fn read(configuration: &str, webhook: &Value) -> Option<Self> {
        let text = |key: &str| webhook.get(key).and_then(Value::as_str).unwrap_or_default();
        let review = texts(webhook, "admissionReviewVersions").find_map(|version| match version {
            "v1" => Some(ReviewVersion::V1),
            "v1beta1" => Some(ReviewVersion::V1beta1),
            _ => None,
        });
        let seconds = webhook.get("timeoutSeconds").and_then(Value::as_int);
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(10);
        let rules = webhook.get("rules").and_then(Value::as_array);
        let rules: Vec<Rule> = rules.into_iter().flatten().map(Rule::read).collect();
        Some(Self {
            name: text("name").into(),
            configuration: configuration.into(),
            address: address(webhook.get("clientConfig")?)?,
            review: review.unwrap_or(ReviewVersion::V1),
            on_failure: match text("failurePolicy") {
                "Ignore" => FailurePolicy::Ignore,
                _ => FailurePolicy::Fail,
            },
            timeout: Duration::from_secs(seconds),
            allows_dry_run: matches!(text("sideEffects"), "None" | "NoneOnDryRun"),
            reinvokes: text("reinvocationPolicy") == "IfNeeded",
            equivalent: text("matchPolicy") != "Exact",
            rules_len: rules.iter().map(Rule::work).sum::<usize>() as u64,
            rules,
            namespaces: selector(webhook.get("namespaceSelector")),
            objects: selector(webhook.get("objectSelector")),
            conditions: Conditions::read(webhook.get("matchConditions")),
        })
    }

    /// Whether rules and selectors match a write, and in which group and version the webhook gets to
    /// see it. `others` are those that the resource is served in besides, in the order of its CRD;
    /// `namespace_labels` the labels of the namespace the object is in.
    pub(crate) fn matches<'a>(
        &self,
        request: &AdmissionRequest<'a>,
        others: &[GroupVersion<'a>],
        namespace_labels: Option<&Value>,
    ) -> Option<GroupVersion<'a>> {
        let selected = selects_namespace(&self.namespaces, request, namespace_labels)
            && selects_object(&self.objects, request);
        if !selected {
            return None;
        }
        let own = (request.group, request.version);
        pleach_work::charge(self.rules_len);
        if self.rules.iter().any(|rule| rule.matches(request, own)) {
            return Some(own);
        }
        pleach_work::charge(self.rules_len * others.len() as u64);
        // Earlier rules go before earlier versions.
        let rules = self.rules.iter().filter(|_| self.equivalent);
        rules
            .flat_map(|rule| others.iter().map(move |other| (rule, *other)))
            .find_map(|(rule, other)| (other != own && rule.matches(request, other)).then_some(other))
    }

    /// Whether rules may be about writes of a kind, before the object is known. `own` and `others` are the
    /// groups and versions that it is served in.
    pub(crate) fn concerns(
        &self,
        operation: Operation,
        (own, others): (GroupVersion<'_>, &[GroupVersion<'_>]),
        resource: &str,
        subresource: &str,
    ) -> bool {
        pleach_work::charge(1 + self.rules_len);
        let rules = || self.rules.iter().filter(|rule| rule.is_for(operation, resource, subresource));
        rules().any(|rule| rule.is_in(own))
            || self.equivalent && rules().any(|rule| others.iter().any(|other| rule.is_in(*other)))
    }

    /// Evaluates the match conditions for a write that matches the rules. `seen` is the group and version of the object
    /// to see, `object` and `old` are the objects in that.
    pub(crate) fn judge(
        &self,
        request: &AdmissionRequest<'_>,
        seen: GroupVersion<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
        authorizer: impl FnOnce() -> AuthzUser,
    ) -> Verdict {
        self.conditions.judge(request, seen, (object, old), self.on_failure, authorizer)
    }
}

fn address(config: &Value) -> Option<Address> {
    let bundle = config.get("caBundle").and_then(Value::as_str).unwrap_or_default();
    let ca_bundle = Bytes::from(base64::decode(bundle).unwrap_or_default());
    let place = if let Some(url) = config.get("url").and_then(Value::as_str) {
        Place::Url(url.into())
    } else {
        let service = config.get("service")?;
        let text = |key: &str| Str::from(service.get(key).and_then(Value::as_str).unwrap_or_default());
        let port = service.get("port").and_then(Value::as_int);
        Place::Service {
            namespace: text("namespace"),
            name: text("name"),
            path: text("path"),
            port: port.and_then(|port| u16::try_from(port).ok()).unwrap_or(443),
        }
    };
    Some(Address { place, ca_bundle })
}

/// One that is missing selects everything, as the one it defaults to does.
fn selector(value: Option<&Value>) -> LabelSelector {
    match value {
        None => LabelSelector::everything(),
        value => LabelSelector::from_object(value).unwrap_or(LabelSelector::nothing()),
    }
}

#[cfg(test)]
mod tests;
