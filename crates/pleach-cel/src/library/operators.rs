//! Operators on values of all kinds: logic, equality, arithmetic, index, membership.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// Operators on values of all kinds: logic, equality, arithmetic, index, membership.
pub(super) static LIBRARY: Library = Library { name: "operators", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function { name: "!_", overloads: &[Overload::new("logical_not", &[T::Bool], T::Bool)] },
    Function {
        name: "-_",
        overloads: &[
            Overload::new("negate_double", &[T::Double], T::Double),
            Overload::new("negate_int64", &[T::Int], T::Int),
        ],
    },
    Function {
        name: "@in",
        overloads: &[
            Overload::new("in_list", &[T::Param("A"), T::List(&T::Param("A"))], T::Bool)
                .cost(StaticCost::InList),
            Overload::new("in_map", &[T::Param("A"), T::Map(&T::Param("A"), &T::Param("B"))], T::Bool),
        ],
    },
    Function {
        name: "@not_strictly_false",
        overloads: &[Overload::new("not_strictly_false", &[T::Bool], T::Bool)],
    },
    Function {
        name: "_!=_",
        overloads: &[
            Overload::new("not_equals", &[T::Param("A"), T::Param("A")], T::Bool).cost(StaticCost::Compare)
        ],
    },
    Function {
        name: "_%_",
        overloads: &[
            Overload::new("modulo_int64", &[T::Int, T::Int], T::Int),
            Overload::new("modulo_uint64", &[T::Uint, T::Uint], T::Uint),
        ],
    },
    Function {
        name: "_&&_",
        overloads: &[Overload::new("logical_and", &[T::Bool, T::Bool], T::Bool).cost(StaticCost::Logical)],
    },
    Function {
        name: "_*_",
        overloads: &[
            Overload::new("multiply_double", &[T::Double, T::Double], T::Double),
            Overload::new("multiply_int64", &[T::Int, T::Int], T::Int),
            Overload::new("multiply_uint64", &[T::Uint, T::Uint], T::Uint),
        ],
    },
    Function {
        name: "_+_",
        overloads: &[
            Overload::new("add_bytes", &[T::Bytes, T::Bytes], T::Bytes).cost(StaticCost::Concat),
            Overload::new("add_double", &[T::Double, T::Double], T::Double),
            Overload::new("add_duration_duration", &[T::Duration, T::Duration], T::Duration),
            Overload::new("add_duration_timestamp", &[T::Duration, T::Timestamp], T::Timestamp),
            Overload::new("add_timestamp_duration", &[T::Timestamp, T::Duration], T::Timestamp),
            Overload::new("add_int64", &[T::Int, T::Int], T::Int),
            Overload::new(
                "add_list",
                &[T::List(&T::Param("A")), T::List(&T::Param("A"))],
                T::List(&T::Param("A")),
            )
            .cost(StaticCost::ConcatList),
            Overload::new("add_string", &[T::String, T::String], T::String).cost(StaticCost::Concat),
            Overload::new("add_uint64", &[T::Uint, T::Uint], T::Uint),
        ],
    },
    Function {
        name: "_-_",
        overloads: &[
            Overload::new("subtract_double", &[T::Double, T::Double], T::Double),
            Overload::new("subtract_duration_duration", &[T::Duration, T::Duration], T::Duration),
            Overload::new("subtract_int64", &[T::Int, T::Int], T::Int),
            Overload::new("subtract_timestamp_duration", &[T::Timestamp, T::Duration], T::Timestamp),
            Overload::new("subtract_timestamp_timestamp", &[T::Timestamp, T::Timestamp], T::Duration),
            Overload::new("subtract_uint64", &[T::Uint, T::Uint], T::Uint),
        ],
    },
    Function {
        name: "_/_",
        overloads: &[
            Overload::new("divide_double", &[T::Double, T::Double], T::Double),
            Overload::new("divide_int64", &[T::Int, T::Int], T::Int),
            Overload::new("divide_uint64", &[T::Uint, T::Uint], T::Uint),
        ],
    },
    Function {
        name: "_==_",
        overloads: &[
            Overload::new("equals", &[T::Param("A"), T::Param("A")], T::Bool).cost(StaticCost::Compare)
        ],
    },
    Function {
        name: "_?_:_",
        overloads: &[Overload::new("conditional", &[T::Bool, T::Param("A"), T::Param("A")], T::Param("A"))
            .cost(StaticCost::Conditional)],
    },
    Function {
        name: "_[_]",
        overloads: &[
            Overload::new("index_list", &[T::List(&T::Param("A")), T::Int], T::Param("A"))
                .cost(StaticCost::Index),
            Overload::new(
                "index_map",
                &[T::Map(&T::Param("A"), &T::Param("B")), T::Param("A")],
                T::Param("B"),
            )
            .cost(StaticCost::Index),
        ],
    },
    Function {
        name: "_||_",
        overloads: &[Overload::new("logical_or", &[T::Bool, T::Bool], T::Bool).cost(StaticCost::Logical)],
    },
];
