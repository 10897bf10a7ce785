//! JSON merge patch (RFC 7386).
//!
//! Null deletes, objects merge, everything else replaces. Nulls that have nothing to delete leave
//! no trace, wherever in a new object they stand; nulls that are items of an array stay.

use pleach_json::{Map, Str, Value, grow_stack};

use crate::error::MergePatchError;

/// Merges `patch` into `target`.
pub fn merge_patch(target: Value, patch: &Value) -> Result<Value, MergePatchError> {
    if target.is_null() {
        return Err(MergePatchError::Document);
    }
    match (target, patch) {
        (Value::Object(map), Value::Object(patch)) => Ok(Value::Object(merge_maps(map, patch))),
        (_, Value::Object(_) | Value::Array(_)) => Ok(without_nulls(patch)),
        _ => Err(MergePatchError::Patch),
    }
}

/// Both are sorted, so one walk along them does: a patch costs no more than its own length, save
/// for the moving of members that it adds or takes away.
fn merge_maps(mut target: Map, patch: &Map) -> Map {
    pleach_work::charge(4 * patch.len() as u64 + target.len() as u64 / 4);
    let mut added: Vec<(Str, Value)> = Vec::new();
    let mut deleted = false;
    {
        let members = target.entries_mut();
        let mut from = 0;
        for (key, change) in patch {
            // Look close by first: patches of a large object often touch neighbours.
            let place = match members.get(from) {
                Some((next, _)) if next >= key => {
                    if next == key {
                        Ok(from)
                    } else {
                        Err(from)
                    }
                }
                Some(_) => members[from..]
                    .binary_search_by(|(k, _)| k.cmp(key))
                    .map_or_else(|place| Err(place + from), |place| Ok(place + from)),
                None => Err(from),
            };
            match (place, change) {
                (Ok(i), Value::Null) => {
                    deleted = true;
                    from = i + 1;
                }
                (Ok(i), change) => {
                    merge_into(&mut members[i].1, change);
                    from = i + 1;
                }
                (Err(i), Value::Null) => from = i,
                (Err(i), change) => {
                    added.push((key.clone(), without_nulls(change)));
                    from = i;
                }
            }
        }
    }
    if deleted {
        let mut deletions =
            patch.iter().filter(|(_, change)| change.is_null()).map(|(key, _)| key).peekable();
        target.retain(|key, _| {
            while deletions.peek().is_some_and(|deletion| *deletion < key) {
                deletions.next();
            }
            deletions.peek() != Some(&key)
        });
    }
    target.merge(added);
    target
}

fn merge_into(target: &mut Value, change: &Value) {
    match (&mut *target, change) {
        (Value::Object(map), Value::Object(patch)) => {
            let map = std::mem::take(map);
            *target = Value::Object(grow_stack(|| merge_maps(map, patch)));
        }
        // Upstream forgets to look for nulls where an object makes way for something else.
        (Value::Object(_), change) => *target = change.clone(),
        _ => *target = without_nulls(change),
    }
}

/// The value without members that are null, also in objects inside arrays.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => grow_stack(|| {
            let kept = map.iter().filter(|(_, member)| !member.is_null());
            Value::Object(kept.map(|(key, member)| (key.clone(), without_nulls(member))).collect())
        }),
        Value::Array(items) => grow_stack(|| Value::Array(items.iter().map(without_nulls).collect())),
        scalar => scalar.clone(),
    }
}

/// The merge patch that turns `old` into `new`, both objects. What `new` sets to null cannot be
/// said in a merge patch; it is in the patch as null, which deletes.
pub fn create_merge_patch(old: &Map, new: &Map) -> Map {
    let mut changes = Vec::new();
    let mut olds = old.iter().peekable();
    for (key, value) in new {
        while let Some((gone, _)) = olds.next_if(|(k, _)| *k < key) {
            changes.push((gone.clone(), Value::Null));
        }
        match olds.next_if(|(k, _)| *k == key) {
            Some((_, before)) if before == value => {}
            Some((_, Value::Object(before))) if let Value::Object(after) = value => {
                let inner = grow_stack(|| create_merge_patch(before, after));
                if !inner.is_empty() {
                    changes.push((key.clone(), Value::Object(inner)));
                }
            }
            _ => changes.push((key.clone(), value.clone())),
        }
    }
    changes.extend(olds.map(|(gone, _)| (gone.clone(), Value::Null)));
    Map::from(changes)
}
