//! Access to the fields of decoded objects. A field with Go's zero value is absent, null or empty.

use pleach_json::{Map, Value};

/// The member, made an object if it is none.
pub(crate) fn member<'a>(object: &'a mut Value, key: &str) -> &'a mut Map {
    if !matches!(object, Value::Object(_)) {
        *object = Value::object();
    }
    let Value::Object(members) = object else { unreachable!("made an object above") };
    submember(members, key)
}

/// The steps that a member which the server adds is charged. It takes some hundred bytes of memory, in lists of items that take
/// three bytes of a body.
pub(crate) const ADDED: u64 = 100;
/// The steps that an item is charged which is opened for defaults: empty items share their members with each other, and each
/// gets a map of its own here.
const OWN: u64 = 200;

/// The same of a map.
pub(crate) fn submember<'a>(members: &'a mut Map, key: &str) -> &'a mut Map {
    let value = members.get_or_insert_with(key, || {
        pleach_work::charge(ADDED);
        Value::object()
    });
    if !matches!(value, Value::Object(_)) {
        *value = Value::object();
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// Whether a field is not set.
pub(crate) fn is_unset(members: &Map, key: &str) -> bool {
    match members.get(key) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        _ => false,
    }
}

/// Sets a field that is not set.
pub(crate) fn default_to(members: &mut Map, key: &str, value: impl Into<Value>) {
    if is_unset(members, key) {
        pleach_work::charge(ADDED);
        members.insert(key, value);
    }
}

/// Sets a field that is a pointer in Go and is not set: an empty text is a value.
pub(crate) fn default_absent_to(members: &mut Map, key: &str, value: impl Into<Value>) {
    if members.get(key).is_none_or(Value::is_null) {
        pleach_work::charge(ADDED);
        members.insert(key, value);
    }
}

/// Sets a list or map that is not there or empty.
pub(crate) fn default_empty_to(members: &mut Map, key: &str, value: impl FnOnce() -> Value) {
    let empty = match members.get(key) {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(inner)) => inner.is_empty(),
        _ => false,
    };
    if empty {
        pleach_work::charge(ADDED);
        members.insert(key, value());
    }
}

/// The object in a field, if there is one.
pub(crate) fn object_mut<'a>(members: &'a mut Map, key: &str) -> Option<&'a mut Map> {
    members.get_mut(key).and_then(Value::as_object_mut)
}

/// The objects of a list.
pub(crate) fn each_mut(members: &mut Map, key: &str, mut how: impl FnMut(&mut Map)) {
    if let Some(Value::Array(items)) = members.get_mut(key) {
        let objects = items.iter_mut().filter_map(|item| {
            pleach_work::charge(OWN);
            item.as_object_mut()
        });
        objects.for_each(&mut how);
    }
}

/// The items of a list.
pub(crate) fn items<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], |items| &items[..])
}

/// The steps that each comparison of a search is charged.
pub(crate) const COMPARED: u64 = 3;

/// The first of a list that is meant, in searches for each item of another list: comparisons are charged.
pub(crate) fn search<T>(list: &[T], is: impl Fn(&T) -> bool) -> Option<&T> {
    let at = list.iter().position(is);
    pleach_work::charge(COMPARED * at.map_or(list.len(), |at| at + 1) as u64);
    at.map(|at| &list[at])
}

/// The text of a field, or an empty one.
pub(crate) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The text at a path, or an empty one.
pub(crate) fn text_at<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    object.at(path).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a path, or 0.
pub(crate) fn int_at(object: &Value, path: &[&str]) -> i64 {
    object.at(path).and_then(Value::as_int).unwrap_or_default()
}

/// Whether the boolean at a path is true.
pub(crate) fn bool_at(object: &Value, path: &[&str]) -> bool {
    object.at(path).and_then(Value::as_bool).unwrap_or_default()
}
