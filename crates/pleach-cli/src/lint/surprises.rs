//! Lints for schemas that are valid and yet surprise their authors.

use pleach_crd::ApiVersion;
use pleach_json::grow_stack;
use pleach_schema::formats::{Compat, is_recognised};
use pleach_schema::{JSONSchemaProps, SchemaOrBool};

use crate::catalog::Definition;
use crate::document::Document;
use crate::finding::{Finding, Level};

/// All surprises in the schemas of a CRD.
pub(super) fn surprises(document: &Document, definition: &Definition) -> Vec<Finding> {
    let mut walk = Walk { document, findings: Vec::new() };
    for (path, schema) in schemas(definition) {
        walk.root(schema, &path);
        walk.node(schema, &path, At::Root);
    }
    walk.findings
}

/// The schemas of a CRD with their paths in the document; one that all versions share comes once.
pub(super) fn schemas(definition: &Definition) -> Vec<(String, &JSONSchemaProps)> {
    let spec = &definition.crd.spec;
    let mut out = Vec::new();
    if let Some(schema) = spec.validation.as_ref().and_then(|v| v.open_api_v3_schema.as_deref()) {
        let at = if definition.api_version == ApiVersion::V1 { "versions[0].schema" } else { "validation" };
        out.push((format!("spec.{at}.openAPIV3Schema"), schema));
    }
    for (i, version) in spec.versions().iter().enumerate() {
        if let Some(schema) = version.schema.as_ref().and_then(|v| v.open_api_v3_schema.as_deref()) {
            out.push((format!("spec.versions[{i}].schema.openAPIV3Schema"), schema));
        }
    }
    out
}

/// The place of the first format that a warning of the server is about.
pub(super) fn place_of_format(warning: &str, definition: &Definition) -> Option<String> {
    let name = warning.strip_prefix("unrecognized format \"")?.strip_suffix('"')?;
    schemas(definition).into_iter().find_map(|(path, schema)| find_format(schema, &path, name))
}

fn find_format(schema: &JSONSchemaProps, path: &str, name: &str) -> Option<String> {
    if schema.value().format == name
        && !is_recognised(&schema.type_, schema.x_int_or_string, name, Compat::DEFAULT)
    {
        return Some(format!("{path}.format"));
    }
    grow_stack(|| {
        children(schema, path).into_iter().find_map(|(path, child, _)| find_format(child, &path, name))
    })
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    Root,
    Property,
    Item,
    Member,
    Junctor,
}

/// The schemas below a schema, with their paths.
pub(super) fn children<'a>(
    schema: &'a JSONSchemaProps,
    path: &str,
) -> Vec<(String, &'a JSONSchemaProps, At)> {
    let mut out = Vec::new();
    for (name, property) in schema.properties() {
        out.push((format!("{path}.properties[{name}]"), property, At::Property));
    }
    if let Some(items) = schema.items() {
        out.push((format!("{path}.items"), items, At::Item));
    }
    if let Some(additional) = schema.additional_properties() {
        out.push((format!("{path}.additionalProperties"), additional, At::Member));
    }
    for (keyword, list) in
        [("allOf", schema.all_of()), ("anyOf", schema.any_of()), ("oneOf", schema.one_of())]
    {
        for (i, nested) in list.iter().enumerate() {
            out.push((format!("{path}.{keyword}[{i}]"), nested, At::Junctor));
        }
    }
    if let Some(not) = schema.not() {
        out.push((format!("{path}.not"), not, At::Junctor));
    }
    out
}

struct Walk<'a> {
    document: &'a Document,
    findings: Vec<Finding>,
}

