//! Schemas of a kind and of its list.

use pleach_json::{Map, Value, grow_stack, json};
use pleach_schema::{JSONSchemaProps, Structural};

use crate::document::schema_shape;
use crate::names::META;
use crate::{Edition, Resource, json, schema_writer, shared};

const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/// A schema to be written.
pub(crate) enum Published {
    /// Whole.
    Value(Value),
    /// That of a CRD, with the extensions of its kind.
    Props(Box<JSONSchemaProps>, Map),
}

impl Published {
    /// The schema as a value.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Value(value) => value,
            Self::Props(props, marks) => with_marks(props.to_value(), marks),
        }
    }

    /// Writes the schema as JSON.
    pub(crate) fn write(self, edition: Edition, out: &mut Vec<u8>) {
        match self {
            Self::Props(props, marks) if schema_writer::is_writable(edition, &props) => {
                schema_writer::write(edition, &props, &marks, out);
            }
            other => json::write(schema_shape(edition), &other.into_value(), out),
        }
    }
}

/// The schemas of a kind and of its list.
pub(crate) fn schemas(resource: &Resource<'_>, edition: Edition) -> Vec<(String, Published)> {
    let name = resource.schema_name(resource.kind);
    let own = match kind_schema(resource, edition, &name) {
        Published::Value(value) => Published::Value(with_marks(value, marks(resource, resource.kind))),
        Published::Props(props, _) => Published::Props(props, marks(resource, resource.kind)),
    };
    let list = list_schema(resource, edition, &name);
    let list = Published::Value(with_marks(list, marks(resource, resource.list_kind)));
    let mut out = vec![(name, own), (resource.schema_name(resource.list_kind), list)];
    let (_, types) = resource.types.unwrap_or(const { &(Value::Null, Vec::new()) });
    let types = types.iter().filter(|(name, _)| !shared::has(name));
    out.extend(
        types.map(|(name, schema)| (name.clone(), Published::Value(shared::in_edition(schema, edition)))),
    );
    out
}

/// `x-kubernetes-group-version-kind` and selectable fields.
fn marks(resource: &Resource<'_>, kind: &str) -> Map {
    let mut marks = Map::with_capacity(2);
    let gvk = json!([{"group": (resource.group), "kind": kind, "version": (resource.version)}]);
    marks.insert("x-kubernetes-group-version-kind", gvk);
    if !resource.selectable_fields.is_empty() && !resource.built_in {
        let fields: Vec<Value> =
            resource.selectable_fields.iter().map(|path| json!({"fieldPath": *path})).collect();
        marks.insert("x-kubernetes-selectable-fields", fields);
    }
    marks
}

fn with_marks(mut schema: Value, marks: Map) -> Value {
    if let Some(members) = schema.as_object_mut() {
        for (key, mark) in marks.iter() {
            members.insert(key.clone(), mark.clone());
        }
    }
    schema
}

fn kind_schema(resource: &Resource<'_>, edition: Edition, name: &str) -> Published {
    if let Some(known) = shared::schema(name, edition) {
        return Published::Value(known);
    }
    if let Some((own, _)) = resource.types {
        return Published::Value(typed(own, edition));
    }
    let bare = || Published::Value(json!({"type": "object"}));
    let Some(schema) = resource.schema.filter(|schema| is_publishable(schema)) else { return bare() };
    if edition == Edition::V2 && (resource.preserve_unknown_fields || schema.preserves_unknown_fields()) {
        return bare();
    }
    let mut schema = Box::new(schema.clone());
    schema.unfold();
    schema.each_structural_node(&mut |node| {
        node.x_preserve_unknown_fields = node.x_preserve_unknown_fields.filter(|preserve| *preserve);
        plain_junctors(node);
    });
    if edition == Edition::V2 {
        schema.each_structural_node(&mut to_v2);
    }
    schema.each_structural_node(&mut |node| {
        let skipped = edition == Edition::V2 && node.preserves_unknown_fields();
        if node.x_embedded_resource && !skipped {
            spell_out_embedded(node, edition);
        }
    });
    let properties = schema.properties.get_or_insert_default();
    properties.insert("apiVersion", text(&api_version_text()));
    properties.insert("kind", text(&kind_text()));
    properties.insert("metadata", metadata(edition));
    if !resource.built_in {
        return Published::Props(schema, Map::default());
    }
    // Rules of built-in kinds are not published.
    schema.each_structural_node(&mut |node| {
        if !node.validations().is_empty() {
            node.rare_mut().x_validations = None;
        }
    });
    let mut schema = schema.to_value();
    say_merge_keys(&mut schema);
    Published::Value(schema)
}

