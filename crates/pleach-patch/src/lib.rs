//! Patches as kube-apiserver applies them.
//!
//! * [`JsonPatch`]: RFC 6902 with the liberties of the library that the server uses: negative
//!   indices, `replace` of a missing key, `test` of a missing key against null.
//! * [`merge_patch`] and [`create_merge_patch`]: RFC 7396.
//! * [`strategic_merge_patch`]: for built-in kinds, whose lists may be merged by key.
//!
//! This crate never does IO and knows nothing of kinds: which lists merge by which key is given to
//! it ([`StrategicSchema`]).

mod error;
mod json_patch;
mod merge;
mod strategic;

pub use error::{DecodeError, Fault, MergePatchError, PatchError, StrategicError};
pub use json_patch::{COPY_SIZE_LIMIT, JsonPatch, MAX_OPERATIONS, StrictPatch, apply_json_patch};
pub use merge::{create_merge_patch, merge_patch};
pub use strategic::{StrategicSchema, strategic_merge_patch};
