//! Named string formats that can be validated.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// Named string formats that can be validated.
pub(super) static LIBRARY: Library = Library { name: "format", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "format.byte",
        overloads: &[Overload::new("format.byte", &[], T::Message("kubernetes.NamedFormat")).since(31)],
    },
    Function {
        name: "format.date",
        overloads: &[Overload::new("format.date", &[], T::Message("kubernetes.NamedFormat")).since(31)],
    },
    Function {
        name: "format.datetime",
        overloads: &[Overload::new("format.datetime", &[], T::Message("kubernetes.NamedFormat")).since(31)],
    },
    Function {
        name: "format.dns1035Label",
        overloads: &[
            Overload::new("format.dns1035Label", &[], T::Message("kubernetes.NamedFormat")).since(31)
        ],
    },
    Function {
        name: "format.dns1035LabelPrefix",
        overloads: &[
            Overload::new("format.dns1035LabelPrefix", &[], T::Message("kubernetes.NamedFormat")).since(31)
        ],
    },
    Function {
        name: "format.dns1123Label",
        overloads: &[
            Overload::new("format.dns1123Label", &[], T::Message("kubernetes.NamedFormat")).since(31)
        ],
    },
    Function {
        name: "format.dns1123LabelPrefix",
        overloads: &[
            Overload::new("format.dns1123LabelPrefix", &[], T::Message("kubernetes.NamedFormat")).since(31)
        ],
    },
    Function {
        name: "format.dns1123Subdomain",
        overloads: &[
            Overload::new("format.dns1123Subdomain", &[], T::Message("kubernetes.NamedFormat")).since(31)
        ],
    },
    Function {
        name: "format.dns1123SubdomainPrefix",
        overloads: &[Overload::new(
            "format.dns1123SubdomainPrefix",
            &[],
            T::Message("kubernetes.NamedFormat"),
        )
        .since(31)],
    },
    Function {
        name: "format.labelValue",
        overloads: &[Overload::new("format.labelValue", &[], T::Message("kubernetes.NamedFormat")).since(31)],
    },
    Function {
        name: "format.named",
        overloads: &[Overload::new(
            "format-named",
            &[T::String],
            T::Optional(&T::Message("kubernetes.NamedFormat")),
        )
        .since(31)],
    },
    Function {
        name: "format.qualifiedName",
        overloads: &[
            Overload::new("format.qualifiedName", &[], T::Message("kubernetes.NamedFormat")).since(31)
        ],
    },
    Function {
        name: "format.uri",
        overloads: &[Overload::new("format.uri", &[], T::Message("kubernetes.NamedFormat")).since(31)],
    },
    Function {
        name: "format.uuid",
        overloads: &[Overload::new("format.uuid", &[], T::Message("kubernetes.NamedFormat")).since(31)],
    },
    Function {
        name: "validate",
        overloads: &[Overload::member(
            "format-validate",
            &[T::Message("kubernetes.NamedFormat"), T::String],
            T::Optional(&T::List(&T::String)),
        )
        .since(31)
        .cost(StaticCost::Validate)],
    },
];
