//! Values by key, as ConfigMaps and Secrets hold them.

use std::borrow::Cow;

use pleach_go::base64;
use pleach_json::{Map, Value};
use pleach_meta::FieldError;

/// The size limit of the data of an object, in bytes.
pub(super) const LIMIT: usize = 1 << 20;
/// The longest key.
const LONGEST_KEY: usize = 253;

/// Whether the values of a field are base64. The error is that of upstream's decoder.
pub(super) fn check_base64(object: &Value, field: &str) -> Result<(), String> {
    for (_, value) in entries(object, field) {
        if let Some(text) = value.as_str() {
            base64::decode(text)?;
        }
    }
    Ok(())
}

/// The fields of an immutable object do not change.
pub(super) fn check_immutable(object: &Value, old: &Value, fields: &[&str], errors: &mut Vec<FieldError>) {
    let is_immutable = |object: &Value| object.get("immutable") == Some(&Value::Bool(true));
    if !is_immutable(old) {
        return;
    }
    let mut forbid =
        |field: &str| errors.push(FieldError::forbidden(field, "field is immutable when `immutable` is set"));
    if !is_immutable(object) {
        forbid("immutable");
    }
    for field in fields {
        if !entries(object, field).eq(entries(old, field)) {
            forbid(field);
        }
    }
}

/// Keys are names of files.
pub(super) fn check_key(field: &str, key: &str, errors: &mut Vec<FieldError>) {
    let wrong = key_errors(key).into_iter();
    errors.extend(wrong.map(|detail| FieldError::invalid(format!("{field}[{key}]"), key, detail)));
}

/// The errors of a key.
pub(super) fn key_errors(key: &str) -> Vec<Cow<'static, str>> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let mut wrong: Vec<Cow<'static, str>> = Vec::new();
    if key.len() > LONGEST_KEY {
        wrong.push(format!("must be no more than {LONGEST_KEY} characters").into());
    }
    if key.is_empty() || !key.bytes().all(is_plain) {
        wrong.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
             'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                .into(),
        );
    }
    match key {
        "." | ".." => wrong.push(format!("must not be '{key}'").into()),
        _ if key.starts_with("..") => wrong.push("must not start with '..'".into()),
        _ => {}
    }
    wrong
}

/// The keys and values of a field.
pub(super) fn entries<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let map: Option<&Map> = object.get(field).and_then(Value::as_object);
    map.into_iter().flat_map(Map::iter).map(|(key, value)| (key.as_str(), value))
}

/// The bytes of a value that [`check_base64`] has accepted.
pub(super) fn decoded(value: &Value) -> Vec<u8> {
    base64::decode(value.as_str().unwrap_or_default()).unwrap_or_default()
}
