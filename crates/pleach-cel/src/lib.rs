//! CEL as Kubernetes runs it in `x-kubernetes-validations`.
//!
//! Source text goes through [`syntax`] (lexer, parser, macros) and the checker to a [`Checked`]
//! expression; from it come a cost estimate and a program that evaluates on JSON values. Behaviour
//! and error texts are those of cel-go 0.26 with the libraries and limits of Kubernetes 1.36.
//!
//! This crate knows nothing of schemas: they reach it as [`DeclType`]s. It does no IO, reads no
//! clock and never panics on any source.

pub mod ast;
mod check;
mod checked;
pub mod cost;
pub mod decl;
mod environment;
pub mod eval;
pub mod function;
mod issues;
pub mod library;
mod message;
pub mod names;
pub mod syntax;
pub mod types;
pub mod value;
mod work;

pub use ast::{Ast, Comprehension, Expr, ExprId, Literal, MacroCall};
pub use checked::{Checked, Reference};
pub use cost::CostEstimate;
pub use decl::{DeclKind, DeclType, Declarations, Field, ListKind, ObjectType};
pub use environment::{Environment, compatibility_version, set_compatibility_version};
pub use eval::{
    Activation, Bound, CostBudget, EvalError, Evaluation, LazyVariables, OldSelf, PlanError, Program,
};
pub use function::{Function, Library, Overload, StaticCost};
pub use issues::{Issue, Issues};
pub use types::{T, Type};
pub use value::{
    Authorize, Authz, AuthzCheck, AuthzDecision, AuthzUser, CelValue, CheckedResource, Fault, ObjectValue,
};
pub use work::{BYTES_PER_COST, STEPS_PER_COST};