impl Walk<'_> {
    fn warn(&mut self, rule: &'static str, place: &str, message: String, help: &str) {
        let mut finding =
            Finding::new(Level::Warning, rule, format!("{place}: {message}")).at(self.document, place);
        if !help.is_empty() {
            finding.help.push(help.to_owned());
        }
        self.findings.push(finding);
    }

    fn root(&mut self, schema: &JSONSchemaProps, path: &str) {
        if schema.preserves_unknown_fields() {
            self.warn(
                "preserve-at-root",
                &format!("{path}.x-kubernetes-preserve-unknown-fields"),
                "the whole object keeps unknown fields: typing mistakes are stored, and no field is ever pruned".into(),
                "set it on the fields that need it",
            );
        }
        if !schema.default_value().is_null() {
            self.warn(
                "default-never-used",
                &format!("{path}.default"),
                "the default of a whole object is never used".into(),
                "give the properties their defaults",
            );
        }
    }

    fn node(&mut self, schema: &JSONSchemaProps, path: &str, at: At) {
        if at == At::Junctor {
            return;
        }
        self.empty_object(schema, path, at);
        self.required(schema, path);
        if matches!(at, At::Item | At::Member) && !schema.default_value().is_null() {
            let of = if at == At::Item { "items" } else { "map values" };
            let (rule, message) = if schema.nullable {
                (
                    "default-never-used",
                    format!(
                        "the default of {of} replaces nulls only, and these may be null: it is never used"
                    ),
                )
            } else {
                ("default-for-nulls", format!("the default of {of} replaces nulls only: none are added"))
            };
            self.warn(rule, &format!("{path}.default"), message, "");
        }
        for (below, nested, of) in children(schema, path) {
            if of == At::Junctor {
                self.junctor(schema, nested, &below);
            }
        }
        grow_stack(|| {
            for (below, child, of) in children(schema, path) {
                if at == At::Root && below == format!("{path}.properties[metadata]") {
                    continue;
                }
                self.node(child, &below, of);
            }
        });
    }

    /// An object that names no fields prunes whatever it is given.
    fn empty_object(&mut self, schema: &JSONSchemaProps, path: &str, at: At) {
        let prunes_all = schema.type_ == "object"
            && schema.properties().is_empty()
            && matches!(schema.additional_properties, None | Some(SchemaOrBool::Bool(false)))
            && !schema.preserves_unknown_fields()
            && !schema.x_embedded_resource;
        if prunes_all {
            let what = if at == At::Root { "everything but metadata is" } else { "every field in it is" };
            self.warn(
                "prunes-everything",
                path,
                format!("an object without properties: {what} pruned"),
                "declare properties, or additionalProperties for a map, or x-kubernetes-preserve-unknown-fields: true",
            );
        }
    }

    /// A required field that is pruned can never be there.
    fn required(&mut self, schema: &JSONSchemaProps, path: &str) {
        if schema.additional_properties.is_some()
            || schema.preserves_unknown_fields()
            || schema.type_ != "object"
        {
            return;
        }
        for (i, name) in schema.required().iter().enumerate() {
            let implied = ["apiVersion", "kind", "metadata"].contains(&name.as_str());
            if schema.property(name).is_none() && !implied {
                self.warn(
                    "required-but-pruned",
                    &format!("{path}.required[{i}]"),
                    format!(
                        "{name} is required but not declared: it is pruned first, so no object is ever valid"
                    ),
                    "declare it in properties",
                );
            }
        }
    }

    /// A field that only a junctor names is pruned before the junctor sees it.
    fn junctor(&mut self, core: &JSONSchemaProps, nested: &JSONSchemaProps, path: &str) {
        if core.preserves_unknown_fields() || core.additional_properties.is_some() {
            return;
        }
        for (name, property) in nested.properties() {
            let below = format!("{path}.properties[{name}]");
            match core.property(name) {
                None if !["apiVersion", "kind", "metadata"].contains(&name.as_str()) => self.warn(
                    "junctor-only-property",
                    &below,
                    format!("{name} is declared in a junctor only: it is pruned before the junctor sees it"),
                    "declare it outside of allOf, anyOf, oneOf and not",
                ),
                None => {}
                Some(core) => grow_stack(|| self.junctor(core, property, &below)),
            }
        }
        for (below, deeper, at) in children(nested, path) {
            if at == At::Junctor {
                grow_stack(|| self.junctor(core, deeper, &below));
            }
        }
    }
}
