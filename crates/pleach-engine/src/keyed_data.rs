//! What ConfigMaps and Secrets hold: values by key.
//!
//! Their schemas are in the manifests of built-in kinds; here is what a schema cannot say: which keys
//! there may be, which a type of Secret must have, how much they may hold, and what may no longer
//! change. Values of a Secret are never quoted in an error.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;

use crate::kind::{Kind, Strategy};

/// As Go reads it: bits that stand for nothing may be anything.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);
/// How many bytes one object may hold.
const LIMIT: usize = 1 << 20;
/// The longest key.
const LONGEST_KEY: usize = 253;

/// Which of the two kinds, if any.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    ConfigMap,
    Secret,
}

fn holder(kind: &Kind) -> Option<Holder> {
    match (kind.strategy, kind.plural.as_str()) {
        (Strategy::BuiltIn, "configmaps") => Some(Holder::ConfigMap),
        (Strategy::BuiltIn, "secrets") => Some(Holder::Secret),
        _ => None,
    }
}

/// Whether what should be bytes is base64. The error is in the words of upstream's decoder.
pub(crate) fn check_bytes(kind: &Kind, object: &Value) -> Result<(), String> {
    let Some(holder) = holder(kind) else { return Ok(()) };
    let bytes = if holder == Holder::Secret { "data" } else { "binaryData" };
    for (_, value) in entries(object, bytes) {
        if let Some(text) = value.as_str()
            && let Err(error) = BASE64.decode(text.replace(['\r', '\n'], ""))
        {
            return Err(format!("illegal base64 data at input byte {}", corrupt_at(text, &error)));
        }
    }
    Ok(())
}

/// The text of a Secret goes into its data, and a Secret without a type has the usual one.
pub(crate) fn read(kind: &Kind, object: &mut Value) {
    if holder(kind) != Some(Holder::Secret) {
        return;
    }
    write_string_data(object);
    if let Some(members) = object.as_object_mut()
        && members.get("type").is_some_and(|kind| kind.as_str() == Some(""))
    {
        members.insert("type", "Opaque");
    }
}

/// Where Go's decoder stops.
fn corrupt_at(text: &str, error: &base64::DecodeError) -> usize {
    match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => *at,
        base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => text.len() / 4 * 4,
    }
}

fn write_string_data(object: &mut Value) {
    let Some(members) = object.as_object_mut() else { return };
    let Some(Value::Object(texts)) = members.remove("stringData") else { return };
    let Value::Object(data) = members.get_or_insert_with("data", Value::object) else { return };
    for (key, text) in texts.iter() {
        data.insert(key.clone(), BASE64.encode(text.as_str().unwrap_or_default()));
    }
}

/// What is wrong with an object that shall be stored, in place of `old` if there is one.
pub(crate) fn validate(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match holder(kind) {
        None => {}
        Some(Holder::ConfigMap) => {
            if let Some(old) = old {
                check_immutable(object, old, &["data", "binaryData"], &mut errors);
            }
            check_config_map(object, &mut errors);
        }
        Some(Holder::Secret) => {
            if let Some(old) = old {
                let (is, was) = (text(object, "type"), text(old, "type"));
                if is != was {
                    errors.push(FieldError::invalid("type", is, "field is immutable"));
                }
                check_immutable(object, old, &["data"], &mut errors);
            }
            check_secret(object, &mut errors);
        }
    }
    errors
}

fn check_immutable(object: &Value, old: &Value, fields: &[&str], errors: &mut Vec<FieldError>) {
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

fn check_config_map(object: &Value, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    let bytes = object.get("binaryData").and_then(Value::as_object);
    for (key, value) in entries(object, "data") {
        check_key("data", key, errors);
        if bytes.is_some_and(|bytes| bytes.contains_key(key)) {
            let field = format!("data[{key}]");
            errors.push(FieldError::invalid(field, key, "duplicate of key present in binaryData"));
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in entries(object, "binaryData") {
        check_key("binaryData", key, errors);
        size += decoded(value).len();
    }
    if size > LIMIT {
        errors.push(FieldError::too_long("[]", LIMIT as i64));
    }
}

fn check_secret(object: &Value, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in entries(object, "data") {
        check_key("data", key, errors);
        size += decoded(value).len();
    }
    if size > LIMIT {
        errors.push(FieldError::too_long("data", LIMIT as i64));
    }
    let value = |key: &str| entries(object, "data").find(|(other, _)| *other == key).map(|(_, v)| decoded(v));
    let required = |key: &str| FieldError::required(format!("data[{key}]"), "");
    match text(object, "type") {
        "kubernetes.io/service-account-token" => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            let annotations = ObjectMeta::of(object).get("annotations").and_then(Value::as_object);
            if annotations.and_then(|all| all.get_str(ACCOUNT)).is_none_or(str::is_empty) {
                errors.push(FieldError::required(format!("metadata.annotations[{ACCOUNT}]"), ""));
            }
        }
        "kubernetes.io/dockercfg" => check_json(".dockercfg", value(".dockercfg"), errors),
        "kubernetes.io/dockerconfigjson" => {
            check_json(".dockerconfigjson", value(".dockerconfigjson"), errors);
        }
        "kubernetes.io/basic-auth" if value("username").is_none() && value("password").is_none() => {
            errors.extend(["username", "password"].map(required));
        }
        "kubernetes.io/ssh-auth" if value("ssh-privatekey").is_none_or(|key| key.is_empty()) => {
            errors.push(required("ssh-privatekey"));
        }
        "kubernetes.io/tls" => {
            let missing = ["tls.crt", "tls.key"].into_iter().filter(|key| value(key).is_none());
            errors.extend(missing.map(required));
        }
        _ => {}
    }
}

/// Credentials of a registry must be a JSON object.
fn check_json(key: &str, value: Option<Vec<u8>>, errors: &mut Vec<FieldError>) {
    let field = format!("data[{key}]");
    let Some(value) = value else {
        errors.push(FieldError::required(field, ""));
        return;
    };
    let problem = match pleach_json::parse(&value) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(other) => format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            crate::decode::go_kind(&other)
        ),
        Err(error) => error.to_string(),
    };
    errors.push(FieldError::invalid(field, "<secret contents redacted>", problem));
}

fn check_key(field: &str, key: &str, errors: &mut Vec<FieldError>) {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let mut wrong: Vec<Cow<'_, str>> = Vec::new();
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
    errors
        .extend(wrong.into_iter().map(|detail| FieldError::invalid(format!("{field}[{key}]"), key, detail)));
}

fn entries<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let map: Option<&Map> = object.get(field).and_then(Value::as_object);
    map.into_iter().flat_map(Map::iter).map(|(key, value)| (key.as_str(), value))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The bytes of a value that [`read`] has let pass.
fn decoded(value: &Value) -> Vec<u8> {
    BASE64.decode(value.as_str().unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
