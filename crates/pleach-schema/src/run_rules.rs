//! Runs the rules of `x-kubernetes-validations` on an object.
//!
//! The last stage of validation. Rules run top down, those of a node in the order written, and all
//! of them share one budget. A rule that fails on an unchanged value is a warning
//! and no error (ratcheting), unless it is a transition rule; errors of evaluation are always errors.
//!
//! Rules are not run on nulls, nor below a node without a type.

mod rule;
#[cfg(test)]
mod tests;

use pleach_cel::{Activation, CelValue, CostBudget, EvalError, OldSelf};
use pleach_json::{Value, grow_stack};
use pleach_meta::{BadValue, ErrorType, FieldError, Path};

use crate::compile::Node;
use crate::ratchet::Ratchet;
use crate::validate::location::NO_PATH;
pub use rule::Rule;

/// The longest message an expression may make, in bytes.
const LONGEST_MESSAGE: usize = 5_120;

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The result of running the rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleOutcome {
    /// Why the object is refused.
    pub errors: Vec<FieldError>,
    /// Rules that are false about what did not change.
    pub warnings: Vec<String>,
}

/// Runs all rules of a node and below. `at` is the node's path in errors; `old` what the value was.
pub fn run_rules(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    at: &Path<'_>,
    budget: &mut CostBudget,
) -> RuleOutcome {
    run_rules_with(node, value, old, at, budget, true)
}

/// The same; with `lenient`, a rule that fails on what did not change is only a warning.
pub(crate) fn run_rules_with(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    at: &Path<'_>,
    budget: &mut CostBudget,
    lenient: bool,
) -> RuleOutcome {
    let ratchet = Ratchet::default();
    let mut runner = Runner { outcome: RuleOutcome::default(), budget, ratchet: &ratchet, lenient };
    let place = Place { node, value, old, unchanged: old.map(|old| (node, value, old)) };
    // An error ends the run; it has been reported.
    let _ = runner.visit(&place, at, node.is_root());
    runner.outcome
}

/// Runs all rules on the default of a node, without ratcheting.
pub(crate) fn run_rules_on_default(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    at: &Path<'_>,
    budget: &mut CostBudget,
) -> Vec<FieldError> {
    let ratchet = Ratchet::default();
    let mut runner = Runner { outcome: RuleOutcome::default(), budget, ratchet: &ratchet, lenient: false };
    let _ = runner.visit(&Place { node, value, old, unchanged: None }, at, false);
    runner.outcome.errors
}

/// No further rule is run.
struct Stop;

struct Runner<'r> {
    outcome: RuleOutcome,
    budget: &'r mut CostBudget,
    ratchet: &'r Ratchet,
    /// Whether failures are ratcheted: a rule that fails on an unchanged value is only a warning.
    lenient: bool,
}

/// A value on the way through an object.
struct Place<'v> {
    node: &'v Node,
    value: &'v Value,
    old: Option<&'v Value>,
    /// The value that must be unchanged for a failure to be ratcheted: this value or, if it cannot be correlated, its
    /// nearest ancestor that can.
    unchanged: Option<(&'v Node, &'v Value, &'v Value)>,
}

impl<'v> Place<'v> {
    fn below(&self, node: &'v Node, value: &'v Value, old: Option<&'v Value>) -> Self {
        Place { node, value, old, unchanged: old.map(|old| (node, value, old)).or(self.unchanged) }
    }
}

