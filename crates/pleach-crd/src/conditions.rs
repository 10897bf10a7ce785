//! The status conditions of a CRD: `NamesAccepted`, `Established`, `Terminating` and their like.
//!
//! A condition keeps its place in the list and the time of its last change of status; reason and
//! message may change without it. Times are handed in as RFC 3339 text.

use pleach_json::{Str, Value};
use pleach_meta::field_error::aggregate;
use pleach_meta::{FieldError, Path};
use pleach_schema::Structural;

use crate::approval;
use crate::convert::v1_versions;
use crate::naming::NamesOutcome;
use crate::types::{CLEANUP_FINALIZER, Condition, Crd};

/// The conditions that the API server writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionType {
    /// The names are free and have been taken.
    NamesAccepted,
    /// The resource is served.
    Established,
    /// The schema is not structural.
    NonStructuralSchema,
    /// The CRD is being deleted.
    Terminating,
    /// A group of Kubernetes' own has the approval it needs.
    KubernetesAPIApprovalPolicyConformant,
}

impl ConditionType {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NamesAccepted => "NamesAccepted",
            Self::Established => "Established",
            Self::NonStructuralSchema => "NonStructuralSchema",
            Self::Terminating => "Terminating",
            Self::KubernetesAPIApprovalPolicyConformant => "KubernetesAPIApprovalPolicyConformant",
        }
    }
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Unknown.
    Unknown,
}

