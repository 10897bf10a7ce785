//! A checked expression: the AST with types and references.
//!
//! Made by [`crate::Environment::compile`], read by the planner and the cost estimator. Immutable.

use crate::ast::{Ast, Expr, ExprId};
use crate::decl::Declarations;
use crate::function::Overload;
use crate::types::Type;
use pleach_json::Str;

/// The reference of a name.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// A variable: one of the declarations, or a variable of an enclosing comprehension (those
    /// hide declarations of the same name). On a `Select` it is a qualified name.
    Variable(Str),
    /// A type used as a value: `int`, `type(x) == string`.
    TypeName(Type),
    /// A message type: it can be constructed, but is not a value.
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

    /// The type of the expression.
    pub fn output_type(&self) -> &Type {
        self.type_of(self.ast.root())
    }

    /// The type of a node; `dyn` if unknown.
    pub fn type_of(&self, id: ExprId) -> &Type {
        &self.types[id.index()]
    }

    /// The reference of a node; on a selection only if it is a qualified name.
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
