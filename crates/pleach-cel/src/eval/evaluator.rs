//! The evaluator: evaluates a plan and tracks the cost.
//!
//! Errors are values until they are absorbed: a call evaluates all arguments and is charged before it
//! returns the first error, as in cel-go. Exceeding the cost limit ends the evaluation at once.

use crate::eval::charge::{self, Charge};
use crate::eval::fast_path::FieldRef;
use crate::eval::node::{CallNode, CompareNode, Members, Node, NodeId};
use crate::eval::{Activation, LazyVariables, Program};
use crate::function::{Call, Implementation};
use crate::value::{CelValue, Fault, Key, ScalarKey, Text, equal};
use crate::work::Work;
use pleach_json::grow_stack;
use pleach_regex::Regex;

/// The cost of a list literal, without its elements.
pub(super) const LIST_COST: u64 = 10;
/// The cost of a map literal, without its entries.
const MAP_COST: u64 = 30;
/// The cost of a message literal, without its fields.
const MESSAGE_COST: u64 = 40;
/// How many non-constant patterns are cached during an evaluation.
const MAX_PATTERNS: usize = 8;

/// The stack is checked once per so many nested nodes.
const STACK_CHECK_EVERY: u32 = 16;

pub(super) type Outcome<'a> = Result<CelValue<'a>, Fault>;

/// A slot for a variable of a comprehension.
#[derive(Debug, Default)]
pub(super) enum Slot<'a> {
    /// Unused, or moved out to grow.
    #[default]
    Empty,
    /// An accumulator whose initial value is not computed yet.
    Lazy(NodeId),
    /// Its value, or an error.
    Ready(Outcome<'a>),
    /// An element of a list of the object, not converted yet.
    FieldRef(FieldRef<'a>),
}

/// The state of one evaluation.
pub(super) struct Evaluator<'a, 'm> {
    pub(super) program: &'a Program,
    pub(super) activation: &'m Activation<'a>,
    pub(super) slots: &'m mut [Slot<'a>],
    pub(super) work: &'m Work<'m>,
    cost: u64,
    limit: u64,
    /// The work of evaluating a node.
    node_weight: u64,
    patterns: Vec<Regex>,
    /// The nesting depth of nodes.
    depth: u32,
    pub(super) lazy: Option<&'m dyn LazyVariables<'a>>,
}

