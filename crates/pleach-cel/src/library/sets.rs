//! Lists taken as sets.

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
        [CelValue::List(a), CelValue::List(b)] => Ok((a.to_vec_keeping(), b.to_vec_keeping())),
        _ => call.no_such_overload(args),
    }
}

fn has(list: &[CelValue<'_>], wanted: &CelValue<'_>) -> bool {
    list.iter().any(|item| equal(item, wanted) == Ok(true))
}

fn contains<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (a, b) = lists(call, args)?;
    Ok(CelValue::Bool(b.iter().all(|item| has(&a, item))))
}

fn equivalent<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (a, b) = lists(call, args)?;
    Ok(CelValue::Bool(b.iter().all(|item| has(&a, item)) && a.iter().all(|item| has(&b, item))))
}

fn intersects<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let (a, b) = lists(call, args)?;
    Ok(CelValue::Bool(b.iter().any(|item| has(&a, item))))
}
