//! RuntimeClasses.

use pleach_json::Value;
use pleach_meta::FieldError;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks;
use crate::kinds::fields::text;

/// The rules of RuntimeClasses.
#[derive(Debug)]
pub struct RuntimeClass;

impl Rules for RuntimeClass {
    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        match old {
            Some(old) => checks::immutable(object.get("handler"), old.get("handler"), "handler", &mut errors),
            None => checks::dns_label(text(object, "handler"), "handler", &mut errors),
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![computed("Handler", "string", |o, _| text(o, "handler").into()), age_text()]
    }
}
