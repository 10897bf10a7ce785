//! The CEL type of a whole object, as type checking of admission policies declares `object` and `params`: that of the
//! published schema, with all of its metadata.

use pleach_cel::DeclType;
use pleach_schema::rules::named_decl_type;
use pleach_schema::{JSONSchemaProps, Structural};

use crate::kind::{Kind, KindVersion};
use crate::types;

/// The type of metadata, in the table of types.
const OBJECT_META: &str = "meta/v1.ObjectMeta";

/// The type of the objects of a kind in a version; none if it is not known.
pub fn object_type(kind: &Kind, version: usize) -> Option<DeclType> {
    let schema = published(kind, kind.versions.get(version)?)?;
    // Names of types are unique in an environment; upstream makes them so with the clock.
    named_decl_type(&schema, true, &format!("{}1", kind.kind))
}

fn published(kind: &Kind, version: &KindVersion) -> Option<JSONSchemaProps> {
    if !kind.is_custom()
        && let Some(def) = types::of_kind(&version.api_version, &kind.kind)
    {
        return types::cel_schema(def.name);
    }
    let own = version.props.clone();
    let publishable = own.filter(|schema| is_publishable(schema));
    let Some(own) = publishable else {
        // A bare object is published.
        return kind.is_custom().then(|| JSONSchemaProps::of_type("object"));
    };
    let mut schema = (*own).clone();
    schema.unfold();
    schema.each_structural_node(&mut |node| {
        if node.x_embedded_resource {
            add_metadata(node);
        }
    });
    add_metadata(&mut schema);
    Some(schema)
}

/// Whether the schema is structural; others are not published.
fn is_publishable(schema: &JSONSchemaProps) -> bool {
    let known = ["", "array", "boolean", "integer", "number", "object", "string"];
    !schema.any_node(&mut |node| !known.contains(&node.type_.as_str()))
        && Structural::of(schema).is_ok_and(Structural::is_valid)
}

fn add_metadata(schema: &mut JSONSchemaProps) {
    let properties = schema.properties.get_or_insert_default();
    properties.insert("apiVersion", JSONSchemaProps::of_type("string"));
    properties.insert("kind", JSONSchemaProps::of_type("string"));
    if let Some(metadata) = types::cel_schema(OBJECT_META) {
        properties.insert("metadata", metadata);
    }
}

#[cfg(test)]
mod tests {
    use pleach_cel::DeclKind;

    use super::*;
    use crate::gates::Gates;

    /// The names of the fields at a path, lists and maps opened.
    fn fields(decl: &DeclType, path: &[&str]) -> Option<Vec<String>> {
        let mut at = decl;
        while let Some(inner) = at.element() {
            at = inner;
        }
        let object = at.as_object()?;
        match path {
            [] => Some(object.fields().iter().map(|field| field.name.to_string()).collect()),
            [first, rest @ ..] => fields(&object.field(first)?.decl, rest),
        }
    }

    #[test]
    fn built_in_kinds_have_the_types_of_their_go_structs() {
        let kind = |name: &str| crate::kinds::all(Gates::default()).find(|kind| kind.kind == name).unwrap();
        let deployment = kind("Deployment");
        let decl = object_type(&deployment, deployment.storage).unwrap();
        assert_eq!(decl.as_object().unwrap().name, "Deployment1");
        assert!(fields(&decl, &["metadata"]).unwrap().contains(&"labels".to_owned()));
        let containers = fields(&decl, &["spec", "template", "spec", "containers"]).unwrap();
        assert!(containers.contains(&"image".to_owned()), "{containers:?}");
        let resources = fields(&decl, &["spec", "template", "spec", "containers", "resources"]).unwrap();
        assert_eq!(resources, ["claims"], "quantities have no type, and maps of them neither");
        let config_map = kind("ConfigMap");
        let decl = object_type(&config_map, config_map.storage).unwrap();
        let data = &decl.as_object().unwrap().field("data").unwrap().decl;
        assert!(matches!(data.kind(), DeclKind::Map(_)));
    }
}
