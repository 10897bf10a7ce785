//! `omitempty`: fields that upstream's Go types leave out when they are empty.
//!
//! Parts of an object are shared with other copies, and are opened for writing only if something changes.

use pleach_json::{Map, Value};

/// Removes a list at the root if it is empty, and the empty members of the objects in it.
pub(crate) fn remove_empty_in_list(object: &mut Value, list: &str) {
    if object.get(list).is_some_and(has_empty)
        && let Some(Value::Array(items)) = object.get_mut(list)
    {
        items.iter_mut().for_each(remove_all_empty);
    }
    remove_if_empty(object, &[], list);
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Whether any object in a list has an empty member.
fn has_empty(list: &Value) -> bool {
    let objects = list.as_array().into_iter().flat_map(|objects| objects.iter());
    objects.filter_map(Value::as_object).flat_map(Map::iter).any(|(_, value)| is_empty(value))
}

/// Removes a member of the object at `path` if it is empty.
pub(crate) fn remove_if_empty(object: &mut Value, path: &[&str], key: &str) {
    if !object.at(path).and_then(|holder| holder.get(key)).is_some_and(is_empty) {
        return;
    }
    let holder = path.iter().try_fold(object, |holder, step| holder.get_mut(step));
    if let Some(members) = holder.and_then(Value::as_object_mut) {
        members.remove(key);
    }
}

fn remove_all_empty(object: &mut Value) {
    if let Some(members) = object.as_object_mut() {
        members.retain(|_, value| !is_empty(value));
    }
}
