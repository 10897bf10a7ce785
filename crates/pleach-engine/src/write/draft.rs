//! The field manager stage of a write: the object before admission, with name, namespace and managed fields.
//!
//! The second stage, after settling.

use pleach_apply::ManagedFieldsText;
use pleach_json::Value;
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::Typed;

use super::Intent;
use crate::live::Live;
use crate::managed::{self, Manager};
use crate::options::Context;
use crate::prepare;
use crate::rejection::Rejection;
use crate::settle::Settled;
use crate::target::Target;

/// How many metadata fields the server adds to a new object.
const SYSTEM_FIELDS: usize = 6;

/// The object before admission, with its managed fields.
pub(crate) struct Draft {
    value: Value,
    typed: Typed,
    /// The managed fields as text, if they are not in the object.
    managed_fields: Option<ManagedFieldsText>,
    /// Whether managed fields were tracked for the whole object.
    tracked: bool,
}

impl Draft {
    /// A new object. `manager` owns its fields; none when its managed fields are complete. They are kept out of the
    /// object, as text, if that is possible and `as_text` is set.
    pub(super) fn create(
        target: &Target,
        settled: Settled,
        manager: Option<&Manager>,
        as_text: bool,
        context: &mut Context,
    ) -> Result<Self, Rejection> {
        let (mut value, typed) = settled.into_parts();
        prepare::metadata_mut(&mut value).reserve(SYSTEM_FIELDS);
        align_namespace(target, &mut value)?;
        dedup_owner_references(&mut value, "", context);
        target.kind.strategy.complete(&mut value);
        let managed_fields = manager.and_then(|manager| own_fields(target, &mut value, manager, as_text));
        Ok(Self { value, typed, managed_fields, tracked: false })
    }

    /// The candidate of an intent for a live object; `None` if nothing changes.
    pub(super) fn over(
        target: &Target,
        intent: &mut dyn Intent,
        live: &Live,
        manager: &Manager,
        context: &mut Context,
    ) -> Result<Option<Self>, Rejection> {
        let Some(settled) = intent.candidate(live, context)? else { return Ok(None) };
        let (mut value, typed) = settled.into_parts();
        check_identity(target, &mut value)?;
        dedup_owner_references(&mut value, "", context);
        target.kind.strategy.complete(&mut value);
        let tracked = match intent.tracks_managers() {
            Some(tracked) => tracked,
            None => managed::track(target, Some(live), &mut value, &typed, manager),
        };
        Ok(Some(Self { value, typed, managed_fields: None, tracked }))
    }

    /// The object.
    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    /// The object, its managed fields as text if they are not in it, and whether they were tracked for all of it.
    pub(super) fn into_parts(self) -> (Value, Typed, Option<ManagedFieldsText>, bool) {
        (self.value, self.typed, self.managed_fields, self.tracked)
    }
}

/// Makes a manager the owner of a new object's fields: in the object, or as text.
fn own_fields(
    target: &Target,
    value: &mut Value,
    manager: &Manager,
    as_text: bool,
) -> Option<ManagedFieldsText> {
    let managed_fields = if as_text { managed::text_of_new(target, value, manager) } else { None };
    if managed_fields.is_none() {
        managed::track_new(target, value, manager);
    }
    managed_fields
}

/// Sets the namespace to that of the URL, or refuses another one.
pub(crate) fn align_namespace(target: &Target, value: &mut Value) -> Result<(), Rejection> {
    let metadata = prepare::metadata_mut(value);
    let Some(namespace) = &target.namespace else {
        metadata.remove("namespace");
        return Ok(());
    };
    match metadata.get_str("namespace") {
        None | Some("") => {
            metadata.insert("namespace", namespace.clone());
            Ok(())
        }
        Some(given) if given == namespace => Ok(()),
        Some(_) => Err(Rejection::BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request".into(),
        )),
    }
}

/// Refuses a name or namespace other than that of the URL.
pub(crate) fn check_identity(target: &Target, value: &mut Value) -> Result<(), Rejection> {
    let name = ObjectMeta::of(value).name();
    if name.is_empty() {
        return Err(Rejection::BadRequest(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            target.name()
        )));
    }
    if name != target.name() {
        return Err(Rejection::BadRequest(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            target.name()
        )));
    }
    align_namespace(target, value)
}

/// Removes duplicate owner references, with a warning.
pub(super) fn dedup_owner_references(value: &mut Value, when: &str, context: &mut Context) {
    let metadata = prepare::metadata_mut(value);
    if let Some(warning) = pleach_meta::object_meta::dedup_owner_references(metadata, when) {
        context.warn(warning);
    }
}
