//! Pruning of unknown fields.

use pleach_json::{Value, json};

use super::super::{Schema, Stages};
use super::run;
use crate::SchemaOptions;

/// Prunes and returns the paths of what was removed.
fn prune(value: &mut Value, schema: &Schema) -> Vec<String> {
    run(Stages { coerce: false, ..Stages::PRUNE_AND_COERCE }, value, schema).pruned
}

#[track_caller]
fn check(why: &str, spec: &Value, object: &Value, want: &Value, paths: &[&str]) {
    let schema = json!({"type": "object", "properties": {"spec": (spec.clone())}});
    let schema = Schema::from_value(&schema, SchemaOptions::default());
    let wrap = |spec: &Value| json!({"apiVersion": "v1", "kind": "K", "metadata": {"any": 1}, "spec": (spec.clone())});
    let mut pruned = wrap(object);
    assert_eq!(prune(&mut pruned, &schema), paths, "{why}");
    assert_eq!(pruned, wrap(want), "{why}");
    assert!(prune(&mut pruned, &schema).is_empty(), "{why}: twice is once");
}

#[test]
fn unknown_fields_are_pruned() {
    let object = json!({"type": "object", "properties": {"a": {"type": "string"}, "o": {"type": "object", "properties": {"b": {"type": "string"}}}}});
    for (why, spec, value, want, paths) in [
        (
            "unknown fields go, with all that is below",
            object.clone(),
            json!({"a": "x", "z": {"y": 1}, "o": {"c": 1}}),
            json!({"a": "x", "o": {}}),
            &["spec.o.c", "spec.z"][..],
        ),
        ("types are not looked at", json!({"type": "string"}), json!({"a": 1}), json!({}), &["spec.a"]),
        (
            "items stay, what is in them goes",
            json!({"type": "array", "items": {"type": "array", "items": {"type": "object"}}}),
            json!([[{"a": 1}, 2, null], 3]),
            json!([[{}, 2, null], 3]),
            &["spec[0][0].a"],
        ),
        (
            "keys of a map stay",
            json!({"type": "object", "additionalProperties": {"type": "object"}}),
            json!({"k.x/y": {"z": 1}}),
            json!({"k.x/y": {}}),
            &["spec.k.x/y.z"],
        ),
        (
            "true keeps one level",
            json!({"type": "object", "additionalProperties": true}),
            json!({"a": 1, "c": {"d": 1}, "e": [{"f": 1}], "g": null}),
            json!({"a": 1, "c": {}, "e": [{}], "g": null}),
            &["spec.c.d", "spec.e[0].f"],
        ),
        (
            "type meta outside of resources is unknown",
            json!({"type": "object"}),
            json!({"apiVersion": "v1", "kind": "K", "metadata": {}}),
            json!({}),
            &["spec.apiVersion", "spec.kind", "spec.metadata"],
        ),
        (
            "keys are not quoted",
            json!({"type": "object"}),
            json!({"": 1, "a b": 1, "q\"": 1}),
            json!({}),
            &["spec.", "spec.a b", "spec.q\""],
        ),
    ] {
        check(why, &spec, &value, &want, paths);
    }
}

#[test]
fn preserved_fields_stay() {
    for (why, spec, value, want, paths) in [
        (
            "declared members are pruned again",
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"o": {"type": "object", "properties": {"b": {"type": "string"}}}}}),
            json!({"kept": {"z": 1}, "o": {"b": "x", "lost": 1}}),
            json!({"kept": {"z": 1}, "o": {"b": "x"}}),
            &["spec.o.lost"][..],
        ),
        (
            "items inherit it",
            json!({"type": "array", "x-kubernetes-preserve-unknown-fields": true, "items": {"type": "object", "properties": {"o": {"type": "object"}}}}),
            json!([{"kept": 1, "o": {"lost": 1}}]),
            json!([{"kept": 1, "o": {}}]),
            &["spec[0].o.lost"],
        ),
        (
            "beside a map nothing is unknown",
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "additionalProperties": {"type": "object"}}),
            json!({"k": {"lost": 1}}),
            json!({"k": {}}),
            &["spec.k.lost"],
        ),
        (
            "embedded resources keep what makes them resources",
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}}),
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"what": 1}, "lost": 1, "spec": {"lost": 1}}),
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"what": 1}, "spec": {}}),
            &["spec.lost", "spec.spec.lost"],
        ),
        (
            "anything",
            json!({"x-kubernetes-preserve-unknown-fields": true}),
            json!([[{"a": {"b": null}}]]),
            json!([[{"a": {"b": null}}]]),
            &[],
        ),
    ] {
        check(why, &spec, &value, &want, paths);
    }
}

#[test]
fn ten_thousand_levels_need_no_deep_stack() {
    let mut deep = json!({"lost": 1});
    for level in 0..10_000 {
        deep = if level % 2 == 0 { json!({"a": deep}) } else { json!([deep]) };
    }
    let schema =
        json!({"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": true}});
    let schema = Schema::from_value(&schema, SchemaOptions::default());
    let mut kept = json!({"m": (deep.clone())});
    prune(&mut kept, &schema);
    assert!(kept == json!({"m": deep}));
}