/// The schema of a built-in kind, with descriptions of what every object has.
fn typed(schema: &Value, edition: Edition) -> Value {
    let mut schema = shared::in_edition(schema, edition);
    let metadata = format!("Standard object's metadata. More info: {CONVENTIONS}#metadata");
    for (field, text) in [("apiVersion", api_version_text()), ("kind", kind_text()), ("metadata", metadata)] {
        let property = schema.get_mut("properties").and_then(|properties| properties.get_mut(field));
        if let Some(members) = property.and_then(Value::as_object_mut) {
            members.insert("description", text);
        }
    }
    schema
}

/// Adds the strategic merge patch extensions to lists keyed by one field.
fn say_merge_keys(schema: &mut Value) {
    grow_stack(|| {
        let Some(members) = schema.as_object_mut() else { return };
        if members.get_str("x-kubernetes-list-type") == Some("map")
            && let Some([key]) =
                members.get("x-kubernetes-list-map-keys").and_then(Value::as_array).map(|k| &***k)
        {
            let key = key.clone();
            members.insert("x-kubernetes-patch-merge-key", key);
            members.insert("x-kubernetes-patch-strategy", "merge");
        }
        for child in ["items", "additionalProperties"] {
            if let Some(child) = members.get_mut(child) {
                say_merge_keys(child);
            }
        }
        if let Some(properties) = members.get_mut("properties").and_then(Value::as_object_mut) {
            properties.values_mut().for_each(say_merge_keys);
        }
    });
}

/// Whether the schema is structural; others are not published.
fn is_publishable(schema: &JSONSchemaProps) -> bool {
    let known = ["", "array", "boolean", "integer", "number", "object", "string"];
    !schema.any_node(&mut |node| !known.contains(&node.type_.as_str()))
        && Structural::of(schema).is_ok_and(Structural::is_valid)
}

/// `additionalProperties` inside junctors are not published.
fn plain_junctors(node: &mut JSONSchemaProps) {
    fn plain(node: &mut JSONSchemaProps) {
        grow_stack(|| {
            node.additional_properties = None;
            plain_junctors(node);
            if let Some(properties) = &mut node.properties {
                properties.iter_mut().for_each(|(_, property)| plain(property));
            }
            if let Some(pleach_schema::SchemaOrArray::Schema(items)) = &mut node.items {
                plain(items);
            }
        });
    }
    let used = [node.all_of(), node.any_of(), node.one_of()].iter().any(|list| !list.is_empty());
    if !used && node.not().is_none() {
        return;
    }
    let value = node.value_mut();
    for list in [&mut value.all_of, &mut value.any_of, &mut value.one_of].into_iter().flatten() {
        list.iter_mut().for_each(plain);
    }
    if let Some(not) = &mut value.not {
        plain(not);
    }
}

/// Drops keywords that v2 lacks. Parents come before children, so that a parent sees which of its
/// children are nullable.
fn to_v2(node: &mut JSONSchemaProps) {
    if node.value() != JSONSchemaProps::default().value() {
        let value = node.value_mut();
        value.all_of = None;
        value.any_of = None;
        value.one_of = None;
        value.not = None;
    }
    if !node.default_value().is_null() {
        node.rare_mut().default = Value::Null;
    }
    if node.nullable {
        node.type_ = "".into();
        node.nullable = false;
        node.items = None;
        node.properties = None;
    }
    let preserves = node.preserves_unknown_fields();
    if preserves {
        node.items = None;
        node.properties = None;
    }
    if (node.type_ == "array" && node.items.is_none()) || (preserves && node.type_ == "object") {
        node.type_ = "".into();
    }
    if let Some(mut required) = node.required.take() {
        let is_nullable = |name: &str| node.property(name).is_some_and(|property| property.nullable);
        required.retain(|name| !is_nullable(name));
        let any_value_may_be_null = node.additional_properties().is_some_and(|schema| schema.nullable);
        if !required.is_empty() && !any_value_may_be_null {
            node.required = Some(required);
        }
    }
}