impl ConditionStatus {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// Why a terminating CRD is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination<'a> {
    /// It was marked for deletion.
    Pending,
    /// Its instances are being deleted.
    InProgress,
    /// The instances could not be listed.
    ListFailed(&'a str),
    /// Not every instance could be deleted.
    DeleteFailed(&'a str),
    /// Instances remain after the deadline.
    CheckFailed(&'a str),
    /// All instances are gone.
    Completed,
    /// There never were any.
    NeverEstablished,
    /// The name belongs to a built-in resource.
    OverlappingBuiltInResource,
}

impl Crd {
    /// The condition of that type.
    pub fn condition(&self, of: ConditionType) -> Option<&Condition> {
        self.status.conditions.as_deref()?.iter().find(|c| c.type_ == of.as_str())
    }

    /// Whether the condition is there and true.
    pub fn is_condition_true(&self, of: ConditionType) -> bool {
        self.condition(of).is_some_and(|c| c.status == "True")
    }

    /// Whether the resource is served, in discovery too.
    pub fn is_established(&self) -> bool {
        self.is_condition_true(ConditionType::Established)
    }

    /// Whether requests for the resource are answered: names accepted or established.
    pub fn is_served(&self) -> bool {
        self.is_condition_true(ConditionType::NamesAccepted) || self.is_established()
    }

    /// Whether nothing may be created any more.
    pub fn is_terminating(&self) -> bool {
        self.is_condition_true(ConditionType::Terminating)
    }

    /// Sets a condition. Says whether anything changed.
    pub fn set_condition(
        &mut self,
        of: ConditionType,
        status: ConditionStatus,
        reason: &str,
        message: &str,
        now: &str,
    ) -> bool {
        let conditions = self.status.conditions.get_or_insert_default();
        let Some(found) = conditions.iter_mut().find(|c| c.type_ == of.as_str()) else {
            conditions.push(Condition {
                type_: Str::new_static(of.as_str()),
                status: Str::new_static(status.as_str()),
                last_transition_time: Some(now.into()),
                reason: reason.into(),
                message: message.into(),
                observed_generation: 0,
            });
            return true;
        };
        let before = found.clone();
        if found.status != status.as_str() {
            found.status = Str::new_static(status.as_str());
            found.last_transition_time = Some(now.into());
        }
        found.reason = reason.into();
        found.message = message.into();
        *found != before
    }

    /// Removes a condition. Says whether there was one.
    pub fn remove_condition(&mut self, of: ConditionType) -> bool {
        let Some(conditions) = &mut self.status.conditions else { return false };
        let before = conditions.len();
        conditions.retain(|c| c.type_ != of.as_str());
        conditions.len() != before
    }

    /// Writes down which names were accepted, with the conditions that follow from it.
    pub fn apply_names(&mut self, outcome: NamesOutcome, now: &str) {
        use ConditionStatus::{False, True};
        let established = self.is_established();
        match &outcome.conflict {
            None => {
                self.set_condition(
                    ConditionType::NamesAccepted,
                    True,
                    "NoConflicts",
                    "no conflicts found",
                    now,
                );
                if !established {
                    let message = "the initial names have been accepted";
                    self.set_condition(ConditionType::Established, False, "Installing", message, now);
                }
            }
            Some(conflict) => {
                let (reason, message) = (conflict.reason, conflict.message.as_str());
                self.set_condition(ConditionType::NamesAccepted, False, reason, message, now);
                if !established {
                    let message = "not all names are accepted";
                    self.set_condition(ConditionType::Established, False, "NotAccepted", message, now);
                }
            }
        }
        self.status.accepted_names = outcome.accepted;
    }

    /// Establishes a CRD whose names were accepted. Says whether anything changed.
    pub fn establish(&mut self, now: &str) -> bool {
        if !self.is_condition_true(ConditionType::NamesAccepted) || self.is_established() {
            return false;
        }
        let established = ConditionType::Established;
        let webhook = self.spec.conversion.as_ref().and_then(|c| c.webhook_client_config.as_ref());
        if let Some(bundle) = webhook.and_then(|w| w.ca_bundle.as_deref())
            && crate::validate::check_ca_bundle(bundle).is_err()
        {
            let message = "The conversion webhook CABundle is invalid";
            return self.set_condition(established, ConditionStatus::False, "InvalidCABundle", message, now);
        }
        let message = "the initial names have been accepted";
        self.set_condition(established, ConditionStatus::True, "InitialNamesAccepted", message, now)
    }

    /// Brings the conditions about approval and structure up to date after a write. They are made
    /// anew only when the annotation or the generation changed: a client that removed one through
    /// `/status` does not get it back. Says whether anything changed.
    pub fn update_conditions(&mut self, before: Option<&Crd>, now: &str) -> bool {
        let annotation = |crd: &Crd| crd.meta().annotation(approval::ANNOTATION).map(str::to_owned);
        let mut changed = false;
        if before.is_none_or(|before| annotation(before) != annotation(self)) {
            changed |= self.update_approval_condition(now);
        }
        if before.is_none_or(|before| before.meta().generation() != self.meta().generation()) {
            changed |= self.update_structural_condition(now);
        }
        changed
    }

    /// Sets or removes the condition about the approval policy. Says whether anything changed.
    pub fn update_approval_condition(&mut self, now: &str) -> bool {
        let of = ConditionType::KubernetesAPIApprovalPolicyConformant;
        match approval::condition(self) {
            Some((holds, reason, message)) => self.set_condition(of, holds.into(), reason, &message, now),
            None => self.remove_condition(of),
        }
    }

    /// Sets or removes the condition about the structure of the schemas. Says whether anything changed.
    pub fn update_structural_condition(&mut self, now: &str) -> bool {
        let of = ConditionType::NonStructuralSchema;
        match self.structural_violations() {
            Err(message) => {
                self.set_condition(of, ConditionStatus::Unknown, "StructuralError", &message, now)
            }
            Ok(errors) if errors.is_empty() => self.remove_condition(of),
            Ok(errors) => {
                self.set_condition(of, ConditionStatus::True, "Violations", &aggregate(&errors), now)
            }
        }
    }

    /// The violations of structural schemas, by version. The error is about a schema that cannot be
    /// checked.
    pub fn structural_violations(&self) -> Result<Vec<FieldError>, String> {
        let mut errors = Vec::new();
        if self.spec.preserves_unknown_fields() {
            errors.push(FieldError::invalid("spec.preserveUnknownFields", true, "must be false"));
        }
        for (i, version) in v1_versions(&self.spec).unwrap_or_default().iter().enumerate() {
            let Some(schema) = version.schema.as_ref().and_then(|s| s.open_api_v3_schema.as_ref()) else {
                continue;
            };
            let structural = Structural::of(schema).map_err(|error| {
                format!("failed to check validation schema for version {}: {error}", version.name)
            })?;
            let versions = Path::new("spec.versions");
            let path = versions.index(i);
            errors.extend(structural.violations(&path.child("schema").child("openAPIV3Schema")));
        }
        Ok(errors)
    }

    /// Marks a CRD for deletion: the finalizer, the time and the condition.
    pub fn mark_terminating(&mut self, now: &str) {
        if let Value::Object(metadata) = &mut self.metadata {
            metadata.insert("deletionTimestamp", now);
            let finalizers = metadata.get_or_insert_with("finalizers", || Value::from(Vec::new()));
            if let Value::Array(finalizers) = finalizers
                && !finalizers.iter().any(|f| f.as_str() == Some(CLEANUP_FINALIZER))
            {
                finalizers.push(CLEANUP_FINALIZER.into());
            }
        }
        self.set_termination(Termination::Pending, now);
    }

    /// Says how far the deletion is. Says whether anything changed.
    pub fn set_termination(&mut self, state: Termination<'_>, now: &str) -> bool {
        use ConditionStatus::{False, True};
        let text;
        let (status, reason, message) = match state {
            Termination::Pending => (
                True,
                "InstanceDeletionPending",
                "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
            ),
            Termination::InProgress => {
                (True, "InstanceDeletionInProgress", "CustomResource deletion is in progress")
            }
            Termination::ListFailed(error) => {
                text = format!("could not list instances: {error}");
                (True, "InstanceDeletionFailed", text.as_str())
            }
            Termination::DeleteFailed(error) => {
                text = format!("could not issue all deletes: {error}");
                (True, "InstanceDeletionFailed", text.as_str())
            }
            Termination::CheckFailed(error) => {
                text = format!("could not confirm zero CustomResources remaining: {error}");
                (True, "InstanceDeletionCheck", text.as_str())
            }
            Termination::Completed => (False, "InstanceDeletionCompleted", "removed all instances"),
            Termination::NeverEstablished => (False, "NeverEstablished", "resource was never established"),
            Termination::OverlappingBuiltInResource => {
                (False, "OverlappingBuiltInResource", "instances overlap with built-in resources in storage")
            }
        };
        self.set_condition(ConditionType::Terminating, status, reason, message, now)
    }

    /// Removes the finalizer that kept the CRD for its instances.
    pub fn remove_cleanup_finalizer(&mut self) {
        let Some(metadata) = self.metadata.as_object_mut() else { return };
        if let Some(Value::Array(finalizers)) = metadata.get_mut("finalizers") {
            finalizers.retain(|f| f.as_str() != Some(CLEANUP_FINALIZER));
            if finalizers.is_empty() {
                metadata.remove("finalizers");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::naming::GroupNames;
    use crate::types::ApiVersion;

    const T1: &str = "2020-01-01T00:00:00Z";
    const T2: &str = "2020-01-01T00:00:05Z";

    fn crd(version: ApiVersion, spec: &Value) -> Crd {
        let document = json!({"metadata": {"name": "foos.example.com"}, "spec": (spec.clone())});
        crate::decode(&document, version, crate::decode::Options::default()).unwrap().crd
    }

    fn summary(crd: &Crd) -> Vec<(&str, &str, &str)> {
        let conditions = crd.status.conditions.as_deref().unwrap_or_default();
        conditions.iter().map(|c| (c.type_.as_str(), c.status.as_str(), c.reason.as_str())).collect()
    }

    #[test]
    fn a_new_crd_is_accepted_then_established() {
        let spec =
            json!({"group": "example.com", "names": {"plural": "foos", "kind": "Foo"}, "versions": []});
        let mut crd = crd(ApiVersion::V1, &spec);
        assert!(!crd.establish(T1), "not before its names are accepted");
        let outcome = GroupNames::default().decide(&crd).unwrap();
        crd.apply_names(outcome, T1);
        assert_eq!(
            summary(&crd),
            [("NamesAccepted", "True", "NoConflicts"), ("Established", "False", "Installing")]
        );
        assert!(crd.establish(T2));
        assert_eq!(
            summary(&crd),
            [("NamesAccepted", "True", "NoConflicts"), ("Established", "True", "InitialNamesAccepted")]
        );
        let times: Vec<_> =
            crd.status.conditions.iter().flatten().map(|c| c.last_transition_time.as_deref()).collect();
        assert_eq!(times, [Some(T1), Some(T2)], "times change with the status only");
        assert!(!crd.establish(T2), "once is enough");
    }

    #[test]
    fn a_schema_that_is_not_structural_has_a_condition() {
        let spec = json!({
            "group": "example.com", "version": "v1", "names": {"plural": "foos", "kind": "Foo"},
            "validation": {"openAPIV3Schema": {"properties": {"spec": {"type": "object"}}}},
        });
        let mut crd = crd(ApiVersion::V1beta1, &spec);
        assert!(crd.update_structural_condition(T1));
        assert_eq!(
            crd.condition(ConditionType::NonStructuralSchema).unwrap().message,
            "[spec.preserveUnknownFields: Invalid value: true: must be false, \
             spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root]"
        );
        crd.spec.preserve_unknown_fields = Some(false);
        crd.spec.validation = None;
        assert!(crd.update_structural_condition(T2));
        assert!(crd.condition(ConditionType::NonStructuralSchema).is_none(), "and taken back");
    }

    #[test]
    fn deletion_leaves_its_marks() {
        let spec = json!({"group": "example.com", "names": {"plural": "foos", "kind": "Foo"}});
        let mut crd = crd(ApiVersion::V1, &spec);
        crd.mark_terminating(T1);
        crd.mark_terminating(T2);
        assert!(crd.is_terminating());
        assert_eq!(
            crd.metadata.get("finalizers"),
            Some(&json!(["customresourcecleanup.apiextensions.k8s.io"]))
        );
        crd.set_termination(Termination::ListFailed("boom"), T2);
        let condition = crd.condition(ConditionType::Terminating).unwrap();
        assert_eq!(condition.message, "could not list instances: boom");
        assert_eq!(condition.last_transition_time.as_deref(), Some(T1));
        crd.set_termination(Termination::Completed, T2);
        assert!(!crd.is_terminating());
        crd.remove_cleanup_finalizer();
        assert_eq!(crd.metadata.get("finalizers"), None);
    }
}
