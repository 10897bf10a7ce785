use pleach_json::json;

use super::*;

fn read(document: &Value) -> Result<Decoded, String> {
    decode(document, ApiVersion::V1, Options::default())
}

#[test]
fn wrong_shapes_are_go_s_decoding_errors() {
    let spec = |spec: Value| json!({"spec": (spec)});
    let version = |version: Value| json!({"spec": {"versions": [version]}});
    for (document, want) in [
        (
            spec(json!([])),
            "json: cannot unmarshal array into Go struct field CustomResourceDefinition.spec of type \
             v1.CustomResourceDefinitionSpec",
        ),
        (
            spec(json!({"scope": 1})),
            "json: cannot unmarshal number into Go struct field CustomResourceDefinitionSpec.spec.scope of type \
             v1.ResourceScope",
        ),
        (
            spec(json!({"versions": {}})),
            "json: cannot unmarshal object into Go struct field CustomResourceDefinitionSpec.spec.versions of type \
             []v1.CustomResourceDefinitionVersion",
        ),
        (
            version(json!({"subresources": {"status": true}})),
            "json: cannot unmarshal bool into Go struct field CustomResourceSubresources.spec.versions.subresources.status \
             of type v1.CustomResourceSubresourceStatus",
        ),
        (
            version(json!({"additionalPrinterColumns": [{"priority": 3_000_000_000_i64}]})),
            "json: cannot unmarshal number 3000000000 into Go struct field \
             CustomResourceColumnDefinition.spec.versions.additionalPrinterColumns.priority of type int32",
        ),
        (
            version(json!({"schema": {"openAPIV3Schema": {"properties": {"a": {"minimum": "1"}}}}})),
            "json: cannot unmarshal string into Go struct field \
             JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.minimum of type float64",
        ),
        (
            json!({"metadata": {"labels": {"a": 1}}}),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            json!({"metadata": {"creationTimestamp": "x", "name": 1}, "spec": 1}),
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
        ),
        (
            spec(json!({"conversion": {"webhook": {"clientConfig": {"caBundle": "%%%"}}}})),
            "illegal base64 data at input byte 0",
        ),
        (
            json!({"status": {"conditions": [{"lastTransitionTime": 1}]}}),
            "json: cannot unmarshal number into Go struct field \
             CustomResourceDefinitionCondition.status.conditions.lastTransitionTime of type string",
        ),
    ] {
        assert_eq!(read(&document).unwrap_err(), want);
    }
}

#[test]
fn unknown_fields_are_dropped_and_reported() {
    let document = json!({
        "extra": 1,
        "metadata": {"name": "x", "colour": "red"},
        "spec": {
            "version": "v1",
            "names": {"extra": 1},
            "versions": [{"name": "v1", "subresources": {"status": {"x": 1}},
                          "schema": {"openAPIV3Schema": {"readOnly": true}}}],
        },
    });
    assert_eq!(
        read(&document).unwrap().unknown,
        [
            "extra",
            "metadata.colour",
            "spec.names.extra",
            "spec.version",
            "spec.versions[0].schema.openAPIV3Schema.readOnly",
            "spec.versions[0].subresources.status.x",
        ]
    );
}