/// The fields of every embedded resource.
fn spell_out_embedded(node: &mut JSONSchemaProps, edition: Edition) {
    let properties = node.properties.get_or_insert_default();
    properties.insert(
        "apiVersion",
        text(&format!(
            "apiVersion defines the versioned schema of this representation of an object. More info: {CONVENTIONS}#resources"
        )),
    );
    properties.insert(
        "kind",
        text(&format!(
            "kind is a string value representing the type of this object. In CamelCase. More info: {CONVENTIONS}#types-kinds"
        )),
    );
    properties.insert("metadata", metadata(edition));
    let required = node.required.get_or_insert_default();
    for name in ["kind", "apiVersion"] {
        if !required.iter().any(|known| known == name) {
            required.push(name.into());
        }
    }
}

fn api_version_text() -> String {
    format!(
        "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: {CONVENTIONS}#resources"
    )
}

fn kind_text() -> String {
    format!(
        "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: {CONVENTIONS}#types-kinds"
    )
}

fn text(description: &str) -> JSONSchemaProps {
    let mut out = JSONSchemaProps::of_type("string");
    out.description = description.into();
    out
}

fn metadata(edition: Edition) -> JSONSchemaProps {
    let description = format!("Standard object's metadata. More info: {CONVENTIONS}#metadata");
    let mut reference = JSONSchemaProps::default();
    reference.rare_mut().ref_ = Some(format!("{}{META}ObjectMeta", edition.reference_prefix()).into());
    let mut out = match edition {
        Edition::V2 => reference,
        Edition::V3 => {
            let mut out = JSONSchemaProps::default();
            out.value_mut().all_of = Some(vec![reference].into());
            out
        }
    };
    out.description = description.into();
    out
}

