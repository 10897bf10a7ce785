//! Programs: planned expressions, and their evaluation.
//!
//! [`Program::new`] plans a [`Checked`] expression once: variables become slots, selections and indexes
//! become attributes (`node::Attribute`), constants are folded, constant patterns compiled, overloads
//! resolved. [`Program::run`] evaluates the plan and tracks the cost as the API server does. The plan
//! has the shape of cel-go's, because costs follow from it (a selection in an index costs less than one
//! outside, a constant list nothing).
//!
//! A program is immutable and shared between threads; the state of an evaluation is on the stack of
//! [`Program::run`].

mod attribute;
mod build;
mod charge;
mod evaluator;
mod fast_path;
mod fold;
mod message;
mod node;
mod plan;
mod plan_attribute;
mod plan_call;

use crate::checked::Checked;
use crate::decl::DeclType;
use crate::value::{Authz, CelValue, Fault};
use crate::work::{Work, steps_of};
use evaluator::{Evaluator, Slot};
use node::{Attribute, Fold, Node, NodeId};
use pleach_json::{Str, Value};
use std::fmt;

/// The cost limit of one evaluation.
pub const PER_CALL_LIMIT: u64 = 1_000_000;

/// The cost limit of all evaluations for one request.
pub const RUNTIME_COST_BUDGET: i64 = 10_000_000;

/// Programs with no more slots than this allocate nothing for them.
const FEW_SLOTS: usize = 8;

/// An expression ready to be evaluated.
#[derive(Debug)]
pub struct Program {
    /// Whether the root is a logical operator or a comparison, whose result is a bool.
    is_test: bool,
    nodes: Vec<Node>,
    attributes: Vec<Attribute>,
    folds: Vec<Fold>,
    root: NodeId,
    /// How many variables of comprehensions can be alive at once.
    slots: usize,
    /// The work of evaluating a node: more than one step only with very long names.
    node_weight: u64,
    variables: Vec<(Variable, Str, DeclType)>,
}

/// The value of a declared variable.
#[derive(Clone, Copy, Debug)]
enum Variable {
    Self_,
    OldSelf,
    /// The one at this index of the other variables.
    Other(usize),
    /// `variables`, whose fields are evaluated when they are first used.
    Lazy,
}

/// The variables of an admission policy: `variables.name`. A variable is evaluated when it is first used.
pub trait LazyVariables<'a> {
    /// The value of a variable.
    fn get(&self, name: &str) -> Result<CelValue<'a>, Fault>;
}

/// The values of variables.
#[derive(Clone, Copy)]
pub struct Activation<'a> {
    /// `self`
    pub self_: &'a Value,
    /// `oldSelf`
    pub old_self: OldSelf<'a>,
    /// All other variables, in the order they were declared.
    pub others: &'a [Bound<'a>],
    /// Polled during loops: whether to stop.
    pub interrupted: Option<&'a (dyn Fn() -> bool + Sync)>,
}

/// The value of `oldSelf`.
#[derive(Clone, Copy, Debug)]
pub enum OldSelf<'a> {
    /// There is none; an expression that uses it fails.
    Absent,
    /// The value itself.
    Value(&'a Value),
    /// An optional, for rules with `optionalOldSelf`. Their message expressions get an
    /// [`OldSelf::Value`] all the same, as in the API server.
    Optional(Option<&'a Value>),
}

/// The value of a variable other than `self` and `oldSelf`.
#[derive(Clone, Debug)]
pub enum Bound<'a> {
    /// JSON; its declared type is only for the checker.
    Value(&'a Value),
    /// The authorizer of the requesting user.
    Authorizer(Authz),
    /// There is none; an expression that uses it fails.
    Absent,
}

impl<'a> Activation<'a> {
    /// With `self` only.
    pub fn new(self_: &'a Value) -> Self {
        Self { self_, old_self: OldSelf::Absent, others: &[], interrupted: None }
    }

    /// With neither `self` nor `oldSelf`, for expressions that declare other variables.
    pub fn of_others(others: &'a [Bound<'a>]) -> Self {
        Self { others, ..Self::new(&Value::Null) }
    }

    /// With an `oldSelf`.
    #[must_use]
    pub fn with_old_self(self, old_self: OldSelf<'a>) -> Self {
        Self { old_self, ..self }
    }
}

