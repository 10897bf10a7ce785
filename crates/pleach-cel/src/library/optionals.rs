//! Values that may be absent.

use crate::function::{Function, Library, Overload};
use crate::types::T;

/// Values that may be absent.
pub(super) static LIBRARY: Library = Library { name: "optionals", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "_?._",
        overloads: &[Overload::new(
            "select_optional_field",
            &[T::Dyn, T::String],
            T::Optional(&T::Param("V")),
        )
        .since(28)],
    },
    Function {
        name: "_[?_]",
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
        overloads: &[
            Overload::member("list_first", &[T::List(&T::Param("V"))], T::Optional(&T::Param("V"))).since(28)
        ],
    },
    Function {
        name: "hasValue",
        overloads: &[Overload::member("optional_hasValue", &[T::Optional(&T::Param("V"))], T::Bool).since(28)],
    },
    Function {
        name: "last",
        overloads: &[
            Overload::member("list_last", &[T::List(&T::Param("V"))], T::Optional(&T::Param("V"))).since(28)
        ],
    },
    Function {
        name: "optional.none",
        overloads: &[Overload::new("optional_none", &[], T::Optional(&T::Param("V"))).since(28)],
    },
    Function {
        name: "optional.of",
        overloads: &[Overload::new("optional_of", &[T::Param("V")], T::Optional(&T::Param("V"))).since(28)],
    },
    Function {
        name: "optional.ofNonZeroValue",
        overloads: &[
            Overload::new("optional_ofNonZeroValue", &[T::Param("V")], T::Optional(&T::Param("V"))).since(28)
        ],
    },
    Function {
        name: "optional.unwrap",
        overloads: &[Overload::new(
            "optional_unwrap",
            &[T::List(&T::Optional(&T::Param("V")))],
            T::List(&T::Param("V")),
        )
        .since(28)],
    },
    Function {
        name: "or",
        overloads: &[Overload::member(
            "optional_or_optional",
            &[T::Optional(&T::Param("V")), T::Optional(&T::Param("V"))],
            T::Optional(&T::Param("V")),
        )
        .since(28)],
    },
    Function {
        name: "orValue",
        overloads: &[Overload::member(
            "optional_orValue_value",
            &[T::Optional(&T::Param("V")), T::Param("V")],
            T::Param("V"),
        )
        .since(28)],
    },
    Function {
        name: "unwrapOpt",
        overloads: &[Overload::member(
            "optional_unwrapOpt",
            &[T::List(&T::Optional(&T::Param("V")))],
            T::List(&T::Param("V")),
        )
        .since(28)],
    },
    Function {
        name: "value",
        overloads: &[
            Overload::member("optional_value", &[T::Optional(&T::Param("V"))], T::Param("V")).since(28)
        ],
    },
];
