//! Validates every node of a schema when a CRD is written: keywords that CRDs may not use, and
//! the rules of the `x-kubernetes-*` extensions.
//!
//! Unlike [`crate::structural`] it applies the same rules inside junctors, definitions and dependencies
//! as outside, and reports in the order it walks. CEL rules are compiled on the way
//! (`rules`), but only outside of junctors and only where there is no error at or below the
//! node.

mod keywords;
mod list_type;

pub(crate) use keywords::TYPES;
pub(crate) use list_type::{breaks_map_set_rules, has_non_atomic_set_items};

use pleach_json::grow_stack;
use pleach_meta::{FieldError, FieldErrors, Path};

use crate::options::Options;
use crate::props::{JSONSchemaProps, SchemaOrBool};
use crate::rules::{self, RuleContext, TotalCost};

/// The errors of the walk: those about schemas are reported first, those of CEL after them.
#[derive(Debug, Default)]
pub(crate) struct WalkErrors {
    /// Errors about schemas.
    pub(crate) schema: FieldErrors,
    /// Errors about the compilation and the cost of rules.
    pub(crate) cel: FieldErrors,
}

/// The part of a resource that a node describes, as far as the rules depend on it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Context {
    /// Below `apiVersion`, `kind` or `metadata` of the root or of an embedded resource.
    pub(crate) inside_resource_meta: bool,
    /// Why a default is forbidden, if it is.
    pub(crate) no_default: Option<&'static str>,
}

/// Walks `schema`, the root of a version's schema; `rules` is there if rules are to be compiled.
pub(crate) fn walk(
    schema: &JSONSchemaProps,
    path: &Path<'_>,
    options: &Options<'_>,
    rules: Option<&RuleContext<'_>>,
    cost: &mut TotalCost,
) -> WalkErrors {
    let mut walk = Walk { options, cost, errors: WalkErrors::default() };
    walk.node(schema, path, Context::default(), true, rules);
    walk.errors
}

struct Walk<'a, 'o> {
    options: &'a Options<'o>,
    cost: &'a mut TotalCost,
    errors: WalkErrors,
}

impl Walk<'_, '_> {
    fn node(
        &mut self,
        schema: &JSONSchemaProps,
        path: &Path<'_>,
        context: Context,
        is_root: bool,
        rules: Option<&RuleContext<'_>>,
    ) {
        if self.errors.schema.is_full() {
            return;
        }
        let clean = self.errors.schema.len();
        keywords::check(schema, path, context, self.options, &mut self.errors.schema);
        grow_stack(|| {
            self.additional_properties(schema, path, context, rules);
            self.properties(schema, path, context, is_root, rules);
            self.junctors(schema, path, context);
            self.items(schema, path, context, rules);
            self.dependencies(schema, path, context);
        });
        if self.errors.schema.is_full() {
            return;
        }
        if schema.x_preserve_unknown_fields == Some(false) {
            self.errors.schema.push(FieldError::invalid(
                path.child("x-kubernetes-preserve-unknown-fields"),
                false,
                "must be true or undefined",
            ));
        }
        list_type::check(schema, path, self.options, &mut self.errors.schema);
        if schema.validations().is_empty() {
            return;
        }
        rules::check_static(schema, path, &mut self.errors.schema);
        if let Some(rules) = rules
            && self.errors.schema.len() == clean
        {
            rules::compile(schema, path, rules, self.options, self.cost, &mut self.errors.cel);
        }
    }

    fn additional_properties(
        &mut self,
        schema: &JSONSchemaProps,
        path: &Path<'_>,
        context: Context,
        rules: Option<&RuleContext<'_>>,
    ) {
        let Some(additional) = &schema.additional_properties else { return };
        let parent = path;
        let path = parent.child("additionalProperties");
        if !schema.properties().is_empty() && !matches!(additional, SchemaOrBool::Bool(true)) {
            self.errors.schema.push(FieldError::forbidden(
                path,
                "additionalProperties and properties are mutual exclusive",
            ));
        }
        let Some(child) = additional.schema() else { return };
        let mut below = context;
        if context.inside_resource_meta {
            below.no_default = Some("inside additionalProperties applying to object metadata");
        }
        let rules = rules.map(|rules| rules.additional_properties(schema, parent, child));
        self.node(child, &path, below, false, rules.as_ref());
    }

    fn properties(
        &mut self,
        schema: &JSONSchemaProps,
        path: &Path<'_>,
        context: Context,
        is_root: bool,
        rules: Option<&RuleContext<'_>>,
    ) {
        let properties = path.child("properties");
        for (name, child) in schema.properties() {
            let mut below = context;
            if is_root || schema.x_embedded_resource {
                let reason = match name.as_str() {
                    "metadata" => Some("in top-level metadata"),
                    "kind" => Some("in top-level kind"),
                    "apiVersion" => Some("in top-level apiVersion"),
                    _ => None,
                };
                below.inside_resource_meta |= reason.is_some();
                if is_root && reason.is_some() {
                    below.no_default = reason;
                }
            }
            let rules = rules.map(|rules| rules.property(schema, path, name, child));
            self.node(child, &properties.key(name), below, false, rules.as_ref());
        }
    }

    /// Junctors and definitions: rules are not compiled in there.
    fn junctors(&mut self, schema: &JSONSchemaProps, path: &Path<'_>, context: Context) {
        if let Some(not) = schema.not() {
            self.node(not, &path.child("not"), context, false, None);
        }
        let lists = [("allOf", schema.all_of()), ("oneOf", schema.one_of()), ("anyOf", schema.any_of())];
        for (keyword, list) in lists {
            let junctor = path.child(keyword);
            for (i, child) in list.iter().enumerate() {
                self.node(child, &junctor.index(i), context, false, None);
            }
        }
        let definitions = path.child("definitions");
        for (name, child) in schema.rare().definitions.iter().flat_map(|map| map.iter()) {
            self.node(child, &definitions.key(name), context, false, None);
        }
    }

    fn items(
        &mut self,
        schema: &JSONSchemaProps,
        path: &Path<'_>,
        context: Context,
        rules: Option<&RuleContext<'_>>,
    ) {
        let Some(items) = &schema.items else { return };
        let parent = path;
        let path = parent.child("items");
        if let Some(child) = items.schema() {
            let rules = rules.map(|rules| rules.items(schema, parent, child));
            self.node(child, &path, context, false, rules.as_ref());
        }
        for (i, child) in items.list().iter().enumerate() {
            self.node(child, &path.index(i), context, false, None);
        }
    }

    fn dependencies(&mut self, schema: &JSONSchemaProps, path: &Path<'_>, context: Context) {
        let path = path.child("dependencies");
        for (name, dependency) in schema.rare().dependencies.iter().flatten() {
            if let Some(child) = &dependency.schema {
                self.node(child, &path.key(name), context, false, None);
            }
        }
    }
}
