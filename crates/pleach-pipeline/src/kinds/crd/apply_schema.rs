//! The schema that field ownership of CRDs goes by. CRDs are typed objects without a schema of their own.

use pleach_json::{Map, Value, json};
use pleach_schema::{Schema, SchemaOptions};
use pleach_work::Constant;

/// The schema of a version.
pub(super) fn of(version: &str) -> &'static Schema {
    static V1: Constant<Schema> = Constant::new(|| definition(false));
    static V1BETA1: Constant<Schema> = Constant::new(|| definition(true));
    if version == "v1" { &V1 } else { &V1BETA1 }
}

fn definition(old: bool) -> Schema {
    let text = || json!({"type": "string"});
    let flag = || json!({"type": "boolean"});
    let number = || json!({"type": "integer"});
    let anything = || json!({"x-kubernetes-preserve-unknown-fields": true});
    let object = |properties: Value| json!({"type": "object", "properties": (properties)});
    let list = |items: Value| json!({"type": "array", "items": (items), "x-kubernetes-list-type": "atomic"});
    let names = object(json!({
        "categories": (list(text())),
        "kind": (text()),
        "listKind": (text()),
        "plural": (text()),
        "shortNames": (list(text())),
        "singular": (text()),
    }));
    let client = object(json!({
        "caBundle": (text()),
        "service": (object(json!({
            "name": (text()), "namespace": (text()), "path": (text()), "port": (number()),
        }))),
        "url": (text()),
    }));
    let column = |path: &str| {
        let mut column = Map::new();
        for key in ["description", "format", path, "name", "type"] {
            column.insert(key, text());
        }
        column.insert("priority", number());
        list(object(column.into()))
    };
    let schema = object(json!({"openAPIV3Schema": (anything())}));
    let selectable = list(object(json!({"jsonPath": (text())})));
    let subresources = object(json!({
        "scale": (object(json!({
            "labelSelectorPath": (text()),
            "specReplicasPath": (text()),
            "statusReplicasPath": (text()),
        }))),
        "status": {"type": "object"},
    }));
    let column_path = if old { "JSONPath" } else { "jsonPath" };
    let version = object(json!({
        "additionalPrinterColumns": (column(column_path)),
        "deprecated": (flag()),
        "deprecationWarning": (text()),
        "name": (text()),
        "schema": (schema.clone()),
        "selectableFields": (selectable.clone()),
        "served": (flag()),
        "storage": (flag()),
        "subresources": (subresources.clone()),
    }));
    let conversion = if old {
        object(json!({
            "conversionReviewVersions": (list(text())),
            "strategy": (text()),
            "webhookClientConfig": (client),
        }))
    } else {
        object(json!({
            "strategy": (text()),
            "webhook": (object(json!({
                "clientConfig": (client), "conversionReviewVersions": (list(text())),
            }))),
        }))
    };
    let mut spec = Map::new();
    spec.insert("conversion", conversion);
    spec.insert("group", text());
    spec.insert("names", names.clone());
    spec.insert("preserveUnknownFields", flag());
    spec.insert("scope", text());
    spec.insert("versions", list(version));
    if old {
        spec.insert("additionalPrinterColumns", column(column_path));
        spec.insert("selectableFields", selectable);
        spec.insert("subresources", subresources);
        spec.insert("validation", schema);
        spec.insert("version", text());
    }
    let condition = object(json!({
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "message": (text()),
        "observedGeneration": (number()),
        "reason": (text()),
        "status": (text()),
        "type": {"type": "string", "default": ""},
    }));
    let status = object(json!({
        "acceptedNames": (names),
        "conditions": {
            "type": "array",
            "items": (condition),
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
        "observedGeneration": (number()),
        "storedVersions": (list(text())),
    }));
    let whole = object(json!({"spec": (object(spec.into())), "status": (status)}));
    Schema::from_value(&whole, SchemaOptions::default())
}
