//! Compiles the rules of a node: type check, cost estimate, use of `oldSelf`.

use pleach_cel::cost::RuleLocation;
use pleach_cel::{Checked, DeclType, Declarations, Environment, Issues, PlanError, Program, Type};
use pleach_meta::{BadValue, FieldError, FieldErrors, Path};

use super::context::RuleContext;
use super::cost::{Priced, TotalCost, WORTH_NAMING, too_dear};
use crate::options::Options;
use crate::props::{JSONSchemaProps, ValidationRule};

/// Compiles all rules of a node and reports what is wrong with them.
pub(crate) fn compile(
    schema: &JSONSchemaProps,
    path: &Path<'_>,
    context: &RuleContext<'_>,
    options: &Options<'_>,
    cost: &mut TotalCost,
    errors: &mut FieldErrors,
) {
    let path = path.child("x-kubernetes-validations");
    let Some(decl) = context.decl() else {
        errors.push(FieldError::internal(
            path,
            "internal error: failed to construct type information for x-kubernetes-validations rules: unable to \
             convert structural schema to CEL declarations",
        ));
        return;
    };
    let mut node = Node { context, decl, options, cost, errors };
    for (i, rule) in schema.validations().iter().enumerate() {
        if node.errors.is_full() {
            return;
        }
        node.rule(rule, &path.index(i));
    }
}

struct Node<'a> {
    context: &'a RuleContext<'a>,
    decl: &'a DeclType,
    options: &'a Options<'a>,
    cost: &'a mut TotalCost,
    errors: &'a mut FieldErrors,
}

impl Node<'_> {
    fn rule(&mut self, rule: &ValidationRule, path: &Path<'_>) {
        let old = self.options.preexisting_expressions;
        let environments = self.options.environments();
        let environment = environments.choose(old.is_some_and(|old| old.has_rule(&rule.rule)));
        let at = path.child("rule");
        let old_self = if rule.optional_old_self == Some(true) {
            DeclType::optional(self.decl.clone())
        } else {
            self.decl.clone()
        };
        let declarations = Declarations::default().with("self", self.decl.clone()).with("oldSelf", old_self);
        let compiled = expression(&rule.rule, environment, &declarations, &Type::Bool);
        let uses_old_self = match compiled {
            Ok(checked) => {
                let price = checked.cost_estimate().max.saturating_mul(self.context.cardinality(self.decl));
                let priced = self.priced(&checked, price, || self.context.surroundings(self.decl));
                if !self.options.suppress_per_expression_cost {
                    too_dear("rule", price, &at, priced.as_ref(), self.errors);
                }
                self.cost.add(price, &at, priced);
                if !rule.message_expression.is_empty() {
                    self.message_expression(rule, path, &declarations);
                }
                checked.uses("oldSelf")
            }
            Err(failure) => {
                let detail = match failure {
                    Failure::Issues(issues) => format!("compilation failed: {}", self.own_names(&issues)),
                    Failure::Type => "cel expression must evaluate to a bool".to_owned(),
                    Failure::Plan(error) => format!("program instantiation failed: {error}"),
                };
                self.errors.push(FieldError::invalid(at, BadValue::Raw(rule.go_json()), detail));
                false
            }
        };
        if uses_old_self {
            if let Some(ancestor) = self.context.uncorrelatable() {
                self.errors.push(FieldError::invalid(
                    at,
                    rule.rule.clone(),
                    format!(
                        "oldSelf cannot be used on the uncorrelatable portion of the schema within {ancestor}"
                    ),
                ));
            }
        } else if let Some(optional) = rule.optional_old_self {
            self.errors.push(FieldError::invalid(
                path.child("optionalOldSelf"),
                optional,
                "may not be set if oldSelf is not used in rule",
            ));
        }
    }

    fn message_expression(&mut self, rule: &ValidationRule, path: &Path<'_>, declarations: &Declarations) {
        let old = self.options.preexisting_expressions;
        let source = &rule.message_expression;
        let environments = self.options.environments();
        let environment = environments.choose(old.is_some_and(|old| old.has_message_expression(source)));
        let at = path.child("messageExpression");
        match expression(source, environment, declarations, &Type::String) {
            Ok(checked) => {
                let price = checked.cost_estimate().max;
                let priced = self.priced(&checked, price, || {
                    // Odd: it is priced as if it ran once.
                    let place = self.context.surroundings(self.decl).place;
                    RuleLocation { place, ..RuleLocation::default() }
                });
                if !self.options.suppress_per_expression_cost {
                    too_dear("messageExpression", price, &at, priced.as_ref(), self.errors);
                }
                self.cost.add(price, &at, priced);
            }
            Err(failure) => {
                let detail = match failure {
                    Failure::Issues(issues) => {
                        format!("messageExpression compilation failed: {}", self.own_names(&issues))
                    }
                    Failure::Type => "messageExpression must evaluate to a string".to_owned(),
                    Failure::Plan(error) => format!("messageExpression instantiation failed: {error}"),
                };
                self.errors.push(FieldError::invalid(at, BadValue::Raw(rule.go_json()), detail));
            }
        }
    }

    /// The source of a hint, if hints are requested and the cost may be too high.
    fn priced(&self, checked: &Checked, price: u64, around: impl FnOnce() -> RuleLocation) -> Option<Priced> {
        let dear = self.options.cost_hints && price >= WORTH_NAMING;
        dear.then(|| Priced { explanation: checked.explain_cost(), around: around() })
    }

    /// The issues with the names that upstream gives the types below this node.
    fn own_names(&self, issues: &Issues) -> String {
        let text = issues.to_string();
        let name = self.context.type_name();
        if text.contains(&name) { text.replace(&name, crate::cel_types::written::SELF_TYPE) } else { text }
    }
}

/// Compiles an expression that is to have the type `want`.
fn expression(
    source: &str,
    environment: &Environment,
    declarations: &Declarations,
    want: &Type,
) -> Result<Checked, Failure> {
    let checked = environment.compile(source, declarations).map_err(Failure::Issues)?;
    if checked.output_type() != want {
        return Err(Failure::Type);
    }
    Program::new(&checked).map_err(Failure::Plan)?;
    Ok(checked)
}

enum Failure {
    /// It does not compile.
    Issues(Issues),
    /// It has the wrong type.
    Type,
    /// It cannot become a program.
    Plan(PlanError),
}
