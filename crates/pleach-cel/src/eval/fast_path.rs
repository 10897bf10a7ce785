//! Fast path for common rules: comparisons of fields and constants, presence tests, string searches,
//! and logical operators over them.
//!
//! Most operands are constants or scalar fields. [`Evaluator::peek`] reads them without making a value
//! and without side effects: if anything is unusual (an absent field, a value that does not fit its
//! schema, a cost limit about to be exceeded), the general path is taken, which handles all errors.
//!
//! **Invariant:** both paths have the same results and costs; `tests/objects.rs` compares with
//! recordings. The general path is always taken when a limit is about to be exceeded.

use crate::decl::{DeclKind, DeclType};
use crate::eval::charge::{self, Charge};
use crate::eval::evaluator::{Evaluator, Slot};
use crate::eval::node::{
    Attribute, AttributeId, CallNode, Intrinsic, Node, NodeId, Qualifier, QualifierKind, Root,
};
use crate::eval::{OldSelf, Variable};
use crate::value::{CelValue, Fault, Text};
use pleach_json::Value;
use std::cmp::Ordering;
use std::sync::Arc;

/// Objects up to this many members are searched linearly: names mostly differ in length.
const FEW: usize = 12;

/// A scalar operand.
#[derive(Clone, Copy)]
pub(super) enum Scalar<'a> {
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(&'a str),
}

/// A value of the object with its schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldRef<'a> {
    pub(super) value: &'a Value,
    pub(super) decl: &'a DeclType,
}

impl<'a> Scalar<'a> {
    fn to_value(self) -> CelValue<'a> {
        match self {
            Self::Bool(b) => CelValue::Bool(b),
            Self::Int(i) => CelValue::Int(i),
            Self::Double(d) => CelValue::Double(d),
            Self::Text(text) => CelValue::String(Text::Borrowed(text)),
        }
    }
}

impl<'a> FieldRef<'a> {
    /// Whether a value made now equals one made on every access.
    pub(super) fn is_lazy(decl: &DeclType) -> bool {
        !matches!(
            decl.kind(),
            DeclKind::Bytes
                | DeclKind::Date
                | DeclKind::DateTime
                | DeclKind::Duration
                | DeclKind::Optional(_)
                | DeclKind::Other(_)
        )
    }

    #[inline]
    fn scalar(self) -> Option<Scalar<'a>> {
        Some(match (self.decl.kind(), self.value) {
            (DeclKind::String | DeclKind::IntOrString, Value::String(text)) => Scalar::Text(text),
            (DeclKind::Int | DeclKind::IntOrString, Value::Int(i)) => Scalar::Int(*i),
            (DeclKind::Bool, Value::Bool(b)) => Scalar::Bool(*b),
            (DeclKind::Double, Value::Int(i)) => Scalar::Double(*i as f64),
            (DeclKind::Double, Value::Float(f)) => Scalar::Double(*f),
            _ => return None,
        })
    }

    /// Whether the value has the type of its schema; if not, the general path reports the error.
    #[inline]
    fn fits(self) -> bool {
        match (self.decl.kind(), self.value) {
            (DeclKind::Object(_) | DeclKind::Map(_), Value::Object(_))
            | (DeclKind::List(..), Value::Array(_)) => true,
            _ => self.scalar().is_some(),
        }
    }

    /// The value of a qualifier, if it is declared and present.
    #[inline]
    fn step(self, evaluator: &Evaluator<'a, '_>, qualifier: &'a Qualifier, cost: &mut u64) -> Option<Self> {
        *cost += 1;
        let (value, decl): (&Value, &DeclType) = match (&qualifier.kind, self.decl.kind(), self.value) {
            (QualifierKind::Field { object, index, .. }, DeclKind::Object(own), Value::Object(members))
                if Arc::ptr_eq(own, object) =>
            {
                let field = &own.fields()[*index];
                (member(members, &field.name)?, &field.decl)
            }
            (QualifierKind::Name(name), DeclKind::Map(element), Value::Object(members)) => {
                (member(members, name)?, element)
            }
            (QualifierKind::Attribute(key), DeclKind::Map(element), Value::Object(members)) => {
                let (name, key_cost) = evaluator.peek_key(*key)?;
                // It is compared several times.
                evaluator.note_bytes(name.len().saturating_mul(4));
                *cost += key_cost;
                (members.get(name)?, element)
            }
            (
                QualifierKind::Constant(CelValue::Int(index)),
                DeclKind::List(element, _),
                Value::Array(items),
            ) => (items.get(usize::try_from(*index).ok()?)?, element),
            _ => return None,
        };
        (!value.is_null()).then_some(Self { value, decl })
    }
}

