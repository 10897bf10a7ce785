//! Interning, and what other crates read from a node.

use std::sync::Arc;

use pleach_json::{Value, json};

use super::*;

fn compile(schema: &Value) -> Schema {
    Schema::from_value(schema, SchemaOptions::default())
}

#[test]
fn equal_nodes_are_interned() {
    let part = json!({"type": "object", "properties": {"name": {"type": "string", "pattern": "^only-in-this-test-[a-z]+$", "minLength": 2}}, "required": ["name"]});
    let first = compile(
        &json!({"type": "object", "properties": {"a": (part.clone()), "l": {"type": "array", "items": (part.clone())}}}),
    );
    let second = compile(&json!({"type": "object", "properties": {"b": (part.clone())}}));
    let a = first.root().property("a").unwrap();
    assert!(Arc::ptr_eq(a, first.root().property("l").unwrap().items().unwrap()));
    assert!(Arc::ptr_eq(a, second.root().property("b").unwrap()));
    assert_eq!(Arc::strong_count(a), 3);
}

#[test]
fn different_nodes_are_not_shared() {
    let base = json!({"type": "string"});
    for (why, other) in [
        ("type", json!({"type": "integer"})),
        ("nullable", json!({"type": "string", "nullable": true})),
        ("a keyword", json!({"type": "string", "maxLength": 3})),
        ("a format", json!({"type": "string", "format": "date"})),
        ("default", json!({"type": "string", "default": "x"})),
        ("enum", json!({"type": "string", "enum": ["x"]})),
        ("a junctor", json!({"type": "string", "not": {"enum": ["x"]}})),
        ("a rule", json!({"type": "string", "x-kubernetes-validations": [{"rule": "true"}]})),
    ] {
        let both = compile(&json!({"type": "object", "properties": {"a": (base.clone()), "b": other}}));
        assert!(
            !Arc::ptr_eq(both.root().property("a").unwrap(), both.root().property("b").unwrap()),
            "{why}"
        );
    }
    let described = compile(
        &json!({"type": "object", "properties": {"a": (base.clone()), "b": {"type": "string", "description": "words"}}}),
    );
    assert!(
        Arc::ptr_eq(described.root().property("a").unwrap(), described.root().property("b").unwrap()),
        "descriptions do not count"
    );
}

#[test]
fn unused_nodes_are_dropped_from_the_table() {
    let part = json!({"type": "object", "properties": {"seen-nowhere-else": {"type": "string", "pattern": "^seen-nowhere-else$"}}});
    let schema = compile(&part);
    let weak = Arc::downgrade(schema.root().property("seen-nowhere-else").unwrap());
    drop(schema);
    assert!(weak.upgrade().is_none());
}

#[test]
fn restrictions_and_rules_are_readable() {
    let schema = compile(&json!({"type": "object", "properties": {
        "l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "string", "default": "x"}}}},
        "m": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"x-kubernetes-int-or-string": true}},
        "p": {"x-kubernetes-preserve-unknown-fields": true},
        "s": {"type": "string", "maxLength": 3, "pattern": "^a"},
    }}));
    let member = |name| schema.root().property(name).unwrap();
    assert_eq!((member("l").list_type(), member("l").list_map_keys()), (ListType::Map, &["k".into()][..]));
    assert_eq!(member("l").items().unwrap().property("k").unwrap().default(), Some(&json!("x")));
    assert_eq!(member("m").map_type(), MapType::Atomic);
    assert!(member("m").member("anything").unwrap().is_int_or_string());
    assert!(member("p").preserves_unknown_fields() && schema.root().is_root());
    let restrictions: Vec<_> = member("s").restrictions().map(|(name, _)| name).collect();
    assert_eq!(restrictions, ["maxLength", "pattern"]);
    let below = schema.root().below();
    assert!(below.defaults() && below.lists() && !below.rules() && !below.embedded_resources());
}

#[test]
fn ten_thousand_levels_compile_validate_and_drop() {
    let mut deep = json!({"type": "string", "maxLength": 1});
    let mut value = json!("long");
    for level in 0..10_000 {
        if level % 2 == 0 {
            deep = json!({"type": "object", "properties": {"a": deep}});
            value = json!({"a": value});
        } else {
            deep = json!({"type": "array", "items": deep});
            value = json!([value]);
        }
    }
    let schema = compile(&json!({"type": "object", "properties": {"f": deep}}));
    let object = json!({"f": value});
    assert_eq!(schema.validate_value(&object).len(), 1);
    let mut settled = object.clone();
    schema.settle(&mut settled, crate::SettleOptions::STORED).unwrap();
    assert!(settled == object);
}

#[test]
fn properties_are_found_in_ascending_order() {
    let members: Vec<(pleach_json::Str, Value)> =
        (0..100).map(|n| (format!("p{n:03}").into(), json!({"type": "string"}))).collect();
    let schema = compile(&json!({"type": "object", "properties": (Value::Object(members.into()))}));
    for step in [1, 3, 7, 20, 99] {
        let mut from = 0;
        for n in (0..100).step_by(step) {
            assert!(
                schema.root().next_property(&mut from, &format!("p{n:03}x")).is_none() || n == 0,
                "{step} {n}"
            );
            let _ = schema.root().next_property(&mut from, &format!("p{:03}", n + 1));
        }
        let mut from = 0;
        for n in (0..100).step_by(step) {
            let found = schema.root().next_property(&mut from, &format!("p{n:03}"));
            assert_eq!(found.map(|p| p.name.as_str()), Some(format!("p{n:03}").as_str()), "{step}");
        }
    }
}

#[test]
fn next_property_finds_what_property_finds() {
    let names = [
        "",
        "a",
        "a\0",
        "a\0\0",
        "ab",
        "abc",
        "abcd",
        "abcdefg",
        "abcdefg\0",
        "abcdefgh",
        "abcdefgh\0",
        "abcdefghi",
        "abcdefghj",
        "abcdefghjk",
        "b",
        "c",
        "d",
        "e",
        "f",
        "g",
        "h",
        "longer-than-eight",
        "longer-than-nine",
        "é",
        "éé",
        "ééé",
        "éééééé",
    ];
    // Some of them declared, all of them asked for, or only some.
    for declared in [1, 2, 3, 7] {
        let properties =
            names.iter().step_by(declared).map(|name| ((*name).into(), json!({"type": "string"})));
        let properties = Value::Object(properties.collect());
        let schema = compile(&json!({"type": "object", "properties": properties}));
        for asked in [1, 2, 5, 11] {
            let mut from = 0;
            for name in names.iter().step_by(asked) {
                let found =
                    schema.root().next_property(&mut from, name).map(|property| property.name.as_str());
                let wanted = schema.root().property(name).map(|_| *name);
                assert_eq!(found, wanted, "{name:?} of every {declared}, asked every {asked}");
            }
        }
    }
}
