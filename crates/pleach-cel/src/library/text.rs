//! The few functions of CEL itself that are not operators: sizes, substrings, patterns.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// The few functions of CEL itself that are not operators: sizes, substrings, patterns.
pub(super) static LIBRARY: Library = Library { name: "text", functions: FUNCTIONS };

static FUNCTIONS: &[Function] =
    &[
        Function {
            name: "contains",
            overloads: &[Overload::member("contains_string", &[T::String, T::String], T::Bool)
                .cost(StaticCost::Contains)],
        },
        Function {
            name: "endsWith",
            overloads: &[Overload::member("ends_with_string", &[T::String, T::String], T::Bool)
                .cost(StaticCost::Affix)],
        },
        Function {
            name: "matches",
            overloads: &[
                Overload::new("matches", &[T::String, T::String], T::Bool).cost(StaticCost::Matches),
                Overload::member("matches_string", &[T::String, T::String], T::Bool)
                    .cost(StaticCost::Matches),
            ],
        },
        Function {
            name: "size",
            overloads: &[
                Overload::new("size_bytes", &[T::Bytes], T::Int),
                Overload::member("bytes_size", &[T::Bytes], T::Int),
                Overload::new("size_list", &[T::List(&T::Param("A"))], T::Int),
                Overload::member("list_size", &[T::List(&T::Param("A"))], T::Int),
                Overload::new("size_map", &[T::Map(&T::Param("A"), &T::Param("B"))], T::Int),
                Overload::member("map_size", &[T::Map(&T::Param("A"), &T::Param("B"))], T::Int),
                Overload::new("size_string", &[T::String], T::Int),
                Overload::member("string_size", &[T::String], T::Int),
            ],
        },
        Function {
            name: "startsWith",
            overloads: &[Overload::member("starts_with_string", &[T::String, T::String], T::Bool)
                .cost(StaticCost::Affix)],
        },
    ];
