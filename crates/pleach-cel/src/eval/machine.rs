//! The evaluator: walks a plan and counts the cost.
//!
//! Errors are values until something absorbs them: a call evaluates all of its arguments and is
//! charged before it passes the first error on, as the API server's does. Running out of cost
//! ends the evaluation at once.

use crate::eval::charge::{self, Charge};
use crate::eval::node::{CallNode, CompareNode, Members, Node, NodeId};
use crate::eval::{Activation, Program};
use crate::function::{Call, Implementation};
use crate::value::{CelValue, Fault, List, Map, ScalarKey, Text, equal};
use pleach_json::grow_stack;
use pleach_regex::Regex;

/// What making a list costs, without its elements.
pub(super) const LIST_COST: u64 = 10;
/// What making a map costs, without its entries.
const MAP_COST: u64 = 30;
/// How many values an evaluation may put into lists and maps it makes: costs do not grow with
/// the lists that `+` copies, memory does.
const MAX_COPIES: usize = 1 << 23;
/// How many patterns that are no constants are kept compiled during an evaluation.
const MAX_PATTERNS: usize = 8;

/// After how many nested nodes the stack is looked at.
const STACK_CHECK_EVERY: u32 = 16;

pub(super) type Outcome<'a> = Result<CelValue<'a>, Fault>;

/// A variable of a comprehension.
#[derive(Debug, Default)]
pub(super) enum Slot<'a> {
    /// Not in use, or moved out to grow.
    #[default]
    Empty,
    /// An accumulator that nobody has asked for yet.
    Lazy(NodeId),
    /// Its value, or why it has none.
    Ready(Outcome<'a>),
}

/// The state of one evaluation.
pub(super) struct Machine<'a, 'm> {
    pub(super) program: &'a Program,
    pub(super) activation: &'m Activation<'a>,
    pub(super) slots: Vec<Slot<'a>>,
    pub(super) iterations: u64,
    cost: u64,
    limit: u64,
    copies: usize,
    patterns: Vec<Regex>,
    /// How many nodes are being evaluated, one inside the other.
    depth: u32,
}

impl<'a, 'm> Machine<'a, 'm> {
    pub(super) fn new(program: &'a Program, activation: &'m Activation<'a>, limit: u64) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(program.slots, Slot::default);
        Self {
            program,
            activation,
            slots,
            iterations: 0,
            cost: 0,
            limit,
            copies: 0,
            patterns: Vec::new(),
            depth: 0,
        }
    }

    /// Takes back what was charged.
    pub(super) fn refund(&mut self, cost: u64) {
        self.cost = self.cost.saturating_sub(cost);
    }

    pub(super) fn cost(&self) -> u64 {
        self.cost
    }

