use pleach_json::{Value, json};

use crate::{Decoder, JSONSchemaProps};

fn decode(value: &Value) -> (JSONSchemaProps, Option<String>, Vec<String>) {
    let fields = ["spec", "versions", "schema", "openAPIV3Schema"];
    let mut decoder = Decoder::new("v1").within(
        "CustomResourceValidation",
        &fields,
        "spec.versions[0].schema.openAPIV3Schema",
    );
    let schema = JSONSchemaProps::decode(&mut decoder, value);
    let (error, unknown) = decoder.finish();
    (schema, error, unknown)
}

#[test]
fn wrong_types_read_as_from_go() {
    for (value, want) in [
        (
            json!(5),
            "number into Go struct field CustomResourceValidation.…openAPIV3Schema of type v1.JSONSchemaProps",
        ),
        (
            json!({"title": {}}),
            "object into Go struct field JSONSchemaProps.…openAPIV3Schema.title of type string",
        ),
        (
            json!({"nullable": 1}),
            "number into Go struct field JSONSchemaProps.…openAPIV3Schema.nullable of type bool",
        ),
        (
            json!({"maxLength": "x"}),
            "string into Go struct field JSONSchemaProps.…openAPIV3Schema.maxLength of type int64",
        ),
        (
            json!({"maxLength": 1.5}),
            "number 1.5 into Go struct field JSONSchemaProps.…openAPIV3Schema.maxLength of type int64",
        ),
        (
            json!({"minimum": "x"}),
            "string into Go struct field JSONSchemaProps.…openAPIV3Schema.minimum of type float64",
        ),
        (
            json!({"required": "x"}),
            "string into Go struct field JSONSchemaProps.…openAPIV3Schema.required of type []string",
        ),
        (
            json!({"required": [1]}),
            "number into Go struct field JSONSchemaProps.…openAPIV3Schema.required of type string",
        ),
        (
            json!({"enum": "x"}),
            "string into Go struct field JSONSchemaProps.…openAPIV3Schema.enum of type []v1.JSON",
        ),
        (
            json!({"properties": []}),
            "array into Go struct field JSONSchemaProps.…openAPIV3Schema.properties of type map[string]v1.JSONSchemaProps",
        ),
        (
            json!({"properties": {"a": 5}}),
            "number into Go struct field JSONSchemaProps.…openAPIV3Schema.properties of type v1.JSONSchemaProps",
        ),
        (
            json!({"allOf": 5}),
            "number into Go struct field JSONSchemaProps.…openAPIV3Schema.allOf of type []v1.JSONSchemaProps",
        ),
        (
            json!({"not": 5}),
            "number into Go struct field JSONSchemaProps.…openAPIV3Schema.not of type v1.JSONSchemaProps",
        ),
        (
            json!({"definitions": {"a": {"type": 5}}}),
            "number into Go struct field JSONSchemaProps.…openAPIV3Schema.definitions.type of type string",
        ),
        (
            json!({"dependencies": 5}),
            "number into Go struct field JSONSchemaProps.…openAPIV3Schema.dependencies of type v1.JSONSchemaDependencies",
        ),
        (
            json!({"externalDocs": {"url": 5}}),
            "number into Go struct field ExternalDocumentation.…openAPIV3Schema.externalDocs.url of type string",
        ),
        (
            json!({"x-kubernetes-validations": 5}),
            "number into Go struct field JSONSchemaProps.…openAPIV3Schema.x-kubernetes-validations of type v1.ValidationRules",
        ),
        (
            json!({"x-kubernetes-validations": [{"reason": 5}]}),
            "number into Go struct field ValidationRule.…openAPIV3Schema.x-kubernetes-validations.reason of type v1.FieldValueErrorReason",
        ),
        // A type that decodes itself hands its trail on, but the struct named is the one around it.
        (
            json!({"items": {"items": {"externalDocs": {"url": 5}}}}),
            "number into Go struct field JSONSchemaProps.…openAPIV3Schema.items.items.externalDocs.url of type string",
        ),
        (
            json!({"additionalProperties": {"maxLength": "x"}}),
            "string into Go struct field JSONSchemaProps.…openAPIV3Schema.additionalProperties.maxLength of type int64",
        ),
    ] {
        let (_, error, _) = decode(&value);
        let want = format!("json: cannot unmarshal {}", want.replace('…', "spec.versions.schema."));
        assert_eq!(error.as_deref(), Some(want.as_str()), "{value:?}");
    }
}

#[test]
fn an_error_of_a_self_decoding_type_wins() {
    let value = json!({"a": 1, "additionalProperties": "x", "maxLength": "x"});
    assert_eq!(decode(&value).1.as_deref(), Some("boolean or JSON schema expected"));
    let value = json!({"enum": "x", "items": {"additionalProperties": 5}});
    assert_eq!(decode(&value).1.as_deref(), Some("boolean or JSON schema expected"));
}