impl fmt::Debug for Activation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { self_, old_self, .. } = self;
        f.debug_struct("Activation").field("self_", self_).field("old_self", old_self).finish_non_exhaustive()
    }
}

/// Why an expression cannot be planned: an invalid constant conversion or pattern. The text is what the
/// API server prints after `program instantiation failed: `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError(pub Str);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlanError {}

/// The result of an evaluation, and its cost.
#[derive(Clone, Debug)]
pub struct Evaluation<'a> {
    /// The value, or an error.
    pub result: Result<CelValue<'a>, Fault>,
    /// The cost, of failures too.
    pub cost: u64,
    /// The steps it took; at most about [`crate::STEPS_PER_COST`] times the limit.
    pub work: u64,
}

/// The remaining budget of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostBudget {
    remaining: i64,
    /// Steps of work that are left.
    work: u64,
}

/// Why [`Program::eval`] has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvalError {
    /// The cost limit of one evaluation is exceeded: stop evaluating.
    CostExceeded,
    /// The budget of the request is exhausted: stop evaluating.
    BudgetExceeded,
    /// Cancelled by the caller.
    Interrupted,
    /// An error of this expression.
    Error(Str),
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CostExceeded => "operation cancelled: actual cost limit exceeded",
            Self::BudgetExceeded => "running out of cost budget",
            Self::Interrupted => "operation interrupted",
            Self::Error(text) => text,
        })
    }
}

impl std::error::Error for EvalError {}

impl CostBudget {
    /// A budget.
    pub fn new(cost: i64) -> Self {
        Self { remaining: cost, work: steps_of(u64::try_from(cost).unwrap_or_default()) }
    }

    /// The rest; negative once the budget was exceeded.
    pub fn remaining(&self) -> i64 {
        self.remaining
    }

    /// Takes `cost` from the budget; false, and nothing is left, if it is not enough.
    pub fn charge(&mut self, cost: u64) -> bool {
        match i64::try_from(cost) {
            Ok(cost) if cost <= self.remaining => {
                self.remaining -= cost;
                true
            }
            _ => {
                self.remaining = -1;
                false
            }
        }
    }

    /// Takes an evaluation from the budget; false, and nothing is left, if it is not enough.
    pub fn charge_evaluation(&mut self, cost: u64, work: u64) -> bool {
        match self.work.checked_sub(work) {
            Some(left) => {
                self.work = left;
                self.charge(cost)
            }
            None => self.charge(u64::MAX),
        }
    }
}

impl Default for CostBudget {
    fn default() -> Self {
        Self::new(RUNTIME_COST_BUDGET)
    }
}

impl Program {
    /// Plans the evaluation of a checked expression.
    pub fn new(checked: &Checked) -> Result<Self, PlanError> {
        plan::plan(checked)
    }

    /// Evaluates the expression; an evaluation that costs more than `limit` is broken off.
    pub fn run<'a>(&'a self, activation: &Activation<'a>, limit: u64) -> Evaluation<'a> {
        self.run_with(activation, None, limit)
    }

    /// The same with lazy variables, whose cost is not part of the result's.
    pub fn run_with<'a>(
        &'a self,
        activation: &Activation<'a>,
        lazy: Option<&dyn LazyVariables<'a>>,
        limit: u64,
    ) -> Evaluation<'a> {
        let mut few = [const { Slot::Empty }; FEW_SLOTS];
        let mut many = Vec::new();
        let slots = if self.slots <= FEW_SLOTS {
            few.as_mut_slice()
        } else {
            many.resize_with(self.slots, Slot::default);
            many.as_mut_slice()
        };
        let work = Work::new(limit, activation.interrupted);
        let mut evaluator = Evaluator::new(self, activation, limit, slots, &work).with_lazy(lazy);
        // The result of nearly every rule is a bool.
        let result = if self.is_test {
            evaluator.holds(self.root).map(CelValue::Bool)
        } else {
            evaluator.eval(self.root)
        };
        let cost = evaluator.cost();
        work.report();
        Evaluation { result, cost, work: work.done() }
    }

    /// Evaluates the expression within the limits for one evaluation and for the request, with lazy variables,
    /// whose cost is charged by the caller.
    pub fn eval_with<'a>(
        &'a self,
        activation: &Activation<'a>,
        lazy: Option<&dyn LazyVariables<'a>>,
        budget: &mut CostBudget,
    ) -> Result<CelValue<'a>, EvalError> {
        let Evaluation { result, cost, work } = self.run_with(activation, lazy, PER_CALL_LIMIT);
        if !budget.charge_evaluation(cost, work) {
            return Err(EvalError::BudgetExceeded);
        }
        result.map_err(EvalError::from)
    }

    /// Evaluates the expression within the limits for one evaluation and for the request.
    pub fn eval<'a>(
        &'a self,
        activation: &Activation<'a>,
        budget: &mut CostBudget,
    ) -> Result<CelValue<'a>, EvalError> {
        self.eval_with(activation, None, budget)
    }
}

