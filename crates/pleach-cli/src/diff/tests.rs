//! A witness for every rule: accepted by the old CRD, refused by the new one or losing something.

use pleach_json::{Value, json};
use pleach_schema::Record;

use super::{Severity, diff};
use crate::catalog::Definition;
use crate::object;
use crate::sample::judge;

fn definition(spec: Value) -> Definition {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {"spec": spec}}}
            }]
        }
    });
    Definition::read(&crd).expect("a CRD")
}

fn field(schema: Value) -> Value {
    json!({"type": "object", "properties": {"f": schema, "other": {"type": "string"}}})
}

/// The old CRD accepts the witness, and the new one refuses it or drops more of it.
fn check(old: &Definition, new: &Definition, object: &Value) -> Result<(), String> {
    let (old_version, new_version) = (&old.versions[0], &new.versions[0]);
    let before = judge(old_version, object);
    if !before.is_empty() {
        return Err(format!("not accepted before: {before:?}"));
    }
    let unknown = |version| {
        object::decode(version, object.clone(), Record::Unknown).map_or(0, |decoded| decoded.unknown.len())
    };
    let refused = !judge(new_version, object).is_empty();
    let loses = unknown(new_version) > unknown(old_version);
    if refused || loses { Ok(()) } else { Err("still accepted".to_owned()) }
}

