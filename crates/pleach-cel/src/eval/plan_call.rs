//! Planning of calls: special forms, folding, patterns, overloads.

use crate::ast::ExprId;
use crate::checked::Reference;
use crate::eval::charge::Charge;
use crate::eval::evaluator::LIST_COST;
use crate::eval::node::{CallNode, CompareNode, Intrinsic, Members, Node, NodeId};
use crate::eval::plan::Planner;
use crate::eval::{PER_CALL_LIMIT, PlanError};
use crate::function::{Call, Function, Overload, operators};
use crate::library::{JSON_PATCH_LIBRARY, LIBRARIES};
use crate::types::Type;
use crate::value::{CelValue, List, ScalarKey};
use crate::work::Work;
use pleach_json::Str;
use pleach_regex::Regex;
use pleach_work::Constant;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Which function an overload belongs to.
static FUNCTION_OF: Constant<BTreeMap<&'static str, &'static Function>> = Constant::new(|| {
    let mut functions = BTreeMap::new();
    for function in LIBRARIES.iter().chain([&&JSON_PATCH_LIBRARY]).flat_map(|library| library.functions) {
        for overload in function.overloads {
            functions.entry(overload.id).or_insert(function);
        }
    }
    functions
});

/// Conversions that are folded if their argument is a constant.
const CONVERSIONS: [&str; 10] =
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

/// Functions whose second argument is a pattern.
const WITH_PATTERN: [&str; 3] = ["matches", "find", "findAll"];

impl Planner<'_> {
    pub(super) fn plan_call(
        &mut self,
        id: ExprId,
        target: Option<ExprId>,
        function: &str,
        args: &[ExprId],
    ) -> Result<NodeId, PlanError> {
        match (function, args) {
            (operators::AND, [a, b]) => {
                let (a, b) = (self.plan(*a)?, self.plan(*b)?);
                return Ok(self.node(Node::And(a, b)));
            }
            (operators::OR, [a, b]) => {
                let (a, b) = (self.plan(*a)?, self.plan(*b)?);
                return Ok(self.node(Node::Or(a, b)));
            }
            (operators::CONDITIONAL, [c, a, b]) => return self.plan_conditional(*c, *a, *b),
            (operators::EQUALS, [a, b]) => {
                let (a, b) = (self.plan(*a)?, self.plan(*b)?);
                return Ok(self.node(Node::Equals(a, b)));
            }
            (operators::NOT_EQUALS, [a, b]) => {
                let (a, b) = (self.plan(*a)?, self.plan(*b)?);
                return Ok(self.node(Node::NotEquals(a, b)));
            }
            (operators::INDEX, [operand, index]) => return self.plan_index(*operand, *index, false),
            (operators::OPT_INDEX, [operand, index]) => return self.plan_index(*operand, *index, true),
            (operators::OPT_SELECT, [operand, field]) => return self.plan_optional_select(*operand, *field),
            (operators::NOT_STRICTLY_FALSE | "__not_strictly_false__", [operand]) => {
                let operand = self.plan(*operand)?;
                return Ok(self.node(Node::NotStrictlyFalse(operand)));
            }
            _ => {}
        }
        let overloads: &[&'static Overload] = match self.checked.reference(id) {
            Some(Reference::Overloads(overloads)) => overloads,
            _ => &[],
        };
        // Without a receiver the target is part of the function's name.
        let receiver = target.filter(|_| overloads.iter().any(|overload| overload.member));
        let mut planned = Vec::with_capacity(args.len() + 1);
        for arg in receiver.iter().chain(args) {
            planned.push(self.plan(*arg)?);
        }
        match (overloads, planned.as_slice()) {
            ([only], [a, b]) if only.id == "optional_or_optional" => Ok(self.node(Node::OptionalOr(*a, *b))),
            ([only], [a, b]) if only.id == "optional_orValue_value" => {
                Ok(self.node(Node::OptionalOrValue(*a, *b)))
            }
            ([only], [a, b])
                if only.id == "in_list"
                    && let Some(node) = self.plan_member(*a, *b) =>
            {
                Ok(node)
            }
            ([only], [a, b])
                if only.id == "add_list"
                    && let Some(node) = self.plan_append(*a, *b) =>
            {
                Ok(node)
            }
            (_, [a, b]) if let Some(holds) = order_of(function) => {
                let function = overloads.first().and_then(|overload| FUNCTION_OF.get(overload.id));
                let Some((name, implementation)) = function.and_then(|f| Some((f.name, f.call?))) else {
                    return Err(PlanError("no such overload".into()));
                };
                let sized = Charge::of(name, overloads) == Charge::Compare;
                let node = CompareNode { name, left: *a, right: *b, holds, implementation, sized };
                Ok(self.node(Node::Compare(Arc::new(node))))
            }
            (_, [_]) if function == operators::NOT && *self.checked.type_of(args[0]) == Type::Bool => {
                let node = self.plan_function(function, overloads, planned)?;
                if let Node::Call(call) = &mut self.program.nodes[node.0 as usize]
                    && let Some(call) = Arc::get_mut(call)
                {
                    call.intrinsic = Some(Intrinsic::Not);
                }
                Ok(node)
            }
            _ => self.plan_function(function, overloads, planned),
        }
    }

    fn plan_function(
        &mut self,
        written: &str,
        overloads: &[&'static Overload],
        args: Vec<NodeId>,
    ) -> Result<NodeId, PlanError> {
        let mut functions: Vec<&'static Function> = Vec::new();
        for function in overloads.iter().filter_map(|overload| FUNCTION_OF.get(overload.id)) {
            if !functions.iter().any(|known| std::ptr::eq(*known, *function)) {
                functions.push(function);
            }
        }
        let Some(first) = functions.first() else {
            return Err(PlanError(format!("no such overload: {written}").into()));
        };
        let mut call = CallNode {
            intrinsic: None,
            name: first.name,
            overload: match overloads {
                [only] => Some(only.id),
                _ => None,
            },
            implementations: functions.iter().filter_map(|function| function.call).collect(),
            charge: Charge::of(first.name, overloads),
            takes_pattern: WITH_PATTERN.contains(&first.name),
            regex: None,
            grows: None,
            args: args.into(),
        };
        if call.takes_pattern
            && let Some(CelValue::String(pattern)) = call.args.get(1).and_then(|arg| self.as_constant(*arg))
        {
            let regex = Regex::new(pattern.as_str()).map_err(|error| PlanError(error.to_string().into()))?;
            call.regex = Some(regex);
        }
        call.intrinsic = intrinsic(&call);
        if call.name == operators::MAP_INSERT {
            call.grows = call.args.first().and_then(|arg| self.collecting_slot(*arg));
        }
        if CONVERSIONS.contains(&call.name)
            && let [arg] = &*call.args
            && let Some(value) = self.as_constant(*arg).cloned()
        {
            return self.fold_conversion(&call, value);
        }
        Ok(self.node(Node::Call(Arc::new(call))))
    }

    fn fold_conversion(&mut self, call: &CallNode, value: CelValue<'static>) -> Result<NodeId, PlanError> {
        let work = Work::new(PER_CALL_LIMIT, None);
        let context = Call { function: call.name, overload: call.overload, regex: None, work: &work };
        let args = [value];
        let mut result = Err(crate::value::Fault::no_such_overload());
        for implementation in &call.implementations {
            result = implementation(&context, &args);
            if result.is_ok() {
                break;
            }
        }
        match result {
            Ok(value) => Ok(self.constant(value)),
            Err(fault) => Err(PlanError(fault.to_string().into())),
        }
    }

    /// A test for membership in a constant list of scalars.
    fn plan_member(&mut self, operand: NodeId, list: NodeId) -> Option<NodeId> {
        let Some(CelValue::List(list)) = self.as_constant(list) else { return None };
        if list.is_empty() {
            return Some(self.constant(CelValue::Bool(false)));
        }
        let members = members_of(list)?;
        Some(self.node(Node::Member(operand, Arc::new(members))))
    }

    /// `accumulator + [element]`
    fn plan_append(&mut self, accumulator: NodeId, list: NodeId) -> Option<NodeId> {
        let slot = self.collecting_slot(accumulator)?;
        let (element, list_cost) = match &self.program.nodes[list.0 as usize] {
            Node::List(elements) => match **elements {
                [(element, false)] => (element, LIST_COST),
                _ => return None,
            },
            Node::Constant(CelValue::List(list)) if list.len() == 1 => {
                let value = list.get(0)?.ok()?;
                (self.constant(value), 0)
            }
            _ => return None,
        };
        Some(self.node(Node::Append { slot, element, list_cost }))
    }
}

