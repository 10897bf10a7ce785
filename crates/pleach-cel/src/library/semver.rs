//! Semantic versions.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Fault, Opaque, Semver};

/// Semantic versions.
pub(super) static LIBRARY: Library = Library { name: "semver", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "compareTo",
        call: Some(compare_to),
        overloads: &[Overload::member(
            "semver_compare_to",
            &[T::Message("kubernetes.Semver"), T::Message("kubernetes.Semver")],
            T::Int,
        )
        .since(33)],
    },
    Function {
        name: "isGreaterThan",
        call: Some(is_greater_than),
        overloads: &[Overload::member(
            "semver_is_greater_than",
            &[T::Message("kubernetes.Semver"), T::Message("kubernetes.Semver")],
            T::Bool,
        )
        .since(33)],
    },
    Function {
        name: "isLessThan",
        call: Some(is_less_than),
        overloads: &[Overload::member(
            "semver_is_less_than",
            &[T::Message("kubernetes.Semver"), T::Message("kubernetes.Semver")],
            T::Bool,
        )
        .since(33)],
    },
    Function {
        name: "isSemver",
        call: Some(is_semver),
        overloads: &[
            Overload::new("is_semver_string", &[T::String], T::Bool).since(33).cost(StaticCost::Traverse),
            Overload::new("is_semver_string_bool", &[T::String, T::Bool], T::Bool)
                .since(33)
                .cost(StaticCost::Traverse),
        ],
    },
    Function {
        name: "major",
        call: Some(major),
        overloads: &[Overload::member("semver_major", &[T::Message("kubernetes.Semver")], T::Int).since(33)],
    },
    Function {
        name: "minor",
        call: Some(minor),
        overloads: &[Overload::member("semver_minor", &[T::Message("kubernetes.Semver")], T::Int).since(33)],
    },
    Function {
        name: "patch",
        call: Some(patch),
        overloads: &[Overload::member("semver_patch", &[T::Message("kubernetes.Semver")], T::Int).since(33)],
    },
    Function {
        name: "semver",
        call: Some(semver),
        overloads: &[
            Overload::new("string_to_semver", &[T::String], T::Message("kubernetes.Semver"))
                .since(33)
                .cost(StaticCost::Traverse),
            Overload::new("string_bool_to_semver", &[T::String, T::Bool], T::Message("kubernetes.Semver"))
                .since(33)
                .cost(StaticCost::Traverse),
        ],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

/// The version in the arguments of `semver` and `isSemver`; `None` if they have the wrong types.
fn parse(call: &Call<'_>, args: &[CelValue<'_>]) -> Result<Option<Result<Semver, String>>, Fault> {
    if let Some(text) = args.first().and_then(CelValue::as_str) {
        call.work.charge(text.len() as u64 / 4)?;
        // Every part of a prerelease is allocated.
        call.work.build(text.len().saturating_mul(16))?;
    }
    Ok(match args {
        [CelValue::String(text)] | [CelValue::String(text), CelValue::Bool(false)] => {
            Some(Semver::parse(text.as_str()))
        }
        [CelValue::String(text), CelValue::Bool(true)] => Some(Semver::parse_tolerant(text.as_str())),
        _ => None,
    })
}

fn semver<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match parse(call, args)? {
        Some(Ok(version)) => Ok(CelValue::opaque(Opaque::Semver(version))),
        Some(Err(reason)) => Err(Fault::error(reason)),
        None => call.no_such_overload(args),
    }
}

fn is_semver<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match parse(call, args)? {
        Some(version) => Ok(CelValue::Bool(version.is_ok())),
        None => call.no_such_overload(args),
    }
}

fn own<'r>(value: &'r CelValue<'_>) -> Option<&'r Semver> {
    match value {
        CelValue::Opaque(value) => match &**value {
            Opaque::Semver(version) => Some(version),
            _ => None,
        },
        _ => None,
    }
}

fn number<'v>(call: &Call<'_>, args: &[CelValue<'v>], of: fn(&Semver) -> u64) -> Outcome<'v> {
    match args {
        [value] if let Some(version) = own(value) => Ok(CelValue::Int(of(version) as i64)),
        _ => call.no_such_overload(args),
    }
}

fn major<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    number(call, args, |v| v.major)
}

fn minor<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    number(call, args, |v| v.minor)
}

fn patch<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    number(call, args, |v| v.patch)
}

fn binary<'v>(
    call: &Call<'_>,
    args: &[CelValue<'v>],
    of: fn(&Semver, &Semver) -> CelValue<'v>,
) -> Outcome<'v> {
    match args {
        [a, b] if let (Some(a), Some(b)) = (own(a), own(b)) => {
            call.work.charge((a.bytes() + b.bytes()) as u64 / 4)?;
            Ok(of(a, b))
        }
        _ => call.no_such_overload(args),
    }
}

fn is_greater_than<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    binary(call, args, |a, b| CelValue::Bool(a > b))
}

fn is_less_than<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    binary(call, args, |a, b| CelValue::Bool(a < b))
}

fn compare_to<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    binary(call, args, |a, b| CelValue::Int(a.cmp(b) as i64))
}
