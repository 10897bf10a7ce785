//! The mutating admission stage of a write: the object after mutating admission.
//!
//! The third stage. The object is pruned and defaulted again after a webhook changed it.

use pleach_apply::ManagedFieldsText;
use pleach_json::Value;
use pleach_pipeline::Typed;

use super::Intent;
use super::draft::{Draft, align_namespace, dedup_owner_references};
use crate::admission::AdmissionAttributes;
use crate::engine::Engine;
use crate::limits;
use crate::live::Live;
use crate::managed::{self, scale as owners};
use crate::options::Context;
use crate::prepare;
use crate::rejection::Rejection;
use crate::scale;

/// The object after mutating admission.
#[derive(Clone)]
pub(crate) struct Admitted {
    value: Value,
    typed: Typed,
    managed_fields: Option<ManagedFieldsText>,
    tracked: bool,
    changed: bool,
}

/// The parts of an admitted object.
pub(super) struct Parts {
    pub(super) value: Value,
    /// Its typed form, if that is known.
    pub(super) typed: Typed,
    /// The managed fields as text, if they are not in the object.
    pub(super) managed_fields: Option<ManagedFieldsText>,
    /// Whether managed fields were tracked for the whole object.
    pub(super) tracked: bool,
    /// Whether mutating admission changed it.
    pub(super) changed: bool,
}

impl Admitted {
    /// Without admission.
    fn unchanged(draft: Draft) -> Self {
        let (value, typed, managed_fields, tracked) = draft.into_parts();
        Self { value, typed, managed_fields, tracked, changed: false }
    }

    /// The object.
    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    pub(super) fn into_parts(self) -> Parts {
        let Self { value, typed, managed_fields, tracked, changed } = self;
        Parts { value, typed, managed_fields, tracked, changed }
    }
}

impl Engine {
    /// Runs mutating admission on a new object.
    pub(super) async fn admit_new(
        &self,
        admission: Option<&AdmissionAttributes<'_>>,
        draft: Draft,
        context: &mut Context,
    ) -> Result<Admitted, Rejection> {
        let Some(attributes) = admission else { return Ok(Admitted::unchanged(draft)) };
        let (mut value, typed, managed_fields, tracked) = draft.into_parts();
        limits::check_nesting(&value, None)?;
        if let Some(managed_fields) = managed_fields {
            // Webhooks get the managed fields too.
            managed::put_text(&mut value, &managed_fields)?;
        }
        let (value, changed) = Box::pin(self.mutated(attributes, value, None, context)).await?;
        let typed = if changed { Typed::default() } else { typed };
        Ok(Admitted { value, typed, managed_fields: None, tracked, changed })
    }

    /// Runs mutating admission on an object that is to replace a live one.
    pub(super) async fn admit(
        &self,
        admission: Option<&AdmissionAttributes<'_>>,
        intent: &dyn Intent,
        draft: Draft,
        live: &Live,
        context: &mut Context,
    ) -> Result<Admitted, Rejection> {
        let Some(attributes) = admission else { return Ok(Admitted::unchanged(draft)) };
        let (value, typed, managed_fields, tracked) = draft.into_parts();
        limits::check_nesting(&value, Some(&live.value))?;
        let (value, changed) = if intent.scale().is_some() {
            Box::pin(self.mutated_scale(attributes, intent, value, live, context)).await?
        } else {
            Box::pin(self.mutated(attributes, value, Some(live), context)).await?
        };
        let typed = if changed { Typed::default() } else { typed };
        Ok(Admitted { value, typed, managed_fields, tracked, changed })
    }

    async fn mutated(
        &self,
        attributes: &AdmissionAttributes<'_>,
        value: Value,
        old: Option<&Value>,
        context: &mut Context,
    ) -> Result<(Value, bool), Rejection> {
        let managed = value.at(&["metadata", "managedFields"]).cloned();
        let (value, changed) = self.mutating_admission(attributes, Some(value), old, context).await?;
        let mut value = value.unwrap_or_default();
        if changed {
            if old.is_none() && value.get("metadata").is_some_and(|metadata| metadata.as_object().is_none()) {
                return Err(Rejection::internal("system metadata was not initialized"));
            }
            managed::keep_readable(&mut value, managed, context);
            dedup_owner_references(&mut value, " after mutating admission happens", context);
            align_namespace(attributes.target, &mut value)?;
        }
        Ok((value, changed))
    }

    /// Runs mutating admission on the Scale of a draft. Only the replicas and the resource version are taken from the
    /// result.
    async fn mutated_scale(
        &self,
        attributes: &AdmissionAttributes<'_>,
        intent: &dyn Intent,
        mut value: Value,
        live: &Live,
        context: &mut Context,
    ) -> Result<(Value, bool), Rejection> {
        let Some((endpoint, paths)) = intent.scale() else { return Ok((value, false)) };
        let shown = owners::with_owners(endpoint, paths, &value)?;
        let managed = shown.at(&["metadata", "managedFields"]).cloned();
        let was = owners::with_owners(endpoint, paths, live)?;
        let (scale, changed) = self.mutating_admission(attributes, Some(shown), Some(&was), context).await?;
        let mut scale = scale.unwrap_or_default();
        if changed {
            managed::keep_readable(&mut scale, managed, context);
            scale::check_type(&scale).map_err(Rejection::Plain)?;
            let replicas = scale::read_replicas(&scale).map_err(Rejection::Plain)?;
            paths.set_replicas(&mut value, replicas).map_err(Rejection::Plain)?;
            if let Some(version) = scale.at(&["metadata", "resourceVersion"]) {
                prepare::metadata_mut(&mut value).insert("resourceVersion", version.clone());
            }
        }
        Ok((value, false))
    }
}
