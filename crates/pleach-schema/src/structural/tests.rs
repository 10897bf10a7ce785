//! The rules themselves are tested with the whole check (`check/cases.jsonl`); here are the
//! rewrites, conversion and what the condition of a CRD lists.

use pleach_json::{Value, json};
use pleach_meta::Path;

use super::*;

fn schema(value: &Value) -> JSONSchemaProps {
    JSONSchemaProps::from_value(value).expect("the schema decodes")
}

#[test]
fn keywords_outside_of_the_structural_language_are_named() {
    for (keyword, value, want) in [
        ("id", json!("x"), "OpenAPIV3Schema 'id' is not supported"),
        ("$schema", json!("x"), "OpenAPIV3Schema 'schema' is not supported"),
        ("$ref", json!("x"), "OpenAPIV3Schema '$ref' is not supported"),
        ("patternProperties", json!({"x": {}}), "OpenAPIV3Schema 'patternProperties' is not supported"),
        ("dependencies", json!({"x": ["y"]}), "OpenAPIV3Schema 'dependencies' is not supported"),
        ("additionalItems", json!(true), "OpenAPIV3Schema 'additionalItems' is not supported"),
        ("definitions", json!({"x": {}}), "OpenAPIV3Schema 'definitions' is not supported"),
        ("items", json!([{}]), "OpenAPIV3Schema 'items' must be a schema, but is an array"),
        (
            "x-kubernetes-preserve-unknown-fields",
            json!(false),
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        ),
    ] {
        let nested = json!({"type": "object", "properties": {"a": {"not": {(keyword): value}}}});
        let error = Structural::of(&schema(&nested)).expect_err(keyword);
        assert_eq!(error, want);
    }
    for (keyword, value) in [("$ref", json!("")), ("definitions", json!({})), ("items", json!([]))] {
        assert!(
            Structural::of(&schema(&json!({(keyword): value}))).is_ok(),
            "an empty {keyword} says nothing"
        );
    }
}

#[test]
fn all_violations_are_listed_at_once_sorted_by_text() {
    let schema = schema(&json!({
        "properties": {"b": {}, "a": {"type": "array"}, "c": {"pattern": "(", "type": "string"}},
        "oneOf": [{"properties": {"d": {"type": "string"}}}],
    }));
    let errors = Structural::of(&schema).expect("convertible").violations(&Path::new("s"));
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "s.oneOf[0].properties[d].type: Forbidden: must be empty to be structural",
            "s.properties[a].items: Required value: must be specified",
            "s.properties[b].type: Required value: must not be empty for specified object fields",
            "s.properties[c].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: \
             error parsing regexp: missing closing ): `(`",
            "s.properties[d]: Required value: because it is defined in s.oneOf[0].properties[d]",
            "s.type: Required value: must not be empty at the root",
        ]
    );
}

#[test]
fn int_or_string_is_unfolded_where_it_is_not_spelled_out() {
    let either = || json!([{"type": "integer"}, {"type": "string"}]);
    for (why, value, want) in [
        (
            "nothing said",
            json!({"x-kubernetes-int-or-string": true}),
            json!({"x-kubernetes-int-or-string": true, "anyOf": either()}),
        ),
        (
            "anyOf is taken",
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"minimum": 1}], "allOf": [{"maximum": 5}]}),
            json!({
                "x-kubernetes-int-or-string": true,
                "anyOf": [{"minimum": 1}],
                "allOf": [{"anyOf": either()}, {"maximum": 5}],
            }),
        ),
        (
            "spelled out as anyOf",
            json!({"x-kubernetes-int-or-string": true, "anyOf": either()}),
            json!({"x-kubernetes-int-or-string": true, "anyOf": either()}),
        ),
        (
            "spelled out in allOf",
            json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": either()}], "anyOf": [{"minimum": 1}]}),
            json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": either()}], "anyOf": [{"minimum": 1}]}),
        ),
    ] {
        for (place, value, want) in [
            ("root", value.clone(), want.clone()),
            (
                "properties",
                json!({"properties": {"a": value.clone()}}),
                json!({"properties": {"a": want.clone()}}),
            ),
            ("items", json!({"items": value.clone()}), json!({"items": want.clone()})),
            ("map", json!({"additionalProperties": value}), json!({"additionalProperties": want})),
        ] {
            let mut unfolded = schema(&value);
            unfolded.unfold();
            assert_eq!(unfolded.to_value(), want, "{why}, {place}");
        }
    }
}

#[test]
fn dropping_value_validation_leaves_structure() {
    let mut dropped = schema(&json!({
        "type": "object",
        "description": "d",
        "required": ["a"],
        "minProperties": 1,
        "not": {"required": ["b"]},
        "properties": {
            "a": {"type": "string", "default": "x", "nullable": true, "enum": ["x"], "format": "date"},
            "l": {"type": "array", "maxItems": 1, "items": {"type": "integer", "minimum": 1}, "x-kubernetes-list-type": "set"},
        },
    }));
    dropped.drop_value_validations();
    assert_eq!(
        dropped.to_value(),
        json!({
            "type": "object",
            "description": "d",
            "properties": {
                "a": {"type": "string", "default": "x", "nullable": true},
                "l": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
            },
        })
    );
}
