//! Junctors as pure value validation.
//!
//! A type in a junctor can be that of the core (it is left out), contradict it (the branch becomes one that
//! never matches), or narrow what the core leaves open, which a structural schema cannot express.

use pleach_json::grow_stack;

use super::{Builder, Source, some_list, steps};
use crate::props::{JSONSchemaProps, SchemaOrBool, ValueProps};
use crate::structural::shape;

impl Builder {
    /// The junctors and dependencies of a schema for the place that `core` describes.
    pub(super) fn nested_junctors(
        &mut self,
        source: Source<'_>,
        core: &JSONSchemaProps,
    ) -> Option<ValueProps> {
        let schema = source.schema;
        let dependencies = schema.rare().dependencies.as_deref().unwrap_or_default();
        if schema.value.is_none() && dependencies.is_empty() {
            return None;
        }
        let mut out = ValueProps::default();
        let mut all_of = self.list(source, "allOf", schema.all_of(), core);
        for (name, dependency) in dependencies {
            let place = self.below(source.place, format!(".dependencies[{name}]"));
            let then = match &dependency.schema {
                Some(schema) => self.nested(Source { schema, place, inside: true }, core),
                None => {
                    JSONSchemaProps { required: dependency.property.clone(), ..JSONSchemaProps::default() }
                }
            };
            let has = JSONSchemaProps { required: Some(vec![name.clone()]), ..JSONSchemaProps::default() };
            let mut either = JSONSchemaProps::default();
            either.value_mut().any_of = some_list(vec![never(has), then]);
            all_of.push(either);
            self.note(place, "the dependency becomes anyOf");
        }
        out.all_of = some_list(all_of);
        let either = |list| core.x_int_or_string && shape::is_int_or_string(list);
        if either(schema.any_of()) {
            out.any_of.clone_from(&schema.value().any_of);
        } else {
            out.any_of = some_list(self.list(source, "anyOf", schema.any_of(), core));
        }
        if either(schema.one_of()) {
            self.note(source.place, "oneOf is left out: x-kubernetes-int-or-string says the same");
        } else {
            out.one_of = some_list(self.list(source, "oneOf", schema.one_of(), core));
        }
        if let Some(schema) = schema.not() {
            let place = self.below(source.place, ".not".to_owned());
            out.not = Some(self.nested(Source { schema, place, inside: true }, core).into());
        }
        Some(out)
    }

    fn list(
        &mut self,
        source: Source<'_>,
        keyword: &'static str,
        list: &[JSONSchemaProps],
        core: &JSONSchemaProps,
    ) -> Vec<JSONSchemaProps> {
        let mut out = Vec::with_capacity(list.len());
        for (step, schema) in steps(keyword, list) {
            let place = self.below(source.place, step);
            out.push(self.nested(Source { schema, place, inside: true }, core));
        }
        out
    }

    /// A schema inside a junctor, for the place that `core` describes.
    fn nested(&mut self, source: Source<'_>, core: &JSONSchemaProps) -> JSONSchemaProps {
        let schema = source.schema;
        self.left_out(source, core);
        let mut out = JSONSchemaProps { required: schema.required.clone(), ..JSONSchemaProps::default() };
        if schema.value.is_some() {
            let value = super::shallow(schema).value;
            out.value = value;
        }
        match (schema.type_.as_str(), core.type_.as_str()) {
            ("", _) | ("number", "integer") => {}
            (nested, of_core) if nested == of_core => {}
            ("integer", "number") => {
                out.value_mut().multiple_of.get_or_insert(1.0);
                self.note(source.place, "type integer becomes multipleOf: 1");
            }
            (nested, "") => {
                let what = if core.x_int_or_string { "integers and strings" } else { "values of any type" };
                let detail = format!("cannot tell {nested} apart where {what} are allowed");
                self.obstacle(source.place, "type", detail);
            }
            (nested, of_core) => {
                self.note(source.place, format!("type {nested} never matches a value of type {of_core}"));
                return never(JSONSchemaProps::default());
            }
        }
        grow_stack(|| self.nested_children(source, core, &mut out));
        out
    }

    fn nested_children(&mut self, source: Source<'_>, core: &JSONSchemaProps, out: &mut JSONSchemaProps) {
        let schema = source.schema;
        let mut properties = Vec::new();
        for (name, schema) in schema.properties() {
            // The core has a place for every name that is declared anywhere.
            let Some(core) = core.property(name) else { continue };
            let place = self.below(source.place, format!(".properties[{name}]"));
            properties.push((name.clone(), self.nested(Source { schema, place, inside: true }, core)));
        }
        if !properties.is_empty() {
            out.properties = Some(properties.into_iter().collect());
        }
        if let (Some(schema), Some(core)) = (schema.items(), core.items()) {
            let place = self.below(source.place, ".items".to_owned());
            out.items = Some(self.nested(Source { schema, place, inside: true }, core).into());
        }
        if let Some(built) = self.nested_junctors(source, core) {
            let value = out.value_mut();
            (value.all_of, value.any_of) = (built.all_of, built.any_of);
            (value.one_of, value.not) = (built.one_of, built.not);
        }
        if matches!(schema.additional_properties, Some(SchemaOrBool::Bool(false))) {
            out.additional_properties = Some(SchemaOrBool::Bool(false));
        }
    }

    /// The keywords of a junctor that value validation cannot have.
    fn left_out(&mut self, source: Source<'_>, core: &JSONSchemaProps) {
        let (schema, rare) = (source.schema, source.schema.rare());
        for (keyword, used) in [
            ("title", !rare.title.is_empty()),
            ("description", !schema.description.is_empty()),
            ("default", !rare.default.is_null()),
            ("nullable", schema.nullable && !core.nullable),
            ("x-kubernetes-preserve-unknown-fields", schema.x_preserve_unknown_fields.is_some()),
            ("x-kubernetes-embedded-resource", schema.x_embedded_resource),
            ("x-kubernetes-list-type", rare.x_list_type.is_some()),
            ("x-kubernetes-map-type", rare.x_map_type.is_some()),
        ] {
            if used {
                self.note(source.place, format!("{keyword} inside a junctor is left out"));
            }
        }
        let rules = "rules have no place inside a junctor";
        if !schema.validations().is_empty() {
            self.obstacle(source.place, "x-kubernetes-validations", rules);
        }
        if !schema.unions().is_empty() {
            self.obstacle(source.place, "x-kubernetes-unions", "unions have no place inside a junctor");
        }
        if schema.value().unique_items {
            self.obstacle(source.place, "uniqueItems", "uniqueness cannot depend on a junctor");
        }
        if schema.additional_properties().is_some() {
            let detail = "the members of a map cannot be told apart inside a junctor";
            self.obstacle(source.place, "additionalProperties", detail);
        }
    }
}

/// The negation of `schema`; nothing matches `never` of the empty schema.
fn never(schema: JSONSchemaProps) -> JSONSchemaProps {
    let mut out = JSONSchemaProps::default();
    out.value_mut().not = Some(schema.into());
    out
}
