//! Validates the defaults of a CRD when it is written: they must survive pruning and be valid.
//!
//! Visited are the node itself, its items and its properties; never additional properties, whose
//! defaults upstream does not validate. A default is taken as it is: nested defaults are not applied first.
//!
//! A default inside `apiVersion`, `kind` or `metadata` of an embedded resource is validated inside
//! a whole resource made up around it, because the rules for metadata apply to resources.

use pleach_cel::CostBudget;
use pleach_cel::eval::RUNTIME_COST_BUDGET;
use pleach_json::{Map, Value, grow_stack};
use pleach_meta::field_error::aggregate;
use pleach_meta::{FieldError, FieldErrors, Path};

use crate::compile::{Node, Schema, SchemaOptions};
use crate::props::JSONSchemaProps;
use crate::run_rules::run_rules_on_default;
use crate::settle::{coerce, is_resource_member};
use crate::structural::Structural;
use crate::{embedded, validate};

/// Checks all defaults of a schema that keeps the structural rules.
pub(crate) fn validate_defaults(
    schema: Structural<'_>,
    path: &Path<'_>,
    require_pruned: bool,
) -> Vec<FieldError> {
    let schema = schema.schema();
    if !has_default(schema) {
        return Vec::new();
    }
    // The root is a resource like an embedded one, though its schema need not be marked.
    let mut root = schema.clone();
    root.x_embedded_resource = true;
    let compiled = Schema::compile_part(&root, SchemaOptions::for_defaults());
    let budget = CostBudget::new(RUNTIME_COST_BUDGET);
    let mut check = Check { require_pruned, errors: FieldErrors::default(), budget };
    check.visit(&root, compiled.root(), path, None);
    check.errors.into_vec()
}

/// Whether any default would be visited.
fn has_default(schema: &JSONSchemaProps) -> bool {
    !schema.default_value().is_null()
        || grow_stack(|| {
            schema.items().is_some_and(has_default) || schema.properties().iter().any(|(_, p)| has_default(p))
        })
}

/// Whether a structural schema has a default with fields that pruning would remove; here defaults
/// of additional properties count, and that of the root only if it is an object.
pub fn has_unpruned_default(schema: &JSONSchemaProps) -> bool {
    let own = schema.default_value();
    let of_root = || {
        let mut root = schema.clone();
        root.x_embedded_resource = true;
        would_prune(own, Some(&root))
    };
    crate::options::is_structural(schema)
        && (own.as_object().is_some() && of_root() || unpruned_below(schema))
}

fn unpruned_below(schema: &JSONSchemaProps) -> bool {
    let unpruned = |schema: &JSONSchemaProps| {
        let own = schema.default_value();
        !own.is_null() && would_prune(own, Some(schema)) || unpruned_below(schema)
    };
    grow_stack(|| {
        schema.items().is_some_and(unpruned)
            || schema.additional_properties().is_some_and(unpruned)
            || schema.properties().iter().any(|(_, property)| unpruned(property))
    })
}

struct Check {
    require_pruned: bool,
    errors: FieldErrors,
    /// The cost that rules may have, on all defaults together.
    budget: CostBudget,
}

/// The way from a resource to a place inside its `apiVersion`, `kind` or `metadata`.
struct Inside<'a> {
    resource: &'a Node,
    above: Option<&'a Inside<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Property(&'a str),
    Item,
}

impl Check {
    fn visit(&mut self, schema: &JSONSchemaProps, node: &Node, path: &Path<'_>, inside: Option<&Inside<'_>>) {
        if self.errors.is_full() {
            return;
        }
        let inside = inside.filter(|_| !schema.x_embedded_resource);
        let default = schema.default_value();
        if !default.is_null() {
            let path = path.child("default");
            match inside {
                None => self.outside_of_metadata(default, schema, node, &path),
                Some(inside) => self.inside_of_metadata(default, node, inside, &path),
            }
        }
        grow_stack(|| {
            if let (Some(items), Some(of_items)) = (schema.items(), node.items()) {
                let below = inside.map(|inside| Inside { above: Some(inside), step: Step::Item, ..*inside });
                self.visit(items, of_items, &path.child("items"), below.as_ref());
            }
            let properties = path.child("properties");
            for (name, property) in schema.properties() {
                let Some(of_property) = node.property(name) else { continue };
                let step = Step::Property(name);
                let below = match inside {
                    Some(inside) => Some(Inside { above: Some(inside), step, ..*inside }),
                    None if schema.x_embedded_resource && is_resource_member(name) => {
                        Some(Inside { resource: node, above: None, step })
                    }
                    None => None,
                };
                self.visit(property, of_property, &properties.key(name), below.as_ref());
            }
        });
    }

