//! Validation options of schemas: which rules apply on create, and which are ratcheted on update.
//!
//! A rule that is newer than a stored CRD does not apply to its update when any of the old schemas breaks it:
//! [`Options::update`] finds out which.

use std::collections::HashSet;

use pleach_cel::Environment;
use pleach_json::Str;
use pleach_work::Constant;

use crate::default_check;
use crate::props::JSONSchemaProps;
use crate::structural::Structural;
use crate::walk;

/// The rules that apply to the schemas of one CRD.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// The schema must be structural; only then are defaults and rules validated.
    pub require_structural_schema: bool,
    /// `type` must name a type.
    pub require_valid_property_type: bool,
    /// A default must not have fields that pruning would remove.
    pub require_pruned_defaults: bool,
    /// The items of a set must be atomic.
    pub require_atomic_set_type: bool,
    /// Map keys must be required or have a default; neither they nor items of maps and sets may be
    /// null.
    pub require_map_list_keys_map_set_validation: bool,
    /// The estimated cost of single expressions is not limited, because the schema did not change.
    pub suppress_per_expression_cost: bool,
    /// The expressions of the stored CRD: they compile with everything this server knows.
    pub preexisting_expressions: Option<&'a Expressions>,
    /// Expressions that are too expensive are reported with the bounds that would make them fit; the API
    /// server has no such hint.
    pub cost_hints: bool,
    /// The environments of expressions; `None` stands for those of a server of version 1.36.
    pub environments: Option<&'a Environments>,
}

/// The environments that CEL expressions are compiled in.
#[derive(Clone, Debug)]
pub struct Environments {
    /// For new expressions.
    pub new: Environment,
    /// For expressions that were stored before.
    pub stored: Environment,
}

impl Environments {
    /// New expressions may use what Kubernetes 1.`minor` has, stored ones everything.
    pub fn compatible_with(minor: u32) -> Self {
        Self { new: Environment::for_version(minor), stored: Environment::stored() }
    }

    pub(crate) fn choose(&self, is_stored: bool) -> &Environment {
        if is_stored { &self.stored } else { &self.new }
    }
}

/// The compatibility version's, as upstream has it: a new function may not be used before the next release.
static DEFAULT: Constant<Environments> =
    Constant::new(|| Environments::compatible_with(pleach_cel::compatibility_version()));

impl Options<'static> {
    /// For a new CRD: every rule applies.
    pub const CREATE: Self = Self {
        require_structural_schema: true,
        require_valid_property_type: true,
        require_pruned_defaults: true,
        require_atomic_set_type: true,
        require_map_list_keys_map_set_validation: true,
        suppress_per_expression_cost: false,
        preexisting_expressions: None,
        cost_hints: false,
        environments: None,
    };
}

impl<'a> Options<'a> {
    /// For a CRD that replaces another one. `preserve_unknown_fields` is the new
    /// CRD's; `old_expressions` are collected from all schemas of the old one.
    pub fn update(
        old: &[&JSONSchemaProps],
        new: &[&JSONSchemaProps],
        preserve_unknown_fields: bool,
        old_expressions: &'a Expressions,
    ) -> Self {
        let any_old =
            |test: fn(&JSONSchemaProps) -> bool| old.iter().any(|s| s.any_node(&mut |node| test(node)));
        let was_structural = old.iter().all(|schema| is_structural(schema));
        let forced = !preserve_unknown_fields
            || new.iter().any(|s| s.any_node(&mut |node| uses_structural_feature(node)));
        Self {
            require_structural_schema: was_structural || forced,
            require_valid_property_type: !any_old(has_invalid_type),
            require_pruned_defaults: !old.iter().any(|schema| default_check::has_unpruned_default(schema)),
            require_atomic_set_type: !any_old(walk::has_non_atomic_set_items),
            require_map_list_keys_map_set_validation: !any_old(walk::breaks_map_set_rules),
            suppress_per_expression_cost: false,
            preexisting_expressions: Some(old_expressions),
            cost_hints: false,
            environments: None,
        }
    }

    pub(crate) fn environments(&self) -> &Environments {
        self.environments.unwrap_or(&DEFAULT)
    }
}

/// Whether a schema is structural.
pub fn is_structural(schema: &JSONSchemaProps) -> bool {
    Structural::of(schema).is_ok_and(Structural::is_valid)
}

/// Whether the node itself has a type that does not exist.
pub fn has_invalid_type(node: &JSONSchemaProps) -> bool {
    !node.type_.is_empty() && !walk::TYPES.contains(&node.type_.as_str())
}

/// Whether the node itself uses what only structural schemas may have.
fn uses_structural_feature(node: &JSONSchemaProps) -> bool {
    node.x_embedded_resource
        || node.x_int_or_string
        || node.x_preserve_unknown_fields.is_some()
        || !node.default_value().is_null()
        || !node.list_map_keys().is_empty()
        || node.rare().x_list_type.is_some()
        || !node.validations().is_empty()
        || !node.unions().is_empty()
}

/// The texts of all rules and message expressions of a CRD.
#[derive(Clone, Debug, Default)]
pub struct Expressions {
    rules: HashSet<Str>,
    message_expressions: HashSet<Str>,
}

impl Expressions {
    /// Collects the expressions of `schemas`.
    pub fn of<'s>(schemas: impl IntoIterator<Item = &'s JSONSchemaProps>) -> Self {
        let mut out = Self::default();
        for schema in schemas {
            schema.any_node(&mut |node| {
                for rule in node.validations() {
                    out.rules.insert(rule.rule.clone());
                    if !rule.message_expression.is_empty() {
                        out.message_expressions.insert(rule.message_expression.clone());
                    }
                }
                false
            });
        }
        out
    }

    /// Whether there is such a rule.
    pub fn has_rule(&self, rule: &str) -> bool {
        self.rules.contains(rule)
    }

    /// Whether there is such a message expression.
    pub fn has_message_expression(&self, expression: &str) -> bool {
        self.message_expressions.contains(expression)
    }
}
