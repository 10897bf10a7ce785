//! JSON as Kubernetes reads and writes it.
//!
//! One value type, [`Value`], carries every object through pleach. Integers and floats are kept
//! apart as the API server keeps them, object keys are sorted, small strings live inline.
//! [`parse`] reads as Go does, [`to_vec`] writes as Go does, byte for byte.
//! This crate never does IO and knows nothing of Kubernetes kinds.

mod canonical;
mod error;
mod extent;
mod interned;
mod macros;
mod map;
mod parse;
mod shared;
mod skim;
mod spans;
mod stack;
mod unmarshal;
mod value;
mod write;

pub use canonical::is_canonical;
pub use error::ParseError;
pub use extent::Extent;
pub use interned::{InternedObject, InternedObjects};
pub use map::{Ascending, Map};
pub use parse::{Hints, MAX_DEPTH, Parsed, parse, parse_strict, parse_strict_with, parse_with};
pub use skim::{copy_without, member};
pub use smol_str::SmolStr as Str;
pub use spans::{SpannedChildren, SpannedValue, Spans, write_spanned};
pub use stack::{grow_stack, grow_stack_to_drop};
pub use unmarshal::{UnmarshalTypeError, value_kind};
pub use value::{Array, Value, ValueKind};
pub use write::{
    DEEPEST, Indenter, format_float, to_string, to_string_pretty, to_vec, write_float, write_int,
    write_pretty_to, write_string, write_to, write_with,
};
