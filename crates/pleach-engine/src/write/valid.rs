//! The prepare, validate and validating admission stages of a write.
//!
//! The fourth and fifth stage.

use pleach_apply::ManagedFieldsText;
use pleach_json::{Str, Value};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::Typed;
use pleach_pipeline::strategy::Stamp;
use pleach_pipeline::validate::{self, Old, Verdict};

use super::admitted::{Admitted, Parts};
use super::{Intent, conflict};
use crate::admission::AdmissionAttributes;
use crate::engine::Engine;
use crate::live::{Live, Verified};
use crate::managed;
use crate::options::Context;
use crate::prepare;
use crate::rejection::Rejection;
use crate::scale;
use crate::settle;
use crate::target::Target;

/// A generated name keeps this many bytes of its base.
const NAME_BASE: usize = 58;

/// The object after prepare and validate.
pub(crate) struct Valid {
    value: Value,
    typed: Typed,
    managed_fields: Option<ManagedFieldsText>,
    verified: Verified,
    /// Whether mutating admission changed it.
    changed: bool,
    /// Whether reading it may change it again, because it was changed after defaulting.
    touched: bool,
}

/// The object after validating admission.
pub(crate) struct Approved {
    value: Value,
    typed: Typed,
    managed_fields: Option<ManagedFieldsText>,
    verified: Verified,
    touched: bool,
}

/// The parts of an approved object.
pub(super) struct ApprovedParts {
    pub(super) value: Value,
    /// Its typed form, if that is known.
    pub(super) typed: Typed,
    /// The managed fields as text, if they are not in the object.
    pub(super) managed_fields: Option<ManagedFieldsText>,
    pub(super) verified: Verified,
    /// Whether reading it may change it again.
    pub(super) touched: bool,
}

impl Valid {
    /// Prepares and validates a new object; `generated` makes a name from `generateName`.
    pub(super) fn create(
        engine: &Engine,
        target: &Target,
        admitted: Admitted,
        generated: bool,
        context: &mut Context,
    ) -> Result<Self, Rejection> {
        let Parts { mut value, mut typed, managed_fields, changed, .. } = admitted.into_parts();
        let validated = managed_fields
            .as_ref()
            .filter(|managed_fields| managed_fields.is_valid())
            .map(|_| without_metadata(&value));
        let had_status = value.get("status").is_some();
        prepare::fill_system_fields(&mut value, engine.new_uid(), engine.now());
        if generated {
            let base = ObjectMeta::of(&value).generate_name();
            let base: String = base.chars().take(NAME_BASE).collect();
            let name = format!("{base}{}", engine.name_suffix());
            prepare::metadata_mut(&mut value).insert("name", name);
        }
        prepare::for_create(target.resource(), &mut value, &mut typed);
        let by = Stamp { user: &context.user, now: &engine.now() };
        target.kind.strategy.rules().stamp(&mut value, None, target.subresource, &by);
        let errors =
            validate::create(target.resource(), &value, &typed, validated.as_ref(), &mut context.warnings);
        if !errors.is_empty() {
            return Err(Rejection::Invalid { subject: target.kind.own_subject(&value), errors });
        }
        let touched = changed || had_status && value.get("status").is_none();
        Ok(Self { value, typed, managed_fields, verified: Verified::default(), changed, touched })
    }

    /// Prepares and validates an object that is to replace a live one.
    pub(super) fn update(
        engine: &Engine,
        target: &Target,
        intent: &dyn Intent,
        admitted: Admitted,
        live: &Live,
        context: &mut Context,
    ) -> Result<Self, Rejection> {
        let Parts { mut value, mut typed, managed_fields, tracked, changed } = admitted.into_parts();
        check_resource_version(target, &mut value, live, intent.is_unconditional())?;
        prepare::restore_system_fields(&mut value, live);
        let old = Old { value: live, valid: live.verified.valid, typed: Some(&live.typed) };
        prepare::for_update(target.resource(), &mut value, &mut typed, old);
        let by = Stamp { user: &context.user, now: &engine.now() };
        target.kind.strategy.rules().stamp(&mut value, Some(live), target.subresource, &by);
        let Verdict { errors, valid } =
            validate::update(target.resource(), &value, &typed, old, &mut context.warnings);
        if !errors.is_empty() {
            let mut subject = target.kind.own_subject(&value);
            if intent.scale().is_some() && target.kind.strategy.api_kind().is_some() {
                // Typed kinds validate the Scale itself.
                (subject.group, subject.resource) = ("autoscaling".into(), "Scale".into());
            }
            return Err(Rejection::Invalid { subject, errors });
        }
        let verified = if changed { Verified::default() } else { Verified { valid, tracked } };
        // Setting the replicas may create parent objects, which are not defaulted yet.
        let touched = changed || intent.scale().is_some();
        Ok(Self { value, typed, managed_fields, verified, changed, touched })
    }
}

