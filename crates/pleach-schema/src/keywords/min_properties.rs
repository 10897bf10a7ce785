//! `minProperties`: a lower bound on the members of an object, whatever they are called.

use pleach_json::Value;
use pleach_meta::{FieldError, FieldErrors};

use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

pub(super) struct MinProperties;

impl Keyword for MinProperties {
    fn name(&self) -> &'static str {
        "minProperties"
    }
    fn doc(&self) -> &'static str {
        "The object has at least this many members."
    }
    fn gate(&self) -> Gate {
        Gate::Object
    }
    fn compile(&self, schema: &JSONSchemaProps, _: &Types) -> Option<Box<dyn Check>> {
        schema.value().min_properties.map(|min| Box::new(AtLeast(min)) as Box<dyn Check>)
    }
}

struct AtLeast(i64);

impl Check for AtLeast {
    fn accepts(&self, value: &Value) -> bool {
        value.as_object().is_none_or(|members| members.len() as i64 >= self.0)
    }
    fn explain(&self, value: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        let actual = value.as_object().map_or(0, |members| members.len() as i64);
        let detail = format!("{} in body should have at least {} properties", at.name(), self.0);
        errors.push(FieldError::invalid(at.field(), actual, detail));
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
    fn min_properties() {
        let schema =
            json!({"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}});
        for (why, value, want) in [
            ("the bound itself is allowed", json!({"a": 1}), ""),
            ("one under", json!({}), "f: Invalid value: 0: f in body should have at least 1 properties"),
        ] {
            check(why, &schema, &value, want);
        }
    }
}
