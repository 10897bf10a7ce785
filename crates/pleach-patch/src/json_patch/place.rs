//! JSON pointers: finding the container of a path, and adding, replacing and removing in it.

use pleach_go::strconv::atoi;
use pleach_json::{Map, Str, Value};

/// Finds the container of what `path` names, and the last key. What stands before the first
/// slash is ignored, and without a slash there is no container.
pub(super) fn find<'d>(document: &'d mut Value, path: &str) -> Option<(&'d mut Value, String)> {
    let (_, rest) = path.split_once('/')?;
    let (parents, last) = rest.rsplit_once('/').map_or(("", rest), |(parents, last)| (parents, last));
    let mut container = document;
    if rest.len() > last.len() {
        for part in parents.split('/') {
            container = child(container, &unescape(part))?;
        }
    }
    matches!(container, Value::Object(_) | Value::Array(_)).then(|| (container, unescape(last)))
}

fn child<'d>(container: &'d mut Value, key: &str) -> Option<&'d mut Value> {
    match container {
        Value::Object(map) => map.get_mut(key),
        Value::Array(items) => {
            let index = existing(items.len(), key).ok()?;
            items.get_mut(index)
        }
        _ => None,
    }
}

fn unescape(part: &str) -> String {
    if part.contains('~') { part.replace("~1", "/").replace("~0", "~") } else { part.to_owned() }
}

/// The value at `key`; none, without an error, for a key that an object does not have.
pub(super) fn get<'d>(container: &'d Value, key: &str) -> Result<Option<&'d Value>, String> {
    match container {
        Value::Object(map) => Ok(map.get(key)),
        Value::Array(items) => existing(items.len(), key).map(|index| items.get(index)),
        _ => Ok(None),
    }
}

/// Charges for the items or members that an insertion or removal moves: as many as move in one step.
fn charge_move(moved: usize, per_step: usize) {
    pleach_work::charge(1 + (moved / per_step) as u64);
}

const ITEMS_PER_STEP: usize = 10;
const MEMBERS_PER_STEP: usize = 5;

fn insert_member(map: &mut Map, key: &str, value: Value) {
    charge_move(map.len(), MEMBERS_PER_STEP);
    map.insert(Str::from(key), value);
}

/// Puts a value where there may be none yet; pushes the items of an array aside.
pub(super) fn add(container: &mut Value, key: &str, value: Value) -> Result<(), String> {
    match container {
        Value::Object(map) => insert_member(map, key, value),
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let index =
                atoi(key).map_err(|error| format!("value was not a proper array index: '{key}': {error}"))?;
            let place = within(index, items.len() + 1)?;
            charge_move(items.len() - place, ITEMS_PER_STEP);
            items.insert(place, value);
        }
        _ => {}
    }
    Ok(())
}

/// Puts a value in the place of another. Array items must be there.
pub(super) fn set(container: &mut Value, key: &str, value: Value) {
    match container {
        Value::Object(map) => insert_member(map, key, value),
        Value::Array(items) => {
            if let Ok(index) = existing(items.len(), key) {
                items[index] = value;
            }
        }
        _ => {}
    }
}

/// Takes a value out.
pub(super) fn remove(container: &mut Value, key: &str) -> Result<Value, String> {
    match container {
        Value::Object(map) => {
            charge_move(map.len(), MEMBERS_PER_STEP);
            map.remove(key).ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value"))
        }
        Value::Array(items) => existing(items.len(), key).map(|index| {
            charge_move(items.len() - index, ITEMS_PER_STEP);
            items.remove(index)
        }),
        _ => Ok(Value::Null),
    }
}

fn existing(len: usize, key: &str) -> Result<usize, String> {
    within(atoi(key)?, len)
}

/// An index into `len` places; a negative one counts from behind.
fn within(index: i64, len: usize) -> Result<usize, String> {
    let place = if index < 0 { index + len as i64 } else { index };
    usize::try_from(place)
        .ok()
        .filter(|&place| place < len)
        .ok_or_else(|| format!("Unable to access invalid index: {index}: invalid index referenced"))
}
