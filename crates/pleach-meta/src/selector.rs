//! Label selectors and field selectors.
//!
//! A selector is parsed once and asked often; asking allocates nothing.

pub mod field;
pub mod label;

pub use field::{FieldRequirement, FieldSelector, field_text};
pub use label::{LabelSelector, Operator, Requirement, validate_label_selector};
