//! A checked expression: the tree, and for every node its type and what its name stands for.
//!
//! Made by [`crate::Environment::compile`]; the evaluator turns it into a program, the estimator
//! reads it. It never changes.

use crate::ast::{Ast, Expr, ExprId};
use crate::decl::Declarations;
use crate::function::Overload;
use crate::types::Type;
use pleach_json::Str;

/// What the name in a node stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// A variable: one of the declarations, or a variable of an enclosing comprehension (those
    /// hide declarations of the same name). On a `Select` it is a qualified name.
    Variable(Str),
    /// A type used as a value: `int`, `type(x) == string`.
    TypeName(Type),
    /// A message type: it can be made, but is no value by itself.
    MessageType(&'static str),
    /// A constant of an enumeration.
    Constant(i64),
    /// A function: the overloads that may apply, one unless arguments are `dyn`.
    Overloads(Vec<&'static Overload>),
}

/// An expression that passed the checker.
#[derive(Debug, Clone)]
pub struct Checked {
    pub(crate) ast: Ast,
    pub(crate) types: Vec<Type>,
    pub(crate) references: Vec<Option<Reference>>,
    pub(crate) declarations: Declarations,
}

impl Checked {
    /// The syntax tree.
    pub fn ast(&self) -> &Ast {
        &self.ast
    }

    /// The variables it was compiled with.
    pub fn declarations(&self) -> &Declarations {
        &self.declarations
    }

    /// The type of the whole.
    pub fn output_type(&self) -> &Type {
        self.type_of(self.ast.root())
    }

    /// The type of a node; `dyn` where nothing better is known.
    pub fn type_of(&self, id: ExprId) -> &Type {
        &self.types[id.index()]
    }

    /// What the name in a node stands for; on a selection only if it is a qualified name.
    pub fn reference(&self, id: ExprId) -> Option<&Reference> {
        self.references[id.index()].as_ref()
    }

    /// Whether the expression names the declared variable. A variable of a comprehension with
    /// the same name counts as well, as it does for the API server.
    pub fn uses(&self, variable: &str) -> bool {
        let mut pending = vec![self.ast.root()];
        let mut seen = vec![false; self.ast.len()];
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            match (self.reference(id), self.ast.expr(id)) {
                (Some(Reference::Variable(name)), _) if name == variable => return true,
                (_, Expr::Ident(name)) if name == variable => return true,
                _ => pending.extend(self.ast.children(id)),
            }
        }
        false
    }
}
