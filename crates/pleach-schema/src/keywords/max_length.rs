//! `maxLength`: an upper bound on the characters of a string.
//!
//! Odd: the message has bytes, the limit counts code points.

use pleach_json::Value;
use pleach_meta::{FieldError, FieldErrors};
use pleach_work::charge;

use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

pub(super) struct MaxLength;

impl Keyword for MaxLength {
    fn name(&self) -> &'static str {
        "maxLength"
    }
    fn doc(&self) -> &'static str {
        "The string has at most this many characters."
    }
    fn gate(&self) -> Gate {
        Gate::String
    }
    fn compile(&self, schema: &JSONSchemaProps, _: &Types) -> Option<Box<dyn Check>> {
        schema.value().max_length.map(|max| Box::new(AtMost(max)) as Box<dyn Check>)
    }
}

/// How many characters a text has.
pub(super) fn characters(text: &str) -> i64 {
    charge(text.len() as u64 / 32);
    text.chars().count() as i64
}

struct AtMost(i64);

impl Check for AtMost {
    fn accepts(&self, value: &Value) -> bool {
        // No text has more characters than bytes: most are decided without counting.
        value.as_str().is_none_or(|text| text.len() as i64 <= self.0 || characters(text) <= self.0)
    }
    fn explain(&self, _: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        errors.push(FieldError::too_long(at.field(), self.0));
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
    fn max_length() {
        let schema = json!({"type": "string", "maxLength": 3});
        for (why, value, want) in [
            ("the bound itself is allowed", json!("abc"), ""),
            ("one over", json!("abcd"), "f: Too long: may not be more than 3 bytes"),
            ("characters count, not bytes", json!("日本語"), ""),
            (
                "a family of emoji is five code points",
                json!("👨‍👩‍👧"),
                "f: Too long: may not be more than 3 bytes",
            ),
        ] {
            check(why, &schema, &value, want);
        }
        check(
            "zero is a bound",
            &json!({"type": "string", "maxLength": 0}),
            &json!("x"),
            "f: Too long: may not be more than 0 bytes",
        );
        check(
            "other types are the business of type",
            &json!({"maxLength": 0, "x-kubernetes-int-or-string": true}),
            &json!(12),
            "",
        );
    }
}
