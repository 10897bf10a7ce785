//! The list functions of cel-go, version 3.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// The list functions of cel-go, version 3.
pub(super) static LIBRARY: Library = Library { name: "lists extended", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "@sortByAssociatedKeys",
        overloads: &[
            Overload::member(
                "list_int_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Int)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_uint_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Uint)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_double_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Double)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_bool_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Bool)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_google.protobuf.Duration_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Duration)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_google.protobuf.Timestamp_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Timestamp)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_string_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::String)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_bytes_sortByAssociatedKeys",
                &[T::List(&T::Param("T")), T::List(&T::Bytes)],
                T::List(&T::Param("T")),
            )
            .since(34)
            .cost(StaticCost::Sort),
        ],
    },
    Function {
        name: "distinct",
        overloads: &[Overload::member("list_distinct", &[T::List(&T::Param("T"))], T::List(&T::Param("T")))
            .since(34)
            .cost(StaticCost::Distinct)],
    },
    Function {
        name: "flatten",
        overloads: &[
            Overload::member("list_flatten", &[T::List(&T::List(&T::Param("T")))], T::List(&T::Param("T")))
                .since(34)
                .cost(StaticCost::Flatten),
            Overload::member("list_flatten_int", &[T::List(&T::Dyn), T::Int], T::List(&T::Dyn))
                .since(34)
                .cost(StaticCost::Flatten),
        ],
    },
    Function {
        name: "lists.range",
        overloads: &[Overload::new("lists_range", &[T::Int], T::List(&T::Int))
            .since(34)
            .cost(StaticCost::Range)],
    },
    Function {
        name: "reverse",
        overloads: &[Overload::member("list_reverse", &[T::List(&T::Param("T"))], T::List(&T::Param("T")))
            .since(34)
            .cost(StaticCost::Reverse)],
    },
    Function {
        name: "slice",
        overloads: &[Overload::member(
            "list_slice",
            &[T::List(&T::Param("T")), T::Int, T::Int],
            T::List(&T::Param("T")),
        )
        .since(34)
        .cost(StaticCost::Slice)],
    },
    Function {
        name: "sort",
        overloads: &[
            Overload::member("list_int_sort", &[T::List(&T::Int)], T::List(&T::Int))
                .since(34)
                .cost(StaticCost::Sort),
            Overload::member("list_uint_sort", &[T::List(&T::Uint)], T::List(&T::Uint))
                .since(34)
                .cost(StaticCost::Sort),
            Overload::member("list_double_sort", &[T::List(&T::Double)], T::List(&T::Double))
                .since(34)
                .cost(StaticCost::Sort),
            Overload::member("list_bool_sort", &[T::List(&T::Bool)], T::List(&T::Bool))
                .since(34)
                .cost(StaticCost::Sort),
            Overload::member(
                "list_google.protobuf.Duration_sort",
                &[T::List(&T::Duration)],
                T::List(&T::Duration),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member(
                "list_google.protobuf.Timestamp_sort",
                &[T::List(&T::Timestamp)],
                T::List(&T::Timestamp),
            )
            .since(34)
            .cost(StaticCost::Sort),
            Overload::member("list_string_sort", &[T::List(&T::String)], T::List(&T::String))
                .since(34)
                .cost(StaticCost::Sort),
            Overload::member("list_bytes_sort", &[T::List(&T::Bytes)], T::List(&T::Bytes))
                .since(34)
                .cost(StaticCost::Sort),
        ],
    },
];
