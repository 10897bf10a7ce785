//! Kubernetes API machinery that all kinds share.
//!
//! Paths into objects, field errors and how they read, `Status`, the rules for names, labels and
//! `ObjectMeta`, selectors. No IO, no clock, no schema.

mod domain_prefixed_path;
pub mod field_error;
pub mod group_version;
pub mod names;
pub mod object_meta;
pub mod path;
pub mod selector;
pub mod status;
pub mod time;

pub use domain_prefixed_path::check_domain_prefixed_path;
pub use field_error::{BadValue, ErrorType, FieldError, FieldErrors};
pub use group_version::{GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource};
pub use object_meta::ObjectMeta;
pub use path::Path;
pub use selector::{FieldSelector, LabelSelector};
pub use status::{Reason, Status, StatusCause, StatusDetails};
