//! What every Kubernetes object has in common.
//!
//! Paths into objects, field errors and how they read, `Status`, the rules for names, labels and
//! `ObjectMeta`, selectors. No IO, no clock, no schema.

pub mod field_error;
/// Moved to `pleach-go`.
#[doc(hidden)]
pub mod go_format {
    pub use pleach_go::fmt::*;
    pub use pleach_go::strconv::*;
}
pub mod group_version;
pub mod names;
pub mod object_meta;
pub mod path;
pub mod selector;
pub mod status;
pub mod time;

pub use field_error::{BadValue, ErrorType, FieldError, FieldErrors};
pub use group_version::{GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource};
pub use object_meta::ObjectMeta;
pub use path::Path;
pub use selector::{FieldSelector, LabelSelector};
pub use status::{Reason, Status, StatusCause, StatusDetails};
