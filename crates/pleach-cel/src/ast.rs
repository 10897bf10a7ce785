//! The syntax tree of an expression: an arena of nodes, each with an id and a source offset.
//!
//! Written by [`crate::syntax`], read by the checker, the cost estimator and the evaluator.
//! Macros are already expanded here: `self.all(x, x > 0)` is a [`Comprehension`], `has(a.b)` is a
//! [`Select`](Expr::Select) that only tests. Operators are calls of functions with names such as
//! `_+_` ([`crate::function::operators`]).
//!
//! **Invariant:** a node is pushed after its children, so ascending ids visit operands before
//! operators. A node may have two parents (macros share nodes); nodes that a macro discarded stay in
//! the arena unreferenced.

use pleach_json::Str;
use std::sync::Arc;

/// Index of a node in its [`Ast`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(u32);

impl ExprId {
    /// The position in the arena: types, references and costs are kept in vectors by this index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The id of the node at `index`.
    #[inline]
    pub fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
}

/// A constant written in the source.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// `1`, `0x1f`
    Int(i64),
    /// `1u`
    Uint(u64),
    /// `1.5`
    Double(f64),
    /// `'text'`, unescaped
    String(Str),
    /// `b'bytes'`, unescaped
    Bytes(Arc<[u8]>),
}

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Literal),
    /// A variable or type name; a leading dot is kept (`.self`).
    Ident(Str),
    /// `operand.field`, or `has(operand.field)` if `test_only`.
    Select {
        /// The operand.
        operand: ExprId,
        /// The field's name.
        field: Str,
        /// Whether only presence is tested.
        test_only: bool,
    },
    /// A function call, an operator or an index.
    Call {
        /// The receiver of `target.function(args)`.
        target: Option<ExprId>,
        /// The function's name; operators have names such as `_&&_`.
        function: Str,
        /// The arguments without the receiver.
        args: Vec<ExprId>,
    },
    /// `[a, ?b]`
    List {
        /// The elements in order.
        elements: Vec<ExprId>,
        /// Positions in `elements` that were written `?element`, ascending.
        optional: Vec<u32>,
    },
    /// `{k: v, ?k: v}`
    Map(Vec<MapEntry>),
    /// `Name{field: v}`; no Kubernetes rule can construct one, the checker refuses it.
    Struct {
        /// The type's name as written.
        name: Str,
        /// The fields in order.
        fields: Vec<StructField>,
    },
    /// The expansion of a macro such as `all`.
    Comprehension(Box<Comprehension>),
}

impl Expr {
    /// Whether both are equal except for their children.
    fn is_same_form(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Literal(a), Self::Literal(b)) => a == b,
            (Self::Ident(a), Self::Ident(b)) => a == b,
            (Self::Select { field: a, test_only: t, .. }, Self::Select { field: b, test_only: u, .. }) => {
                a == b && t == u
            }
            (Self::Call { target: t, function: a, .. }, Self::Call { target: u, function: b, .. }) => {
                a == b && t.is_some() == u.is_some()
            }
            (Self::List { optional: a, .. }, Self::List { optional: b, .. }) => a == b,
            (Self::Map(a), Self::Map(b)) => {
                a.iter().map(|entry| entry.optional).eq(b.iter().map(|entry| entry.optional))
            }
            (Self::Struct { name: a, fields: f }, Self::Struct { name: b, fields: g }) => {
                let parts = |field: &StructField| (field.name.clone(), field.optional);
                a == b && f.iter().map(parts).eq(g.iter().map(parts))
            }
            (Self::Comprehension(a), Self::Comprehension(b)) => {
                (&a.iter_var, &a.iter_var2, &a.accu_var) == (&b.iter_var, &b.iter_var2, &b.accu_var)
            }
            _ => false,
        }
    }
}

/// An entry of a map literal.
#[derive(Debug, Clone, PartialEq)]
pub struct MapEntry {
    /// The key.
    pub key: ExprId,
    /// The value; an optional if `optional`.
    pub value: ExprId,
    /// Whether it was written `?key: value`.
    pub optional: bool,
    /// Code point offset of the entry's colon.
    pub offset: u32,
}

/// A field of a message literal.
#[derive(Debug, Clone, PartialEq)]
pub struct StructField {
    /// The field's name.
    pub name: Str,
    /// The value; an optional if `optional`.
    pub value: ExprId,
    /// Whether it was written `?name: value`.
    pub optional: bool,
    /// Code point offset of the field's colon.
    pub offset: u32,
}

