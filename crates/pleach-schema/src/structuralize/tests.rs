use pleach_json::{Value, json};
use proptest::prelude::*;

use super::*;
use crate::skeleton::tests::{accepts, schemas, values};

fn propose(value: &Value) -> Result<(Value, Vec<String>), Vec<String>> {
    let schema = JSONSchemaProps::from_value(value).expect("the schema decodes");
    match structuralize(&schema, &Path::new("s")) {
        Ok(proposal) => {
            let notes = proposal.notes.iter().map(|note| format!("{}: {}", note.path, note.text)).collect();
            Ok((proposal.schema.to_value(), notes))
        }
        Err(obstacles) => Err(obstacles.iter().map(ToString::to_string).collect()),
    }
}

#[test]
fn a_structural_schema_stays_as_it_is() {
    let schema = json!({
        "type": "object",
        "description": "d",
        "required": ["spec"],
        "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 10}}},
            "spec": {
                "type": "object",
                "properties": {
                    "a": {"type": "string", "default": "x", "nullable": true, "enum": ["x"]},
                    "l": {"type": "array", "items": {"type": "integer", "minimum": 1}, "x-kubernetes-list-type": "set"},
                    "m": {"type": "object", "additionalProperties": {"type": "string"}},
                    "p": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                    "u": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                },
                "anyOf": [{"required": ["a"]}, {"properties": {"l": {"items": {"maximum": 5}}}}],
            },
        },
    });
    assert_eq!(propose(&schema), Ok((schema.clone(), vec![])));
}