#[test]
fn defaults_are_those_of_the_version() {
    let document = json!({"spec": {
        "group": "example.com", "names": {"plural": "bigthings", "kind": "BigThing"}, "version": "v1",
        "conversion": {"strategy": "Webhook", "webhookClientConfig": {"service": {"name": "s", "namespace": "n"}}},
    }});
    let beta = decode(&document, ApiVersion::V1beta1, Options::default()).unwrap().crd;
    assert_eq!(
        beta.spec.encode(ApiVersion::V1beta1),
        json!({
            "group": "example.com", "version": "v1", "scope": "Namespaced", "preserveUnknownFields": true,
            "names": {"plural": "bigthings", "singular": "bigthing", "kind": "BigThing", "listKind": "BigThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true}],
            "conversion": {
                "strategy": "Webhook", "conversionReviewVersions": ["v1beta1"],
                "webhookClientConfig": {"service": {"name": "s", "namespace": "n", "port": 443}},
            },
        })
    );
    assert_eq!(beta.status.stored_versions.as_deref().unwrap(), ["v1"]);
    let ga = read(&document).unwrap().crd;
    assert_eq!(
        ga.spec.encode(ApiVersion::V1),
        json!({
            "group": "example.com", "scope": "", "versions": null,
            "names": {"plural": "bigthings", "singular": "bigthing", "kind": "BigThing", "listKind": "BigThingList"},
            "conversion": {"strategy": "Webhook"},
        }),
        "v1 has no version of the spec, no defaults for scope and reviews, and no flat webhook"
    );
}

#[test]
fn common_parts_of_versions_move_up_and_back() {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let other = json!({"openAPIV3Schema": {"type": "object", "description": "x"}});
    let column = |key: &str| {
        let mut column = json!({"name": "A", "type": "string"});
        column.as_object_mut().unwrap().insert(key, ".spec.a");
        column
    };
    let document = |second: &Value| {
        json!({"spec": {"group": "g", "scope": "Cluster", "names": {"plural": "p", "kind": "K"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": (schema.clone()), "subresources": {"status": {}},
             "additionalPrinterColumns": [(column("jsonPath"))]},
            {"name": "v2", "served": true, "storage": false, "schema": (second.clone()), "subresources": {"status": {}},
             "additionalPrinterColumns": [(column("jsonPath"))]},
        ]}})
    };
    let same = read(&document(&schema)).unwrap().crd;
    assert!(same.spec.validation.is_some() && same.spec.versions().iter().all(|v| v.schema.is_none()));
    assert_eq!(same.spec.version, "v1");
    assert_eq!(
        same.spec.encode(ApiVersion::V1).get("versions"),
        document(&schema).at(&["spec", "versions"]),
        "v1 shows every version whole"
    );
    let beta = same.spec.encode(ApiVersion::V1beta1);
    assert_eq!(beta.get("validation"), Some(&schema));
    assert_eq!(beta.get("additionalPrinterColumns"), Some(&json!([(column("JSONPath"))])));
    assert_eq!(
        beta.get("versions"),
        Some(&json!([
            {"name": "v1", "served": true, "storage": true}, {"name": "v2", "served": true, "storage": false},
        ]))
    );

    let differ = read(&document(&other)).unwrap().crd;
    assert!(differ.spec.validation.is_none(), "schemas that differ stay where they are");
    assert!(differ.spec.subresources.is_some(), "each thing is moved on its own");
    assert_eq!(
        differ.spec.encode(ApiVersion::V1).get("versions"),
        document(&other).at(&["spec", "versions"])
    );
}

#[test]
fn depth_costs_no_stack() {
    let mut schema = json!({"type": "object"});
    for level in 0..4_000 {
        schema = match level % 3 {
            0 => json!({"type": "object", "properties": {"a": (schema)}}),
            1 => json!({"type": "array", "items": (schema)}),
            _ => json!({"type": "object", "additionalProperties": (schema)}),
        };
    }
    let version = |name: &str| {
        json!({"name": name, "served": true, "storage": (name == "v1"),
               "schema": {"openAPIV3Schema": {"type": "object", "properties": {"deep": (schema.clone())}}}})
    };
    let document = json!({"metadata": {"name": "foos.example.com"}, "spec": {
        "group": "example.com", "scope": "Cluster", "names": {"plural": "foos", "kind": "Foo"},
        "versions": [(version("v1")), (version("v2"))]}});
    let crd = read(&document).unwrap().crd;
    assert!(crd.spec.validation.is_some(), "the schemas were found to be alike");
    assert_eq!(crate::validate_create(&crd, ApiVersion::V1).len(), 0);
    assert_eq!(crd.encode(ApiVersion::V1).at(&["spec", "versions"]), document.at(&["spec", "versions"]));
    assert!(
        !pleach_meta::field_error::aggregate(&crate::validate_update(&crd, &crd, ApiVersion::V1beta1))
            .is_empty()
    );
}
