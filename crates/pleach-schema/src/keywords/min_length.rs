//! `minLength`: a lower bound on the characters of a string.

use pleach_json::Value;
use pleach_meta::{FieldError, FieldErrors};

use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

pub(super) struct MinLength;

impl Keyword for MinLength {
    fn name(&self) -> &'static str {
        "minLength"
    }
    fn doc(&self) -> &'static str {
        "The string has at least this many characters."
    }
    fn gate(&self) -> Gate {
        Gate::String
    }
    fn compile(&self, schema: &JSONSchemaProps, _: &Types) -> Option<Box<dyn Check>> {
        schema.value().min_length.map(|min| Box::new(AtLeast(min)) as Box<dyn Check>)
    }
}

struct AtLeast(i64);

impl Check for AtLeast {
    fn accepts(&self, value: &Value) -> bool {
        // A character takes at most four bytes: most texts are decided without counting.
        value.as_str().is_none_or(|text| {
            let bytes = text.len() as i64;
            bytes >= self.0 && (bytes / 4 >= self.0 || super::max_length::characters(text) >= self.0)
        })
    }
    fn explain(&self, value: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        let detail = format!("{} in body should be at least {} chars long", at.name(), self.0);
        errors.push(FieldError::invalid(at.field(), value.clone(), detail));
    }
    fn argument(&self) -> Argument<'_> {
        Argument::Count(self.0)
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use crate::keywords::tests::check;

    #[test]
    fn min_length() {
        let schema = json!({"type": "string", "minLength": 3, "maxLength": 4, "pattern": "^a"});
        for (why, value, want) in [
            ("the bound itself is allowed", json!("abc"), ""),
            (
                "only the first failing rule of a string is told",
                json!("b"),
                "f: Invalid value: \"b\": f in body should be at least 3 chars long",
            ),
            (
                "characters count, not bytes",
                json!("äö"),
                "f: Invalid value: \"äö\": f in body should be at least 3 chars long",
            ),
            (
                "too long comes before the pattern",
                json!("bbbbb"),
                "f: Too long: may not be more than 4 bytes",
            ),
        ] {
            check(why, &schema, &value, want);
        }
    }
}
