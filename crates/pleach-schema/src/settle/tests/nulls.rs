//! Dropping of nulls.

use pleach_json::json;

use super::super::{Schema, Stages};
use super::run;
use crate::SchemaOptions;

#[test]
fn nulls_without_permission_are_dropped() {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
        "a": {"type": "string"},
        "n": {"type": "string", "nullable": true},
        "d": {"type": "string", "default": "x"},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "t": {"type": "object", "additionalProperties": true},
        "l": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}},
    }});
    let schema = Schema::from_value(&schema, SchemaOptions::default());
    let object = json!({
        "a": null, "n": null, "d": null, "m": {"k": null, "j": "x"}, "t": {"k": null}, "l": [null, {"b": null}], "unknown": null,
    });
    let want =
        json!({"n": null, "d": null, "m": {"j": "x"}, "t": {"k": null}, "l": [null, {}], "unknown": null});
    let mut alone = object.clone();
    assert_eq!(run(Stages::DROP_NULLS, &mut alone, &schema).nulls_dropped, ["a", "l[1].b", "m.k"]);
    assert_eq!(alone, want);
    let mut together = object.clone();
    let settled = run(Stages::of_object(true, false, false), &mut together, &schema);
    assert_eq!((together, settled.nulls_dropped.len()), (want, 3), "the same together with pruning");
}
