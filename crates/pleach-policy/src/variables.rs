//! `variables`: evaluated when they are first used, once per pass over a policy's expressions.

use std::cell::{Cell, RefCell};

use pleach_cel::eval::PER_CALL_LIMIT;
use pleach_cel::{Activation, CelValue, Evaluation, Fault, LazyVariables};
use pleach_go::strconv::quote;

use crate::policy::Policy;

/// The variables of a policy in one pass.
pub(crate) struct Variables<'a, 'p> {
    policy: &'a Policy,
    activation: &'p Activation<'a>,
    values: RefCell<Vec<State<'a>>>,
    cost: Cell<u64>,
    work: Cell<u64>,
}

#[derive(Clone)]
enum State<'a> {
    Unused,
    /// A variable that uses itself, by another of its name.
    Evaluating,
    Known(Result<CelValue<'a>, Fault>),
}

impl<'a, 'p> Variables<'a, 'p> {
    pub(crate) fn new(policy: &'a Policy, activation: &'p Activation<'a>) -> Self {
        Self {
            policy,
            activation,
            values: RefCell::new(vec![State::Unused; policy.variables.len()]),
            cost: Cell::new(0),
            work: Cell::new(0),
        }
    }

    /// The cost and work of variables that were evaluated since the last call.
    pub(crate) fn take_cost(&self) -> (u64, u64) {
        (self.cost.take(), self.work.take())
    }

    fn evaluate(&self, at: usize) -> Result<CelValue<'a>, Fault> {
        let (name, expression) = &self.policy.variables[at];
        let program = expression.program.as_ref().map_err(|error| {
            Fault::error(format!("composited variable {} fails to compile: {}", quote(name), error.detail))
        })?;
        let Evaluation { result, cost, work } = program.run_with(self.activation, Some(self), PER_CALL_LIMIT);
        self.cost.set(self.cost.get().saturating_add(cost));
        self.work.set(self.work.get().saturating_add(work));
        result.map_err(|fault| match fault {
            Fault::Interrupted => fault,
            other => Fault::error(format!("composited variable {} fails to evaluate: {other}", quote(name))),
        })
    }
}

impl<'a> LazyVariables<'a> for Variables<'a, '_> {
    fn get(&self, name: &str) -> Result<CelValue<'a>, Fault> {
        // The last of several with one name counts.
        let Some(at) = self.policy.variables.iter().rposition(|(known, _)| known == name) else {
            return Err(Fault::error(format!("no such key: {name}")));
        };
        let state = std::mem::replace(&mut self.values.borrow_mut()[at], State::Evaluating);
        match state {
            State::Known(value) => {
                self.values.borrow_mut()[at] = State::Known(value.clone());
                return value;
            }
            State::Evaluating => {
                return Err(Fault::error(format!("variable {} is defined by itself", quote(name))));
            }
            State::Unused => {}
        }
        let value = pleach_json::grow_stack(|| self.evaluate(at));
        self.values.borrow_mut()[at] = State::Known(value.clone());
        value
    }
}
