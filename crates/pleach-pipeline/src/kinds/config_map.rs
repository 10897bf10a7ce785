//! ConfigMaps.

use pleach_json::Value;
use pleach_meta::FieldError;

use super::keyed_data::{LIMIT, check_base64, check_immutable, check_key, decoded, entries};
use crate::columns::{age_text, column};
use crate::kind::{Cell, Column, KindVersion};
use crate::omitempty::remove_if_empty;
use crate::resource::Resource;
use crate::strategy::Strategy;
use crate::typed::Typed;

/// The strategy of ConfigMaps.
#[derive(Debug)]
pub struct ConfigMap;

impl Strategy for ConfigMap {
    fn type_name(&self, _: &KindVersion) -> Option<&'static str> {
        Some("core/v1.ConfigMap")
    }

    fn columns(&self) -> Option<Vec<Column>> {
        let data = Cell::Count(&["data", "binaryData"]);
        Some(vec![column("Data", "string", "How many keys it has.", data), age_text()])
    }

    fn decode(&self, _: Resource<'_>, object: &mut Value, _: &mut Typed) -> Result<Vec<String>, String> {
        check_base64(object, "binaryData").map(|()| Vec::new())
    }

    fn complete(&self, object: &mut Value) {
        remove_if_empty(object, &[], "binaryData");
        remove_if_empty(object, &[], "data");
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Some(old) = old {
            check_immutable(object, old, &["data", "binaryData"], &mut errors);
        }
        check(object, &mut errors);
        errors
    }
}

fn check(object: &Value, errors: &mut Vec<FieldError>) {
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

#[cfg(test)]
mod tests;
