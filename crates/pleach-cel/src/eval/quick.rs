//! The short way for what rules mostly are: comparisons of fields and constants, tests of presence,
//! searches in strings, joined by logic.
//!
//! Most operands are constants, or scalars that the object has at a declared place. Such an operand
//! can be looked at ([`Machine::peek`]) without making a value of it, and without any effect: if
//! anything is unusual (a field is absent, a value does not fit its schema, the cost would exceed
//! its limit) nothing has happened yet, and the long way is taken, which knows all errors.
//!
//! **Invariant:** both ways give the same truth and the same cost. `tests/objects.rs` compares with
//! what was recorded; a limit that is about to be exceeded always takes the long way.

use crate::decl::{DeclKind, DeclType};
use crate::eval::charge::{self, Charge};
use crate::eval::machine::{Machine, Slot};
use crate::eval::node::{
    Attribute, AttributeId, CallNode, Intrinsic, Node, NodeId, Qualifier, QualifierKind, Root,
};
use crate::eval::{OldSelf, Variable};
use crate::value::{CelValue, Fault, Text};
use pleach_json::Value;
use std::cmp::Ordering;
use std::sync::Arc;

/// Objects up to this many members are searched from the front: names mostly differ in length.
const FEW: usize = 12;

/// An operand that is no list, map or library's value.
#[derive(Clone, Copy)]
pub(super) enum Scalar<'a> {
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(&'a str),
}

/// A value of the object and its schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
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

impl<'a> Place<'a> {
    /// Whether a value made of it now is as good as one made every time it is asked for.
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

    /// Whether the value is of the type its schema says; the long way tells what is wrong if not.
    #[inline]
    fn fits(self) -> bool {
        match (self.decl.kind(), self.value) {
            (DeclKind::Object(_) | DeclKind::Map(_), Value::Object(_))
            | (DeclKind::List(..), Value::Array(_)) => true,
            _ => self.scalar().is_some(),
        }
    }

    /// What one step of a path leads to, if that is a declared place with something in it.
    #[inline]
    fn step(self, machine: &Machine<'a, '_>, qualifier: &'a Qualifier, cost: &mut u64) -> Option<Self> {
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
                let (name, key_cost) = machine.peek_key(*key)?;
                // It is compared with several others.
                machine.note_bytes(name.len().saturating_mul(4));
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

impl<'a> Machine<'a, '_> {
    /// Counts bytes that are looked at. What is done here is too little to look at the limit.
    #[inline]
    fn note_bytes(&self, bytes: usize) {
        self.work.note(bytes as u64 / 64);
    }

    /// Charges if there is enough left; else the long way has to find out where it ends.
    #[inline]
    fn afford(&mut self, cost: u64) -> Option<()> {
        self.charge_within(cost).then_some(())
    }

    /// Whether a node holds, in the way a condition, a logical operator or a quantifier asks: what
    /// is no bool is an error.
    pub(super) fn holds(&mut self, id: NodeId) -> Result<bool, Fault> {
        self.nested(|machine| match &machine.program.nodes[id.0 as usize] {
            Node::Constant(CelValue::Bool(b)) => Ok(*b),
            Node::And(a, b) => machine.logical(*a, *b, false),
            Node::Or(a, b) => machine.logical(*a, *b, true),
            Node::Test(attribute) if let Some(found) = machine.quick_test(*attribute) => Ok(found),
            Node::Compare(order) => machine.compare(order),
            Node::Equals(a, b) => machine.equals(*a, *b),
            Node::NotEquals(a, b) => machine.not_equals(*a, *b),
            Node::Call(call) if let Some(Intrinsic::Not) = call.intrinsic => {
                let operand = machine.holds(call.args[0]);
                if matches!(&operand, Err(fault) if !fault.is_error()) {
                    return operand;
                }
                machine.charge(1)?;
                operand.map(|b| !b)
            }
            Node::Call(call) if let Some(found) = machine.quick_search(call) => Ok(found),
            Node::Attribute(_) | Node::Slot(_)
                if let Some((Scalar::Bool(b), cost)) = machine.peek(id)
                    && machine.afford(cost).is_some() =>
            {
                Ok(b)
            }
            _ => match machine.eval_node(id)? {
                CelValue::Bool(b) => Ok(b),
                _ => Err(Fault::no_such_overload()),
            },
        })
    }

    /// The operand and what looking at it costs, if it is a constant or a scalar of the object.
    #[expect(
        clippy::inline_always,
        reason = "two a round: returned through memory they cost more than they find"
    )]
    #[inline(always)]
    pub(super) fn peek(&self, id: NodeId) -> Option<(Scalar<'a>, u64)> {
        match &self.program.nodes[id.0 as usize] {
            Node::Constant(CelValue::String(text)) => Some((Scalar::Text(text.as_str()), 0)),
            Node::Constant(CelValue::Int(i)) => Some((Scalar::Int(*i), 0)),
            Node::Slot(slot) if let Slot::Place(place) = &self.slots[*slot as usize] => {
                Some((place.scalar()?, 1))
            }
            node => self.peek_others(node),
        }
    }

    /// The same for what is not as common.
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

    /// The size of what can be looked at, charged.
    #[inline]
    pub(super) fn quick_size(&mut self, id: NodeId, call: &CallNode) -> Option<i64> {
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
            Node::Slot(slot) if let Slot::Place(place) = &self.slots[*slot as usize] => (*place, 1),
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

    /// Where a path leads and what its steps cost, if all of it is declared and there.
    #[inline]
    fn peek_attribute(&self, id: AttributeId) -> Option<(Place<'a>, u64)> {
        let attribute = &self.program.attributes[id.0 as usize];
        self.peek_path(attribute, &attribute.path)
    }

    /// A string that serves as a key: it costs nothing for the whole.
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
    fn peek_path(&self, attribute: &'a Attribute, path: &'a [Qualifier]) -> Option<(Place<'a>, u64)> {
        if attribute.optional {
            return None;
        }
        let mut place = match attribute.root {
            Root::Variable(index) => self.peek_variable(index)?,
            Root::Slot(slot) => match &self.slots[slot as usize] {
                Slot::Place(place) => *place,
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
    fn peek_variable(&self, index: u32) -> Option<Place<'a>> {
        let (variable, _, decl) = &self.program.variables[index as usize];
        let value = match (variable, self.activation.old_self) {
            (Variable::Self_, _) => self.activation.self_,
            (Variable::OldSelf, OldSelf::Value(value)) => value,
            _ => return None,
        };
        (!matches!(decl.kind(), DeclKind::Optional(_))).then_some(Place { value, decl })
    }

    /// `has(a.b.c)`
    pub(super) fn quick_test(&mut self, id: AttributeId) -> Option<bool> {
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
                    Some(value) if (Place { value, decl: &field.decl }).fits() => true,
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
    pub(super) fn quick_order(&mut self, left: NodeId, right: NodeId, sized: bool) -> Option<Ordering> {
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
    pub(super) fn quick_equal(&mut self, left: NodeId, right: NodeId) -> Option<bool> {
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

    /// `startsWith` and its like on strings that can be looked at.
    fn quick_search(&mut self, call: &'a CallNode) -> Option<bool> {
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
                // The long way finds out that the work is used up.
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