fn list_schema(resource: &Resource<'_>, edition: Edition, name: &str) -> Value {
    let (kind, list_kind, plural) = (resource.kind, resource.list_kind, resource.plural);
    let prefix = edition.reference_prefix();
    let description = format!("Standard list metadata. More info: {CONVENTIONS}#types-kinds");
    let reference = json!({"$ref": (format!("{prefix}{META}ListMeta"))});
    let mut metadata = match edition {
        Edition::V2 => reference.as_object().cloned().unwrap_or_default(),
        Edition::V3 => Map::from(vec![("allOf".into(), json!([reference]))]),
    };
    metadata.insert("description", description);
    let mut items = json!({"$ref": (format!("{prefix}{name}"))});
    if resource.types.is_some() && edition == Edition::V3 {
        metadata.insert("default", Value::object());
        items = json!({"allOf": [items], "default": {}});
    }
    json!({
        "description": (format!("{list_kind} is a list of {kind}")),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": (api_version_text()), "type": "string"},
            "items": {
                "description": (format!("List of {plural}. More info: {CONVENTIONS}")),
                "type": "array",
                "items": items,
            },
            "kind": {"description": (kind_text()), "type": "string"},
            "metadata": metadata,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::foo;

    /// The published form of `spec` in both OpenAPI versions.
    fn published(spec: Value) -> [Value; 2] {
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        [Edition::V2, Edition::V3].map(|edition| {
            let mut root = root(&schema, edition);
            root.get_mut("properties").and_then(|p| p.get_mut("spec")).map(Value::take).unwrap_or_default()
        })
    }

    fn root(schema: &Value, edition: Edition) -> Value {
        let schema = JSONSchemaProps::from_value(schema).unwrap();
        kind_schema(&Resource { schema: Some(&schema), ..foo() }, edition, "none").into_value()
    }

    #[test]
    fn keywords_unknown_to_v2_are_dropped() {
        let free = json!({"x-kubernetes-preserve-unknown-fields": true});
        for (spec, v2, why) in [
            (
                json!({"type": "string", "oneOf": [{"pattern": "^a"}], "title": "t"}),
                json!({"type": "string", "title": "t"}),
                "junctors go, the rest stays",
            ),
            (json!({"type": "string", "nullable": true}), json!({}), "nullable takes the type with it"),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}},
                    "x-kubernetes-preserve-unknown-fields": true}),
                free,
                "an open object says nothing of its fields",
            ),
            (
                json!({"type": "object", "required": ["a", "b"], "properties": {
                    "a": {"type": "string", "nullable": true}, "b": {"type": "integer", "default": 1}}}),
                json!({"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "integer"}}}),
                "what may be null is not required, and nothing has a default",
            ),
            (
                json!({"x-kubernetes-int-or-string": true}),
                json!({"x-kubernetes-int-or-string": true}),
                "either type is no type",
            ),
        ] {
            let [got, v3] = published(spec.clone());
            assert_eq!(got, v2, "{why}");
            if spec.get("x-kubernetes-int-or-string").is_none() {
                assert_eq!(v3, spec, "v3 says it all: {why}");
            }
        }
    }

    #[test]
    fn int_or_string_is_spelled_out_in_v3() {
        let [_, v3] = published(json!({"x-kubernetes-int-or-string": true}));
        assert_eq!(v3.get("anyOf"), Some(&json!([{"type": "integer"}, {"type": "string"}])));
    }

    #[test]
    fn embedded_resources_have_type_and_metadata() {
        for schema in published(json!({"type": "object", "x-kubernetes-embedded-resource": true,
            "properties": {"spec": {"type": "object"}}}))
        {
            assert_eq!(schema.get("required"), Some(&json!(["kind", "apiVersion"])), "{schema}");
            assert!(schema.at(&["properties", "metadata"]).is_some(), "{schema}");
        }
        let [v2, v3] = published(json!({"type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true}));
        assert!(v2.get("properties").is_none(), "an open one says nothing in v2: {v2}");
        assert!(v3.at(&["properties", "kind"]).is_some(), "{v3}");
    }

    #[test]
    fn some_roots_are_bare() {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let unstructured = json!({"type": "object", "properties": {"a": {}}});
        let bare = json!({"type": "object"});
        assert_eq!(root(&open, Edition::V2), bare, "open at the root");
        assert!(root(&open, Edition::V3).get("properties").is_some(), "v3 says what there is");
        for edition in [Edition::V2, Edition::V3] {
            assert_eq!(root(&unstructured, edition), bare, "a field without a type is not structural");
            assert_eq!(kind_schema(&foo(), edition, "none").into_value(), bare, "no schema");
        }
    }

    #[test]
    fn built_in_kinds_publish_merge_keys_but_no_rules() {
        let schema = JSONSchemaProps::from_value(&json!({"type": "object", "properties": {"l": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}},
            "x-kubernetes-validations": [{"rule": "true"}]}))
        .unwrap();
        for built_in in [true, false] {
            let resource = Resource { schema: Some(&schema), built_in, ..foo() };
            let got = kind_schema(&resource, Edition::V3, "none").into_value();
            let key = got.at(&["properties", "l", "x-kubernetes-patch-merge-key"]).and_then(Value::as_str);
            assert_eq!(key, built_in.then_some("name"), "{got}");
            assert_eq!(got.get("x-kubernetes-validations").is_none(), built_in, "{got}");
        }
    }

    #[test]
    fn metadata_refers_to_object_meta() {
        let own = json!({"type": "object", "required": ["metadata"], "properties": {
            "kind": {"type": "string", "enum": ["Foo"]},
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}}});
        let v3 = root(&own, Edition::V3);
        assert!(v3.at(&["properties", "metadata", "allOf"]).is_some(), "a reference with words: {v3}");
        assert!(v3.at(&["properties", "kind", "enum"]).is_none(), "{v3}");
        assert_eq!(v3.get("required"), Some(&json!(["metadata"])), "what is required stays");
        let v2 = root(&own, Edition::V2);
        let reference = v2.at(&["properties", "metadata", "$ref"]).and_then(Value::as_str);
        assert_eq!(reference, Some("#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
    }
}