    fn outside_of_metadata(
        &mut self,
        default: &Value,
        schema: &JSONSchemaProps,
        node: &Node,
        path: &Path<'_>,
    ) {
        let mut coerced = default.clone();
        let coercion = coerce(&mut coerced, node);
        if self.require_pruned && would_prune(default, Some(schema)) {
            // Upstream coerces the value that this error shows, if it can be coerced.
            let shown = if coercion.is_ok() { &coerced } else { default };
            self.errors.push(FieldError::invalid(path, shown.clone(), "must not have unknown fields"));
        }
        if let Err(error) = coercion {
            self.errors.push(below(error, path));
            return;
        }
        let found = embedded::validate_embedded(&coerced, node);
        if !found.is_empty() {
            self.errors.extend(found.into_iter().map(|error| below(error, path)));
            return;
        }
        self.value(&coerced, node, path);
    }

    fn inside_of_metadata(&mut self, default: &Value, node: &Node, inside: &Inside<'_>, path: &Path<'_>) {
        let mut resource = inside.resource_around(default.clone());
        let errors = match coerce(&mut resource, inside.resource) {
            Err(error) => vec![error],
            Ok(()) => embedded::validate_embedded(&resource, inside.resource),
        };
        if errors.is_empty() {
            self.value(default, node, path);
        } else {
            self.errors.push(FieldError::invalid(
                path,
                default.clone(),
                format!("must result in valid metadata: {}", aggregate(&errors)),
            ));
        }
    }

    fn value(&mut self, value: &Value, node: &Node, path: &Path<'_>) {
        // Most defaults are valid, and paths can be long.
        if !node.below().rules() && !node.below().unions() && node.accepts(value) {
            return;
        }
        let start = path.to_string();
        let mut found = validate::validate(node, value, Some(&start));
        // Rules run as if the value had been the same before, and then as if there had been none.
        for old in [Some(value), None] {
            if found.is_empty() && node.below().rules() && self.budget.remaining() >= 0 {
                found = run_rules_on_default(node, value, old, &Path::new(&start), &mut self.budget);
            }
        }
        self.errors.extend(found);
    }
}

impl Inside<'_> {
    /// A whole resource that holds `value` at this place.
    fn resource_around(&self, mut value: Value) -> Value {
        let mut at = Some(self);
        while let Some(here) = at {
            pleach_work::charge(8);
            value = match here.step {
                Step::Property(name) => Map::from_iter([(name.into(), value)]).into(),
                Step::Item => Value::from(vec![value]),
            };
            at = here.above;
        }
        if let Value::Object(members) = &mut value {
            members.get_or_insert_with("apiVersion", || "validation/v1".into());
            members.get_or_insert_with("kind", || "Validation".into());
        }
        value
    }
}

/// An error about a part of a default, as one about the default.
fn below(mut error: FieldError, path: &Path<'_>) -> FieldError {
    let dot = if error.field.starts_with('[') { "" } else { "." };
    error.field = format!("{path}{dot}{}", error.field);
    error
}

/// Whether pruning `value` with `schema` would remove a field.
pub(crate) fn would_prune(value: &Value, schema: Option<&JSONSchemaProps>) -> bool {
    grow_stack(|| match value {
        Value::Object(members) => members.iter().any(|(name, member)| {
            let Some(schema) = schema else { return true };
            if schema.x_embedded_resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                return false;
            }
            if let Some(property) = schema.property(name) {
                would_prune(member, Some(property))
            } else if schema.additional_properties.is_some() {
                would_prune(member, schema.additional_properties())
            } else {
                !schema.preserves_unknown_fields()
            }
        }),
        Value::Array(items) => {
            let below = schema.and_then(JSONSchemaProps::items);
            let preserved = schema.is_some_and(JSONSchemaProps::preserves_unknown_fields);
            items.iter().any(|item| {
                if preserved { would_prune_preserved(item, below) } else { would_prune(item, below) }
            })
        }
        _ => false,
    })
}

/// The same below a list whose unknown fields are preserved: its items inherit that.
fn would_prune_preserved(value: &Value, schema: Option<&JSONSchemaProps>) -> bool {
    let Some(schema) = schema else { return false };
    grow_stack(|| match value {
        Value::Object(members) => members.iter().any(|(name, member)| {
            if schema.x_embedded_resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                return false;
            }
            if let Some(property) = schema.property(name) {
                would_prune(member, Some(property))
            } else {
                schema.additional_properties.is_some() && would_prune(member, schema.additional_properties())
            }
        }),
        Value::Array(items) => items.iter().any(|item| would_prune_preserved(item, schema.items())),
        _ => false,
    })
}
