//! Writes that are not applies.

use std::ops::Range;

use pleach_json::Value;

use super::apply::described;
use super::{ApplyError, Request, STRIPPED, Tracker, cap, empty_object, managed_of, put_managed};
use crate::compare::{Comparison, compare_and_check};
use crate::create_walk::validate_and_write_fields;
use crate::encoded::Encoded;
use crate::entries::{Entries, Entry};
use crate::fields::new_fields;
use crate::fits::fits;
use crate::managed_fields::Identity;
use crate::validate::validate;

/// The `metadata.managedFields` of a new object, as text.
#[derive(Clone, Debug)]
pub struct ManagedFieldsText {
    text: Vec<u8>,
    fields: Range<usize>,
    valid: bool,
}

impl ManagedFieldsText {
    /// All of it.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether the schema accepts all members of the object but its type and metadata, and lists have no
    /// duplicates where they must not.
    pub fn is_valid(&self) -> bool {
        self.valid
    }

    /// The `fieldsV1` of its only entry.
    pub fn field_set(&self) -> &[u8] {
        &self.text[self.fields.clone()]
    }
}

/// Room for the managed fields of most objects.
const USUAL_TEXT: usize = 3 * 1024;

impl Tracker<'_> {
    /// Works out the owners of `new`, which is about to replace `live`, and writes them into it.
    ///
    /// Never fails: where owners cannot be worked out, `new` has none. Returns whether they were, so that the new object
    /// counts as tracked.
    pub fn update(&self, live: Option<&Value>, new: &mut Value) -> bool {
        let live = live.or_else(|| self.versions.blank());
        let given = take_managed(new);
        let Some((entries, settled)) = self.starting_point(live, given) else {
            return false;
        };
        let tracked = live.is_none_or(|live| {
            live.at(&["metadata", "uid"]).and_then(Value::as_str).is_none_or(str::is_empty)
        });
        // An object without managed fields does not get them by an update.
        if entries.0.is_empty() && !tracked {
            return false;
        }
        let Ok(entries) = self.updated(live, new, entries, settled, self.request.manager) else {
            return false;
        };
        put_managed(new, entries.encode());
        true
    }

    /// Validates a new object that brings no managed fields and works out its `metadata.managedFields` as text, in one
    /// walk: what [`Self::update`] would put into it. `None` in unusual cases, which [`Self::update`] handles.
    pub fn validate_and_track_new(&self, new: &Value) -> Option<ManagedFieldsText> {
        let text = |key: &str| new.get(key).and_then(Value::as_str).unwrap_or_default();
        let Request { manager, api_version, kind, subresource, time } = self.request;
        if !managed_of(new).is_null() || text("apiVersion") != api_version || text("kind") != kind {
            return None;
        }
        let entry = Entry {
            identity: Identity::update(manager, api_version, subresource),
            api_version: api_version.into(),
            time: Some(time.into()),
            fields: Encoded::default(),
        };
        let mut text = Vec::with_capacity(USUAL_TEXT);
        text.push(b'[');
        let mut valid = None;
        let fields = entry.write(&mut text, |out| {
            valid = validate_and_write_fields(new, self.own_type(), &self.unowned(), out);
        });
        text.push(b']');
        Some(ManagedFieldsText { text, fields, valid: valid? })
    }

    /// The owners before the write: the request's if it brings any that make sense, else the live
    /// object's, and whether they are settled. `None` says that the request resets them.
    fn starting_point(&self, live: Option<&Value>, given: Value) -> Option<(Entries, bool)> {
        let of_live = || {
            let entries = live.map(|live| self.owners_of(live));
            (entries.and_then(Result::ok).unwrap_or_default(), self.live_is_tracked)
        };
        // Most requests send back the managed fields they got.
        if live
            .is_some_and(|live| self.live_is_tracked && !given.is_null() && managed_of(live).is_same(&given))
        {
            return Some(of_live());
        }
        if !self.request.subresource.is_empty() {
            return Some(of_live());
        }
        if is_reset(&given) {
            // A new object is tracked from its first write all the same.
            return live.is_none().then(|| (Entries::default(), false));
        }
        match Entries::decode(given) {
            Ok(entries) if !entries.0.is_empty() => Some((entries, false)),
            _ => Some(of_live()),
        }
    }

    /// The owners after an update of an object, or of none.
    pub(super) fn updated(
        &self,
        live: Option<&Value>,
        new: &Value,
        mut entries: Entries,
        settled: bool,
        manager: &str,
    ) -> Result<Entries, ApplyError> {
        let text = |key: &str| new.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("apiVersion") != self.request.api_version || text("kind") != self.request.kind {
            return Err(ApplyError::BadRequest("invalid object type".to_owned()));
        }
        let of = self.own_type();
        let identity = Identity::update(manager, self.request.api_version, self.request.subresource);
        let untyped = |what: &str, object: &Value, error: String| {
            let described = described(object);
            ApplyError::Failed(format!("failed to convert {what} object ({described}) to smd typed: {error}"))
        };
        let check = |what: &str, object: &Value| {
            validate(object, of, true).map_err(|error| untyped(what, object, error))
        };
        if live.is_none() && entries.0.is_empty() {
            let (mut fields, fits) = new_fields(new, of);
            if !fits {
                check("new", new)?;
            }
            self.unowned().remove_from(&mut fields);
            self.give(&mut entries, identity, fields, false);
            return Ok(entries);
        }
        let empty;
        let live = match live {
            Some(live) => live,
            None => {
                empty = empty_object(&self.request);
                &empty
            }
        };
        // The live object fits its type, so only what differs is checked.
        let own = if self.live_is_tracked {
            debug_assert!(fits(live, of, false), "{live:?} is not as it was left");
            let (back, fits) = compare_and_check(new, live, of);
            if !fits {
                check("new", new)?;
            }
            back.reversed()
        } else {
            if !fits(new, of, false) {
                check("new", new)?;
            }
            let (own, fits) = compare_and_check(live, new, of);
            if !fits {
                check("live", live)?;
            }
            own
        };
        let failed = |error: &str| {
            ApplyError::Failed(format!("failed to update ManagedFields ({}): {error}", described(new)))
        };
        self.reconciled(live, &mut entries, settled).map_err(|error| failed(&error))?;
        let Comparison { added, modified, removed } = &own;
        let mut changed =
            if added.is_empty() { Encoded::from(modified) } else { Encoded::from(&modified.union(added)) };
        self.unowned().remove_from(&mut changed);
        // A manager that owns the changed fields keeps them: they would only be removed and added again.
        let keeps = entries.position(&identity).is_some_and(|at| {
            let owned = &entries.0[at].fields;
            changed.is_subset(owned) && !owned.intersects(removed) && !owned.intersects(&STRIPPED)
        });
        let actor = keeps.then_some(&identity);
        match self.take_over(&own, live, new, &mut entries, actor, true) {
            Err(ApplyError::Failed(error)) => return Err(failed(&error)),
            other => other?,
        }
        self.give(&mut entries, identity, changed, keeps);
        cap::limit_updaters(&mut entries);
        Ok(entries)
    }

    /// Gives fields to their manager; `keeps` says that it owns them already.
    fn give(&self, entries: &mut Entries, identity: Identity, fields: Encoded, keeps: bool) {
        if fields.is_empty() {
            return;
        }
        let Request { api_version, time, .. } = self.request;
        let time = Some(time.into());
        match entries.position(&identity) {
            Some(at) => {
                let entry = &mut entries.0[at];
                if !keeps {
                    entry.fields.add(fields);
                }
                entry.time = time;
            }
            None => entries.0.push(Entry { identity, api_version: api_version.into(), time, fields }),
        }
    }
}

fn take_managed(object: &mut Value) -> Value {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    metadata.and_then(|metadata| metadata.remove("managedFields")).unwrap_or_default()
}

/// No entry at all where there could be some, or one that says nothing.
fn is_reset(given: &Value) -> bool {
    match given.as_array().map(|entries| entries.as_slice()) {
        Some([Value::Object(only)]) => only.values().all(|value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            _ => false,
        }),
        Some([] | [Value::Null]) => true,
        _ => false,
    }
}