impl<'a> Evaluator<'a, '_> {
    /// Counts bytes that are read, too few to check the limit.
    #[inline]
    fn note_bytes(&self, bytes: usize) {
        self.work.note(bytes as u64 / 64);
    }

    /// Charges if the limit allows; otherwise the general path has to find where it ends.
    #[inline]
    fn afford(&mut self, cost: u64) -> Option<()> {
        self.charge_within(cost).then_some(())
    }

    /// Evaluates a node to a bool, for a condition, a logical operator or a quantifier; another type is
    /// an error.
    pub(super) fn holds(&mut self, id: NodeId) -> Result<bool, Fault> {
        self.nested(|evaluator| match &evaluator.program.nodes[id.0 as usize] {
            Node::Constant(CelValue::Bool(b)) => Ok(*b),
            Node::And(a, b) => evaluator.logical(*a, *b, false),
            Node::Or(a, b) => evaluator.logical(*a, *b, true),
            Node::Test(attribute) if let Some(found) = evaluator.fast_has(*attribute) => Ok(found),
            Node::Compare(order) => evaluator.compare(order),
            Node::Equals(a, b) => evaluator.equals(*a, *b),
            Node::NotEquals(a, b) => evaluator.not_equals(*a, *b),
            Node::Call(call) if let Some(Intrinsic::Not) = call.intrinsic => {
                let operand = evaluator.holds(call.args[0]);
                if matches!(&operand, Err(fault) if !fault.is_error()) {
                    return operand;
                }
                evaluator.charge(1)?;
                operand.map(|b| !b)
            }
            Node::Call(call) if let Some(found) = evaluator.fast_search(call) => Ok(found),
            Node::Attribute(_) | Node::Slot(_)
                if let Some((Scalar::Bool(b), cost)) = evaluator.peek(id)
                    && evaluator.afford(cost).is_some() =>
            {
                Ok(b)
            }
            _ => match evaluator.eval_node(id)? {
                CelValue::Bool(b) => Ok(b),
                _ => Err(Fault::no_such_overload()),
            },
        })
    }

    /// The operand and its cost, if it is a constant or a scalar of the object.
    #[expect(
        clippy::inline_always,
        reason = "two a round: returned through memory they cost more than they find"
    )]
    #[inline(always)]
    pub(super) fn peek(&self, id: NodeId) -> Option<(Scalar<'a>, u64)> {
        match &self.program.nodes[id.0 as usize] {
            Node::Constant(CelValue::String(text)) => Some((Scalar::Text(text.as_str()), 0)),
            Node::Constant(CelValue::Int(i)) => Some((Scalar::Int(*i), 0)),
            Node::Slot(slot) if let Slot::FieldRef(place) = &self.slots[*slot as usize] => {
                Some((place.scalar()?, 1))
            }
            node => self.peek_others(node),
        }
    }

    /// The less common cases.
    #[inline(never)]
    fn peek_others(&self, node: &'a Node) -> Option<(Scalar<'a>, u64)> {
        match node {
            Node::Constant(CelValue::Bool(b)) => Some((Scalar::Bool(*b), 0)),
            Node::Constant(CelValue::Double(d)) => Some((Scalar::Double(*d), 0)),
            Node::Slot(slot) => match &self.slots[*slot as usize] {
                Slot::Ready(Ok(CelValue::String(Text::Borrowed(text)))) => Some((Scalar::Text(text), 1)),
                Slot::Ready(Ok(CelValue::Int(i))) => Some((Scalar::Int(*i), 1)),
                _ => None,
            },
            Node::Attribute(attribute) => {
                let (place, cost) = self.peek_attribute(*attribute)?;
                Some((place.scalar()?, cost + 1))
            }
            Node::Call(call) if let Some(Intrinsic::Size) = call.intrinsic => self.peek_size(call),
            _ => None,
        }
    }

    /// The size of a peekable operand, charged.
    #[inline]
    pub(super) fn fast_size(&mut self, id: NodeId, call: &CallNode) -> Option<i64> {
        if call.intrinsic != Some(Intrinsic::Size) {
            return None;
        }
        let (Scalar::Int(size), cost) = self.peek(id)? else { return None };
        self.afford(cost)?;
        Some(size)
    }

    /// `size(x)`, `x.size()`
    fn peek_size(&self, call: &'a CallNode) -> Option<(Scalar<'a>, u64)> {
        let arg = call.args[0];
        let (place, cost) = match &self.program.nodes[arg.0 as usize] {
            Node::Attribute(attribute) => {
                let (place, cost) = self.peek_attribute(*attribute)?;
                (place, cost + 1)
            }
            Node::Slot(slot) if let Slot::FieldRef(place) = &self.slots[*slot as usize] => (*place, 1),
            _ => return None,
        };
        let size = match (place.decl.kind(), place.value) {
            (DeclKind::String, Value::String(text)) => {
                self.note_bytes(text.len());
                crate::value::code_points(text)
            }
            (DeclKind::List(..), Value::Array(items)) => items.len() as u64,
            (DeclKind::Object(_) | DeclKind::Map(_), Value::Object(members)) => members.len() as u64,
            _ => return None,
        };
        Some((Scalar::Int(size as i64), cost + 1))
    }

    /// The value of an attribute and the cost of its qualifiers, if all are declared and present.
    #[inline]
    fn peek_attribute(&self, id: AttributeId) -> Option<(FieldRef<'a>, u64)> {
        let attribute = &self.program.attributes[id.0 as usize];
        self.peek_path(attribute, &attribute.path)
    }

    /// A string that is used as a key: it has no additional cost.
    fn peek_key(&self, id: AttributeId) -> Option<(&'a str, u64)> {
        let attribute = &self.program.attributes[id.0 as usize];
        if let Root::Slot(slot) = attribute.root
            && attribute.path.is_empty()
            && let Slot::Ready(Ok(CelValue::String(Text::Borrowed(text)))) = &self.slots[slot as usize]
        {
            return Some((text, 0));
        }
        let (place, cost) = self.peek_attribute(id)?;
        let Scalar::Text(text) = place.scalar()? else { return None };
        Some((text, cost))
    }

    #[inline]
    fn peek_path(&self, attribute: &'a Attribute, path: &'a [Qualifier]) -> Option<(FieldRef<'a>, u64)> {
        if attribute.optional {
            return None;
        }
        let mut place = match attribute.root {
            Root::Variable(index) => self.peek_variable(index)?,
            Root::Slot(slot) => match &self.slots[slot as usize] {
                Slot::FieldRef(place) => *place,
                _ => return None,
            },
            _ => return None,
        };
        let mut cost = 0;
        for qualifier in path {
            if qualifier.test_only {
                return None;
            }
            place = place.step(self, qualifier, &mut cost)?;
        }
        Some((place, cost))
    }

    #[inline]
    fn peek_variable(&self, index: u32) -> Option<FieldRef<'a>> {
        let (variable, _, decl) = &self.program.variables[index as usize];
        let value = match (variable, self.activation.old_self) {
            (Variable::Self_, _) => self.activation.self_,
            (Variable::OldSelf, OldSelf::Value(value)) => value,
            _ => return None,
        };
        (!matches!(decl.kind(), DeclKind::Optional(_))).then_some(FieldRef { value, decl })
    }

    /// `has(a.b.c)`
    pub(super) fn fast_has(&mut self, id: AttributeId) -> Option<bool> {
        let attribute = &self.program.attributes[id.0 as usize];
        let (last, path) = attribute.path.split_last()?;
        let (place, mut cost) = self.peek_path(attribute, path)?;
        cost += 1;
        let found = match (&last.kind, place.decl.kind(), place.value) {
            (QualifierKind::Field { object, index, .. }, DeclKind::Object(own), Value::Object(members))
                if last.test_only && Arc::ptr_eq(own, object) =>
            {
                let field = &own.fields()[*index];
                match member(members, &field.name) {
                    None | Some(Value::Null) => false,
                    Some(value) if (FieldRef { value, decl: &field.decl }).fits() => true,
                    Some(_) => return None,
                }
            }
            _ => return None,
        };
        self.afford(cost)?;
        Some(found)
    }

    /// `<` and the like on two numbers or two strings.
    #[inline]
    pub(super) fn fast_order(&mut self, left: NodeId, right: NodeId, sized: bool) -> Option<Ordering> {
        let ((a, a_cost), (b, b_cost)) = (self.peek(left)?, self.peek(right)?);
        let (order, cost) = match (a, b) {
            (Scalar::Int(a), Scalar::Int(b)) => (a.cmp(&b), 1),
            (Scalar::Text(x), Scalar::Text(y)) => {
                self.note_bytes(x.len().min(y.len()));
                (x.cmp(y), if sized { charge::compare_texts(x, y) } else { 1 })
            }
            _ => return None,
        };
        self.afford(a_cost + b_cost + cost)?;
        Some(order)
    }

    /// Whether two scalars are equal.
    #[inline]
    pub(super) fn fast_equal(&mut self, left: NodeId, right: NodeId) -> Option<bool> {
        let ((a, a_cost), (b, b_cost)) = (self.peek(left)?, self.peek(right)?);
        let (equal, cost) = match (a, b) {
            (Scalar::Text(x), Scalar::Text(y)) => {
                self.note_bytes(x.len().min(y.len()));
                (x == y, charge::compare_texts(x, y))
            }
            (Scalar::Int(a), Scalar::Int(b)) => (a == b, 1),
            (Scalar::Bool(a), Scalar::Bool(b)) => (a == b, 1),
            (a, b) => {
                let (a, b) = (a.to_value(), b.to_value());
                (crate::value::equal(self.work, &a, &b).ok()?, charge::compare(&a, &b))
            }
        };
        self.afford(a_cost + b_cost + cost)?;
        Some(equal)
    }

    /// `startsWith` and the like on peekable strings.
    fn fast_search(&mut self, call: &'a CallNode) -> Option<bool> {
        let search = call.intrinsic?;
        let [text, pattern] = *call.args else { return None };
        let (Scalar::Text(text), text_cost) = self.peek(text)? else { return None };
        let (Scalar::Text(pattern), pattern_cost) = self.peek(pattern)? else { return None };
        self.note_bytes(text.len().saturating_add(pattern.len()));
        let found = match search {
            Intrinsic::StartsWith => text.starts_with(pattern),
            Intrinsic::EndsWith => text.ends_with(pattern),
            Intrinsic::Contains => text.contains(pattern),
            Intrinsic::Matches => {
                let mut left = self.work.left();
                let all = left;
                let found = call.regex.as_ref()?.is_match_within(text, &mut left);
                self.work.note_reported(all - left);
                // The general path finds that the work is exhausted.
                found.ok()?
            }
            Intrinsic::Not | Intrinsic::Size => return None,
        };
        let cost = match call.charge {
            Charge::Unit => 1,
            Charge::Tenth => charge::text_tenth(text),
            Charge::Product | Charge::Pattern => {
                let args = [Scalar::Text(text).to_value(), Scalar::Text(pattern).to_value()];
                call.charge.cost(self.work, &args, &CelValue::Null).ok()?
            }
            _ => return None,
        };
        self.afford(text_cost + pattern_cost + cost)?;
        Some(found)
    }
}

/// The member `name`.
#[inline]
fn member<'a>(members: &'a pleach_json::Map, name: &str) -> Option<&'a Value> {
    let entries = members.entries();
    if entries.len() > FEW {
        return members.get(name);
    }
    entries.iter().find(|(key, _)| key.as_str() == name).map(|(_, value)| value)
}
