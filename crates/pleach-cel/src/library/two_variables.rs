//! What `transformMapEntry` is made of.

use crate::function::{Function, Library, Overload};
use crate::types::T;

/// What `transformMapEntry` is made of.
pub(super) static LIBRARY: Library = Library { name: "two-variable comprehensions", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[Function {
    name: "cel.@mapInsert",
    overloads: &[
        Overload::new(
            "@mapInsert_map_key_value",
            &[T::Map(&T::Param("K"), &T::Param("V")), T::Param("K"), T::Param("V")],
            T::Map(&T::Param("K"), &T::Param("V")),
        )
        .since(32),
        Overload::new(
            "@mapInsert_map_map",
            &[T::Map(&T::Param("K"), &T::Param("V")), T::Map(&T::Param("K"), &T::Param("V"))],
            T::Map(&T::Param("K"), &T::Param("V")),
        )
        .since(32),
    ],
}];
