//! Set operations on lists.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Fault, equal};

/// Lists taken as sets.
pub(super) static LIBRARY: Library = Library { name: "sets", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "sets.contains",
        call: Some(contains),
        overloads: &[Overload::new(
            "list_sets_contains_list",
            &[T::List(&T::Param("T")), T::List(&T::Param("T"))],
            T::Bool,
        )
        .since(29)
        .cost(StaticCost::Sets)],
    },
    Function {
        name: "sets.equivalent",
        call: Some(equivalent),
        overloads: &[Overload::new(
            "list_sets_equivalent_list",
            &[T::List(&T::Param("T")), T::List(&T::Param("T"))],
            T::Bool,
        )
        .since(29)
        .cost(StaticCost::Sets)],
    },
    Function {
        name: "sets.intersects",
        call: Some(intersects),
        overloads: &[Overload::new(
            "list_sets_intersects_list",
            &[T::List(&T::Param("T")), T::List(&T::Param("T"))],
            T::Bool,
        )
        .since(29)
        .cost(StaticCost::Sets)],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

type Pair<'v> = (Vec<CelValue<'v>>, Vec<CelValue<'v>>);

fn lists<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Result<Pair<'v>, Fault> {
    match args {
        [CelValue::List(a), CelValue::List(b)] => {
            Ok((a.to_vec_keeping(call.work)?, b.to_vec_keeping(call.work)?))
        }
        _ => call.no_such_overload(args),
    }
}

/// Whether a list has an element. Values that cannot be compared are not equal.
fn has(call: &Call<'_>, list: &[CelValue<'_>], wanted: &CelValue<'_>) -> Result<bool, Fault> {
    for item in list {
        match equal(call.work, item, wanted) {
            Ok(true) => return Ok(true),
            Err(fault) if !fault.is_error() => return Err(fault),
            _ => {}
        }
    }
    Ok(false)
}

/// Whether a list has all of the elements.
fn has_all(call: &Call<'_>, list: &[CelValue<'_>], wanted: &[CelValue<'_>]) -> Result<bool, Fault> {
    for item in wanted {
        if !has(call, list, item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn contains<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (a, b) = lists(call, args)?;
    has_all(call, &a, &b).map(CelValue::Bool)
}

fn equivalent<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (a, b) = lists(call, args)?;
    Ok(CelValue::Bool(has_all(call, &a, &b)? && has_all(call, &b, &a)?))
}

fn intersects<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (a, b) = lists(call, args)?;
    for item in &b {
        if has(call, &a, item)? {
            return Ok(CelValue::Bool(true));
        }
    }
    Ok(CelValue::Bool(false))
}