#[test]
fn every_rule_has_its_witness() {
    let string = json!({"type": "string"});
    let integer = json!({"type": "integer"});
    let list = |more: Value| {
        let mut out = json!({"type": "array", "items": {
            "type": "object", "required": ["a", "b"],
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}}
        }});
        if let (Some(out), Some(more)) = (out.as_object_mut(), more.as_object()) {
            out.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        out
    };
    let strings = |more: Value| {
        let mut out = json!({"type": "array", "items": {"type": "string"}});
        if let (Some(out), Some(more)) = (out.as_object_mut(), more.as_object()) {
            out.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        out
    };
    let map = |more: Value| {
        let mut out = json!({"type": "object", "additionalProperties": {"type": "string"}});
        if let (Some(out), Some(more)) = (out.as_object_mut(), more.as_object()) {
            out.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        out
    };
    let rule = |schema: Value, rule: &str| {
        let mut out = schema;
        if let Some(members) = out.as_object_mut() {
            members.insert("x-kubernetes-validations", json!([{"rule": rule}]));
        }
        out
    };
    let of_f = |schema: &Value, text: &str| rule(field(schema.clone()), text);
    let rows: Vec<(&str, &str, Value, Value)> = vec![
        (
            "field-removed",
            "a field goes",
            field(string.clone()),
            json!({"type": "object", "properties": {"other": string.clone()}}),
        ),
        (
            "required-added",
            "a field must be there",
            field(string.clone()),
            json!({"type": "object", "required": ["f"], "properties": {"f": string.clone(), "other": string.clone()}}),
        ),
        ("type-changed", "text to number", field(string.clone()), field(integer.clone())),
        ("type-changed", "number to whole number", field(json!({"type": "number"})), field(integer.clone())),
        ("type-changed", "one to many", field(string.clone()), field(strings(json!({})))),
        (
            "enum-narrowed",
            "a value goes",
            field(json!({"type": "string", "enum": ["a", "b"]})),
            field(json!({"type": "string", "enum": ["a"]})),
        ),
        (
            "enum-narrowed",
            "values at last",
            field(string.clone()),
            field(json!({"type": "string", "enum": ["string"]})),
        ),
        (
            "bound-narrowed",
            "maximum",
            field(json!({"type": "integer", "maximum": 10})),
            field(json!({"type": "integer", "maximum": 9})),
        ),
        (
            "bound-narrowed",
            "minimum",
            field(integer.clone()),
            field(json!({"type": "integer", "minimum": 100})),
        ),
        (
            "bound-narrowed",
            "exclusive",
            field(json!({"type": "integer", "maximum": 5})),
            field(json!({"type": "integer", "maximum": 5, "exclusiveMaximum": true})),
        ),
        (
            "bound-narrowed",
            "multipleOf",
            field(integer.clone()),
            field(json!({"type": "integer", "multipleOf": 10})),
        ),
        (
            "bound-narrowed",
            "maxLength",
            field(string.clone()),
            field(json!({"type": "string", "maxLength": 100})),
        ),
        (
            "bound-narrowed",
            "minLength",
            field(string.clone()),
            field(json!({"type": "string", "minLength": 1})),
        ),
        ("bound-narrowed", "maxItems", field(strings(json!({}))), field(strings(json!({"maxItems": 3})))),
        ("bound-narrowed", "minItems", field(strings(json!({}))), field(strings(json!({"minItems": 1})))),
        ("bound-narrowed", "maxProperties", field(map(json!({}))), field(map(json!({"maxProperties": 2})))),
        ("bound-narrowed", "minProperties", field(map(json!({}))), field(map(json!({"minProperties": 1})))),
        (
            "pattern-changed",
            "a pattern at last",
            field(string.clone()),
            field(json!({"type": "string", "pattern": "^[a-z]+$"})),
        ),
        (
            "pattern-changed",
            "a narrower pattern",
            field(json!({"type": "string", "pattern": "^[a-z]{1,9}$"})),
            field(json!({"type": "string", "pattern": "^[a-m]{1,3}$"})),
        ),
        (
            "format-changed",
            "a format at last",
            field(string.clone()),
            field(json!({"type": "string", "format": "date"})),
        ),
        (
            "list-type-changed",
            "a set",
            field(strings(json!({}))),
            field(strings(json!({"x-kubernetes-list-type": "set"}))),
        ),
        (
            "list-type-changed",
            "a map",
            field(list(json!({}))),
            field(list(json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}))),
        ),
        (
            "list-type-changed",
            "other keys",
            field(list(json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]}))),
            field(list(json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}))),
        ),
        (
            "prunes-unknown-fields",
            "keys of an object",
            field(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
            field(json!({"type": "object"})),
        ),
        ("map-closed", "keys of a map", field(map(json!({}))), field(json!({"type": "object"}))),
        (
            "embedded-resource",
            "a whole resource",
            field(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
            field(
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true}),
            ),
        ),
        (
            "nullable-removed",
            "null in a list",
            field(json!({"type": "array", "items": {"type": "string", "nullable": true}})),
            field(strings(json!({}))),
        ),
        (
            "junctor-changed",
            "one of two",
            field(string.clone()),
            json!({"type": "object", "properties": {"f": string.clone(), "other": string.clone()}, "oneOf": [{"required": ["f"]}, {"required": ["other"]}]}),
        ),
        (
            "junctor-changed",
            "not",
            field(integer.clone()),
            field(json!({"type": "integer", "not": {"enum": [1]}})),
        ),
        ("rule-added", "a number", field(integer.clone()), of_f(&integer, "!has(self.f) || self.f < 37")),
        (
            "rule-added",
            "a length",
            field(string.clone()),
            of_f(&string, "!has(self.f) || size(self.f) <= 63"),
        ),
        (
            "rule-added",
            "a text",
            field(string.clone()),
            of_f(&string, "!has(self.f) || self.f != 'forbidden'"),
        ),
        ("rule-added", "presence", field(string.clone()), of_f(&string, "has(self.f) == has(self.other)")),
        (
            "rule-added",
            "on the field itself",
            field(integer.clone()),
            field(rule(integer.clone(), "self % 5 == 0")),
        ),
        (
            "rule-added",
            "how many",
            field(strings(json!({}))),
            field(rule(strings(json!({})), "size(self) <= 7")),
        ),
        ("rule-added", "a key", field(map(json!({}))), field(rule(map(json!({})), "!('bad' in self)"))),
        (
            "rule-added",
            "further down",
            field(field(integer.clone())),
            rule(field(field(integer.clone())), "!has(self.f) || !has(self.f.f) || self.f.f != 41"),
        ),
    ];
    for (rule, why, old, new) in rows {
        let (old, new) = (definition(old), definition(new));
        let changes = diff(&old, &new);
        let change = changes.iter().find(|change| change.rule == rule);
        let Some(change) = change.filter(|change| change.severity == Severity::Breaking) else {
            panic!("{rule}, {why}: not told: {changes:?}")
        };
        let Some(witness) = &change.witness else { panic!("{rule}, {why}: no witness") };
        if let Err(wrong) = check(&old, &new, &witness.object) {
            panic!("{rule}, {why}: {wrong}: {}", witness.object);
        }
    }
}

#[test]
fn a_removed_field_has_a_witness() {
    let old = definition(field(json!({"type": "string"})));
    for (rule, change) in [
        ("kind", json!({"names": {"plural": "widgets", "singular": "widget", "kind": "Gadget"}})),
        ("scope", json!({"scope": "Cluster"})),
        ("version-unserved", json!({"served": false})),
        ("version-removed", json!({"name": "v2"})),
    ] {
        let mut value = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}
                }]
            }
        });
        let spec = value.get_mut("spec").and_then(Value::as_object_mut).expect("a spec");
        let members = change.as_object().expect("members");
        for (key, to) in members {
            if spec.contains_key(key) {
                spec.insert(key.clone(), to.clone());
            } else if let Some(version) = spec.get_mut("versions").and_then(Value::as_array_mut) {
                version[0].as_object_mut().expect("a version").insert(key.clone(), to.clone());
            }
        }
        let new = Definition::read(&value).expect("a CRD");
        let changes = diff(&old, &new);
        let found = changes.iter().find(|change| change.rule == rule).expect(rule);
        let witness = found.witness.as_ref().expect(rule);
        assert_eq!(judge(&old.versions[0], &witness.object), [], "{rule}");
    }
}
