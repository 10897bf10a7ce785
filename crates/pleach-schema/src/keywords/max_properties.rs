//! `maxProperties`: an upper bound on the members of an object, whatever they are called.

use pleach_json::Value;
use pleach_meta::{FieldError, FieldErrors};

use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

pub(super) struct MaxProperties;

impl Keyword for MaxProperties {
    fn name(&self) -> &'static str {
        "maxProperties"
    }
    fn doc(&self) -> &'static str {
        "The object has at most this many members."
    }
    fn gate(&self) -> Gate {
        Gate::Object
    }
    fn compile(&self, schema: &JSONSchemaProps, _: &Types) -> Option<Box<dyn Check>> {
        schema.value().max_properties.map(|max| Box::new(AtMost(max)) as Box<dyn Check>)
    }
}

struct AtMost(i64);

impl Check for AtMost {
    fn accepts(&self, value: &Value) -> bool {
        value.as_object().is_none_or(|members| members.len() as i64 <= self.0)
    }
    fn explain(&self, value: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        let actual = value.as_object().map_or(0, |members| members.len() as i64);
        errors.push(FieldError::too_many(at.field(), actual, self.0));
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
    fn max_properties() {
        let schema =
            json!({"type": "object", "maxProperties": 1, "additionalProperties": {"type": "integer"}});
        for (why, value, want) in [
            ("the bound itself is allowed", json!({"a": 1}), ""),
            (
                "one over; the message says items",
                json!({"a": 1, "b": 2}),
                "f: Too many: 2: must have at most 1 item",
            ),
        ] {
            check(why, &schema, &value, want);
        }
    }
}
