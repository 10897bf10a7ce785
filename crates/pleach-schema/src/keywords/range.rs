//! The range of numbers that `type` and `format` imply: 32 or 64 bits for integers, 32 for `float`.

use pleach_json::Value;
use pleach_meta::FieldErrors;

use super::number::Domain;
use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

pub(super) struct Range;

impl Keyword for Range {
    fn name(&self) -> &'static str {
        "format"
    }
    fn doc(&self) -> &'static str {
        "The number fits the declared type and format."
    }
    fn gate(&self) -> Gate {
        Gate::Number
    }
    fn compile(&self, _: &JSONSchemaProps, types: &Types) -> Option<Box<dyn Check>> {
        let domain = Domain::of(types);
        domain.restricts().then(|| Box::new(Within(domain)) as Box<dyn Check>)
    }
}

struct Within(Domain);

impl Check for Within {
    fn accepts(&self, value: &Value) -> bool {
        self.0.has(value)
    }
    fn explain(&self, _: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        errors.push(self.0.error("Checked", at));
    }
    fn argument(&self) -> Argument<'_> {
        Argument::None
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use crate::keywords::tests::check;

    #[test]
    fn range() {
        let int32 = json!({"type": "integer", "format": "int32"});
        let integer = json!({"type": "integer"});
        let int64 = json!({"type": "integer", "format": "int64"});
        let float = json!({"type": "number", "format": "float"});
        for (why, schema, value, want) in [
            ("the largest", &int32, json!(2_147_483_647), ""),
            ("a float that is whole", &int32, json!(2_147_483_647.0), ""),
            (
                "beyond",
                &int32,
                json!(2_147_483_648_i64),
                "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in f",
            ),
            (
                "two rules at once",
                &integer,
                json!(1.5),
                "f: Invalid value: \"number\": f in body must be of type integer: \"number\"\n<nil>: Invalid value: \"\": Checked value must be of type integer (default format) in f",
            ),
            (
                "a format changes both texts",
                &int64,
                json!(1e19),
                "f: Invalid value: \"float64\": f in body must be of type int64: \"float64\"\n<nil>: Invalid value: \"\": Checked value must be of type integer with format int64 in f",
            ),
            (
                "beyond 53 bits a whole float is no integer, although it fits 64",
                &integer,
                json!(1e18),
                "f: Invalid value: \"number\": f in body must be of type integer: \"number\"",
            ),
            ("fits 32 bits", &float, json!(3.402_823_466_385_288_6e38), ""),
            (
                "too large for 32 bits",
                &float,
                json!(3.5e38),
                "<nil>: Invalid value: \"\": Checked value must be of type number with format float in f",
            ),
            ("too small is zero", &float, json!(1e-50), ""),
        ] {
            check(why, schema, &value, want);
        }
    }
}
