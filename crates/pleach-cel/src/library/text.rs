//! Standard functions that are not operators: sizes, substrings, patterns.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Fault};

/// The few functions of CEL itself that are not operators: sizes, substrings, patterns.
pub(super) static LIBRARY: Library = Library { name: "text", functions: FUNCTIONS };

static FUNCTIONS: &[Function] =
    &[
        Function {
            name: "contains",
            call: Some(contains),
            overloads: &[Overload::member("contains_string", &[T::String, T::String], T::Bool)
                .cost(StaticCost::Contains)],
        },
        Function {
            name: "endsWith",
            call: Some(ends_with),
            overloads: &[Overload::member("ends_with_string", &[T::String, T::String], T::Bool)
                .cost(StaticCost::Affix)],
        },
        Function {
            name: "matches",
            call: Some(matches),
            overloads: &[
                Overload::new("matches", &[T::String, T::String], T::Bool).cost(StaticCost::Matches),
                Overload::member("matches_string", &[T::String, T::String], T::Bool)
                    .cost(StaticCost::Matches),
            ],
        },
        Function {
            name: "size",
            call: Some(size),
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
            call: Some(starts_with),
            overloads: &[Overload::member("starts_with_string", &[T::String, T::String], T::Bool)
                .cost(StaticCost::Affix)],
        },
    ];

use crate::library::regex::within;

type Outcome<'v> = Result<CelValue<'v>, Fault>;

fn strings<'v>(args: &[CelValue<'v>], holds: fn(&str, &str) -> bool) -> Outcome<'v> {
    match args {
        [CelValue::String(a), CelValue::String(b)] => Ok(CelValue::Bool(holds(a.as_str(), b.as_str()))),
        _ => Err(Fault::no_such_overload()),
    }
}

fn contains<'v>(_: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    strings(args, |text, part| text.contains(part))
}

fn starts_with<'v>(_: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    strings(args, |text, start| text.starts_with(start))
}

fn ends_with<'v>(_: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    strings(args, |text, end| text.ends_with(end))
}

fn matches<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(text), CelValue::String(pattern)] => {
            let Some(regex) = call.regex else {
                return Err(super::regex::illegal(call, pattern.as_str()));
            };
            within(call.work, |left| regex.is_match_within(text.as_str(), left)).map(CelValue::Bool)
        }
        // Odd: a type is accepted as its name.
        [CelValue::Type(name), pattern] => matches(call, &[CelValue::string(name.clone()), pattern.clone()]),
        _ => Err(Fault::no_such_overload()),
    }
}

fn size<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [value @ (CelValue::String(_) | CelValue::Bytes(_) | CelValue::List(_) | CelValue::Map(_))] => {
            Ok(CelValue::Int(value.size() as i64))
        }
        _ => call.unsupported(args),
    }
}
