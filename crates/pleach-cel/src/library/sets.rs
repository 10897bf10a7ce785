//! Lists taken as sets.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// Lists taken as sets.
pub(super) static LIBRARY: Library = Library { name: "sets", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "sets.contains",
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
        overloads: &[Overload::new(
            "list_sets_intersects_list",
            &[T::List(&T::Param("T")), T::List(&T::Param("T"))],
            T::Bool,
        )
        .since(29)
        .cost(StaticCost::Sets)],
    },
];
