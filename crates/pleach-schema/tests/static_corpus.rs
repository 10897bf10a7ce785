//! Real CRDs: all their schemas are accepted, and what this crate rewrites stays structural.

// What is wrong with a test should end it.
#![allow(clippy::unwrap_used)]

#[path = "support/shared.rs"]
mod shared;

use pleach_json::Value;
use pleach_meta::Path;
use pleach_schema::skeleton::skel;
use pleach_schema::structuralize::structuralize;
use pleach_schema::{JSONSchemaProps, Options, SchemaContext, Structural, validate_schema};

/// The schema of every version of every CRD, with its name and whether it has a status subresource.
fn schemas() -> Option<Vec<(String, bool, Value)>> {
    let mut out = Vec::new();
    for file in shared::files("corpus/crds", "yaml")? {
        let text = std::fs::read_to_string(&file).unwrap();
        for crd in pleach_yaml::documents(&text).map(|document| document.unwrap().value) {
            let Some(versions) = crd.at(&["spec", "versions"]).and_then(Value::as_array) else { continue };
            for version in versions {
                let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) else { continue };
                let name = crd.at(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
                let status = version.at(&["subresources", "status"]).is_some_and(|status| !status.is_null());
                out.push((name.to_owned(), status, schema.clone()));
            }
        }
    }
    Some(out)
}

#[test]
fn real_schemas_are_accepted_and_stay_structural() {
    let Some(schemas) = schemas() else { return };
    assert!(schemas.len() > 79, "{}", schemas.len());
    for (name, status_enabled, value) in schemas {
        let schema = JSONSchemaProps::from_value(&value).unwrap();
        assert_eq!(
            JSONSchemaProps::from_value(&schema.to_value()).unwrap(),
            schema,
            "{name}: read and written"
        );
        let context =
            SchemaContext { path: Path::new("spec.validation"), status_enabled, options: Options::CREATE };
        assert_eq!(validate_schema(&schema, &context), [], "{name}");

        let proposal = structuralize(&schema, &Path::ROOT).unwrap_or_else(|o| panic!("{name}: {o:?}"));
        assert_eq!(
            proposal.schema.to_value(),
            schema.to_value(),
            "{name}: structural schemas stay as they are"
        );
        assert_eq!(proposal.notes, [], "{name}");

        let skeleton = skel(&schema);
        assert_eq!(skel(&skeleton), skeleton, "{name}");
        let mut unfolded = schema.clone();
        unfolded.unfold();
        assert!(Structural::of(&unfolded).is_ok_and(Structural::is_valid), "{name}: unfolded");
        let mut dropped = schema.clone();
        dropped.drop_value_validations();
        assert!(Structural::of(&dropped).is_ok_and(Structural::is_valid), "{name}: without value validation");
        assert!(
            !dropped.any_node(&mut |node| !node.any_of().is_empty() || !node.required().is_empty()),
            "{name}"
        );
    }
}