#[test]
fn fields_in_junctors_are_declared_outside() {
    for (why, schema, want, notes) in [
        (
            "types move out, and stay out of the branches that said them",
            json!({
                "anyOf": [
                    {"properties": {"a": {"type": "string", "pattern": "x"}}, "required": ["a"]},
                    {"properties": {"b": {"type": "integer", "minimum": 1}}},
                ],
            }),
            json!({
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
                "anyOf": [
                    {"properties": {"a": {"pattern": "x"}}, "required": ["a"]},
                    {"properties": {"b": {"minimum": 1}}},
                ],
            }),
            vec![
                "s: type object is added",
                "s.properties[a]: type string is said only in s.anyOf[0].properties[a]",
                "s.properties[b]: type integer is said only in s.anyOf[1].properties[b]",
            ],
        ),
        (
            "an integer or a string",
            json!({"type": "object", "properties": {"port": {"oneOf": [{"type": "integer"}, {"type": "string"}]}}}),
            json!({"type": "object", "properties": {"port": {"x-kubernetes-int-or-string": true}}}),
            vec![
                "s.properties[port]: integer or string becomes x-kubernetes-int-or-string: true",
                "s.properties[port]: oneOf is left out: x-kubernetes-int-or-string says the same",
            ],
        ),
        (
            "a branch of another type never matches",
            json!({"type": "object", "properties": {"a": {"type": "string", "not": {"type": "integer"}}}}),
            json!({"type": "object", "properties": {"a": {"type": "string", "not": {"not": {}}}}}),
            vec!["s.properties[a].not: type integer never matches a value of type string"],
        ),
        (
            "integers among numbers",
            json!({"type": "object", "properties": {"a": {"type": "number", "anyOf": [{"type": "integer"}, {"maximum": 1}]}}}),
            json!({"type": "object", "properties": {"a": {"type": "number", "anyOf": [{"multipleOf": 1}, {"maximum": 1}]}}}),
            vec!["s.properties[a].anyOf[0]: type integer becomes multipleOf: 1"],
        ),
        (
            "keywords tell the type",
            json!({"type": "object", "properties": {"a": {"minLength": 1}, "b": {}, "c": {"items": {"enum": ["x"]}}}}),
            json!({"type": "object", "properties": {
                "a": {"type": "string", "minLength": 1},
                "b": {"x-kubernetes-preserve-unknown-fields": true},
                "c": {"type": "array", "items": {"type": "string", "enum": ["x"]}},
            }}),
            vec![
                "s.properties[a]: type string is taken from the other keywords",
                "s.properties[b]: no type is said: any value is kept",
                "s.properties[c]: type array is taken from the other keywords",
                "s.properties[c].items: type string is taken from the other keywords",
            ],
        ),
        (
            "free members beside named ones",
            json!({"type": "object", "properties": {
                "a": {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": true},
                "b": {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": false},
            }}),
            json!({"type": "object", "properties": {
                "a": {
                    "type": "object",
                    "properties": {"x": {"type": "string"}},
                    "x-kubernetes-preserve-unknown-fields": true,
                },
                "b": {"type": "object", "properties": {"x": {"type": "string"}}},
            }}),
            vec![
                "s.properties[a]: additionalProperties: true becomes x-kubernetes-preserve-unknown-fields: true",
                "s.properties[b]: additionalProperties: false is left out: unknown fields are pruned instead",
            ],
        ),
        (
            "keywords with a structural form of their own",
            json!({"type": "object", "$schema": "x", "definitions": {"a": {}}, "properties": {
                "l": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
            }, "dependencies": {"l": ["m"]}}),
            json!({"type": "object", "properties": {
                "l": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            }, "allOf": [{"anyOf": [{"not": {"required": ["l"]}}, {"required": ["m"]}]}]}),
            vec![
                "s: $schema is left out",
                "s: definitions are left out",
                "s.properties[l]: uniqueItems becomes x-kubernetes-list-type: set",
                "s.dependencies[l]: the dependency becomes anyOf",
            ],
        ),
    ] {
        let notes: Vec<String> = notes.into_iter().map(str::to_owned).collect();
        assert_eq!(propose(&schema), Ok((want, notes)), "{why}");
    }
}

#[test]
fn obstacles_are_named() {
    for (why, schema, want) in [
        (
            "types that differ",
            json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "object"}]}}}),
            vec![
                "s.properties[a].type: Forbidden: branches say different types: object, string",
                "s.properties[a].anyOf[0].type: Forbidden: cannot tell string apart where values of any type are allowed",
                "s.properties[a].anyOf[1].type: Forbidden: cannot tell object apart where values of any type are allowed",
            ],
        ),
        (
            "struct and map at once",
            json!({"type": "object", "properties": {"a": {"type": "object", "anyOf": [
                {"properties": {"x": {"type": "string"}}}, {"additionalProperties": {"type": "integer"}},
            ]}}}),
            vec![
                "s.properties[a].additionalProperties: Forbidden: an object cannot have both named and free members",
                "s.properties[a].anyOf[1].additionalProperties: Forbidden: the members of a map cannot be told apart inside a junctor",
            ],
        ),
        (
            "references and patterns",
            json!({"type": "object", "properties": {
                "a": {"$ref": "#/definitions/a"}, "b": {"type": "object", "patternProperties": {"x": {}}},
                "c": {"type": "array", "items": [{"type": "string"}]},
            }}),
            vec![
                "s.properties[a].$ref: Forbidden: references have no structural form: write the schema out",
                "s.properties[b].patternProperties: Forbidden: names by pattern have no structural form",
                "s.properties[c].items: Forbidden: a schema per position has no structural form",
            ],
        ),
        (
            "the rules that hold for all structural schemas",
            json!({"type": "object", "properties": {"metadata": {"type": "object", "minProperties": 1}}}),
            vec![
                "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
            ],
        ),
    ] {
        let want: Vec<String> = want.into_iter().map(str::to_owned).collect();
        assert_eq!(propose(&schema), Err(want), "{why}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Integers becoming `multipleOf: 1` and branches that never match are exact; the other notes mean
    /// that something changed. `accepts` does not know `multipleOf`.
    #[test]
    fn a_proposal_without_a_note_means_the_same(
        field in schemas(&["allOf", "anyOf", "oneOf", "not"], true), value in values(),
    ) {
        let schema = json!({"type": "object", "properties": {"f": field}});
        let schema = JSONSchemaProps::from_value(&schema).expect("the schema decodes");
        if let Ok(proposal) = structuralize(&schema, &Path::ROOT) {
            let exact = |note: &Note| note.text.contains("never matches");
            prop_assume!(proposal.notes.iter().all(exact));
            let object = json!({"f": value});
            prop_assert_eq!(accepts(&schema, &object), accepts(&proposal.schema, &object));
        }
    }

    #[test]
    fn a_proposal_is_structural_and_final(field in schemas(&["allOf", "anyOf", "oneOf", "not"], true)) {
        let schema = json!({"type": "object", "properties": {"f": field}});
        let schema = JSONSchemaProps::from_value(&schema).expect("the schema decodes");
        if let Ok(proposal) = structuralize(&schema, &Path::ROOT) {
            prop_assert!(Structural::of(&proposal.schema).is_ok_and(Structural::is_valid));
            let again = structuralize(&proposal.schema, &Path::ROOT);
            prop_assert_eq!(again.map(|again| again.schema), Ok(proposal.schema));
        }
    }
}
