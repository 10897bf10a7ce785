//! `minItems`: a lower bound on the length of an array.

use pleach_json::Value;
use pleach_meta::{FieldError, FieldErrors};

use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

pub(super) struct MinItems;

impl Keyword for MinItems {
    fn name(&self) -> &'static str {
        "minItems"
    }
    fn doc(&self) -> &'static str {
        "The array has at least this many items."
    }
    fn gate(&self) -> Gate {
        Gate::Array
    }
    fn compile(&self, schema: &JSONSchemaProps, _: &Types) -> Option<Box<dyn Check>> {
        schema.value().min_items.map(|min| Box::new(AtLeast(min)) as Box<dyn Check>)
    }
}

struct AtLeast(i64);

impl Check for AtLeast {
    fn accepts(&self, value: &Value) -> bool {
        value.as_array().is_none_or(|items| items.len() as i64 >= self.0)
    }
    fn explain(&self, value: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        let actual = value.as_array().map_or(0, |items| items.len() as i64);
        let detail = format!("{} in body should have at least {} items", at.name(), self.0);
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
    fn min_items() {
        let schema = json!({"type": "array", "minItems": 1, "items": {"type": "integer"}});
        for (why, value, want) in [
            ("the bound itself is allowed", json!([1]), ""),
            ("the plural stays", json!([]), "f: Invalid value: 0: f in body should have at least 1 items"),
        ] {
            check(why, &schema, &value, want);
        }
    }
}
