//! Operators on values of all kinds: logic, equality, arithmetic, index, membership.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Duration, Fault, equal};

/// Operators on values of all kinds: logic, equality, arithmetic, index, membership.
pub(super) static LIBRARY: Library = Library { name: "operators", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function { name: "!_", call: Some(not), overloads: &[Overload::new("logical_not", &[T::Bool], T::Bool)] },
    Function {
        name: "-_",
        call: Some(negate),
        overloads: &[
            Overload::new("negate_double", &[T::Double], T::Double),
            Overload::new("negate_int64", &[T::Int], T::Int),
        ],
    },
    Function {
        name: "@in",
        call: Some(contains),
        overloads: &[
            Overload::new("in_list", &[T::Param("A"), T::List(&T::Param("A"))], T::Bool)
                .cost(StaticCost::InList),
            Overload::new("in_map", &[T::Param("A"), T::Map(&T::Param("A"), &T::Param("B"))], T::Bool),
        ],
    },
    Function {
        name: "@not_strictly_false",
        call: None,
        overloads: &[Overload::new("not_strictly_false", &[T::Bool], T::Bool)],
    },
    Function {
        name: "_!=_",
        call: None,
        overloads: &[
            Overload::new("not_equals", &[T::Param("A"), T::Param("A")], T::Bool).cost(StaticCost::Compare)
        ],
    },
    Function {
        name: "_%_",
        call: Some(modulo),
        overloads: &[
            Overload::new("modulo_int64", &[T::Int, T::Int], T::Int),
            Overload::new("modulo_uint64", &[T::Uint, T::Uint], T::Uint),
        ],
    },
    Function {
        name: "_&&_",
        call: None,
        overloads: &[Overload::new("logical_and", &[T::Bool, T::Bool], T::Bool).cost(StaticCost::Logical)],
    },
    Function {
        name: "_*_",
        call: Some(multiply),
        overloads: &[
            Overload::new("multiply_double", &[T::Double, T::Double], T::Double),
            Overload::new("multiply_int64", &[T::Int, T::Int], T::Int),
            Overload::new("multiply_uint64", &[T::Uint, T::Uint], T::Uint),
        ],
    },
    Function {
        name: "_+_",
        call: Some(add),
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
        call: Some(subtract),
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
        call: Some(divide),
        overloads: &[
            Overload::new("divide_double", &[T::Double, T::Double], T::Double),
            Overload::new("divide_int64", &[T::Int, T::Int], T::Int),
            Overload::new("divide_uint64", &[T::Uint, T::Uint], T::Uint),
        ],
    },
    Function {
        name: "_==_",
        call: None,
        overloads: &[
            Overload::new("equals", &[T::Param("A"), T::Param("A")], T::Bool).cost(StaticCost::Compare)
        ],
    },
    Function {
        name: "_?_:_",
        call: None,
        overloads: &[Overload::new("conditional", &[T::Bool, T::Param("A"), T::Param("A")], T::Param("A"))
            .cost(StaticCost::Conditional)],
    },
    Function {
        name: "_[_]",
        call: None,
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
        call: None,
        overloads: &[Overload::new("logical_or", &[T::Bool, T::Bool], T::Bool).cost(StaticCost::Logical)],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

const INT_OVERFLOW: Fault = Fault::fixed("integer overflow");
const UINT_OVERFLOW: Fault = Fault::fixed("unsigned integer overflow");
const TIMESTAMP_OVERFLOW: Fault = Fault::fixed("timestamp overflow");

fn int<'v>(value: Option<i64>) -> Outcome<'v> {
    value.map(CelValue::Int).ok_or(INT_OVERFLOW)
}

fn uint<'v>(value: Option<u64>) -> Outcome<'v> {
    value.map(CelValue::Uint).ok_or(UINT_OVERFLOW)
}

fn mismatch<'v>(call: &Call<'_>, args: &[CelValue<'v>], left_fits: bool) -> Outcome<'v> {
    if left_fits { Err(Fault::no_such_overload()) } else { call.unsupported(args) }
}

fn is_number(value: &CelValue<'_>) -> bool {
    matches!(value, CelValue::Int(_) | CelValue::Uint(_) | CelValue::Double(_))
}

fn is_time(value: &CelValue<'_>) -> bool {
    matches!(value, CelValue::Timestamp(_) | CelValue::Duration(_))
}

fn not<'v>(_: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Bool(b)] => Ok(CelValue::Bool(!b)),
        _ => Err(Fault::no_such_overload()),
    }
}

fn negate<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Int(i)] => int(i.checked_neg()),
        [CelValue::Double(d)] => Ok(CelValue::Double(-d)),
        [CelValue::Duration(d)] => int(d.0.checked_neg()).map(|_| CelValue::Duration(Duration(-d.0))),
        _ => mismatch(call, args, matches!(args, [CelValue::Bool(_)])),
    }
}