    /// Adds to the cost; an error once the limit is exceeded.
    #[inline]
    pub(super) fn charge(&mut self, cost: u64) -> Result<(), Fault> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(Fault::CostExceeded) } else { Ok(()) }
    }

    /// Evaluates a node.
    #[inline]
    pub(super) fn eval(&mut self, id: NodeId) -> Outcome<'a> {
        self.depth += 1;
        // Looking at the stack takes longer than most nodes do.
        let outcome = if self.depth.is_multiple_of(STACK_CHECK_EVERY) {
            grow_stack(|| self.eval_node(id))
        } else {
            self.eval_node(id)
        };
        self.depth -= 1;
        outcome
    }

    fn eval_node(&mut self, id: NodeId) -> Outcome<'a> {
        match &self.program.nodes[id.0 as usize] {
            Node::Constant(CelValue::String(text)) => Ok(CelValue::String(Text::Borrowed(text.as_str()))),
            Node::Constant(value) => Ok(value.clone()),
            Node::Attribute(id) => self.eval_attribute(*id),
            Node::Slot(slot) => {
                let value = self.slot(*slot);
                if is_fatal(&value) {
                    return value;
                }
                self.charge(1)?;
                // Odd: an optional is taken out and put back without its schema.
                match value {
                    Ok(CelValue::Optional(Some(inner))) => {
                        Ok(CelValue::some((*inner).clone().without_schema()))
                    }
                    value => value,
                }
            }
            Node::Compare(order) => self.compare(order),
            Node::Test(id) => self.eval_test(*id),
            Node::And(a, b) => self.logical(*a, *b, false),
            Node::Or(a, b) => self.logical(*a, *b, true),
            Node::Equals(a, b) => self.equality(*a, *b, charge::equals)?.map(CelValue::Bool),
            Node::NotEquals(a, b) => Ok(CelValue::Bool(self.equality(*a, *b, charge::compare)? != Ok(true))),
            Node::NotStrictlyFalse(operand) => {
                let value = self.eval(*operand);
                self.charge(1)?;
                match value {
                    Ok(CelValue::Bool(b)) => Ok(CelValue::Bool(b)),
                    Err(fault) if !fault.is_error() => Err(fault),
                    _ => Ok(CelValue::Bool(true)),
                }
            }
            Node::Member(operand, members) => {
                let value = self.eval(*operand)?;
                Ok(CelValue::Bool(is_member(&value, members)))
            }
            Node::Call(call) => self.eval_call(call),
            Node::List(elements) => {
                let list = self.eval_list(elements);
                self.charge(LIST_COST)?;
                list
            }
            Node::Map(entries) => {
                let map = self.eval_map(entries);
                self.charge(MAP_COST)?;
                map
            }
            Node::OptionalOr(a, b) => match self.eval(*a)? {
                CelValue::Optional(None) => self.eval(*b),
                value => Ok(value),
            },
            Node::OptionalOrValue(a, b) => match self.eval(*a)? {
                CelValue::Optional(None) => self.eval(*b),
                CelValue::Optional(Some(inner)) => Ok((*inner).clone()),
                value => Ok(value),
            },
            Node::Fold(id) => self.eval_fold(*id),
            Node::Append { slot, element, list_cost } => self.eval_append(*slot, *element, *list_cost),
        }
    }

    /// `&&` and `||`: the deciding value wins over errors, the first error over the rest.
    fn logical(&mut self, a: NodeId, b: NodeId, deciding: bool) -> Outcome<'a> {
        let first = match self.eval(a) {
            Ok(CelValue::Bool(value)) if value == deciding => return Ok(CelValue::Bool(value)),
            // What is no bool is an error like any other.
            Ok(CelValue::Bool(_)) => None,
            Ok(_) => Some(Fault::no_such_overload()),
            Err(fault) if fault.is_error() => Some(fault),
            Err(fault) => return Err(fault),
        };
        match (self.eval(b), first) {
            (Ok(CelValue::Bool(value)), _) if value == deciding => Ok(CelValue::Bool(value)),
            (Err(fault), _) if !fault.is_error() => Err(fault),
            (_, Some(first)) => Err(first),
            (Ok(CelValue::Bool(value)), None) => Ok(CelValue::Bool(value)),
            (Ok(_), None) => Err(Fault::no_such_overload()),
            (Err(fault), None) => Err(fault),
        }
    }

    /// Whether two operands are equal. The inner error is that of the comparison: `!=` holds then.
    fn equality(
        &mut self,
        a: NodeId,
        b: NodeId,
        cost: fn(&CelValue<'_>, &CelValue<'_>) -> u64,
    ) -> Result<Result<bool, Fault>, Fault> {
        // The usual case: a constant need not be copied.
        if let Node::Constant(constant) = &self.program.nodes[b.0 as usize] {
            let value = absorb(self.eval(a))?;
            self.charge(cost(value.as_ref().unwrap_or(&CelValue::Null), constant))?;
            return Ok(equal(&value?, constant));
        }
        let (a, b) = self.operands(a, b, cost)?;
        Ok(equal(&a, &b))
    }

    /// Both operands of a comparison, charged.
    #[inline]
    fn operands(
        &mut self,
        a: NodeId,
        b: NodeId,
        cost: fn(&CelValue<'_>, &CelValue<'_>) -> u64,
    ) -> Result<(CelValue<'a>, CelValue<'a>), Fault> {
        let a = self.eval(a);
        if let Err(fault) = &a
            && !fault.is_error()
        {
            return Err(fault.clone());
        }
        match (a, self.eval(b)) {
            (Ok(a), Ok(b)) => {
                self.charge(cost(&a, &b))?;
                Ok((a, b))
            }
            (_, Err(fault)) if !fault.is_error() => Err(fault),
            (a, b) => {
                let null = &CelValue::Null;
                self.charge(cost(a.as_ref().unwrap_or(null), b.as_ref().unwrap_or(null)))?;
                Ok((a?, b?))
            }
        }
    }

    /// `<` and the like.
    fn compare(&mut self, order: &'a CompareNode) -> Outcome<'a> {
        let cost = if order.sized { charge::compare } else { |_: &CelValue<'_>, _: &CelValue<'_>| 1 };
        let (a, b) = self.operands(order.left, order.right, cost)?;
        if let (CelValue::Int(a), CelValue::Int(b)) = (&a, &b) {
            return Ok(CelValue::Bool((order.holds)(a.cmp(b))));
        }
        let context = Call { function: order.name, overload: None, regex: None };
        (order.implementation)(&context, &[a, b])
    }

    fn eval_call(&mut self, call: &'a CallNode) -> Outcome<'a> {
        if let Some(slot) = call.grows {
            return self.eval_growing(call, slot);
        }
        match &*call.args {
            [] => self.finish(call, &[]),
            [arg] => match self.eval(*arg) {
                Ok(arg) => self.finish(call, &[arg]),
                Err(fault) if fault.is_error() => self.fail(call, &[CelValue::Null], fault),
                Err(fault) => Err(fault),
            },
            // A call with a compiled pattern stops at the first error, like one with more
            // arguments; the pattern is then never looked at and nothing charged.
            [a, b] if call.regex.is_none() => match self.eval(*a) {
                Ok(a) => match self.eval(*b) {
                    Ok(b) => self.finish(call, &[a, b]),
                    Err(fault) if fault.is_error() => self.fail(call, &[a, CelValue::Null], fault),
                    Err(fault) => Err(fault),
                },
                Err(fault) if fault.is_error() => {
                    let b = absorb(self.eval(*b))?.unwrap_or(CelValue::Null);
                    self.fail(call, &[CelValue::Null, b], fault)
                }
                Err(fault) => Err(fault),
            },
            args => {
                let mut values = Vec::with_capacity(args.len());
                for (i, arg) in args.iter().enumerate() {
                    match absorb(self.eval(*arg))? {
                        Ok(value) => values.push(value),
                        Err(fault) if i + 1 == args.len() => {
                            values.push(CelValue::Null);
                            return self.fail(call, &values, fault);
                        }
                        Err(fault) => return Err(fault),
                    }
                }
                self.finish(call, &values)
            }
        }
    }

    /// Calls the function and charges for it.
    #[inline]
    fn finish(&mut self, call: &'a CallNode, args: &[CelValue<'a>]) -> Outcome<'a> {
        let result = if call.takes_pattern && call.regex.is_none() {
            invoke(call, args, self.pattern(args))
        } else {
            invoke(call, args, call.regex.as_ref())
        };
        if let Ok(result) = &result
            && call.charge == Charge::Unit
            && !matches!(result, CelValue::List(_) | CelValue::Map(_))
        {
            self.charge(1)?;
        } else {
            let null = CelValue::Null;
            call.charge.check(args, false)?;
            self.charge(call.charge.cost(args, result.as_ref().unwrap_or(&null)))?;
        }
        if let Ok(CelValue::List(List::Owned(_)) | CelValue::Map(Map::Owned(_))) = &result {
            self.count_copies(result.as_ref().map_or(0, |value| value.size() as usize))?;
        }
        result
    }

    /// The pattern in the second argument, compiled; `None` if it is none.
    fn pattern(&mut self, args: &[CelValue<'a>]) -> Option<&Regex> {
        let Some(CelValue::String(text)) = args.get(1) else { return None };
        let known = self.patterns.iter().position(|regex| regex.as_str() == text.as_str());
        if let Some(at) = known {
            return self.patterns.get(at);
        }
        let regex = Regex::new(text.as_str()).ok()?;
        if self.patterns.len() == MAX_PATTERNS {
            self.patterns.remove(0);
        }
        self.patterns.push(regex);
        self.patterns.last()
    }

    /// Passes on the error of an argument, in whose place `args` has null.
    fn fail(&mut self, call: &CallNode, args: &[CelValue<'a>], fault: Fault) -> Outcome<'a> {
        call.charge.check(args, true)?;
        self.charge(call.charge.cost(args, &CelValue::Null))?;
        Err(fault)
    }

    pub(super) fn count_copies(&mut self, values: usize) -> Result<(), Fault> {
        self.copies = self.copies.saturating_add(values);
        if self.copies > MAX_COPIES { Err(Fault::CostExceeded) } else { Ok(()) }
    }
}

/// Whether it ends the evaluation.
#[inline]
pub(super) fn is_fatal(outcome: &Outcome<'_>) -> bool {
    matches!(outcome, Err(fault) if !fault.is_error())
}

/// Takes errors for values; what ends the evaluation passes.
#[inline]
pub(super) fn absorb(outcome: Outcome<'_>) -> Result<Outcome<'_>, Fault> {
    match outcome {
        Err(fault) if !fault.is_error() => Err(fault),
        outcome => Ok(outcome),
    }
}

/// Tries the implementations in turn until one accepts the types.
fn invoke<'a>(call: &CallNode, args: &[CelValue<'a>], regex: Option<&Regex>) -> Outcome<'a> {
    let context = Call { function: call.name, overload: call.overload, regex };
    let run = |implementation: &Implementation| implementation(&context, args);
    if let [only] = call.implementations.as_slice() {
        return run(only);
    }
    let mut result = Err(Fault::no_such_overload());
    for implementation in &call.implementations {
        result = run(implementation);
        match &result {
            Err(Fault::Error(text)) if text.starts_with("no such overload") => {}
            _ => break,
        }
    }
    result
}

fn is_member(value: &CelValue<'_>, members: &Members) -> bool {
    match (members, value) {
        (Members::Strings(known), CelValue::String(text)) => {
            known.binary_search_by(|s| s.as_str().cmp(text.as_str())).is_ok()
        }
        (Members::Strings(_), _) => false,
        (Members::Scalars(_), CelValue::Double(d)) if d.is_nan() => false,
        (Members::Scalars(known), CelValue::Double(0.0)) => known.contains(&ScalarKey::Double(0)),
        (Members::Scalars(known), value) => known.contains(&ScalarKey::of_value(value)),
    }
}
