//! Regular expression search.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::library::strings::slice;
use crate::types::T;
use crate::value::{CelValue, Fault, Text};
use crate::work::Work;
use pleach_regex::{Exhausted, Regex};

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

/// Steps per byte of a non-constant pattern: a class can stand for hundreds of ranges.
const STEPS_PER_BYTE: u64 = 32;

/// Compiles a non-constant pattern; `None` if it is invalid.
pub(crate) fn compile_pattern(work: &Work<'_>, pattern: &str) -> Result<Option<Regex>, Fault> {
    work.charge(STEPS_PER_BYTE * (1 + pattern.len() as u64))?;
    Ok(Regex::lightweight(pattern).ok())
}

/// Runs a search within the remaining work.
pub(super) fn within<R>(
    work: &Work<'_>,
    ask: impl FnOnce(&mut u64) -> Result<R, Exhausted>,
) -> Result<R, Fault> {
    let before = work.left();
    let mut left = before;
    let answer = ask(&mut left);
    work.note_reported(before - left);
    answer.map_err(|Exhausted| work.exceed())
}

fn regex<'p>(call: &Call<'p>, pattern: &Text<'_>) -> Result<&'p Regex, Fault> {
    call.regex.ok_or_else(|| match illegal(call, pattern.as_str()) {
        Fault::Error(error) => Fault::error(format!("Illegal regex: {error}")),
        fault => fault,
    })
}

/// The error of an invalid pattern; valid ones were compiled before the call.
pub(super) fn illegal(call: &Call<'_>, pattern: &str) -> Fault {
    if let Err(fault) = call.work.charge(STEPS_PER_BYTE * (1 + pattern.len() as u64)) {
        return fault;
    }
    match Regex::new(pattern) {
        Ok(_) => Fault::no_such_overload(),
        Err(error) => Fault::error(error.to_string()),
    }
}

fn find<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(text), CelValue::String(pattern)] => {
            let regex = regex(call, pattern)?;
            let found = within(call.work, |left| regex.find_all_within(text.as_str(), Some(1), left))?;
            match found.into_iter().next() {
                Some(range) => slice(call, text, range),
                None => Ok(CelValue::string("")),
            }
        }
        // Odd: a type is accepted as its name.
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
    let regex = regex(call, pattern)?;
    let found = within(call.work, |left| regex.find_all_within(text.as_str(), limit, left))?;
    call.work.build_items(found.len())?;
    let parts = found.into_iter().map(|range| slice(call, text, range));
    Ok(CelValue::list(parts.collect::<Result<_, _>>()?))
}