impl Valid {
    /// The object.
    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    /// Changes fields that the server itself sets.
    pub(super) fn edit<T>(&mut self, how: impl FnOnce(&mut Value) -> T) -> T {
        how(&mut self.value)
    }
}

impl Approved {
    fn unchanged(Valid { value, typed, managed_fields, verified, touched, .. }: Valid) -> Self {
        Self { value, typed, managed_fields, verified, touched }
    }

    /// The approved object. Unknown fields that a mutating webhook added are pruned: no read would return them.
    fn after(target: &Target, mut valid: Valid) -> Self {
        if valid.changed {
            settle::converted(&target.kind, target.version, &mut valid.value);
        }
        Self::unchanged(valid)
    }

    /// The object.
    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    /// Keeps the time of managed fields entries that differ from the live object's in nothing else.
    pub(super) fn keep_times(&mut self, live: &Value) {
        managed::keep_times(live, &mut self.value);
    }

    /// The typed form, if it is known.
    pub(super) fn typed(&self) -> &Typed {
        &self.typed
    }

    pub(super) fn into_parts(self) -> ApprovedParts {
        let Self { value, typed, managed_fields, verified, touched } = self;
        ApprovedParts { value, typed, managed_fields, verified, touched }
    }
}

impl Engine {
    /// Runs validating admission on a new object.
    pub(super) async fn approve_new(
        &self,
        admission: Option<&AdmissionAttributes<'_>>,
        target: &Target,
        valid: Valid,
        context: &mut Context,
    ) -> Result<Approved, Rejection> {
        let Some(attributes) = admission else { return Ok(Approved::unchanged(valid)) };
        Box::pin(self.validating_admission(attributes, Some(&valid.value), None, context)).await?;
        Ok(Approved::after(target, valid))
    }

    /// Runs validating admission on an object that is to replace a live one.
    pub(super) async fn approve_over(
        &self,
        admission: Option<&AdmissionAttributes<'_>>,
        target: &Target,
        intent: &dyn Intent,
        valid: Valid,
        live: &Live,
        context: &mut Context,
    ) -> Result<Approved, Rejection> {
        let Some(attributes) = admission else { return Ok(Approved::unchanged(valid)) };
        if let Some((_, paths)) = intent.scale() {
            let shown = scale::from_object(paths, &valid.value)?;
            let was = scale::from_object_or(paths, live, 0)?;
            Box::pin(self.validating_admission(attributes, Some(&shown), Some(&was), context)).await?;
        } else {
            Box::pin(self.validating_admission(attributes, Some(&valid.value), Some(live), context)).await?;
        }
        Ok(Approved::after(target, valid))
    }
}

/// Optimistic locking: the resource version a client sends must be the stored one.
fn check_resource_version(
    target: &Target,
    value: &mut Value,
    live: &Value,
    unconditional: bool,
) -> Result<(), Rejection> {
    let found = ObjectMeta::of(live).resource_version();
    let given = ObjectMeta::of(value).resource_version();
    let number =
        if given.is_empty() { 0 } else { pleach_go::strconv::parse_uint(given).map_err(Rejection::Plain)? };
    if number == 0 {
        if unconditional || target.kind.strategy.allow_unconditional_update() {
            let found: Str = found.into();
            prepare::metadata_mut(value).insert("resourceVersion", found);
            return Ok(());
        }
        return Err(Rejection::Invalid {
            subject: target.subject(),
            errors: vec![FieldError::invalid(
                "metadata.resourceVersion",
                0,
                "must be specified for an update",
            )],
        });
    }
    if given == found { Ok(()) } else { Err(conflict(target)) }
}

/// The object without its metadata.
fn without_metadata(object: &Value) -> Value {
    let mut rest = object.clone();
    if let Some(members) = rest.as_object_mut() {
        members.remove("metadata");
    }
    rest
}