#[test]
fn unknown_keys_are_noted_outside_of_self_decoding_types() {
    let (_, error, unknown) = decode(&json!({
        "const": 1,
        "items": {"zz": 1},
        "additionalProperties": {"zz": 1},
        "dependencies": {"d": {"zz": 1}},
        "default": {"zz": 1},
        "properties": {"a.b": {"anyOf": [{}, {"zz": 1}], "not": {"Type": "x"}}},
        "x-kubernetes-validations": [{"rule": "x", "zz": 1}],
        "externalDocs": {"zz": 1},
        "x-kubernetes-unions": [],
    }));
    assert_eq!(error, None);
    let unknown: Vec<&str> = unknown
        .iter()
        .map(|path| path.strip_prefix("spec.versions[0].schema.openAPIV3Schema.").expect("below the schema"))
        .collect();
    assert_eq!(
        unknown,
        [
            "const",
            "externalDocs.zz",
            "properties.a.b.anyOf[1].zz",
            "properties.a.b.not.Type",
            "x-kubernetes-unions",
            "x-kubernetes-validations[0].zz",
        ]
    );
}

#[test]
fn schemas_are_written_as_they_were_read_with_the_quirks() {
    for (why, value, want) in [
        ("null is absent", json!({"default": null, "type": null, "items": null, "not": null}), json!({})),
        ("enum keeps null", json!({"enum": [null, 1, 1.5, "x"]}), json!({"enum": [null, 1, 1.5, "x"]})),
        ("items of no schema", json!({"items": []}), json!({"items": null})),
        ("items of another type", json!({"items": true}), json!({"items": null})),
        (
            "dependencies of another type",
            json!({"dependencies": {"a": 5}}),
            json!({"dependencies": {"a": null}}),
        ),
        (
            "empty lists are left out",
            json!({"required": [], "enum": [], "allOf": [], "properties": {}}),
            json!({}),
        ),
        ("false is absent", json!({"nullable": false, "x-kubernetes-int-or-string": false}), json!({})),
        (
            "but not behind a pointer",
            json!({"x-kubernetes-preserve-unknown-fields": false, "$ref": "", "maxLength": 0, "additionalProperties": false}),
            json!({"x-kubernetes-preserve-unknown-fields": false, "$ref": "", "maxLength": 0, "additionalProperties": false}),
        ),
        ("bounds are floats", json!({"minimum": 1.0, "maximum": 2}), json!({"minimum": 1, "maximum": 2})),
        (
            "a rule always has its text",
            json!({"x-kubernetes-validations": [{"message": "m", "optionalOldSelf": false}]}),
            json!({"x-kubernetes-validations": [{"rule": "", "message": "m", "optionalOldSelf": false}]}),
        ),
    ] {
        let (schema, error, _) = decode(&value);
        assert_eq!(error, None, "{why}");
        assert_eq!(schema.to_value(), want, "{why}");
    }
}

#[test]
fn every_keyword_survives() {
    let value = json!({
        "id": "i", "$schema": "s", "$ref": "r", "description": "d", "type": "object", "format": "f", "title": "t",
        "default": {"a": 1}, "maximum": 1.5, "exclusiveMaximum": true, "minimum": -1, "exclusiveMinimum": true,
        "maxLength": 1, "minLength": 2, "pattern": "p", "maxItems": 3, "minItems": 4, "uniqueItems": true,
        "multipleOf": 0.5, "enum": [1, "a"], "maxProperties": 5, "minProperties": 6, "required": ["a"],
        "items": {"type": "string"}, "allOf": [{}], "oneOf": [{}], "anyOf": [{}], "not": {},
        "properties": {"a": {}}, "additionalProperties": {"type": "string"}, "patternProperties": {"p": {}},
        "dependencies": {"a": ["b"], "c": {}}, "additionalItems": true, "definitions": {"d": {}},
        "externalDocs": {"description": "d", "url": "u"}, "example": [1], "nullable": true,
        "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true,
        "x-kubernetes-int-or-string": true, "x-kubernetes-list-map-keys": ["k"], "x-kubernetes-list-type": "map",
        "x-kubernetes-map-type": "atomic",
        "x-kubernetes-validations": [{
            "rule": "r", "message": "m", "messageExpression": "e", "reason": "FieldValueInvalid",
            "fieldPath": ".a", "optionalOldSelf": true,
        }],
        "x-kubernetes-unions": [{"discriminator": "d", "fields": {"a": "A"}}],
    });
    let schema = JSONSchemaProps::from_value(&value).expect("it decodes");
    assert_eq!(schema.to_value(), value);
}
