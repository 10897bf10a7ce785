//! Server-side apply: merge, conflicts, ownership.

use std::borrow::Cow;
use std::collections::HashMap;

use pleach_json::{Map, Str, Value};

use super::{ApplyError, InVersion, STRIPPED, Tracker, empty_object, last_applied, managed_of, put_managed};
use crate::compare::{Comparison, compare};
use crate::encoded::Encoded;
use crate::entries::{Entries, Entry};
use crate::fields::{applied_fields, are_applied_fields, fields_of};
use crate::fields_baseline::{FieldsBaseline, share};
use crate::managed_fields::Identity;
use crate::merge::changes_after;
use crate::reconcile::name_fields;
use crate::remove::remove;
use crate::same::same;
use crate::set::Set;
use crate::shape::Type;
use crate::validate::validate;

/// The manager of fields without an owner when an object is first applied to.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The result of an apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The object, with its owners.
    pub object: Value,
}

impl Tracker<'_> {
    /// Applies a configuration to a live object, or to none. `fill_defaults` is run on an object that
    /// changed.
    pub fn apply(
        &self,
        live: Option<&Value>,
        config: &Value,
        force: bool,
        fill_defaults: &dyn Fn(&mut Value),
    ) -> Result<Applied, ApplyError> {
        let empty;
        let live = match live {
            Some(live) => live,
            None => {
                empty = empty_object(&self.request);
                &empty
            }
        };
        let entries = self
            .owners_of(live)
            .map_err(|error| ApplyError::Failed(format!("failed to decode managed fields: {error}")))?;
        self.check_type(config)?;
        let kubectl = self.request.manager == last_applied::KUBECTL;
        let kept = kubectl.then(|| entries.clone());
        let mut done = self.applied(live, config, entries, force);
        if let Some(entries) = kept
            && let Err(ApplyError::Conflicts(conflicts)) = &done
            && let Some(allowed) =
                last_applied::unchanged_since(live, self.own_type(), self.request.api_version)
        {
            done = if conflicts.are_over(&allowed) {
                self.applied(live, config, entries, true)
            } else {
                Err(ApplyError::Conflicts(conflicts.without(&allowed)))
            };
        }
        let (object, entries) = done?;
        let mut object = match object {
            Some(mut object) => {
                fill_defaults(&mut object);
                object
            }
            None => live.clone(),
        };
        if kubectl {
            last_applied::rewrite(&mut object, config);
        }
        put_managed(&mut object, entries.encode());
        Ok(Applied { object })
    }

    fn check_type(&self, config: &Value) -> Result<(), ApplyError> {
        let text = |key: &str| config.get(key).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if api_version == self.request.api_version && kind == self.request.kind {
            return Ok(());
        }
        Err(ApplyError::BadRequest(format!("invalid object type: {}", type_text(api_version, kind))))
    }

    /// The object, if it changes, and its owners after an apply.
    fn applied(
        &self,
        live: &Value,
        config: &Value,
        mut entries: Entries,
        force: bool,
    ) -> Result<(Option<Value>, Entries), ApplyError> {
        if entries.0.is_empty() {
            entries = match self.updated(self.versions.blank(), live, entries, false, BEFORE_FIRST_APPLY) {
                Err(ApplyError::Failed(error)) => {
                    let text = format!("failed to create manager for existing fields: {error}");
                    return Err(ApplyError::Failed(text));
                }
                other => other?,
            };
        }
        if config.at(&["metadata", "managedFields"]).is_some_and(|given| !given.is_null()) {
            return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
        }
        let of = self.own_type();
        let failed = |what: &str, object: &Value, error: &str| {
            ApplyError::Failed(format!(
                "failed to create typed {what} object ({}): {error}",
                described(object)
            ))
        };
        let identity = Identity::apply(self.request.manager, self.request.subresource);
        let api_version: Str = self.request.api_version.into();
        let unowned = self.unowned();
        let last = entries.position(&identity).map(|at| &entries.0[at]);
        let last = last.filter(|last| last.api_version == api_version).map(|last| &last.fields);
        let last_merge = self.last_merge.filter(|_| self.live_is_tracked);
        let baseline = last.zip(last_merge).and_then(|(last, last_merge)| {
            // Its field set is still the one of the last apply.
            let then = fields_in(last_merge.result, &identity)?;
            last.members()
                .is_same(then)
                .then_some(FieldsBaseline { value: Some(last_merge.config), fields: then })
        });
        let known = match baseline {
            Some(baseline) => {
                let (mut fields, fits) = applied_fields(config, of, Some(baseline));
                unowned.remove_from(&mut fields);
                share(&mut fields, baseline);
                fits.then_some(fields)
            }
            // Most managers have the set they had, or one that is common for the kind.
            None => self.recognized(last, |fields| are_applied_fields(config, of, fields, &unowned)),
        };
        debug_assert!(known.as_ref().is_none_or(|known| {
            let (mut alone, fits) = applied_fields(config, of, None);
            unowned.remove_from(&mut alone);
            fits && *known == alone
        }));
        let fields = match known {
            Some(fields) => fields,
            None => {
                let (mut fields, fits) = applied_fields(config, of, None);
                if !fits {
                    validate(config, of, false).map_err(|error| failed("patch", config, &error))?;
                }
                if let Some(reset) = unowned.reset {
                    fields.subtract_whole(reset);
                }
                fields
            }
        };
        if !self.live_is_tracked {
            validate(live, of, true).map_err(|error| failed("live", live, &error))?;
        }
        self.reconciled(live, &mut entries, self.live_is_tracked).map_err(ApplyError::Failed)?;

        // Nothing where that is the live object.
        let merged = changes_after(live, config, last_merge, unowned.reset, of);
        let last = entries.position(&identity).map(|at| entries.0.remove(at));
        let time = last.as_ref().and_then(|entry| entry.time.clone());
        entries.0.push(Entry { identity: identity.clone(), api_version, time, fields });
        let (object, differs) = match &last {
            Some(last) if !last.fields.is_empty() && !self.applies_all_last_fields(&entries, last) => {
                let merged = merged.map_or_else(|| live.clone(), |merged| merged.value);
                let pruned = self
                    .pruned(merged, config, &entries, last)
                    .map_err(|error| ApplyError::Failed(format!("failed to prune fields: {error}")))?;
                (Some(pruned), false)
            }
            _ => merged.map_or((None, false), |merged| (Some(merged.value), merged.differs)),
        };
        // Where there is no other owner nothing can be taken over.
        if entries.0.iter().any(|entry| entry.identity != identity) {
            let own = object.as_ref().map_or_else(Comparison::default, |object| compare(live, object, of));
            let object = object.as_ref().unwrap_or(live);
            self.take_over(&own, live, object, &mut entries, Some(&identity), force)?;
        }
        // An empty comparison is not enough: the order of items is not owned, and not compared.
        let object = object.filter(|object| differs || !same(live, object));
        if let Some(at) = entries.position(&identity) {
            let entry = &mut entries.0[at];
            if entry.fields.intersects(&STRIPPED) {
                entry.fields.subtract(&STRIPPED);
            }
            if object.is_some() {
                entry.time = Some(self.request.time.into());
            }
            if entry.fields.is_empty() {
                entries.0.remove(at);
            }
        }
        Ok((object, entries))
    }

    /// Whether the manager applies all fields it applied last time: then nothing is removed.
    fn applies_all_last_fields(&self, entries: &Entries, last: &Entry) -> bool {
        last.api_version == self.request.api_version
            && entries.0.last().is_some_and(|now| last.fields.is_subset(&now.fields))
    }

    /// Without the fields that the manager applied last time, does not apply now, and no manager owns.
    fn pruned(
        &self,
        merged: Value,
        config: &Value,
        entries: &Entries,
        last: &Entry,
    ) -> Result<Value, String> {
        let version = last.api_version.as_str();
        let of = match self.in_version(&merged, version) {
            Ok(Some(found)) => found.of,
            Ok(None) => return Ok(merged),
            Err(error) => {
                return Err(format!("failed to convert merged object to last applied version: {error}"));
            }
        };
        let named = |mut set: Set, of: Type<'_>| {
            name_fields(&mut set, Some(of));
            set
        };
        let last_fields = named(last.fields.to_set(), of);
        let base: Cow<'_, Value> = self.versions.convert(&merged, version)?;
        let base_fields = named(fields_of(&base, of), of);
        let mut pruned = remove(base.clone().into_owned(), &last_fields, of);

        let mut by_version: Vec<(Str, Vec<Encoded>)> = Vec::new();
        let mut places: HashMap<&Str, usize> = HashMap::new();
        for entry in &entries.0 {
            let place = *places.entry(&entry.api_version).or_insert(by_version.len());
            if place == by_version.len() {
                by_version.push((entry.api_version.clone(), Vec::new()));
            }
            by_version[place].1.push(entry.fields.clone());
        }
        let mut by_version: Vec<(Str, Encoded)> =
            by_version.into_iter().map(|(version, fields)| (version, Encoded::union(fields))).collect();
        // The version it is in comes first.
        by_version.sort_by_key(|(seen, _)| seen != version);
        for (there, fields) in &by_version {
            let back = |what: &str, error: String| {
                format!(
                    "failed add back owned items: failed to convert {what} object at version {there}: {error}"
                )
            };
            let whole = self.in_version(&base, there).map_err(|error| back("merged", error))?;
            let now = self.in_version(&pruned, there).map_err(|error| back("pruned", error))?;
            let Some((InVersion { value: whole, of }, now)) = whole.zip(now) else { continue };
            let mut owned = fields.to_set();
            if there == self.request.api_version {
                // Entries do not record `apiVersion`, `kind` and the name, but a configuration that has them keeps them.
                owned = owned.union(&fields_of(config, of).intersection(&STRIPPED));
            }
            let (left, owned) = (named(fields_of(&now.value, of), of), named(owned, of));
            let unowned = if there == version {
                base_fields.difference(&left).difference(&owned)
            } else {
                named(fields_of(&whole, of), of).difference(&left).difference(&owned)
            };
            pruned = remove(whole.into_owned(), &unowned, of);
        }

        let there: Cow<'_, Value> = self.versions.convert(&pruned, version)?;
        let left = named(fields_of(&there, of), of);
        let gone = base_fields.difference(&left).intersection(&last_fields);
        let result = remove(base.into_owned(), &gone, of);
        let result = self.versions.convert(&result, self.request.api_version)?.into_owned();
        if version != self.request.api_version {
            validate(&result, self.own_type(), false)?;
        }
        Ok(result)
    }
}

/// The fields of an applier in the owners of an object.
fn fields_in<'v>(object: &'v Value, identity: &Identity) -> Option<&'v Map> {
    let is_its = |entry: &&Value| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        text("operation") == identity.operation.as_str()
            && text("manager") == identity.manager
            && text("subresource") == identity.subresource
    };
    managed_of(object).as_array()?.iter().find(is_its)?.get("fieldsV1")?.as_object()
}

/// `g/v1, Kind=Foo`, as Go prints a kind with its group and version.
fn type_text(api_version: &str, kind: &str) -> String {
    match api_version.matches('/').count() {
        0 => format!("/{api_version}, Kind={kind}"),
        1 => format!("{api_version}, Kind={kind}"),
        // Without a valid version there is no kind either.
        _ => "/, Kind=".to_owned(),
    }
}

/// `namespace/name; g/v1, Kind=Foo`
pub(super) fn described(object: &Value) -> String {
    let metadata = |key: &str| object.at(&["metadata", key]).and_then(Value::as_str).unwrap_or_default();
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}; {}", metadata("namespace"), metadata("name"), type_text(text("apiVersion"), text("kind")))
}
