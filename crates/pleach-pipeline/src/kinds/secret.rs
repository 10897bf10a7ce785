//! Secrets: keys that some types require, and values that no error quotes.

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;

use super::keyed_data::{LIMIT, check_base64, check_immutable, check_key, decoded, entries};
use crate::columns::{age_text, column, path};
use crate::kind::{Cell, Column, KindVersion};
use crate::omitempty::remove_if_empty;
use crate::resource::Resource;
use crate::strategy::Strategy;
use crate::typed::Typed;

/// The strategy of Secrets.
#[derive(Debug)]
pub struct Secret;

impl Strategy for Secret {
    fn type_name(&self, _: &KindVersion) -> Option<&'static str> {
        Some("core/v1.Secret")
    }

    fn columns(&self) -> Option<Vec<Column>> {
        Some(vec![
            column("Type", "string", "What the secret is for.", path(".type")),
            column("Data", "string", "How many keys it has.", Cell::Count(&["data"])),
            age_text(),
        ])
    }

    fn decode(&self, _: Resource<'_>, object: &mut Value, _: &mut Typed) -> Result<Vec<String>, String> {
        check_base64(object, "data").map(|()| Vec::new())
    }

    /// `stringData` goes into `data`, and the type is `Opaque` by default.
    fn complete(&self, object: &mut Value) {
        write_string_data(object);
        if let Some(members) = object.as_object_mut()
            && members.get("type").is_some_and(|kind| kind.as_str() == Some(""))
        {
            members.insert("type", "Opaque");
        }
        remove_if_empty(object, &[], "data");
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Some(old) = old {
            let (is, was) = (text(object, "type"), text(old, "type"));
            if is != was {
                errors.push(FieldError::invalid("type", is, "field is immutable"));
            }
            check_immutable(object, old, &["data"], &mut errors);
        }
        check(object, &mut errors);
        errors
    }
}

fn write_string_data(object: &mut Value) {
    let Some(members) = object.as_object_mut() else { return };
    let Some(Value::Object(texts)) = members.remove("stringData") else { return };
    let Value::Object(data) = members.get_or_insert_with("data", Value::object) else { return };
    for (key, text) in texts.iter() {
        data.insert(key.clone(), pleach_go::base64::encode(text.as_str().unwrap_or_default()));
    }
}

fn check(object: &Value, errors: &mut Vec<FieldError>) {
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
        Ok(other) => pleach_go::json::type_error(&other, "map[string]interface {}"),
        Err(error) => error.to_string(),
    };
    errors.push(FieldError::invalid(field, "<secret contents redacted>", problem));
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
