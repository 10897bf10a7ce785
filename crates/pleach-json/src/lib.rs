//! JSON as Kubernetes reads and writes it.
//!
//! One value type, [`Value`], carries every object through pleach. Integers and floats are kept
//! apart as the API server keeps them, object keys are sorted, small strings live inline.
//! This crate never does IO and knows nothing of Kubernetes kinds.

mod map;
mod stack;
mod value;

pub use map::Map;
pub use smol_str::SmolStr as Str;
pub use stack::grow_stack;
pub use value::{Array, Value, ValueKind};