impl From<Fault> for EvalError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Error(text) | Fault::Internal(text) => Self::Error(text),
            Fault::CostExceeded => Self::CostExceeded,
            Fault::Interrupted => Self::Interrupted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decl::{DeclType, Declarations, ObjectType};
    use crate::environment::Environment;

    #[test]
    fn a_budget_is_overdrawn_once() {
        let mut budget = CostBudget::new(10);
        assert!(budget.charge(10), "all of it may be spent");
        assert_eq!(budget.remaining(), 0);
        assert!(!budget.charge(1));
        assert_eq!(budget.remaining(), -1);
        assert!(!CostBudget::new(i64::MAX).charge(u64::MAX), "more than any budget");
    }

    #[test]
    fn evaluations_draw_on_the_budget() {
        let declarations = Declarations::new().with("self", DeclType::integer());
        let checked = Environment::stored().compile("self + 1 == 3", &declarations).expect("valid");
        let program = Program::new(&checked).expect("a program");
        let (two, float) = (Value::Int(2), Value::Float(2.0));
        let mut budget = CostBudget::new(7);
        let result = program.eval(&Activation::new(&two), &mut budget);
        assert!(matches!(result, Ok(CelValue::Bool(true))));
        assert_eq!(budget.remaining(), 4);
        let text = "invalid data, expected int, got float64".into();
        let result = program.eval(&Activation::new(&float), &mut budget).map(|_| ());
        assert_eq!(result, Err(EvalError::Error(text)), "errors cost as much");
        let result = program.eval(&Activation::new(&two), &mut budget).map(|_| ());
        assert_eq!(result, Err(EvalError::BudgetExceeded));
    }

    #[test]
    fn expressions_that_panic_upstream_are_refused() {
        for (why, source) in [
            ("a constant key", "{b'a': 1}.size() == 1"),
            ("one that is hidden from the checker", "{dyn(b'a'): 1}.size() == 1"),
            ("one that is looked for", "b'a' in {b'a': 1}"),
        ] {
            let checked = Environment::stored().compile(source, &Declarations::new()).expect(why);
            let error = Program::new(&checked).map(|_| ()).expect_err(why);
            let want = "internal error: runtime error: hash of unhashable type types.Bytes";
            assert_eq!(error.to_string(), want, "{why}");
        }
    }

    #[test]
    fn message_expressions_see_a_plain_old_self() {
        let object = DeclType::object(ObjectType::new("self"), []);
        let optional = DeclType::optional(object.clone());
        let declarations = Declarations::new().with("self", object).with("oldSelf", optional);
        let checked = Environment::stored().compile("oldSelf.hasValue()", &declarations).expect("valid");
        let program = Program::new(&checked).expect("a program");
        let value = Value::object();
        for (why, old_self, want) in [
            ("a rule on update", OldSelf::Optional(Some(&value)), Ok(true)),
            ("a rule on create", OldSelf::Optional(None), Ok(false)),
            ("a message expression", OldSelf::Value(&value), Err("no such overload: hasValue(map)")),
        ] {
            let activation = Activation::new(&value).with_old_self(old_self);
            let got = match program.run(&activation, PER_CALL_LIMIT).result {
                Ok(CelValue::Bool(b)) => Ok(b),
                Ok(other) => panic!("{why}: {other:?}"),
                Err(fault) => Err(fault.to_string()),
            };
            assert_eq!(got.as_ref().map(|b| *b).map_err(String::as_str), want, "{why}");
        }
    }
}
