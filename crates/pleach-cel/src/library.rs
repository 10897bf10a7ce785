//! The libraries of functions, one file each, in the order the documentation lists them.

use crate::function::Library;

/// Every library.
pub static LIBRARIES: &[Library] = &[];
