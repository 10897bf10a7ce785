//! The list functions of Kubernetes.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// The list functions of Kubernetes.
pub(super) static LIBRARY: Library = Library { name: "lists", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "indexOf",
        overloads: &[Overload::member(
            "list_a_index_of_int",
            &[T::List(&T::Param("A")), T::Param("A")],
            T::Int,
        )
        .cost(StaticCost::ListScan)],
    },
    Function {
        name: "isSorted",
        overloads: &[
            Overload::member("list_int_is_sorted_bool", &[T::List(&T::Int)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_uint_is_sorted_bool", &[T::List(&T::Uint)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_double_is_sorted_bool", &[T::List(&T::Double)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_bool_is_sorted_bool", &[T::List(&T::Bool)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_duration_is_sorted_bool", &[T::List(&T::Duration)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_timestamp_is_sorted_bool", &[T::List(&T::Timestamp)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_string_is_sorted_bool", &[T::List(&T::String)], T::Bool)
                .cost(StaticCost::ListScan),
            Overload::member("list_bytes_is_sorted_bool", &[T::List(&T::Bytes)], T::Bool)
                .cost(StaticCost::ListScan),
        ],
    },
    Function {
        name: "lastIndexOf",
        overloads: &[Overload::member(
            "list_a_last_index_of_int",
            &[T::List(&T::Param("A")), T::Param("A")],
            T::Int,
        )
        .cost(StaticCost::ListScan)],
    },
    Function {
        name: "max",
        overloads: &[
            Overload::member("list_int_max_int", &[T::List(&T::Int)], T::Int).cost(StaticCost::ListScan),
            Overload::member("list_uint_max_uint", &[T::List(&T::Uint)], T::Uint).cost(StaticCost::ListScan),
            Overload::member("list_double_max_double", &[T::List(&T::Double)], T::Double)
                .cost(StaticCost::ListScan),
            Overload::member("list_bool_max_bool", &[T::List(&T::Bool)], T::Bool).cost(StaticCost::ListScan),
            Overload::member("list_duration_max_duration", &[T::List(&T::Duration)], T::Duration)
                .cost(StaticCost::ListScan),
            Overload::member("list_timestamp_max_timestamp", &[T::List(&T::Timestamp)], T::Timestamp)
                .cost(StaticCost::ListScan),
            Overload::member("list_string_max_string", &[T::List(&T::String)], T::String)
                .cost(StaticCost::ListScan),
            Overload::member("list_bytes_max_bytes", &[T::List(&T::Bytes)], T::Bytes)
                .cost(StaticCost::ListScan),
        ],
    },
    Function {
        name: "min",
        overloads: &[
            Overload::member("list_int_min_int", &[T::List(&T::Int)], T::Int).cost(StaticCost::ListScan),
            Overload::member("list_uint_min_uint", &[T::List(&T::Uint)], T::Uint).cost(StaticCost::ListScan),
            Overload::member("list_double_min_double", &[T::List(&T::Double)], T::Double)
                .cost(StaticCost::ListScan),
            Overload::member("list_bool_min_bool", &[T::List(&T::Bool)], T::Bool).cost(StaticCost::ListScan),
            Overload::member("list_duration_min_duration", &[T::List(&T::Duration)], T::Duration)
                .cost(StaticCost::ListScan),
            Overload::member("list_timestamp_min_timestamp", &[T::List(&T::Timestamp)], T::Timestamp)
                .cost(StaticCost::ListScan),
            Overload::member("list_string_min_string", &[T::List(&T::String)], T::String)
                .cost(StaticCost::ListScan),
            Overload::member("list_bytes_min_bytes", &[T::List(&T::Bytes)], T::Bytes)
                .cost(StaticCost::ListScan),
        ],
    },
    Function {
        name: "sum",
        overloads: &[
            Overload::member("list_int_sum_int", &[T::List(&T::Int)], T::Int).cost(StaticCost::ListScan),
            Overload::member("list_uint_sum_uint", &[T::List(&T::Uint)], T::Uint).cost(StaticCost::ListScan),
            Overload::member("list_double_sum_double", &[T::List(&T::Double)], T::Double)
                .cost(StaticCost::ListScan),
            Overload::member("list_duration_sum_duration", &[T::List(&T::Duration)], T::Duration)
                .cost(StaticCost::ListScan),
        ],
    },
];