/// An element that cannot be compared is an error only if no other is equal.
fn contains<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [wanted, CelValue::List(list)] => {
            let mut failure = None;
            for item in call.work.items(list) {
                match item.and_then(|item| equal(call.work, &item, wanted)) {
                    Ok(true) => return Ok(CelValue::Bool(true)),
                    Ok(false) => {}
                    Err(fault) if !fault.is_error() => return Err(fault),
                    Err(fault) => failure = failure.or(Some(fault)),
                }
            }
            failure.map_or(Ok(CelValue::Bool(false)), Err)
        }
        [key, CelValue::Map(map)] => {
            call.work.read_bytes(key.as_str().map_or(0, str::len))?;
            Ok(CelValue::Bool(map.find(key)?.is_some()))
        }
        _ => Err(Fault::no_such_overload()),
    }
}

pub(crate) fn add<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    use CelValue as V;
    match args {
        [V::Int(a), V::Int(b)] => int(a.checked_add(*b)),
        [V::Uint(a), V::Uint(b)] => uint(a.checked_add(*b)),
        [V::Double(a), V::Double(b)] => Ok(V::Double(a + b)),
        [V::String(a), V::String(b)] => {
            call.work.build(a.as_str().len() + b.as_str().len())?;
            Ok(V::string([a.as_str(), b.as_str()].concat()))
        }
        [V::Bytes(a), V::Bytes(b)] => {
            call.work.build(a.len() + b.len())?;
            Ok(V::Bytes([&**a, &**b].concat().into()))
        }
        [V::Duration(a), V::Duration(b)] => {
            a.0.checked_add(b.0).map(|sum| V::Duration(Duration(sum))).ok_or(INT_OVERFLOW)
        }
        [V::Timestamp(t), V::Duration(d)] | [V::Duration(d), V::Timestamp(t)] => {
            t.checked_add(*d).map(V::Timestamp).ok_or(TIMESTAMP_OVERFLOW)
        }
        [V::List(a), V::List(b)] => a.concat(call.work, b).map(V::List),
        _ => mismatch(
            call,
            args,
            is_number(&args[0])
                || is_time(&args[0])
                || matches!(args[0], V::String(_) | V::Bytes(_) | V::List(_)),
        ),
    }
}

fn subtract<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    use CelValue as V;
    match args {
        [V::Int(a), V::Int(b)] => int(a.checked_sub(*b)),
        [V::Uint(a), V::Uint(b)] => uint(a.checked_sub(*b)),
        [V::Double(a), V::Double(b)] => Ok(V::Double(a - b)),
        [V::Duration(a), V::Duration(b)] => {
            a.0.checked_sub(b.0).map(|rest| V::Duration(Duration(rest))).ok_or(INT_OVERFLOW)
        }
        [V::Timestamp(t), V::Duration(d)] => {
            let back = d.0.checked_neg().ok_or(TIMESTAMP_OVERFLOW)?;
            t.checked_add(Duration(back)).map(V::Timestamp).ok_or(TIMESTAMP_OVERFLOW)
        }
        [V::Timestamp(a), V::Timestamp(b)] => a.since(*b).map(V::Duration).ok_or(INT_OVERFLOW),
        _ => mismatch(call, args, is_number(&args[0]) || is_time(&args[0])),
    }
}

fn multiply<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    use CelValue as V;
    match args {
        [V::Int(a), V::Int(b)] => int(a.checked_mul(*b)),
        [V::Uint(a), V::Uint(b)] => uint(a.checked_mul(*b)),
        [V::Double(a), V::Double(b)] => Ok(V::Double(a * b)),
        _ => mismatch(call, args, is_number(&args[0])),
    }
}

fn divide<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    use CelValue as V;
    match args {
        [V::Int(_), V::Int(0)] | [V::Uint(_), V::Uint(0)] => Err(Fault::fixed("division by zero")),
        [V::Int(a), V::Int(b)] => int(a.checked_div(*b)),
        [V::Uint(a), V::Uint(b)] => Ok(V::Uint(a / b)),
        [V::Double(a), V::Double(b)] => Ok(V::Double(a / b)),
        _ => mismatch(call, args, is_number(&args[0])),
    }
}

fn modulo<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    use CelValue as V;
    match args {
        [V::Int(_), V::Int(0)] | [V::Uint(_), V::Uint(0)] => Err(Fault::fixed("modulus by zero")),
        [V::Int(a), V::Int(b)] => int(a.checked_rem(*b)),
        [V::Uint(a), V::Uint(b)] => Ok(V::Uint(a % b)),
        _ => mismatch(call, args, matches!(args[0], V::Int(_) | V::Uint(_))),
    }
}
