//! The operators `<`, `<=`, `>` and `>=`.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Fault, compare, is_comparable};
use std::cmp::Ordering;

/// The operators `<`, `<=`, `>` and `>=`.
pub(super) static LIBRARY: Library = Library { name: "ordering", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "_<=_",
        call: Some(less_equals),
        overloads: &[
            Overload::new("less_equals_bool", &[T::Bool, T::Bool], T::Bool),
            Overload::new("less_equals_int64", &[T::Int, T::Int], T::Bool),
            Overload::new("less_equals_int64_double", &[T::Int, T::Double], T::Bool).since(28),
            Overload::new("less_equals_int64_uint64", &[T::Int, T::Uint], T::Bool).since(28),
            Overload::new("less_equals_uint64", &[T::Uint, T::Uint], T::Bool),
            Overload::new("less_equals_uint64_double", &[T::Uint, T::Double], T::Bool).since(28),
            Overload::new("less_equals_uint64_int64", &[T::Uint, T::Int], T::Bool).since(28),
            Overload::new("less_equals_double", &[T::Double, T::Double], T::Bool),
            Overload::new("less_equals_double_int64", &[T::Double, T::Int], T::Bool).since(28),
            Overload::new("less_equals_double_uint64", &[T::Double, T::Uint], T::Bool).since(28),
            Overload::new("less_equals_string", &[T::String, T::String], T::Bool).cost(StaticCost::Compare),
            Overload::new("less_equals_bytes", &[T::Bytes, T::Bytes], T::Bool).cost(StaticCost::Compare),
            Overload::new("less_equals_timestamp", &[T::Timestamp, T::Timestamp], T::Bool),
            Overload::new("less_equals_duration", &[T::Duration, T::Duration], T::Bool),
        ],
    },
    Function {
        name: "_<_",
        call: Some(less),
        overloads: &[
            Overload::new("less_bool", &[T::Bool, T::Bool], T::Bool),
            Overload::new("less_int64", &[T::Int, T::Int], T::Bool),
            Overload::new("less_int64_double", &[T::Int, T::Double], T::Bool).since(28),
            Overload::new("less_int64_uint64", &[T::Int, T::Uint], T::Bool).since(28),
            Overload::new("less_uint64", &[T::Uint, T::Uint], T::Bool),
            Overload::new("less_uint64_double", &[T::Uint, T::Double], T::Bool).since(28),
            Overload::new("less_uint64_int64", &[T::Uint, T::Int], T::Bool).since(28),
            Overload::new("less_double", &[T::Double, T::Double], T::Bool),
            Overload::new("less_double_int64", &[T::Double, T::Int], T::Bool).since(28),
            Overload::new("less_double_uint64", &[T::Double, T::Uint], T::Bool).since(28),
            Overload::new("less_string", &[T::String, T::String], T::Bool).cost(StaticCost::Compare),
            Overload::new("less_bytes", &[T::Bytes, T::Bytes], T::Bool).cost(StaticCost::Compare),
            Overload::new("less_timestamp", &[T::Timestamp, T::Timestamp], T::Bool),
            Overload::new("less_duration", &[T::Duration, T::Duration], T::Bool),
        ],
    },
    Function {
        name: "_>=_",
        call: Some(greater_equals),
        overloads: &[
            Overload::new("greater_equals_bool", &[T::Bool, T::Bool], T::Bool),
            Overload::new("greater_equals_int64", &[T::Int, T::Int], T::Bool),
            Overload::new("greater_equals_int64_double", &[T::Int, T::Double], T::Bool).since(28),
            Overload::new("greater_equals_int64_uint64", &[T::Int, T::Uint], T::Bool).since(28),
            Overload::new("greater_equals_uint64", &[T::Uint, T::Uint], T::Bool),
            Overload::new("greater_equals_uint64_double", &[T::Uint, T::Double], T::Bool).since(28),
            Overload::new("greater_equals_uint64_int64", &[T::Uint, T::Int], T::Bool).since(28),
            Overload::new("greater_equals_double", &[T::Double, T::Double], T::Bool),
            Overload::new("greater_equals_double_int64", &[T::Double, T::Int], T::Bool).since(28),
            Overload::new("greater_equals_double_uint64", &[T::Double, T::Uint], T::Bool).since(28),
            Overload::new("greater_equals_string", &[T::String, T::String], T::Bool)
                .cost(StaticCost::Compare),
            Overload::new("greater_equals_bytes", &[T::Bytes, T::Bytes], T::Bool).cost(StaticCost::Compare),
            Overload::new("greater_equals_timestamp", &[T::Timestamp, T::Timestamp], T::Bool),
            Overload::new("greater_equals_duration", &[T::Duration, T::Duration], T::Bool),
        ],
    },
    Function {
        name: "_>_",
        call: Some(greater),
        overloads: &[
            Overload::new("greater_bool", &[T::Bool, T::Bool], T::Bool),
            Overload::new("greater_int64", &[T::Int, T::Int], T::Bool),
            Overload::new("greater_int64_double", &[T::Int, T::Double], T::Bool).since(28),
            Overload::new("greater_int64_uint64", &[T::Int, T::Uint], T::Bool).since(28),
            Overload::new("greater_uint64", &[T::Uint, T::Uint], T::Bool),
            Overload::new("greater_uint64_double", &[T::Uint, T::Double], T::Bool).since(28),
            Overload::new("greater_uint64_int64", &[T::Uint, T::Int], T::Bool).since(28),
            Overload::new("greater_double", &[T::Double, T::Double], T::Bool),
            Overload::new("greater_double_int64", &[T::Double, T::Int], T::Bool).since(28),
            Overload::new("greater_double_uint64", &[T::Double, T::Uint], T::Bool).since(28),
            Overload::new("greater_string", &[T::String, T::String], T::Bool).cost(StaticCost::Compare),
            Overload::new("greater_bytes", &[T::Bytes, T::Bytes], T::Bool).cost(StaticCost::Compare),
            Overload::new("greater_timestamp", &[T::Timestamp, T::Timestamp], T::Bool),
            Overload::new("greater_duration", &[T::Duration, T::Duration], T::Bool),
        ],
    },
];

fn order<'v>(
    call: &Call<'_>,
    args: &[CelValue<'v>],
    holds: fn(Ordering) -> bool,
) -> Result<CelValue<'v>, Fault> {
    match args {
        [a, b] if is_comparable(a) => compare(call.work, a, b).map(|order| CelValue::Bool(holds(order))),
        _ => call.unsupported(args),
    }
}

fn less<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Result<CelValue<'v>, Fault> {
    order(call, args, Ordering::is_lt)
}

fn less_equals<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Result<CelValue<'v>, Fault> {
    order(call, args, Ordering::is_le)
}

fn greater<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Result<CelValue<'v>, Fault> {
    order(call, args, Ordering::is_gt)
}

fn greater_equals<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Result<CelValue<'v>, Fault> {
    order(call, args, Ordering::is_ge)
}
