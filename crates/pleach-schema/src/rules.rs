//! Validates `x-kubernetes-validations` when a CRD is written: placement, syntax, types and estimated cost.
//!
//! The walk (`walk`) carries a `RuleContext` down the structural part of the schema. At a
//! node with rules, `check_static` validates their texts, and `compile`, if there is no error so
//! far, type-checks them and estimates their cost. Running rules on objects is not done here.

mod compile;
mod context;
mod cost;
mod field_path;
mod texts;

pub use crate::cel_types::written::{decl_type, named_decl_type};
pub(crate) use compile::compile;
pub(crate) use context::RuleContext;
pub use cost::PER_EXPRESSION;
pub(crate) use cost::TotalCost;
pub use field_path::{FieldPath, FieldPathError, resolve_field_path, resolve_selectable_field};
pub(crate) use texts::check as check_static;

#[cfg(test)]
mod tests;
