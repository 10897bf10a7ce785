//! Tests of settling as a whole; those of its stages are in files of their own.

mod coerce;
mod defaults;
mod nulls;
mod prune;
mod sharing;

use pleach_json::json;

use super::*;
use crate::SchemaOptions;

/// Runs some of the stages and records everything.
fn run(stages: Stages, value: &mut Value, schema: &Schema) -> Settled {
    let mut walk = Walk::new(stages, true, Record::Everything);
    walk.start(value, None, schema.root()).unwrap();
    walk.recorder.finish()
}

fn whole_schema(preserve_unknown_fields: bool) -> Schema {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "a": {"type": "string", "default": "x"},
            "n": {"type": "string"},
            "e": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        }},
    }});
    Schema::from_value(&schema, SchemaOptions { preserve_unknown_fields, ..SchemaOptions::default() })
}

#[test]
fn everything_is_recorded() {
    let mut object = json!({"spec": {"z": 1, "n": null, "e": {"apiVersion": "v1", "kind": "K", "metadata": {"lost": 1}}}, "y": 1});
    let settled =
        whole_schema(false).settle(&mut object, SettleOptions::request(Record::Everything)).unwrap();
    assert_eq!(object, json!({"spec": {"a": "x", "e": {"apiVersion": "v1", "kind": "K", "metadata": {}}}}));
    assert_eq!(settled.pruned, ["spec.z", "y"]);
    assert_eq!(settled.unknown_metadata, ["spec.e.metadata.lost"]);
    assert_eq!(settled.nulls_dropped, ["spec.n"]);
    assert_eq!(settled.defaults.applied[0].path, "spec.a");
    let again = whole_schema(false).settle(&mut object, SettleOptions::request(Record::Everything)).unwrap();
    assert_eq!(again, Settled::default(), "twice is once");
}

#[test]
fn preserve_unknown_fields_of_a_crd_still_coerces_and_defaults() {
    let mut object =
        json!({"spec": {"z": 1, "n": null, "e": {"apiVersion": "v1", "kind": "K", "metadata": {"lost": 1}}}});
    whole_schema(true).settle(&mut object, SettleOptions::STORED).unwrap();
    assert_eq!(
        object,
        json!({"spec": {"a": "x", "z": 1, "n": null, "e": {"apiVersion": "v1", "kind": "K", "metadata": {}}}})
    );
}

#[test]
fn the_fingerprint_changes_with_everything_settling_depends_on() {
    let of = |schema: Value, preserve| {
        Schema::from_value(
            &schema,
            SchemaOptions { preserve_unknown_fields: preserve, ..SchemaOptions::default() },
        )
        .fingerprint()
    };
    let plain = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for (why, other, same) in [
        (
            "value rules do not matter",
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "maxLength": 3}}}),
            true,
        ),
        ("nor do types", json!({"type": "object", "properties": {"a": {"type": "integer"}}}), true),
        ("names do", json!({"type": "object", "properties": {"b": {"type": "string"}}}), false),
        (
            "defaults do",
            json!({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}),
            false,
        ),
        (
            "nullable does",
            json!({"type": "object", "properties": {"a": {"type": "string", "nullable": true}}}),
            false,
        ),
        (
            "what is below does",
            json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}}),
            false,
        ),
        (
            "preserving does",
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}}),
            false,
        ),
    ] {
        assert_eq!(of(plain.clone(), false) == of(other, false), same, "{why}");
    }
    assert_ne!(of(plain.clone(), false), of(plain, true));
}
