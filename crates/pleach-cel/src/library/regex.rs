//! Searching with regular expressions.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Fault, Text};
use pleach_regex::Regex;
use std::borrow::Cow;

/// Searching with regular expressions.
pub(super) static LIBRARY: Library = Library { name: "regex", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "find",
        call: Some(find),
        overloads: &[Overload::member("string_find_string", &[T::String, T::String], T::String)
            .cost(StaticCost::Matches)],
    },
    Function {
        name: "findAll",
        call: Some(find_all),
        overloads: &[
            Overload::member("string_find_all_string", &[T::String, T::String], T::List(&T::String))
                .cost(StaticCost::Matches),
            Overload::member(
                "string_find_all_string_int",
                &[T::String, T::String, T::Int],
                T::List(&T::String),
            )
            .cost(StaticCost::Matches),
        ],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

/// A pattern that is not known before the evaluation.
pub(super) fn compile(pattern: &str) -> Result<Regex, Fault> {
    Regex::new(pattern).map_err(|error| Fault::error(error.to_string()))
}

fn regex<'p>(call: &Call<'p>, pattern: &Text<'_>) -> Result<Cow<'p, Regex>, Fault> {
    match call.regex {
        Some(regex) => Ok(Cow::Borrowed(regex)),
        None => Regex::new(pattern.as_str())
            .map(Cow::Owned)
            .map_err(|error| Fault::error(format!("Illegal regex: {error}"))),
    }
}

fn part<'v>(text: &Text<'v>, range: std::ops::Range<usize>) -> CelValue<'v> {
    match text {
        Text::Borrowed(text) => CelValue::String(Text::Borrowed(&text[range])),
        Text::Owned(text) => CelValue::string(&text[range]),
    }
}

fn find<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(text), CelValue::String(pattern)] => {
            let range = regex(call, pattern)?.find(text.as_str());
            Ok(range.map_or_else(|| CelValue::string(""), |range| part(text, range)))
        }
        // Odd: a type is as good as its name here.
        [CelValue::Type(name), pattern] => find(call, &[CelValue::string(name.clone()), pattern.clone()]),
        _ => Err(Fault::no_such_overload()),
    }
}

fn find_all<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (text, pattern, limit) = match args {
        [CelValue::String(text), CelValue::String(pattern)] => (text, pattern, None),
        [CelValue::String(text), CelValue::String(pattern), CelValue::Int(n)] => {
            (text, pattern, usize::try_from(*n).ok())
        }
        _ => return call.no_such_overload(args),
    };
    let found = regex(call, pattern)?.find_all(text.as_str(), limit);
    Ok(CelValue::list(found.into_iter().map(|range| part(text, range)).collect()))
}