/// A fold over a list or a map.
///
/// `accu_var = init; for iter_var[, iter_var2] in range { if !cond {break}; accu_var = step }; result`
#[derive(Debug, Clone, PartialEq)]
pub struct Comprehension {
    /// The list or map that is iterated.
    pub range: ExprId,
    /// Element of a list or key of a map; with two variables index or key.
    pub iter_var: Str,
    /// The value, in a comprehension with two variables.
    pub iter_var2: Option<Str>,
    /// The accumulator's name.
    pub accu_var: Str,
    /// The accumulator's first value.
    pub init: ExprId,
    /// The loop condition.
    pub cond: ExprId,
    /// The accumulator's next value.
    pub step: ExprId,
    /// The result, in which only the accumulator is visible.
    pub result: ExprId,
}

/// A macro call as it was written; `has` is not recorded, its form is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct MacroCall {
    /// The receiver.
    pub target: ExprId,
    /// The macro's name.
    pub name: Str,
    /// The arguments without the receiver.
    pub args: Vec<ExprId>,
}

/// An expression: its source, its nodes and the root.
#[derive(Debug, Clone)]
pub struct Ast {
    source: Arc<str>,
    nodes: Vec<Expr>,
    offsets: Vec<u32>,
    /// Macro calls, by the node they expanded to; ascending.
    macro_calls: Vec<(ExprId, MacroCall)>,
    root: ExprId,
}

impl Ast {
    /// An arena without nodes; [`Ast::set_root`] completes it.
    pub(crate) fn new(source: Arc<str>) -> Self {
        Self { source, nodes: Vec::new(), offsets: Vec::new(), macro_calls: Vec::new(), root: ExprId(0) }
    }

    /// Adds a node that begins at the code point `offset`.
    pub(crate) fn push(&mut self, expr: Expr, offset: u32) -> ExprId {
        let id = ExprId(self.nodes.len() as u32);
        self.nodes.push(expr);
        self.offsets.push(offset);
        id
    }

    /// Records that the node `id`, the last one added, is the expansion of a macro call.
    pub(crate) fn set_macro_call(&mut self, id: ExprId, call: MacroCall) {
        self.macro_calls.push((id, call));
    }

    pub(crate) fn set_root(&mut self, root: ExprId) {
        self.root = root;
    }

    /// The text the tree was parsed from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The root node.
    pub fn root(&self) -> ExprId {
        self.root
    }

    /// The node with this id.
    #[inline]
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.nodes[id.index()]
    }

    /// Where the node is in the source, in code points from the start.
    ///
    /// For an operator that is the operator itself, for a call the opening parenthesis, for a
    /// selection the dot: the places that error messages point at.
    #[inline]
    pub fn offset(&self, id: ExprId) -> u32 {
        self.offsets[id.index()]
    }

    /// How many nodes there are, unreferenced ones included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The macro call that the node is the expansion of.
    pub fn macro_call(&self, id: ExprId) -> Option<&MacroCall> {
        let at = self.macro_calls.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(&self.macro_calls[at].1)
    }

    /// Whether both are the same expression, regardless of offsets.
    pub fn is_same(&self, other: &Self) -> bool {
        // Shared nodes are compared once: pairs are remembered.
        let mut seen = std::collections::BTreeSet::new();
        let mut pending = vec![(self.root, other.root)];
        while let Some(pair) = pending.pop() {
            if !seen.insert(pair) {
                continue;
            }
            let (children, others) = (self.children(pair.0), other.children(pair.1));
            if children.len() != others.len() || !self.expr(pair.0).is_same_form(other.expr(pair.1)) {
                return false;
            }
            pending.extend(children.into_iter().zip(others));
        }
        true
    }

    /// The ids of a node's children in source order.
    pub fn children(&self, id: ExprId) -> Vec<ExprId> {
        match self.expr(id) {
            Expr::Literal(_) | Expr::Ident(_) => Vec::new(),
            Expr::Select { operand, .. } => vec![*operand],
            Expr::Call { target, args, .. } => target.iter().chain(args).copied().collect(),
            Expr::List { elements, .. } => elements.clone(),
            Expr::Map(entries) => entries.iter().flat_map(|e| [e.key, e.value]).collect(),
            Expr::Struct { fields, .. } => fields.iter().map(|f| f.value).collect(),
            Expr::Comprehension(c) => vec![c.range, c.init, c.cond, c.step, c.result],
        }
    }
}
