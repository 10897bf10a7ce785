//! Functions named after types, which convert to them.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// Functions named after types, which convert to them.
pub(super) static LIBRARY: Library = Library { name: "conversions", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "bool",
        overloads: &[
            Overload::new("bool_to_bool", &[T::Bool], T::Bool),
            Overload::new("string_to_bool", &[T::String], T::Bool),
        ],
    },
    Function {
        name: "bytes",
        overloads: &[
            Overload::new("bytes_to_bytes", &[T::Bytes], T::Bytes),
            Overload::new("string_to_bytes", &[T::String], T::Bytes).cost(StaticCost::Traverse),
        ],
    },
    Function {
        name: "double",
        overloads: &[
            Overload::new("double_to_double", &[T::Double], T::Double),
            Overload::new("int64_to_double", &[T::Int], T::Double),
            Overload::new("string_to_double", &[T::String], T::Double),
            Overload::new("uint64_to_double", &[T::Uint], T::Double),
        ],
    },
    Function {
        name: "duration",
        overloads: &[
            Overload::new("duration_to_duration", &[T::Duration], T::Duration),
            Overload::new("int64_to_duration", &[T::Int], T::Duration),
            Overload::new("string_to_duration", &[T::String], T::Duration),
        ],
    },
    Function { name: "dyn", overloads: &[Overload::new("to_dyn", &[T::Param("A")], T::Dyn)] },
    Function {
        name: "int",
        overloads: &[
            Overload::new("int64_to_int64", &[T::Int], T::Int),
            Overload::new("double_to_int64", &[T::Double], T::Int),
            Overload::new("duration_to_int64", &[T::Duration], T::Int),
            Overload::new("string_to_int64", &[T::String], T::Int),
            Overload::new("timestamp_to_int64", &[T::Timestamp], T::Int),
            Overload::new("uint64_to_int64", &[T::Uint], T::Int),
        ],
    },
    Function {
        name: "string",
        overloads: &[
            Overload::new("string_to_string", &[T::String], T::String),
            Overload::new("bool_to_string", &[T::Bool], T::String),
            Overload::new("bytes_to_string", &[T::Bytes], T::String).cost(StaticCost::Traverse),
            Overload::new("double_to_string", &[T::Double], T::String),
            Overload::new("duration_to_string", &[T::Duration], T::String),
            Overload::new("int64_to_string", &[T::Int], T::String),
            Overload::new("timestamp_to_string", &[T::Timestamp], T::String),
            Overload::new("uint64_to_string", &[T::Uint], T::String),
        ],
    },
    Function {
        name: "timestamp",
        overloads: &[
            Overload::new("timestamp_to_timestamp", &[T::Timestamp], T::Timestamp),
            Overload::new("int64_to_timestamp", &[T::Int], T::Timestamp),
            Overload::new("string_to_timestamp", &[T::String], T::Timestamp),
        ],
    },
    Function { name: "type", overloads: &[Overload::new("type", &[T::Param("A")], T::Type(&T::Param("A")))] },
    Function {
        name: "uint",
        overloads: &[
            Overload::new("uint64_to_uint64", &[T::Uint], T::Uint),
            Overload::new("double_to_uint64", &[T::Double], T::Uint),
            Overload::new("int64_to_uint64", &[T::Int], T::Uint),
            Overload::new("string_to_uint64", &[T::String], T::Uint),
        ],
    },
];
