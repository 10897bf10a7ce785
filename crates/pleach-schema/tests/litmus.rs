//! The litmus tests of the design of structural schemas: six kinds of types, each as it is
//! specified, as it is published, and after dropping the value validation.

use pleach_json::{Value, json};
use pleach_meta::Path;
use pleach_schema::{JSONSchemaProps, Structural};

/// Checks a field's schema: it is structural, `published` is what unfolding makes of it, `dropped`
/// what is left of that without value validation but for what unfolding added.
#[track_caller]
fn litmus(specified: &Value, published: &Value, dropped: &Value) {
    let field = JSONSchemaProps::from_value(specified).expect("the schema decodes");
    let root = json!({"type": "object", "properties": {"field": specified.clone()}});
    let root = JSONSchemaProps::from_value(&root).expect("the schema decodes");
    let errors = Structural::of(&root).expect("it uses structural keywords").violations(&Path::new("s"));
    assert!(errors.is_empty(), "specified: {errors:?}");

    let mut unfolded = field.clone();
    unfolded.unfold();
    unfolded.unfold_embedded_resources();
    assert_eq!(&unfolded.to_value(), published, "published");

    unfolded.drop_value_validations();
    assert_eq!(&unfolded.to_value(), dropped, "after dropping value validation");
}

#[test]
fn litmus_1_discriminated_union() {
    let union =
        || json!([{"discriminator": "type", "fields": {"emptyDir": "EmptyDir", "hostPath": "HostPath"}}]);
    let properties = || {
        json!({
            "type": {"type": "string", "enum": ["EmptyDir", "HostPath"]},
            "emptyDir": {"type": "object"},
            "hostPath": {
                "type": "object",
                "properties": {"path": {"type": "string", "pattern": "/.*"}},
                "required": ["path"],
            },
            "sharedField": {"type": "string"},
        })
    };
    litmus(
        &json!({
            "type": "object",
            "x-kubernetes-unions": union(),
            "properties": properties(),
            "required": ["sharedField"],
        }),
        &json!({
            "type": "object",
            "x-kubernetes-unions": union(),
            "properties": properties(),
            "required": ["sharedField"],
            "oneOf": [{"required": ["emptyDir"]}, {"required": ["hostPath"]}],
        }),
        &json!({
            "type": "object",
            "x-kubernetes-unions": union(),
            "properties": {
                "type": {"type": "string"},
                "emptyDir": {"type": "object"},
                "hostPath": {"type": "object", "properties": {"path": {"type": "string"}}},
                "sharedField": {"type": "string"},
            },
        }),
    );
}

#[test]
fn litmus_2_polymorphic_format_for_ipv4_and_ipv6() {
    let specified = json!({
        "type": "string",
        "anyOf": [
            {"pattern": r"^(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)$"},
            {"pattern": r"^(([0-9a-fA-F]{1,4}:){7,7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:)$"},
        ],
    });
    litmus(&specified, &specified, &json!({"type": "string"}));
}

#[test]
fn litmus_3_raw_extension() {
    // The design leaves out the type of apiVersion; the rules as they were shipped demand it.
    let unspecified = json!({"type": "object", "properties": {"x": {
        "type": "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"apiVersion": {"pattern": "v1"}},
    }}});
    let unspecified = JSONSchemaProps::from_value(&unspecified).expect("the schema decodes");
    let errors = Structural::of(&unspecified).expect("convertible").violations(&Path::new("s"));
    assert_eq!(errors.len(), 2, "{errors:?}");

    litmus(
        &json!({
            "type": "object",
            "nullable": true,
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"apiVersion": {"type": "string", "pattern": "v1"}},
        }),
        &json!({
            "type": "object",
            "nullable": true,
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {
                "apiVersion": {"type": "string", "pattern": "v1"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
            },
            "required": ["kind", "apiVersion"],
        }),
        &json!({
            "type": "object",
            "nullable": true,
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
            },
        }),
    );
}

#[test]
fn litmus_4_embedded_json() {
    let specified = json!({
        "type": "object",
        "properties": {
            "json": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "nullable": true},
        },
    });
    litmus(&specified, &specified, &specified);
}

#[test]
fn litmus_5_string_maps() {
    let specified = json!({"type": "object", "additionalProperties": {"type": "integer", "minimum": 42}});
    litmus(&specified, &specified, &json!({"type": "object", "additionalProperties": {"type": "integer"}}));
}

#[test]
fn litmus_6_int_or_string() {
    let ranges = || json!([{"minimum": 42, "maximum": 50}, {"minimum": 52, "maximum": 60}]);
    let either = || json!({"anyOf": [{"type": "integer"}, {"type": "string"}]});
    let dropped = json!({"x-kubernetes-int-or-string": true});
    litmus(
        &json!({"x-kubernetes-int-or-string": true, "pattern": "abc", "anyOf": ranges()}),
        &json!({
            "x-kubernetes-int-or-string": true,
            "pattern": "abc",
            "anyOf": ranges(),
            "allOf": [either()],
        }),
        &dropped,
    );
    let spelled_out = json!({
        "x-kubernetes-int-or-string": true,
        "allOf": [either(), {"pattern": "abc", "anyOf": ranges()}],
    });
    litmus(&spelled_out, &spelled_out, &dropped);
}
