//! Copying on write, and the baseline.

use pleach_json::json;

use super::super::{Schema, SettleOptions, Stages};
use super::run;
use crate::SchemaOptions;

#[test]
fn containers_are_copied_only_on_the_way_to_a_change() {
    let schema = json!({"type": "object", "properties": {
        "metadata": {"type": "object"},
        "spec": {"type": "object", "properties": {
            "d": {"type": "string", "default": "x"},
            "nd": {"type": "string", "nullable": true, "default": "x"},
            "n": {"type": "string"},
            "l": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "integer", "default": 1}}}},
            "m": {"type": "object", "additionalProperties": {"type": "string", "default": "x"}},
            "t": {"type": "object", "additionalProperties": true},
            "k": {"type": "array", "x-kubernetes-preserve-unknown-fields": true, "items": {"type": "object", "properties": {"o": {"type": "object"}}}},
            "p": {"x-kubernetes-preserve-unknown-fields": true},
            "u": {"type": "array"},
        }},
    }});
    let schema = Schema::from_value(&schema, SchemaOptions::default());
    for (why, spec, pruning, defaults) in [
        ("nothing to do", json!({"d": "y", "nd": null}), false, false),
        ("a default is missing", json!({"d": "y"}), false, true),
        ("a null gives way", json!({"d": null, "nd": null}), false, true),
        ("a null goes", json!({"d": "y", "nd": "y", "n": null}), true, false),
        ("an unknown field", json!({"d": "y", "nd": "y", "z": 1}), true, false),
        ("both", json!({"z": 1}), true, true),
        ("in an item", json!({"d": "y", "nd": "y", "l": [{"d": 1}, {}]}), false, true),
        ("an unknown field in an item", json!({"d": "y", "nd": "y", "l": [{"d": 1, "z": 1}]}), true, false),
        ("items that are no objects", json!({"d": "y", "nd": "y", "l": [1, null, "x"]}), false, false),
        ("a null in a map", json!({"d": "y", "nd": "y", "m": {"a": null}}), false, true),
        ("a map", json!({"d": "y", "nd": "y", "m": {"a": "b"}}), false, false),
        (
            "true keeps one level",
            json!({"d": "y", "nd": "y", "t": {"a": 1, "b": {}, "c": [[]]}}),
            false,
            false,
        ),
        ("but no more", json!({"d": "y", "nd": "y", "t": {"a": [[{"b": 1}]]}}), true, false),
        ("preserved items", json!({"d": "y", "nd": "y", "k": [{"z": 1, "o": {}}]}), false, false),
        (
            "what is declared in them",
            json!({"d": "y", "nd": "y", "k": [{"z": 1, "o": {"z": 1}}]}),
            true,
            false,
        ),
        ("anything", json!({"d": "y", "nd": "y", "p": [{"z": {"y": null}}]}), false, false),
        (
            "items of which nothing is said",
            json!({"d": "y", "nd": "y", "u": [1, {}, [{"a": 1}]]}),
            true,
            false,
        ),
    ] {
        let object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"any": null}, "spec": spec});
        let (mut pruned, mut defaulted) = (object.clone(), object.clone());
        run(Stages::of_object(true, false, false), &mut pruned, &schema);
        run(Stages::DEFAULTS, &mut defaulted, &schema);
        assert_eq!((pruned != object, defaulted != object), (pruning, defaults), "{why}");
        assert_eq!((!pruned.is_same(&object), !defaulted.is_same(&object)), (pruning, defaults), "{why}");
        run(Stages::DEFAULTS, &mut pruned, &schema);
        run(Stages::of_object(true, false, false), &mut defaulted, &schema);
        let mut settled = object.clone();
        schema.settle(&mut settled, SettleOptions::STORED).unwrap();
        assert_eq!(settled, pruned, "{why}: pruned, then defaulted");
        assert_eq!(settled, defaulted, "{why}: defaulted, then pruned");
        assert_eq!(settled.is_same(&object), !pruning && !defaults, "{why}: all stages");
        assert!(settled.get("metadata").unwrap().is_same(object.get("metadata").unwrap()), "{why}");
        let before = settled.clone();
        schema.settle(&mut settled, SettleOptions::STORED).unwrap();
        assert!(settled.is_same(&before), "{why}: nothing is copied the second time");
        let mut again = object.clone();
        schema.settle_against(&mut again, Some(&settled), SettleOptions::STORED).unwrap();
        assert!(
            pruning || again.is_same(&settled) || again.is_same(&object),
            "{why}: shared with the baseline"
        );
        assert_eq!(again, settled, "{why}: against a baseline");
    }
}
