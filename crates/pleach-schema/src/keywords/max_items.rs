//! `maxItems`: an upper bound on the length of an array.

use pleach_json::Value;
use pleach_meta::{FieldError, FieldErrors};

use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

pub(super) struct MaxItems;

impl Keyword for MaxItems {
    fn name(&self) -> &'static str {
        "maxItems"
    }
    fn doc(&self) -> &'static str {
        "The array has at most this many items."
    }
    fn gate(&self) -> Gate {
        Gate::Array
    }
    fn compile(&self, schema: &JSONSchemaProps, _: &Types) -> Option<Box<dyn Check>> {
        schema.value().max_items.map(|max| Box::new(AtMost(max)) as Box<dyn Check>)
    }
}

struct AtMost(i64);

impl Check for AtMost {
    fn accepts(&self, value: &Value) -> bool {
        value.as_array().is_none_or(|items| items.len() as i64 <= self.0)
    }
    fn explain(&self, value: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        let actual = value.as_array().map_or(0, |items| items.len() as i64);
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
    fn max_items() {
        let schema = json!({"type": "array", "maxItems": 2, "items": {"type": "integer"}});
        for (why, value, want) in [
            ("the bound itself is allowed", json!([1, 2]), ""),
            ("one over", json!([1, 2, 3]), "f: Too many: 3: must have at most 2 items"),
        ] {
            check(why, &schema, &value, want);
        }
    }
}
