//! The plan of an evaluation: nodes in an arena.

use crate::decl::ObjectType;
use crate::eval::charge::Charge;
use crate::function::Implementation;
use crate::message::Message;
use crate::value::{CelValue, ScalarKey};
use pleach_json::Str;
use pleach_regex::Regex;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Index of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeId(pub(super) u32);

/// Index of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AttributeId(pub(super) u32);

/// Index of a comprehension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoldId(pub(super) u32);

/// A step of an evaluation.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A constant; it costs nothing.
    Constant(CelValue<'static>),
    /// A variable with selections and indexes, or a ternary.
    Attribute(AttributeId),
    /// A variable of a comprehension, and nothing of it selected.
    Slot(u32),
    /// `has(attribute)`: the last selection of the attribute only tests.
    Test(AttributeId),
    /// `a && b`
    And(NodeId, NodeId),
    /// `a || b`
    Or(NodeId, NodeId),
    /// `a == b`
    Equals(NodeId, NodeId),
    /// `a != b`
    NotEquals(NodeId, NodeId),
    /// False only if the operand is: the loop condition of macros.
    NotStrictlyFalse(NodeId),
    /// `a in [constants]`; it costs nothing.
    Member(NodeId, Arc<Members>),
    /// `a < b` and the like.
    Compare(Arc<CompareNode>),
    /// A function.
    Call(Arc<CallNode>),
    /// `[a, ?b]`; the flag marks optional elements.
    List(Arc<[(NodeId, bool)]>),
    /// `{k: v, ?k: v}`; the flag marks optional entries.
    Map(Arc<[(NodeId, NodeId, bool)]>),
    /// `Name{field: value}`
    Message(Arc<MessageNode>),
    /// A literal of a type that mutations have.
    Object(Arc<ObjectNode>),
    /// `a.or(b)`
    OptionalOr(NodeId, NodeId),
    /// `a.orValue(b)`
    OptionalOrValue(NodeId, NodeId),
    /// A comprehension.
    Fold(FoldId),
    /// `accumulator + [element]` in a comprehension: the list grows in place.
    Append {
        /// The accumulator.
        slot: u32,
        /// The element.
        element: NodeId,
        /// The cost of the list of one element.
        list_cost: u64,
    },
}

/// The constants of a membership test.
#[derive(Debug)]
pub(super) enum Members {
    /// Sorted.
    Strings(Vec<Str>),
    /// With numbers in all types that can hold them.
    Scalars(BTreeSet<ScalarKey>),
}

/// A message and its fields; the flag marks optional fields.
#[derive(Debug)]
pub(super) struct MessageNode {
    pub(super) message: &'static Message,
    pub(super) fields: Vec<(&'static str, NodeId, bool)>,
}

/// The type and fields of an `Object{…}` or `JSONPatch{…}`; the flag marks optional fields.
#[derive(Debug)]
pub(super) struct ObjectNode {
    pub(super) type_name: Str,
    pub(super) fields: Vec<(Str, NodeId, bool)>,
}

/// An ordering comparison.
#[derive(Debug)]
pub(super) struct CompareNode {
    pub(super) name: &'static str,
    pub(super) left: NodeId,
    pub(super) right: NodeId,
    pub(super) holds: fn(Ordering) -> bool,
    pub(super) implementation: Implementation,
    /// Whether it is charged by the sizes of the operands.
    pub(super) sized: bool,
}

/// A function that is evaluated without making values, if its operands allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intrinsic {
    /// `!a` of a bool.
    Not,
    Size,
    StartsWith,
    EndsWith,
    Contains,
    /// With a constant pattern.
    Matches,
}

/// A call of a function.
#[derive(Debug)]
pub(super) struct CallNode {
    pub(super) intrinsic: Option<Intrinsic>,
    pub(super) name: &'static str,
    /// The overload, if it was resolved statically.
    pub(super) overload: Option<&'static str>,
    /// Implementations to be tried in order; more than one only if arguments are `dyn`.
    pub(super) implementations: Vec<Implementation>,
    pub(super) args: Box<[NodeId]>,
    pub(super) charge: Charge,
    /// Whether the second argument is a pattern.
    pub(super) takes_pattern: bool,
    /// The pattern, if it is a constant.
    pub(super) regex: Option<Regex>,
    /// The accumulator, if it is the first argument of a function that adds to a map: the map grows in
    /// place.
    pub(super) grows: Option<u32>,
}

/// The root of an attribute.
#[derive(Clone, Debug)]
pub(super) enum Root {
    /// A declared variable.
    Variable(u32),
    /// A variable of a comprehension.
    Slot(u32),
    /// Any other expression.
    Node(NodeId),
    /// One of two attributes.
    Conditional(NodeId, AttributeId, AttributeId),
    /// An undeclared variable; the checker allows none.
    Unknown(Str),
}

/// A root and qualifiers.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) root: Root,
    pub(super) path: Vec<Qualifier>,
    /// Whether a qualifier is optional.
    pub(super) optional: bool,
}

impl Attribute {
    /// A root without qualifiers.
    pub(super) fn of(root: Root) -> Self {
        Self { root, path: Vec::new(), optional: false }
    }
}

/// A qualifier.
#[derive(Clone, Debug)]
pub(super) struct Qualifier {
    pub(super) kind: QualifierKind,
    /// `.?field`, `[?index]`
    pub(super) optional: bool,
    /// `has(….field)`
    pub(super) test_only: bool,
}

/// A qualifier of an attribute.
#[derive(Clone, Debug)]
pub(super) enum QualifierKind {
    /// A declared property: the type it is expected in, and its position there.
    Field { object: Arc<ObjectType>, index: usize, name: Str },
    /// A name.
    Name(Str),
    /// Another constant.
    Constant(CelValue<'static>),
    /// Another attribute, which has no cost of its own here.
    Attribute(AttributeId),
    /// Any other expression.
    Node(NodeId),
}

/// The kind of a comprehension.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loop {
    /// `all`: the accumulator and this, until it is false.
    All(NodeId),
    /// `exists`: the accumulator or this, until it is true.
    Exists(NodeId),
    /// Any other.
    General,
}

/// A comprehension.
#[derive(Debug)]
pub(super) struct Fold {
    pub(super) kind: Loop,
    pub(super) range: NodeId,
    /// The first slot: the variable; then the second variable, if any; then the accumulator.
    pub(super) iter_slot: u32,
    pub(super) iter2_slot: Option<u32>,
    pub(super) accu_slot: u32,
    pub(super) init: NodeId,
    /// `None` if it is the constant `true`.
    pub(super) cond: Option<NodeId>,
    pub(super) step: NodeId,
    pub(super) result: NodeId,
}
