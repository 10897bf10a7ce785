//! `enum`: a closed list of values.
//!
//! A value is first converted to the Go type of each listed one. So `1.0` is in `[1]`, and `1.5`
//! too, for the conversion truncates; an integer is in a list of strings when one of them is the
//! character with that number. Inside arrays and objects nothing is converted. Null is never in
//! the list, not even when it is listed.

use pleach_json::{Str, Value};
use pleach_meta::FieldError;

use super::number::go_int64;
use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::site::Site;

pub(super) struct Enum;

impl Keyword for Enum {
    fn name(&self) -> &'static str {
        "enum"
    }
    fn doc(&self) -> &'static str {
        "The value is one of these."
    }
    fn gate(&self) -> Gate {
        Gate::Any
    }
    fn compile(&self, schema: &JSONSchemaProps, _: &Types) -> Option<Box<dyn Check>> {
        let values = schema.value().enum_.as_deref().filter(|values| !values.is_empty())?;
        Some(Box::new(OneOf::new(values)))
    }
}

/// Lists longer than this are searched by halving.
const LINEAR: usize = 12;

struct OneOf {
    values: Box<[Value]>,
    /// The strings in order, when the list is long.
    sorted: Option<Box<[Str]>>,
}

impl OneOf {
    fn new(values: &[Value]) -> Self {
        let sorted = (values.len() > LINEAR).then(|| {
            let strings = values.iter().filter_map(|value| match value {
                Value::String(text) => Some(text.clone()),
                _ => None,
            });
            let mut strings: Box<[Str]> = strings.collect();
            strings.sort_unstable();
            strings
        });
        Self { values: values.into(), sorted }
    }
}

fn converts_to(value: &Value, listed: &Value) -> bool {
    match (value, listed) {
        (Value::Null, _) => false,
        (Value::Int(i), Value::Float(f)) => *i as f64 == *f,
        (Value::Float(f), Value::Int(i)) => go_int64(*f) == *i,
        (Value::Int(i), Value::String(text)) => {
            let c = u32::try_from(*i).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
            text.as_str() == c.encode_utf8(&mut [0; 4])
        }
        _ => value == listed,
    }
}

impl Check for OneOf {
    fn accepts(&self, value: &Value) -> bool {
        match (value, &self.sorted) {
            (Value::String(text), Some(sorted)) => sorted.binary_search(text).is_ok(),
            _ => self.values.iter().any(|listed| converts_to(value, listed)),
        }
    }
    fn explain(&self, value: &Value, at: &Site<'_>, errors: &mut Vec<FieldError>) {
        let text = |listed: &Value| match listed {
            Value::String(text) => text.to_string(),
            other => pleach_json::to_string(other),
        };
        let supported: Vec<String> = self.values.iter().map(text).collect();
        errors.push(FieldError::not_supported(at.field(), value.clone(), &supported));
    }
    fn argument(&self) -> Argument<'_> {
        Argument::Values(&self.values)
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::{Value, json};

    use crate::keywords::tests::check;

    #[test]
    fn enums() {
        let any = |list: Value| json!({"x-kubernetes-preserve-unknown-fields": true, "enum": list});
        for (why, list, value, fine) in [
            ("a string", json!(["a", "b"]), json!("b"), true),
            ("case counts", json!(["a", "b"]), json!("B"), false),
            ("a whole float is the integer", json!([1, 2]), json!(1.0), true),
            ("a broken one too, truncated", json!([1, 2]), json!(1.5), true),
            ("an integer is the float", json!([1.0]), json!(1), true),
            ("an integer is the character", json!(["a"]), json!(97), true),
            ("a float is no character", json!(["a"]), json!(97.0), false),
            ("a string is no number", json!([5]), json!("5"), false),
            ("objects are compared whole", json!([{"k": [1]}]), json!({"k": [1]}), true),
            ("and without conversion", json!([{"k": [1]}]), json!({"k": [1.0]}), false),
            ("null is in no list", json!([null]), json!(null), false),
        ] {
            let shown: Vec<String> = list
                .as_array()
                .unwrap()
                .iter()
                .map(|v| match v {
                    Value::String(s) => format!("\"{s}\""),
                    other => pleach_meta::go_format::quote(&pleach_json::to_string(other)),
                })
                .collect();
            let body = pleach_meta::FieldError::duplicate("f", value.clone()).body();
            let bad = body.strip_prefix("Duplicate value: ").unwrap();
            let want = format!("f: Unsupported value: {bad}: supported values: {}", shown.join(", "));
            check(why, &any(list.clone()), &value, if fine { "" } else { &want });
        }
    }

    #[test]
    fn a_long_list_is_the_same() {
        let list: Vec<Value> = (0..100).map(|n| json!(format!("value-{n}"))).chain([json!(7)]).collect();
        let schema = json!({"x-kubernetes-int-or-string": true, "enum": list});
        check("the last string", &schema, &json!("value-99"), "");
        check("the number", &schema, &json!(7), "");
        let schema =
            json!({"type": "string", "enum": ((0..20).map(|n| json!(format!("v{n}"))).collect::<Vec<_>>())});
        let want: Vec<String> = (0..20).map(|n| format!("\"v{n}\"")).collect();
        check(
            "none",
            &schema,
            &json!("x"),
            &format!("f: Unsupported value: \"x\": supported values: {}", want.join(", ")),
        );
    }
}
