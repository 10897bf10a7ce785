//! `enum`: a closed list of values.
//!
//! A value is first converted to the Go type of each listed one. So `1.0` is in `[1]`, and `1.5`
//! too, because the conversion truncates; an integer is in a list of strings when one of them is the
//! character with that number. Inside arrays and objects nothing is converted. Null is never in
//! the list, not even when it is listed.

use pleach_json::{Str, Value};
use pleach_meta::{FieldError, FieldErrors};

use super::number::go_int64;
use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::digest::Digest;
use crate::compile::types::Types;
use crate::validate::location::Location;

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
    /// The values by kind and in order, when there are many.
    index: Option<Box<Index>>,
}

#[derive(Default)]
struct Index {
    strings: Vec<Str>,
    ints: Vec<i64>,
    floats: Vec<f64>,
    bools: [bool; 2],
    /// Where arrays and objects are, by their hash.
    compounds: Vec<(u64, usize)>,
}

impl Index {
    fn new(values: &[Value]) -> Self {
        let mut index = Self::default();
        for (i, value) in values.iter().enumerate() {
            match value {
                Value::Null => {}
                Value::Bool(b) => index.bools[usize::from(*b)] = true,
                Value::Int(n) => index.ints.push(*n),
                Value::Float(f) => index.floats.push(*f),
                Value::String(text) => index.strings.push(text.clone()),
                Value::Array(_) | Value::Object(_) => index.compounds.push((hash(value), i)),
            }
        }
        index.strings.sort_unstable();
        index.ints.sort_unstable();
        index.floats.sort_unstable_by(f64::total_cmp);
        index.compounds.sort_unstable();
        index
    }

    fn has(&self, value: &Value, values: &[Value]) -> bool {
        let has_float = |wanted: f64| {
            // The two zeros are equal and stand side by side.
            let from = self.floats.partition_point(|f| *f < wanted);
            self.floats.get(from).is_some_and(|f| *f == wanted)
        };
        match value {
            Value::Null => false,
            Value::Bool(b) => self.bools[usize::from(*b)],
            Value::Int(n) => {
                let mut utf8 = [0; 4];
                let text = go_char(*n).encode_utf8(&mut utf8);
                self.ints.binary_search(n).is_ok()
                    || has_float(*n as f64)
                    || self.strings.binary_search_by(|s| s.as_str().cmp(text)).is_ok()
            }
            Value::Float(f) => has_float(*f) || self.ints.binary_search(&go_int64(*f)).is_ok(),
            Value::String(text) => self.strings.binary_search(text).is_ok(),
            Value::Array(_) | Value::Object(_) => {
                let wanted = hash(value);
                let from = self.compounds.partition_point(|(hash, _)| *hash < wanted);
                let alike = self.compounds[from..].iter().take_while(|(hash, _)| *hash == wanted);
                alike.into_iter().any(|(_, i)| values[*i] == *value)
            }
        }
    }
}

fn hash(value: &Value) -> u64 {
    let mut digest = Digest::new(4);
    digest.value(value);
    digest.finish()
}

/// The character with a number, as Go converts one to a string.
fn go_char(number: i64) -> char {
    u32::try_from(number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

impl OneOf {
    fn new(values: &[Value]) -> Self {
        let index = (values.len() > LINEAR).then(|| Box::new(Index::new(values)));
        Self { values: values.into(), index }
    }
}

fn converts_to(value: &Value, listed: &Value) -> bool {
    match (value, listed) {
        (Value::Null, _) => false,
        (Value::Int(i), Value::Float(f)) => *i as f64 == *f,
        (Value::Float(f), Value::Int(i)) => go_int64(*f) == *i,
        (Value::Int(i), Value::String(text)) => text.as_str() == go_char(*i).encode_utf8(&mut [0; 4]),
        _ => value == listed,
    }
}

impl Check for OneOf {
    fn accepts(&self, value: &Value) -> bool {
        match &self.index {
            Some(index) => index.has(value, &self.values),
            None => self.values.iter().any(|listed| converts_to(value, listed)),
        }
    }
    fn explain(&self, value: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
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
    fn values_are_converted_to_the_type_of_each_listed_value() {
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
                    other => pleach_go::strconv::quote(&pleach_json::to_string(other)),
                })
                .collect();
            let body = pleach_meta::FieldError::duplicate("f", value.clone()).body();
            let bad = body.strip_prefix("Duplicate value: ").unwrap();
            let want = format!("f: Unsupported value: {bad}: supported values: {}", shown.join(", "));
            check(why, &any(list.clone()), &value, if fine { "" } else { &want });
        }
    }

    #[test]
    fn long_lists_are_searched_alike() {
        let mixed = [
            json!("a"),
            json!("value"),
            json!(7),
            json!(-1),
            json!(2.5),
            json!(3.0),
            json!(true),
            json!(null),
            json!({"k": [1]}),
            json!([]),
            json!(-0.0),
            json!(1e30),
            json!("\u{fffd}"),
        ];
        let probes = [
            json!("a"),
            json!("b"),
            json!(97),
            json!(98),
            json!(7),
            json!(7.9),
            json!(3),
            json!(3.0),
            json!(2.5),
            json!(2),
            json!(true),
            json!(false),
            json!(null),
            json!({"k": [1]}),
            json!({"k": [1.0]}),
            json!([]),
            json!([1]),
            json!(0),
            json!(0.0),
            json!(1e30),
            json!(-7),
            json!(-1.5),
            json!(i64::MAX),
        ];
        let filler = (0..20).map(|n| json!(format!("filler-{n}")));
        let long: Vec<Value> = mixed.iter().cloned().chain(filler).collect();
        for probe in &probes {
            let (short, long) = (super::OneOf::new(&mixed[..12]), super::OneOf::new(&long));
            assert!(short.index.is_none() && long.index.is_some());
            let last = mixed[12..].iter().any(|listed| super::converts_to(probe, listed));
            assert_eq!(
                super::Check::accepts(&long, probe),
                super::Check::accepts(&short, probe) || last,
                "{probe:?}"
            );
        }
    }
}
