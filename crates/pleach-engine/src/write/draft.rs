//! An object as its author would have it: at the right address, with its owners.
//!
//! The second stage of a write, after settling.

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

/// How many fields of its metadata an object has from the server.
const SYSTEM_FIELDS: usize = 6;

/// An object with its owners.
pub(crate) struct Draft {
    value: Value,
    typed: Typed,
    /// The owners as text, where they are not in the object.
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
        // The server adds about as much to a new object's metadata as its author wrote.
        prepare::metadata_mut(&mut value).reserve(SYSTEM_FIELDS);
        align_namespace(target, &mut value)?;
        dedup_owner_references(&mut value, "", context);
        target.kind.strategy.complete(&mut value);
        let managed_fields = manager.and_then(|manager| owned(target, &mut value, manager, as_text));
        Ok(Self { value, typed, managed_fields, tracked: false })
    }

    /// What an intent makes of a live object; `None` if nothing changes.
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
            None => managed::track(target, Some(live), &mut value, manager),
        };
        Ok(Some(Self { value, typed, managed_fields: None, tracked }))
    }

    /// The object.
    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    /// The object, its owners as text if they are not in it, and whether they were tracked for all of it.
    pub(super) fn into_parts(self) -> (Value, Typed, Option<ManagedFieldsText>, bool) {
        (self.value, self.typed, self.managed_fields, self.tracked)
    }
}

/// Makes a manager the owner of a new object's fields: in the object, or as text that belongs there.
fn owned(target: &Target, value: &mut Value, manager: &Manager, as_text: bool) -> Option<ManagedFieldsText> {
    let managed_fields = if as_text { managed::text_of_new(target, value, manager) } else { None };
    if managed_fields.is_none() {
        managed::track_new(target, value, manager);
    }
    managed_fields
}

/// The namespace of the URL is the object's.
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

/// Name and namespace of the URL are the object's.
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

/// Equal owner references are kept once, with a warning that says when they were found.
pub(super) fn dedup_owner_references(value: &mut Value, when: &str, context: &mut Context) {
    let metadata = prepare::metadata_mut(value);
    if let Some(warning) = pleach_meta::object_meta::dedup_owner_references(metadata, when) {
        context.warn(warning);
    }
}
