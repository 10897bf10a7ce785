//! Hostile schemas: very deep, very wide, very odd. Nothing may panic, overflow
//! the stack or take more than linear time; the errors themselves are of no interest.

use std::time::{Duration, Instant};

use pleach_json::{Map, Value, json};
use pleach_meta::Path;
use pleach_schema::skeleton::skel;
use pleach_schema::structuralize::structuralize;
use pleach_schema::{Decoder, JSONSchemaProps, Options, SchemaContext, Structural, validate_schema};

/// Everything the static side does to a schema, on a small stack.
fn everything(value: Value) -> usize {
    let run = move || {
        let mut decoder = Decoder::new("v1").with_extensions(true);
        let schema = JSONSchemaProps::decode(&mut decoder, &value);
        let (error, unknown) = decoder.finish();
        assert!(error.is_none() || unknown.len() <= 100);
        let context = SchemaContext {
            path: Path::new("spec.validation"),
            status_enabled: true,
            options: Options::CREATE,
        };
        let errors = validate_schema(&schema, &context).len();
        let _ = Structural::of(&schema).map(|s| s.violations(&Path::ROOT));
        let old = JSONSchemaProps::from_value(&value).unwrap_or_default();
        let expressions = pleach_schema::Expressions::of([&old]);
        let _ = Options::update(&[&old], &[&schema], false, &expressions);
        assert!(old == schema || error_free(&value));
        let _ = skel(&schema).to_value();
        let _ = structuralize(&schema, &Path::ROOT);
        let mut rewritten = schema.clone();
        rewritten.unfold();
        rewritten.expand();
        rewritten.unfold_embedded_resources();
        rewritten.drop_value_validations();
        let _ = rewritten.to_value();
        errors
    };
    let start = Instant::now();
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run).expect("a thread starts");
    let errors = thread.join().expect("no panic");
    // Generous: a loaded machine without optimisation. What is quadratic takes minutes.
    assert!(start.elapsed() < Duration::from_mins(2), "{:?}", start.elapsed());
    errors
}

/// Decoding stops at an error, so what it gives need not be what a second decoder gives.
fn error_free(value: &Value) -> bool {
    JSONSchemaProps::from_value(value).is_err()
}

/// `around` put around itself `depth` times.
fn nest(depth: usize, innermost: Value, around: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(innermost, |value, _| around(value))
}

fn object(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    members.into_iter().map(|(name, value)| (name.into(), value)).collect::<Map>().into()
}

#[test]
fn schemas_nested_ten_thousand_deep_end() {
    for (why, value) in [
        (
            "properties",
            nest(5_000, json!({"type": "string"}), |v| json!({"type": "object", "properties": {"a": v}})),
        ),
        ("no types", nest(5_000, json!({}), |v| json!({"properties": {"a": v}}))),
        ("items", nest(10_000, json!({}), |v| json!({"type": "array", "items": v}))),
        ("maps", nest(10_000, json!({}), |v| json!({"type": "object", "additionalProperties": v}))),
        ("not", nest(10_000, json!({}), |v| json!({"not": v, "type": "string"}))),
        ("junctors", nest(5_000, json!({}), |v| json!({"allOf": [v], "description": "x"}))),
        ("definitions", nest(5_000, json!({}), |v| json!({"definitions": {"a": v}}))),
        ("unknown keys", nest(5_000, json!({}), |v| json!({"properties": {"a": v}, "zz": 1}))),
        ("default", json!({"type": "object", "default": nest(10_000, json!(1), |v| json!([v]))})),
        ("enum", json!({"type": "string", "enum": [nest(9_990, json!(1), |v| json!({"a": v}))]})),
    ] {
        let errors = everything(value);
        assert!(errors > 0 || why == "properties", "{why}");
    }
}

#[test]
fn rules_and_defaults_at_every_level() {
    let value = nest(1_000, json!({"type": "string"}), |v| {
        json!({
            "type": "object",
            "properties": {"a": v},
            "default": {},
            "x-kubernetes-validations": [{"rule": "has(self.a)"}],
        })
    });
    everything(value);
}

#[test]
fn very_wide_schemas_end() {
    let n = 10_000;
    let names = || (0..n).map(|i| format!("p{i}"));
    let list = || names().map(Value::from).collect::<Vec<_>>();
    for value in [
        json!({"type": "string", "enum": list()}),
        json!({"type": "object", "required": list(), "properties": object(names().map(|name| (name, json!({"type": "string"}))))}),
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(), "items": {"type": "object"}}),
        json!({"type": "object", "anyOf": names().map(|name| json!({"required": [name.clone()], "properties": {(name): {}}})).collect::<Vec<_>>()}),
        json!({"type": "object", "x-kubernetes-unions": [{"discriminator": "d", "fields": object(names().map(|name| (name, json!("A"))))}]}),
    ] {
        everything(value);
    }
}

#[test]
fn any_text_and_any_number_is_accepted_or_refused() {
    for name in ["", " ", "a.b", "[0]", "\u{0}", "\u{10ffff}", "ü", "$ref", "properties", "'", "\\", "\n"] {
        let value = json!({
            "type": name,
            "format": name,
            "pattern": name,
            "properties": {(name): {"type": "object", "properties": {(name): {"type": "string", "default": name}}}},
            "required": [name],
            "x-kubernetes-list-type": name,
            "x-kubernetes-map-type": name,
            "x-kubernetes-list-map-keys": [name],
            "x-kubernetes-validations": [{"rule": name, "message": name, "messageExpression": name, "reason": name, "fieldPath": name}],
            "x-kubernetes-unions": [{"discriminator": name, "fields": {(name): name}}],
        });
        everything(value);
    }
    for number in [json!(i64::MIN), json!(i64::MAX), json!(-1), json!(1e300), json!(-0.0)] {
        let value = json!({"type": "object", "properties": {"l": {
            "type": "array", "maxItems": number.clone(), "minItems": number.clone(), "minimum": number.clone(),
            "multipleOf": number.clone(), "default": [number.clone()],
            "items": {"type": "string", "maxLength": number, "x-kubernetes-validations": [{"rule": "self == 'x'"}]},
        }}});
        everything(value);
    }
}

#[test]
fn patterns_that_do_not_compile_are_reported() {
    for pattern in ["(", "[", "a{1001}", "(?P<x>", "\\", "**", "(((a{100}){100}){100}){100}"] {
        let errors = everything(
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}),
        );
        assert_eq!(errors, 1, "{pattern}");
    }
}
