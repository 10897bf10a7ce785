//! Strategic merge patch: a merge patch for kinds whose lists may be merged by key.
//!
//! Maps merge, null deletes, and a list that the schema knows as mergeable takes items one by one.
//! Directives in the patch say what merging cannot: `$patch: delete|replace`, `$retainKeys`,
//! `$deleteFromPrimitiveList/…`, `$setElementOrder/…`. Lists the schema does not know are replaced.
//!
//! Some directives survive in what a patch adds where nothing was; upstream leaves them there too.

mod list;
mod schema;

use std::collections::HashSet;

use pleach_go::fmt::{go_type, go_v_short};
use pleach_json::{Map, Str, Value, grow_stack};

use crate::error::StrategicError;
pub use schema::StrategicSchema;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

type Result<T> = std::result::Result<T, StrategicError>;

fn error<T>(message: impl Into<String>) -> Result<T> {
    Err(StrategicError(message.into()))
}

/// Merges `patch` into `original`.
pub fn strategic_merge_patch(original: Map, patch: &Map, schema: &StrategicSchema) -> Result<Map> {
    merge_maps(original, patch, schema)
}

fn merge_maps(mut original: Map, patch: &Map, schema: &StrategicSchema) -> Result<Map> {
    match directive(patch)? {
        Some(Directive::Replace) => {
            let mut replacement = patch.clone();
            replacement.remove(PATCH);
            return Ok(replacement);
        }
        Some(Directive::Delete) => return Ok(Map::new()),
        Some(Directive::Merge) => {
            let shown = go_v_short(&Value::Object(patch.clone()));
            return error(format!("unknown patch type: merge in map: {shown}"));
        }
        None => {}
    }
    pleach_work::charge((4 * patch.len() + original.len()) as u64);
    retain_keys(&mut original, patch)?;
    // Lists with an order are dealt with first; their members need no further look.
    let ordered = list::merge_ordered(&mut original, patch, schema)?;
    let mut added: Vec<(Str, Value)> = Vec::new();
    let mut deleted = false;
    for (key, change) in patch {
        if key == RETAIN_KEYS
            || key.starts_with(ORDER)
            || key.starts_with(DELETE_FROM)
            || ordered.contains(key)
        {
            continue;
        }
        if change.is_null() {
            // Taken out together below: taking one out moves all that follow.
            if let Some(gone) = original.get_mut(key) {
                *gone = Value::Null;
                deleted = true;
            }
            continue;
        }
        let Some(found) = original.get_mut(key) else {
            if let Some(change) = without_directives(change) {
                added.push((key.clone(), change));
            }
            continue;
        };
        let child = schema.field(key);
        match (&mut *found, change) {
            (Value::Object(inner), Value::Object(change)) => {
                if child.replaces_map() {
                    *found = Value::Object(change.clone());
                } else {
                    let inner = std::mem::take(inner);
                    *found = Value::Object(grow_stack(|| merge_maps(inner, change, child))?);
                }
            }
            (Value::Array(items), Value::Array(changes)) if child.merges_list() => {
                let items = std::mem::take(items).into_vec();
                *found = Value::from(grow_stack(|| list::merge(items, changes, child))?);
            }
            (_, change) => *found = change.clone(),
        }
    }
    if deleted {
        let stays = |key: &Str| ordered.contains(key) || patch.get(key) != Some(&Value::Null);
        original.retain(|key, value| !value.is_null() || stays(key));
    }
    original.merge(added);
    for (key, deletions) in patch {
        if let Some(field) = key.strip_prefix(DELETE_FROM)
            && !ordered.contains(key)
        {
            list::delete_from(&mut original, field, deletions);
        }
    }
    Ok(original)
}

/// The directive of `$patch`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Directive {
    Replace,
    Delete,
    Merge,
}

fn directive(map: &Map) -> Result<Option<Directive>> {
    let Some(word) = map.get(PATCH) else { return Ok(None) };
    match word.as_str() {
        Some("replace") => Ok(Some(Directive::Replace)),
        Some("delete") => Ok(Some(Directive::Delete)),
        Some("merge") => Ok(Some(Directive::Merge)),
        other => {
            let word = match other {
                Some(word) => word.to_owned(),
                None => format!("%!s({}={})", go_type(word), go_v_short(word)),
            };
            let shown = go_v_short(&Value::Object(map.clone()));
            error(format!("unknown patch type: {word} in map: {shown}"))
        }
    }
}

/// Drops what `$retainKeys` does not name. All that the patch sets must be named.
fn retain_keys(original: &mut Map, patch: &Map) -> Result<()> {
    let Some(list) = patch.get(RETAIN_KEYS) else { return Ok(()) };
    let Some(names) = list.as_array() else { return error("invalid patch format of retainKeys") };
    let names: HashSet<&str> = names.iter().filter_map(Value::as_str).collect();
    let named = |key: &str| names.contains(key);
    for (key, change) in patch {
        if !key.starts_with('$') && !change.is_null() && !named(key) {
            return error("invalid patch format of retainKeys");
        }
    }
    original.retain(|key, _| named(key));
    Ok(())
}

/// The value that a patch adds where there was none: without nulls, and without maps and items that carry
/// `$patch`. Nothing is left of a map that does.
fn without_directives(value: &Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(PATCH) => None,
        Value::Object(map) => grow_stack(|| {
            let kept = map.iter().filter(|(key, member)| {
                !member.is_null() && !key.starts_with(ORDER) && !key.starts_with(DELETE_FROM)
            });
            let kept = kept.filter_map(|(key, member)| Some((key.clone(), without_directives(member)?)));
            Some(Value::Object(kept.collect()))
        }),
        Value::Array(items) => {
            grow_stack(|| Some(Value::Array(items.iter().filter_map(without_directives).collect())))
        }
        scalar => Some(scalar.clone()),
    }
}