/// Functions that are evaluated without making values.
fn intrinsic(call: &CallNode) -> Option<Intrinsic> {
    match (call.name, call.args.len()) {
        ("size", 1) => Some(Intrinsic::Size),
        ("startsWith", 2) => Some(Intrinsic::StartsWith),
        ("endsWith", 2) => Some(Intrinsic::EndsWith),
        ("contains", 2) => Some(Intrinsic::Contains),
        ("matches", 2) if call.regex.is_some() => Some(Intrinsic::Matches),
        _ => None,
    }
}

fn order_of(function: &str) -> Option<fn(Ordering) -> bool> {
    match function {
        operators::LESS => Some(Ordering::is_lt),
        operators::LESS_EQUALS => Some(Ordering::is_le),
        operators::GREATER => Some(Ordering::is_gt),
        operators::GREATER_EQUALS => Some(Ordering::is_ge),
        _ => None,
    }
}

/// The members; numbers in every type that represents them exactly.
fn members_of(list: &List<'static>) -> Option<Members> {
    let items = list.to_vec().ok()?;
    let strings: Option<Vec<Str>> = items.iter().map(|item| item.as_str().map(Str::from)).collect();
    if let Some(mut strings) = strings {
        strings.sort_unstable();
        return Some(Members::Strings(strings));
    }
    let mut scalars = BTreeSet::new();
    for item in &items {
        match item {
            CelValue::Bool(_) | CelValue::String(_) => _ = scalars.insert(ScalarKey::of_value(item)),
            CelValue::Int(i) => {
                scalars.insert(ScalarKey::Int(*i));
                scalars.insert(ScalarKey::Double((*i as f64).to_bits()));
                scalars.extend(u64::try_from(*i).ok().map(ScalarKey::Uint));
            }
            CelValue::Uint(u) => {
                scalars.insert(ScalarKey::Uint(*u));
                scalars.insert(ScalarKey::Double((*u as f64).to_bits()));
                scalars.extend(i64::try_from(*u).ok().map(ScalarKey::Int));
            }
            CelValue::Double(d) => {
                scalars.insert(ScalarKey::Double(if *d == 0.0 { 0 } else { d.to_bits() }));
                if d.fract() == 0.0 && d.abs() < 9e18 {
                    scalars.insert(ScalarKey::Int(*d as i64));
                    scalars.extend(u64::try_from(*d as i64).ok().map(ScalarKey::Uint));
                }
            }
            _ => return None,
        }
    }
    Some(Members::Scalars(scalars))
}
