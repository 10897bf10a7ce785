//! Coercion of embedded resources.

use pleach_json::json;

use super::super::{Record, Schema, SettleOptions, Stages, coerce};
use super::run;
use crate::SchemaOptions;

fn schema() -> Schema {
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {
        "e": (embedded.clone()),
        "l": {"type": "array", "items": (embedded.clone())},
        "m": {"type": "object", "additionalProperties": (embedded.clone())},
    }});
    Schema::from_value(&schema, SchemaOptions::default())
}

#[test]
fn a_request_is_refused_at_the_first_error() {
    for (why, value, want) in [
        (
            "apiVersion is a string",
            json!({"e": {"apiVersion": 1, "kind": true}}),
            "e.apiVersion: Invalid value: 1: must be a string",
        ),
        ("kind too", json!({"l": [{"kind": null}]}), "l[0].kind: Invalid value: null: must be a string"),
        (
            "metadata decodes",
            json!({"m": {"k": {"metadata": {"name": 5}}}}),
            "m[k].metadata: Invalid value: {\"name\":5}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
        ),
    ] {
        let error = coerce(&mut value.clone(), schema().root()).unwrap_err();
        assert_eq!(error.to_string(), want, "{why}");
    }
}

#[test]
fn unknown_metadata_is_dropped_and_recorded() {
    let mut value = json!({
        "e": {"apiVersion": "v1", "kept": 1, "metadata": {"name": "n", "lost": 1, "labels": {"a": null}, "creationTimestamp": null}},
        "m": {"k.x": {"metadata": {"lost": {"x": 1}}}},
    });
    let settled = schema().settle(&mut value, SettleOptions::request(Record::Unknown)).unwrap();
    assert_eq!(
        value,
        json!({"e": {"apiVersion": "v1", "kept": 1, "metadata": {"name": "n", "labels": {"a": ""}}}, "m": {"k.x": {"metadata": {}}}})
    );
    assert_eq!(settled.unknown_metadata, ["e.metadata.lost", "m[k.x].metadata.lost"]);
}

#[test]
fn stored_resources_lose_what_cannot_be_coerced() {
    let mut value = json!({"e": {"apiVersion": 1, "kind": "K", "metadata": {"name": 5, "labels": {"a": "b"}}}, "l": [{"metadata": "x"}]});
    run(Stages::COERCE, &mut value, &schema());
    assert_eq!(
        value,
        json!({"e": {"kind": "K", "metadata": {"labels": {"a": "b"}}}, "l": [{"metadata": "x"}]})
    );
}