impl<'a, 'm> Evaluator<'a, 'm> {
    /// `slots` are at least as many as the program has, and empty.
    pub(super) fn new(
        program: &'a Program,
        activation: &'m Activation<'a>,
        limit: u64,
        slots: &'m mut [Slot<'a>],
        work: &'m Work<'m>,
    ) -> Self {
        let node_weight = program.node_weight;
        Self {
            program,
            activation,
            slots,
            work,
            cost: 0,
            limit,
            node_weight,
            patterns: Vec::new(),
            depth: 0,
            lazy: None,
        }
    }

    pub(super) fn with_lazy(self, lazy: Option<&'m dyn LazyVariables<'a>>) -> Self {
        Self { lazy, ..self }
    }

    /// Refunds a charge.
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

    /// Adds to the cost, unless the limit would be exceeded.
    #[inline]
    pub(super) fn charge_within(&mut self, cost: u64) -> bool {
        let total = self.cost.saturating_add(cost);
        let enough = total <= self.limit;
        if enough {
            self.cost = total;
        }
        enough
    }

    /// Goes one node deeper.
    #[inline]
    pub(super) fn nested<R>(&mut self, step: impl FnOnce(&mut Self) -> Result<R, Fault>) -> Result<R, Fault> {
        self.depth += 1;
        self.work.note(self.node_weight);
        // Checking the stack takes longer than evaluating most nodes, and so does checking the work: it
        // is checked here, because of shared nodes, and once per iteration of a loop.
        let result = if self.depth.is_multiple_of(STACK_CHECK_EVERY) {
            self.work.look().and_then(|()| grow_stack(|| step(self)))
        } else {
            step(self)
        };
        self.depth -= 1;
        result
    }

    /// Evaluates a node.
    #[inline]
    pub(super) fn eval(&mut self, id: NodeId) -> Outcome<'a> {
        self.nested(|evaluator| evaluator.eval_node(id))
    }

    pub(super) fn eval_node(&mut self, id: NodeId) -> Outcome<'a> {
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
                // Odd: an optional is unwrapped and wrapped again without its schema.
                match value {
                    Ok(CelValue::Optional(Some(inner))) => {
                        Ok(CelValue::some((*inner).clone().without_schema()))
                    }
                    value => value,
                }
            }
            Node::Compare(order) => self.compare(order).map(CelValue::Bool),
            Node::Test(id) => match self.fast_has(*id) {
                Some(found) => Ok(CelValue::Bool(found)),
                None => self.eval_test(*id),
            },
            Node::And(a, b) => self.logical(*a, *b, false).map(CelValue::Bool),
            Node::Or(a, b) => self.logical(*a, *b, true).map(CelValue::Bool),
            Node::Equals(a, b) => self.equals(*a, *b).map(CelValue::Bool),
            Node::NotEquals(a, b) => self.not_equals(*a, *b).map(CelValue::Bool),
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
                if matches!(value, CelValue::Bytes(_) | CelValue::Opaque(_)) {
                    // A value that cannot be a key is not found.
                    Key::of(&value)?;
                }
                self.work.scan(value.as_str().map_or(0, str::len))?;
                Ok(CelValue::Bool(is_member(&value, members)))
            }
            Node::Call(call) => match self.fast_size(id, call) {
                Some(size) => Ok(CelValue::Int(size)),
                None => self.eval_call(call),
            },
            Node::List(elements) => {
                let list = absorb(self.eval_list(elements))?;
                self.charge(LIST_COST)?;
                list
            }
            Node::Map(entries) => {
                let map = absorb(self.eval_map(entries))?;
                self.charge(MAP_COST)?;
                map
            }
            Node::Message(node) => {
                let message = absorb(self.eval_message(node))?;
                self.charge(MESSAGE_COST)?;
                message
            }
            Node::Object(node) => {
                let object = absorb(self.eval_object(node))?;
                self.charge(MESSAGE_COST)?;
                object
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
    pub(super) fn logical(&mut self, a: NodeId, b: NodeId, deciding: bool) -> Result<bool, Fault> {
        let first = match self.holds(a) {
            Ok(value) if value == deciding => return Ok(value),
            Ok(_) => None,
            Err(fault) if fault.is_error() => Some(fault),
            Err(fault) => return Err(fault),
        };
        match (self.holds(b), first) {
            (Ok(value), _) if value == deciding => Ok(value),
            (Err(fault), _) if !fault.is_error() => Err(fault),
            (_, Some(first)) => Err(first),
            (second, None) => second,
        }
    }

    /// `==`
    #[inline]
    pub(super) fn equals(&mut self, a: NodeId, b: NodeId) -> Result<bool, Fault> {
        match self.fast_equal(a, b) {
            Some(equal) => Ok(equal),
            None => self.equality(a, b, charge::equals)?,
        }
    }

    /// `!=`: true as well if the values cannot be compared.
    #[inline]
    pub(super) fn not_equals(&mut self, a: NodeId, b: NodeId) -> Result<bool, Fault> {
        match self.fast_equal(a, b) {
            Some(equal) => Ok(!equal),
            None => match self.equality(a, b, charge::compare)? {
                Err(fault) if !fault.is_error() => Err(fault),
                equal => Ok(equal != Ok(true)),
            },
        }
    }

    /// Whether two operands are equal. The inner error is that of the comparison: `!=` is true then.
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
            return Ok(equal(self.work, &value?, constant));
        }
        let (a, b) = self.operands(a, b, cost)?;
        Ok(equal(self.work, &a, &b))
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
    pub(super) fn compare(&mut self, order: &'a CompareNode) -> Result<bool, Fault> {
        if let Some(found) = self.fast_order(order.left, order.right, order.sized) {
            return Ok((order.holds)(found));
        }
        let cost = if order.sized { charge::compare } else { |_: &CelValue<'_>, _: &CelValue<'_>| 1 };
        let (a, b) = self.operands(order.left, order.right, cost)?;
        if let (CelValue::Int(a), CelValue::Int(b)) = (&a, &b) {
            return Ok((order.holds)(a.cmp(b)));
        }
        let context = Call { function: order.name, overload: None, regex: None, work: self.work };
        match (order.implementation)(&context, &[a, b])? {
            CelValue::Bool(holds) => Ok(holds),
            _ => Err(Fault::no_such_overload()),
        }
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
            // A call with a compiled pattern stops at the first error, like one with more arguments;
            // the pattern is not used and nothing is charged.
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
        // Functions of a string take time at least linear in its length.
        for arg in args {
            match arg {
                CelValue::String(text) => self.work.scan(text.as_str().len())?,
                CelValue::Bytes(bytes) => self.work.scan(bytes.len())?,
                _ => {}
            }
        }
        let work = self.work;
        let result = if call.takes_pattern && call.regex.is_none() {
            invoke(call, args, self.pattern(args)?, work)
        } else {
            invoke(call, args, call.regex.as_ref(), work)
        };
        if let Some(fault) = work.ended() {
            return Err(fault);
        }
        if is_fatal(&result) {
            return result;
        }
        if let Ok(result) = &result
            && call.charge == Charge::Unit
            && !matches!(result, CelValue::List(_) | CelValue::Map(_))
        {
            self.charge(1)?;
        } else {
            let null = CelValue::Null;
            call.charge.check(args, false)?;
            self.charge(call.charge.cost(work, args, result.as_ref().unwrap_or(&null))?)?;
        }
        result
    }

    /// The pattern in the second argument, compiled; `None` if it is invalid.
    fn pattern(&mut self, args: &[CelValue<'a>]) -> Result<Option<&Regex>, Fault> {
        let Some(CelValue::String(text)) = args.get(1) else { return Ok(None) };
        let known = self.patterns.iter().position(|regex| regex.as_str() == text.as_str());
        if let Some(at) = known {
            return Ok(self.patterns.get(at));
        }
        let Some(regex) = crate::library::compile_pattern(self.work, text.as_str())? else { return Ok(None) };
        if self.patterns.len() == MAX_PATTERNS {
            self.patterns.remove(0);
        }
        self.patterns.push(regex);
        Ok(self.patterns.last())
    }

    /// Returns the error of an argument, in whose place `args` has null.
    fn fail(&mut self, call: &CallNode, args: &[CelValue<'a>], fault: Fault) -> Outcome<'a> {
        call.charge.check(args, true)?;
        self.charge(call.charge.cost(self.work, args, &CelValue::Null)?)?;
        Err(fault)
    }
}

/// Whether it ends the evaluation.
#[inline]
pub(super) fn is_fatal(outcome: &Outcome<'_>) -> bool {
    matches!(outcome, Err(fault) if !fault.is_error())
}

/// Turns errors into values; what ends the evaluation is returned.
#[inline]
pub(super) fn absorb(outcome: Outcome<'_>) -> Result<Outcome<'_>, Fault> {
    match outcome {
        Err(fault) if !fault.is_error() => Err(fault),
        outcome => Ok(outcome),
    }
}

/// Tries the implementations in order until one accepts the types.
fn invoke<'a>(call: &CallNode, args: &[CelValue<'a>], regex: Option<&Regex>, work: &Work<'_>) -> Outcome<'a> {
    let context = Call { function: call.name, overload: call.overload, regex, work };
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
