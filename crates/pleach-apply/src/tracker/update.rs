//! Writes that are not applies.

use pleach_json::Value;

use super::apply::described;
use super::{ApplyError, STRIPPED, Tracker, cap, empty_object, give, managed_of, put_managed};
use crate::managed_fields::{Identity, ManagedFields};
use crate::validate::validate;

impl Tracker<'_> {
    /// Works out the owners of `new`, which is about to replace `live`, and writes them into it.
    ///
    /// Never fails: when owners cannot be worked out `new` has none.
    pub fn update(&self, live: Option<&Value>, new: &mut Value) {
        let given = take_managed(new);
        let Some(managed) = self.starting_point(live, given) else {
            return;
        };
        let tracked = live.is_none_or(|live| {
            live.at(&["metadata", "uid"]).and_then(Value::as_str).is_none_or(str::is_empty)
        });
        // Who is not known to own anything does not begin to with an update.
        if managed.is_empty() && !tracked {
            return;
        }
        let empty;
        let live = match live {
            Some(live) => live,
            None => {
                empty = empty_object(&self.request);
                &empty
            }
        };
        if let Ok(managed) = self.updated(live, new, managed, self.request.manager) {
            put_managed(new, managed.encode());
        }
    }

    /// The owners before the write: the request's if it brings any that make sense, else the live
    /// object's. `None` says that the request resets them.
    fn starting_point(&self, live: Option<&Value>, given: Value) -> Option<ManagedFields> {
        let of_live =
            || live.map(managed_of).map_or_else(|| Ok(ManagedFields::default()), ManagedFields::decode);
        if !self.request.subresource.is_empty() {
            return Some(of_live().unwrap_or_default());
        }
        if is_reset(&given) {
            // A new object is tracked from its first write all the same.
            return live.is_none().then(ManagedFields::default);
        }
        match ManagedFields::decode(&given) {
            Ok(managed) if !managed.is_empty() => Some(managed),
            _ => Some(of_live().unwrap_or_default()),
        }
    }

    /// The owners after an update.
    pub(super) fn updated(
        &self,
        live: &Value,
        new: &Value,
        mut managed: ManagedFields,
        manager: &str,
    ) -> Result<ManagedFields, ApplyError> {
        let text = |key: &str| new.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("apiVersion") != self.request.api_version || text("kind") != self.request.kind {
            return Err(ApplyError::BadRequest("invalid object type".to_owned()));
        }
        let of = self.own_type();
        for (what, object) in [("new", new), ("live", live)] {
            validate(object, of, true).map_err(|error| {
                let described = described(object);
                ApplyError::Failed(format!(
                    "failed to convert {what} object ({described}) to smd typed: {error}"
                ))
            })?;
        }
        let failed = |error: &str| {
            ApplyError::Failed(format!("failed to update ManagedFields ({}): {error}", described(new)))
        };
        self.reconciled(live, &mut managed).map_err(|error| failed(&error))?;
        let comparison = match self.take_over(live, new, &mut managed, None, true) {
            Err(ApplyError::Failed(error)) => return Err(failed(&error)),
            other => other?,
        };
        let changed = comparison.modified.union(&comparison.added);
        let changed = self.filtered(changed, self.request.api_version).difference(&STRIPPED);
        if !changed.is_empty() {
            let identity = Identity::update(manager, self.request.api_version, self.request.subresource);
            give(&mut managed, identity, self.request.api_version, changed, self.request.time);
        }
        cap::limit_updaters(&mut managed);
        Ok(managed)
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
