//! Searching with regular expressions.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// Searching with regular expressions.
pub(super) static LIBRARY: Library = Library { name: "regex", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "find",
        overloads: &[Overload::member("string_find_string", &[T::String, T::String], T::String)
            .cost(StaticCost::Matches)],
    },
    Function {
        name: "findAll",
        overloads: &[
            Overload::member("string_find_all_string", &[T::String, T::String], T::List(&T::String))
                .cost(StaticCost::Matches),
            Overload::member(
                "string_find_all_string_int",
                &[T::String, T::String, T::Int],
                T::List(&T::String),
            )
            .cost(StaticCost::Matches),
        ],
    },
];
