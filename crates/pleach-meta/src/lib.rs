//! What every Kubernetes object has in common.
//!
//! Paths into objects, field errors and how they read, `Status`, the rules for names, labels and
//! `ObjectMeta`, selectors. No IO, no clock, no schema.

pub mod field_error;
pub mod go_format;
pub mod names;
pub mod path;
pub mod status;

pub use field_error::{BadValue, ErrorType, FieldError};
pub use path::Path;
pub use status::{Reason, Status, StatusCause, StatusDetails};
