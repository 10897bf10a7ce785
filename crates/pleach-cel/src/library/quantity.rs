//! Quantities such as `100Mi` and `250m`.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// Quantities such as `100Mi` and `250m`.
pub(super) static LIBRARY: Library = Library { name: "quantity", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "add",
        overloads: &[
            Overload::member(
                "quantity_add",
                &[T::Message("kubernetes.Quantity"), T::Message("kubernetes.Quantity")],
                T::Message("kubernetes.Quantity"),
            )
            .since(28),
            Overload::member(
                "quantity_add_int",
                &[T::Message("kubernetes.Quantity"), T::Int],
                T::Message("kubernetes.Quantity"),
            )
            .since(28),
        ],
    },
    Function {
        name: "asApproximateFloat",
        overloads: &[
            Overload::member("quantity_get_float", &[T::Message("kubernetes.Quantity")], T::Double).since(28)
        ],
    },
    Function {
        name: "asInteger",
        overloads: &[
            Overload::member("quantity_get_int", &[T::Message("kubernetes.Quantity")], T::Int).since(28)
        ],
    },
    Function {
        name: "compareTo",
        overloads: &[Overload::member(
            "quantity_compare_to",
            &[T::Message("kubernetes.Quantity"), T::Message("kubernetes.Quantity")],
            T::Int,
        )
        .since(28)],
    },
    Function {
        name: "isGreaterThan",
        overloads: &[Overload::member(
            "quantity_is_greater_than",
            &[T::Message("kubernetes.Quantity"), T::Message("kubernetes.Quantity")],
            T::Bool,
        )
        .since(28)],
    },
    Function {
        name: "isInteger",
        overloads: &[
            Overload::member("quantity_is_integer", &[T::Message("kubernetes.Quantity")], T::Bool).since(28)
        ],
    },
    Function {
        name: "isLessThan",
        overloads: &[Overload::member(
            "quantity_is_less_than",
            &[T::Message("kubernetes.Quantity"), T::Message("kubernetes.Quantity")],
            T::Bool,
        )
        .since(28)],
    },
    Function {
        name: "isQuantity",
        overloads: &[Overload::new("is_quantity_string", &[T::String], T::Bool)
            .since(28)
            .cost(StaticCost::Traverse)],
    },
    Function {
        name: "quantity",
        overloads: &[Overload::new("string_to_quantity", &[T::String], T::Message("kubernetes.Quantity"))
            .since(28)
            .cost(StaticCost::Traverse)],
    },
    Function {
        name: "sign",
        overloads: &[Overload::new("quantity_sign", &[T::Message("kubernetes.Quantity")], T::Int).since(28)],
    },
    Function {
        name: "sub",
        overloads: &[
            Overload::member(
                "quantity_sub",
                &[T::Message("kubernetes.Quantity"), T::Message("kubernetes.Quantity")],
                T::Message("kubernetes.Quantity"),
            )
            .since(28),
            Overload::member(
                "quantity_sub_int",
                &[T::Message("kubernetes.Quantity"), T::Int],
                T::Message("kubernetes.Quantity"),
            )
            .since(28),
        ],
    },
];
