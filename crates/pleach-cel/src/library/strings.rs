//! The extended string functions.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// The extended string functions.
pub(super) static LIBRARY: Library = Library { name: "strings", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "charAt",
        overloads: &[Overload::member("string_char_at_int", &[T::String, T::Int], T::String)],
    },
    Function {
        name: "format",
        overloads: &[Overload::member("string_format", &[T::String, T::List(&T::Dyn)], T::String)
            .since(29)
            .cost(StaticCost::Traverse)],
    },
    Function {
        name: "indexOf",
        overloads: &[
            Overload::member("string_index_of_string", &[T::String, T::String], T::Int)
                .cost(StaticCost::StringScan),
            Overload::member("string_index_of_string_int", &[T::String, T::String, T::Int], T::Int)
                .cost(StaticCost::StringScan),
        ],
    },
    Function {
        name: "join",
        overloads: &[
            Overload::member("list_join", &[T::List(&T::String)], T::String).cost(StaticCost::Join),
            Overload::member("list_join_string", &[T::List(&T::String), T::String], T::String)
                .cost(StaticCost::Join),
        ],
    },
    Function {
        name: "lastIndexOf",
        overloads: &[
            Overload::member("string_last_index_of_string", &[T::String, T::String], T::Int)
                .cost(StaticCost::StringScan),
            Overload::member("string_last_index_of_string_int", &[T::String, T::String, T::Int], T::Int)
                .cost(StaticCost::StringScan),
        ],
    },
    Function {
        name: "lowerAscii",
        overloads: &[
            Overload::member("string_lower_ascii", &[T::String], T::String).cost(StaticCost::Traverse)
        ],
    },
    Function {
        name: "replace",
        overloads: &[
            Overload::member("string_replace_string_string", &[T::String, T::String, T::String], T::String)
                .cost(StaticCost::TraverseTwice),
            Overload::member(
                "string_replace_string_string_int",
                &[T::String, T::String, T::String, T::Int],
                T::String,
            )
            .cost(StaticCost::TraverseTwice),
        ],
    },
    Function {
        name: "split",
        overloads: &[
            Overload::member("string_split_string", &[T::String, T::String], T::List(&T::String))
                .cost(StaticCost::TraverseTwice),
            Overload::member("string_split_string_int", &[T::String, T::String, T::Int], T::List(&T::String))
                .cost(StaticCost::TraverseTwice),
        ],
    },
    Function {
        name: "strings.quote",
        overloads: &[Overload::new("strings_quote", &[T::String], T::String)
            .since(29)
            .cost(StaticCost::Traverse)],
    },
    Function {
        name: "substring",
        overloads: &[
            Overload::member("string_substring_int", &[T::String, T::Int], T::String)
                .cost(StaticCost::Traverse),
            Overload::member("string_substring_int_int", &[T::String, T::Int, T::Int], T::String)
                .cost(StaticCost::Traverse),
        ],
    },
    Function {
        name: "trim",
        overloads: &[Overload::member("string_trim", &[T::String], T::String).cost(StaticCost::Traverse)],
    },
    Function {
        name: "upperAscii",
        overloads: &[
            Overload::member("string_upper_ascii", &[T::String], T::String).cost(StaticCost::Traverse)
        ],
    },
];
