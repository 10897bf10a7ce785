//! `format` of strings. Formats of numbers are ranges: see `range.rs`.

use pleach_json::{Str, Value};
use pleach_meta::{FieldError, FieldErrors};
use pleach_work::charge;

use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::formats;
use crate::validate::location::Location;

pub(super) struct Format;

impl Keyword for Format {
    fn name(&self) -> &'static str {
        "format"
    }
    fn doc(&self) -> &'static str {
        "The string has this format; an unknown format is no rule."
    }
    fn gate(&self) -> Gate {
        Gate::Format
    }
    fn compile(&self, _: &JSONSchemaProps, types: &Types) -> Option<Box<dyn Check>> {
        let text = types.format()?;
        let format = formats::find(text)?;
        Some(Box::new(Has { text: text.clone(), format }))
    }
}

struct Has {
    /// The name as written, dashes and all.
    text: Str,
    format: &'static dyn formats::Format,
}

impl Check for Has {
    fn accepts(&self, value: &Value) -> bool {
        value.as_str().is_none_or(|text| {
            charge(1 + text.len() as u64 / 8);
            self.format.accepts(text)
        })
    }
    fn explain(&self, value: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        let shown = pleach_go::strconv::quote(value.as_str().unwrap_or_default());
        let detail = format!("{} in body must be of type {}: {shown}", at.name(), self.text);
        errors.push(FieldError::type_invalid(at.field(), value.clone(), detail));
    }
    fn argument(&self) -> Argument<'_> {
        Argument::Text(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use crate::keywords::tests::check;

    #[test]
    fn format() {
        let dashes = json!({"type": "string", "format": "bson-object-id"});
        check(
            "the message has the name as written",
            &dashes,
            &json!("no"),
            "f: Invalid value: \"no\": f in body must be of type bson-object-id: \"no\"",
        );
        check(
            "unknown formats are no rule",
            &json!({"type": "string", "format": "dateTime"}),
            &json!("no"),
            "",
        );
        check(
            "a string format beside integer is none",
            &json!({"type": "integer", "format": "date"}),
            &json!(5),
            "",
        );
        check(
            "a format changes what the type check says",
            &json!({"type": "string", "format": "date"}),
            &json!(5),
            "f: Invalid value: \"int64\": f in body must be of type date: \"int64\"",
        );
        check("and lets arrays pass", &json!({"type": "string", "format": "date"}), &json!([1, 2]), "");
    }
}
