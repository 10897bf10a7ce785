//! Defaulting.

use pleach_json::{Value, json};

use super::super::record::{AppliedDefault, Defaults};
use super::super::{Schema, Stages};
use super::run;
use crate::SchemaOptions;

fn schema(properties: &Value) -> Schema {
    let schema = json!({"type": "object", "properties": (properties.clone())});
    Schema::from_value(&schema, SchemaOptions::default())
}

#[test]
fn defaults_are_applied_to_what_is_absent_or_null() {
    let text = json!({"type": "string", "default": "x"});
    let object = json!({"type": "object", "properties": {"b": {"type": "integer", "default": 1}, "c": {"type": "string"}}});
    let mut own = object.clone();
    own.as_object_mut().unwrap().insert("default", json!({"c": "d"}));
    for (why, properties, value, want) in [
        ("absent", json!({"a": (text.clone())}), json!({}), json!({"a": "x"})),
        ("present", json!({"a": (text.clone())}), json!({"a": ""}), json!({"a": ""})),
        ("null", json!({"a": (text.clone())}), json!({"a": null}), json!({"a": "x"})),
        (
            "null that may be",
            json!({"a": {"type": "string", "default": "x", "nullable": true}}),
            json!({"a": null}),
            json!({"a": null}),
        ),
        ("nothing is made for what is below", json!({"o": (object.clone())}), json!({}), json!({})),
        (
            "but what is there is filled",
            json!({"o": (object.clone())}),
            json!({"o": {}}),
            json!({"o": {"b": 1}}),
        ),
        (
            "also when it is a default",
            json!({"o": (own.clone())}),
            json!({}),
            json!({"o": {"b": 1, "c": "d"}}),
        ),
        (
            "in items",
            json!({"l": {"type": "array", "items": (object.clone())}}),
            json!({"l": [{}, {"b": 2}, null]}),
            json!({"l": [{"b": 1}, {"b": 2}, null]}),
        ),
        (
            "items replace nulls",
            json!({"l": {"type": "array", "items": (own.clone())}}),
            json!({"l": [null]}),
            json!({"l": [{"b": 1, "c": "d"}]}),
        ),
        (
            "map values too",
            json!({"m": {"type": "object", "additionalProperties": (text.clone())}}),
            json!({"m": {"k": null, "j": "y"}}),
            json!({"m": {"k": "x", "j": "y"}}),
        ),
        (
            "a null default is none",
            json!({"a": {"type": "string", "nullable": true, "default": null}}),
            json!({}),
            json!({}),
        ),
        (
            "other types are left alone",
            json!({"o": (object.clone())}),
            json!({"o": "text"}),
            json!({"o": "text"}),
        ),
    ] {
        let schema = schema(&properties);
        let mut filled = value.clone();
        run(Stages::DEFAULTS, &mut filled, &schema);
        assert_eq!(filled, want, "{why}");
        assert_eq!(run(Stages::DEFAULTS, &mut filled, &schema).defaults.applied, [], "{why}: twice is once");
    }
}

#[test]
fn unknown_fields_of_defaults_are_not_applied() {
    let schema = schema(
        &json!({"o": {"type": "object", "properties": {"b": {"type": "string"}}, "default": {"b": "x", "stale": 1}}}),
    );
    let mut value = json!({});
    run(Stages::DEFAULTS, &mut value, &schema);
    assert_eq!(value, json!({"o": {"b": "x"}}));
}

#[test]
fn withheld_defaults_have_reasons() {
    let schema = schema(&json!({
        "a": {"type": "string", "default": "x"},
        "n": {"type": "string", "default": "x", "nullable": true},
        "o": {"type": "object", "properties": {"b": {"type": "string", "default": "y"}, "p": {"type": "object", "properties": {"c": {"type": "string", "default": "z"}}}}},
        "s": {"type": "object", "properties": {"d": {"type": "string", "default": "y"}}},
    }));
    let mut value = json!({"n": null, "s": "text"});
    let Defaults { applied, withheld } = run(Stages::DEFAULTS, &mut value, &schema).defaults;
    assert_eq!(value, json!({"a": "x", "n": null, "s": "text"}));
    assert_eq!(applied, [AppliedDefault { path: "a".into(), value: json!("x") }]);
    let withheld: Vec<_> = withheld.iter().map(ToString::to_string).collect();
    assert_eq!(
        withheld,
        [
            "n: the null stays, because the field is nullable",
            "o.b: there is no o to put it in",
            "o.p.c: there is no o to put it in",
            "s.d: s is no object",
        ]
    );
}
