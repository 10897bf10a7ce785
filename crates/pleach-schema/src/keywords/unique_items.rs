//! `uniqueItems`: no duplicate items. New CRDs may not use it; in old ones it is still validated.

use std::collections::HashSet;

use pleach_json::Value;
use pleach_meta::{FieldError, FieldErrors};
use pleach_work::charge;

use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

pub(super) struct UniqueItems;

impl Keyword for UniqueItems {
    fn name(&self) -> &'static str {
        "uniqueItems"
    }
    fn doc(&self) -> &'static str {
        "No two items of the array are equal."
    }
    fn gate(&self) -> Gate {
        Gate::Array
    }
    fn compile(&self, schema: &JSONSchemaProps, _: &Types) -> Option<Box<dyn Check>> {
        schema.value().unique_items.then(|| Box::new(Unique) as Box<dyn Check>)
    }
}

struct Unique;

impl Check for Unique {
    fn accepts(&self, value: &Value) -> bool {
        let Some(items) = value.as_array() else { return true };
        // By text and kind: `1` and `1.0` print alike and are different values.
        let mut seen = HashSet::with_capacity(items.len());
        items.iter().all(|item| {
            let text = pleach_json::to_string(item).into_boxed_str();
            charge(8 + text.len() as u64 / 4);
            seen.insert((item.kind() as u8, text))
        })
    }
    fn explain(&self, _: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        let detail = format!("{} in body shouldn't contain duplicates", at.name());
        errors.push(FieldError::invalid(at.field(), "", detail));
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
    fn unique_items() {
        let schema = json!({"type": "array", "uniqueItems": true, "items": {"x-kubernetes-preserve-unknown-fields": true}});
        for (why, value, want) in [
            ("all different", json!([1, 1.0, "1", [1], {}]), ""),
            (
                "two alike",
                json!([{"a": 1}, {"a": 1}]),
                "f: Invalid value: \"\": f in body shouldn't contain duplicates",
            ),
        ] {
            check(why, &schema, &value, want);
        }
    }
}
