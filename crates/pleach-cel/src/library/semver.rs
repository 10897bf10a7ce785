//! Semantic versions.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// Semantic versions.
pub(super) static LIBRARY: Library = Library { name: "semver", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "compareTo",
        overloads: &[Overload::member(
            "semver_compare_to",
            &[T::Message("kubernetes.Semver"), T::Message("kubernetes.Semver")],
            T::Int,
        )
        .since(33)],
    },
    Function {
        name: "isGreaterThan",
        overloads: &[Overload::member(
            "semver_is_greater_than",
            &[T::Message("kubernetes.Semver"), T::Message("kubernetes.Semver")],
            T::Bool,
        )
        .since(33)],
    },
    Function {
        name: "isLessThan",
        overloads: &[Overload::member(
            "semver_is_less_than",
            &[T::Message("kubernetes.Semver"), T::Message("kubernetes.Semver")],
            T::Bool,
        )
        .since(33)],
    },
    Function {
        name: "isSemver",
        overloads: &[
            Overload::new("is_semver_string", &[T::String], T::Bool).since(33).cost(StaticCost::Traverse),
            Overload::new("is_semver_string_bool", &[T::String, T::Bool], T::Bool)
                .since(33)
                .cost(StaticCost::Traverse),
        ],
    },
    Function {
        name: "major",
        overloads: &[Overload::member("semver_major", &[T::Message("kubernetes.Semver")], T::Int).since(33)],
    },
    Function {
        name: "minor",
        overloads: &[Overload::member("semver_minor", &[T::Message("kubernetes.Semver")], T::Int).since(33)],
    },
    Function {
        name: "patch",
        overloads: &[Overload::member("semver_patch", &[T::Message("kubernetes.Semver")], T::Int).since(33)],
    },
    Function {
        name: "semver",
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