impl Runner<'_> {
    fn visit(&mut self, place: &Place<'_>, at: &Path<'_>, top: bool) -> Result<(), Stop> {
        let Place { node, value, old, .. } = *place;
        if value.is_null() || !node.below().rules() || is_untyped(node) {
            return Ok(());
        }
        if self.budget.remaining() <= 0 {
            return self.stop(node, at, OUT_OF_BUDGET.to_owned());
        }
        for rule in node.compiled_rules() {
            self.rule(rule, place, at)?;
        }
        match value {
            Value::Array(items) => {
                let Some(of_items) = node.items() else { return Ok(()) };
                grow_stack(|| {
                    items.iter().enumerate().try_for_each(|(i, item)| {
                        let old = old.and_then(|old| self.ratchet.old_item(node, item, old));
                        self.visit(&place.below(of_items, item, old), &at.index(i), false)
                    })
                })
            }
            Value::Object(members) => grow_stack(|| {
                let old_member = |key: &str| old.and_then(|old| old.get(key)).filter(|old| !old.is_null());
                if let Some(of_member) = node.additional().schema() {
                    for (key, member) in members {
                        if node.property(key).is_none() {
                            self.visit(
                                &place.below(of_member, member, old_member(key)),
                                &at.key(key),
                                false,
                            )?;
                        }
                    }
                }
                let mut from = 0;
                for (key, member) in members {
                    let Some(property) = node.next_property(&mut from, key) else { continue };
                    let mut below = place.below(&property.node, member, old_member(key));
                    if top && matches!(key.as_str(), "apiVersion" | "kind") {
                        below.unchanged = None;
                    }
                    self.visit(&below, &at.child(key), false)?;
                }
                Ok(())
            }),
            _ => Ok(()),
        }
    }

    fn rule(&mut self, rule: &Rule, place: &Place<'_>, at: &Path<'_>) -> Result<(), Stop> {
        let Place { node, value, old, .. } = *place;
        let programs = match rule.programs(node) {
            Ok(programs) => programs,
            Err(detail) => {
                self.invalid(node, at, format!("rule compile error: {detail}"));
                return Ok(());
            }
        };
        let optional = rule.source().optional_old_self == Some(true);
        if programs.is_transition && old.is_none() && !optional {
            return Ok(());
        }
        let old_self = match (optional, old) {
            (true, old) => OldSelf::Optional(old),
            (false, Some(old)) => OldSelf::Value(old),
            (false, None) => OldSelf::Absent,
        };
        let activation = Activation::new(value).with_old_self(old_self);
        match programs.rule.eval(&activation, self.budget) {
            Ok(CelValue::Bool(true)) => Ok(()),
            Ok(_) => {
                let detail = match &programs.message {
                    Some(message) => self.message(message, rule, place, at)?,
                    None => rule.message(),
                };
                let error = failure(rule, value, at, detail);
                let lenient = self.lenient
                    && !programs.is_transition
                    && place.unchanged.is_some_and(|(node, new, old)| self.ratchet.is_equal(node, new, old));
                if lenient {
                    self.outcome.warnings.push(error.to_string());
                } else {
                    self.outcome.errors.push(error);
                }
                Ok(())
            }
            Err(EvalError::BudgetExceeded) => self.stop(node, at, OUT_OF_BUDGET.to_owned()),
            Err(error @ EvalError::CostExceeded) => {
                let why = "no further validation rules will be run due to call cost exceeds limit for rule";
                self.stop(node, at, format!("'{error}': {why}: {}", rule.title()))
            }
            Err(error) => {
                let text = error.to_string();
                let detail = if text.starts_with("no such overload") {
                    let why = "call arguments did not match a supported operator, function or macro signature for rule";
                    format!("'{text}': {why}: {}", rule.title())
                } else {
                    format!("{text} evaluating rule: {}", rule.title())
                };
                self.invalid(node, at, detail);
                Ok(())
            }
        }
    }

    /// The message that an expression makes, or the plain one if it makes none worth showing.
    fn message(
        &mut self,
        program: &pleach_cel::Program,
        rule: &Rule,
        place: &Place<'_>,
        at: &Path<'_>,
    ) -> Result<String, Stop> {
        // Odd: also where the rule sees an optional, its message expression sees the plain value.
        let old_self = place.old.map_or(OldSelf::Absent, OldSelf::Value);
        let activation = Activation::new(place.value).with_old_self(old_self);
        match program.eval(&activation, self.budget) {
            Ok(value) => {
                let text = value.as_str().map(str::trim).unwrap_or_default();
                let shown = !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
                Ok(if shown { text.to_owned() } else { rule.message() })
            }
            Err(EvalError::BudgetExceeded) => {
                let detail = "messageExpression evaluation failed due to running out of cost budget, \
                              no further validation rules will be run";
                self.stop(place.node, at, detail.to_owned()).map(|()| String::new())
            }
            Err(EvalError::CostExceeded) => {
                let why = "no further validation rules will be run due to call cost exceeds limit for messageExpression";
                let source = pleach_go::strconv::quote(&rule.source().message_expression);
                self.stop(place.node, at, format!("{why}: {source}")).map(|()| String::new())
            }
            Err(_) => Ok(rule.message()),
        }
    }

    /// An error about a rule and not about the value: the type stands in for it.
    fn invalid(&mut self, node: &Node, at: &Path<'_>, detail: String) {
        let type_name = node.types().single().unwrap_or_default();
        self.outcome.errors.push(FieldError::invalid(field(at, None), type_name, detail));
    }

    fn stop(&mut self, node: &Node, at: &Path<'_>, detail: String) -> Result<(), Stop> {
        self.invalid(node, at, detail);
        Err(Stop)
    }
}

/// Whether a node has no type: rules are not run there.
fn is_untyped(node: &Node) -> bool {
    node.types().as_str().is_empty() && !node.is_int_or_string()
}

/// The field of an error; `below` is appended as it stands.
fn field(at: &Path<'_>, below: Option<&str>) -> String {
    let field = match below {
        Some(below) => at.child(below).to_string(),
        None => at.to_string(),
    };
    if field.is_empty() { NO_PATH.to_owned() } else { field }
}

/// The error for a rule that is false.
fn failure(rule: &Rule, value: &Value, at: &Path<'_>, detail: String) -> FieldError {
    let error_type = match rule.source().reason.as_deref() {
        Some("FieldValueRequired") => ErrorType::Required,
        Some("FieldValueForbidden") => ErrorType::Forbidden,
        Some("FieldValueDuplicate") => ErrorType::Duplicate,
        _ => ErrorType::Invalid,
    };
    let shown = match (error_type, value) {
        (ErrorType::Required | ErrorType::Forbidden, _) | (_, Value::Array(_) | Value::Object(_)) => {
            BadValue::Omitted
        }
        _ => BadValue::Value(value.clone()),
    };
    let detail = if error_type == ErrorType::Duplicate { String::new() } else { detail };
    FieldError { error_type, field: field(at, rule.field()), bad_value: shown, detail }
}
