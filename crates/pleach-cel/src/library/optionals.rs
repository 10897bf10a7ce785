//! Optional types.

use crate::function::{Call, Function, Library, Overload};
use crate::types::T;
use crate::value::{CelValue, Duration, Fault};

/// Values that may be absent.
pub(super) static LIBRARY: Library = Library { name: "optionals", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "_?._",
        call: None,
        overloads: &[Overload::new(
            "select_optional_field",
            &[T::Dyn, T::String],
            T::Optional(&T::Param("V")),
        )
        .since(28)],
    },
    Function {
        name: "_[?_]",
        call: None,
        overloads: &[
            Overload::new(
                "list_optindex_optional_int",
                &[T::List(&T::Param("V")), T::Int],
                T::Optional(&T::Param("V")),
            )
            .since(28),
            Overload::new(
                "optional_list_optindex_optional_int",
                &[T::Optional(&T::List(&T::Param("V"))), T::Int],
                T::Optional(&T::Param("V")),
            )
            .since(28),
            Overload::new(
                "map_optindex_optional_value",
                &[T::Map(&T::Param("K"), &T::Param("V")), T::Param("K")],
                T::Optional(&T::Param("V")),
            )
            .since(28),
            Overload::new(
                "optional_map_optindex_optional_value",
                &[T::Optional(&T::Map(&T::Param("K"), &T::Param("V"))), T::Param("K")],
                T::Optional(&T::Param("V")),
            )
            .since(28),
        ],
    },
    Function {
        name: "_[_]",
        call: None,
        overloads: &[
            Overload::new(
                "optional_list_index_int",
                &[T::Optional(&T::List(&T::Param("V"))), T::Int],
                T::Optional(&T::Param("V")),
            )
            .since(28),
            Overload::new(
                "optional_map_index_value",
                &[T::Optional(&T::Map(&T::Param("K"), &T::Param("V"))), T::Param("K")],
                T::Optional(&T::Param("V")),
            )
            .since(28),
        ],
    },
    Function {
        name: "first",
        call: Some(first),
        overloads: &[
            Overload::member("list_first", &[T::List(&T::Param("V"))], T::Optional(&T::Param("V"))).since(28)
        ],
    },
    Function {
        name: "hasValue",
        call: Some(has_value),
        overloads: &[Overload::member("optional_hasValue", &[T::Optional(&T::Param("V"))], T::Bool).since(28)],
    },
    Function {
        name: "last",
        call: Some(last),
        overloads: &[
            Overload::member("list_last", &[T::List(&T::Param("V"))], T::Optional(&T::Param("V"))).since(28)
        ],
    },
    Function {
        name: "optional.none",
        call: Some(none),
        overloads: &[Overload::new("optional_none", &[], T::Optional(&T::Param("V"))).since(28)],
    },
    Function {
        name: "optional.of",
        call: Some(of),
        overloads: &[Overload::new("optional_of", &[T::Param("V")], T::Optional(&T::Param("V"))).since(28)],
    },
    Function {
        name: "optional.ofNonZeroValue",
        call: Some(of_non_zero_value),
        overloads: &[
            Overload::new("optional_ofNonZeroValue", &[T::Param("V")], T::Optional(&T::Param("V"))).since(28)
        ],
    },
    Function {
        name: "optional.unwrap",
        call: Some(unwrap),
        overloads: &[Overload::new(
            "optional_unwrap",
            &[T::List(&T::Optional(&T::Param("V")))],
            T::List(&T::Param("V")),
        )
        .since(28)],
    },
    Function {
        name: "or",
        call: None,
        overloads: &[Overload::member(
            "optional_or_optional",
            &[T::Optional(&T::Param("V")), T::Optional(&T::Param("V"))],
            T::Optional(&T::Param("V")),
        )
        .since(28)],
    },
    Function {
        name: "orValue",
        call: None,
        overloads: &[Overload::member(
            "optional_orValue_value",
            &[T::Optional(&T::Param("V")), T::Param("V")],
            T::Param("V"),
        )
        .since(28)],
    },
    Function {
        name: "unwrapOpt",
        call: Some(unwrap),
        overloads: &[Overload::member(
            "optional_unwrapOpt",
            &[T::List(&T::Optional(&T::Param("V")))],
            T::List(&T::Param("V")),
        )
        .since(28)],
    },
    Function {
        name: "value",
        call: Some(value),
        overloads: &[
            Overload::member("optional_value", &[T::Optional(&T::Param("V"))], T::Param("V")).since(28)
        ],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

fn of<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [value] => Ok(CelValue::some(value.clone())),
        _ => call.no_such_overload(args),
    }
}

fn none<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    if args.is_empty() { Ok(CelValue::Optional(None)) } else { call.no_such_overload(args) }
}

fn of_non_zero_value<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let [value] = args else { return call.no_such_overload(args) };
    let zero = match value {
        CelValue::Null | CelValue::Bool(false) | CelValue::Int(0) | CelValue::Uint(0) => true,
        CelValue::Double(d) => *d == 0.0,
        CelValue::String(text) => text.as_str().is_empty(),
        CelValue::Bytes(bytes) => bytes.is_empty(),
        CelValue::List(list) => list.is_empty(),
        CelValue::Map(map) => map.is_empty(),
        CelValue::Duration(Duration(nanos)) => *nanos == 0,
        _ => false,
    };
    Ok(if zero { CelValue::Optional(None) } else { CelValue::some(value.clone()) })
}

fn has_value<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Optional(inner)] => Ok(CelValue::Bool(inner.is_some())),
        _ => call.no_such_overload(args),
    }
}

fn value<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Optional(Some(inner))] => Ok((**inner).clone()),
        [CelValue::Optional(None)] => Err(Fault::fixed("optional.none() dereference")),
        _ => call.no_such_overload(args),
    }
}

fn end<'v>(call: &Call<'_>, args: &[CelValue<'v>], index: fn(usize) -> Option<usize>) -> Outcome<'v> {
    let [CelValue::List(list)] = args else { return call.no_such_overload(args) };
    match index(list.len()).and_then(|index| list.get(index)) {
        Some(item) => item.map(CelValue::some),
        None => Ok(CelValue::Optional(None)),
    }
}

fn first<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    end(call, args, |_| Some(0))
}

fn last<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    end(call, args, |length| length.checked_sub(1))
}

fn unwrap<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let [CelValue::List(list)] = args else { return call.no_such_overload(args) };
    let mut out = Vec::new();
    for item in call.work.items(list) {
        match item? {
            CelValue::Optional(Some(inner)) => {
                call.work.build_items(1)?;
                out.push((*inner).clone());
            }
            CelValue::Optional(None) => {}
            other => {
                return Err(Fault::error(format!(
                    "value {} is not optional",
                    crate::value::key_text(&other)
                )));
            }
        }
    }
    Ok(CelValue::list(out))
}
