//! Blocks of IP addresses.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// Blocks of IP addresses.
pub(super) static LIBRARY: Library = Library { name: "CIDR", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "cidr",
        overloads: &[Overload::new("string_to_cidr", &[T::String], T::Opaque("net.CIDR"))
            .since(30)
            .cost(StaticCost::Traverse)],
    },
    Function {
        name: "containsCIDR",
        overloads: &[
            Overload::member("cidr_contains_cidr_string", &[T::Opaque("net.CIDR"), T::String], T::Bool)
                .since(30)
                .cost(StaticCost::ContainsCidr),
            Overload::member("cidr_contains_cidr", &[T::Opaque("net.CIDR"), T::Opaque("net.CIDR")], T::Bool)
                .since(30)
                .cost(StaticCost::ContainsCidr),
        ],
    },
    Function {
        name: "containsIP",
        overloads: &[
            Overload::member("cidr_contains_ip_string", &[T::Opaque("net.CIDR"), T::String], T::Bool)
                .since(30)
                .cost(StaticCost::ContainsIp),
            Overload::member("cidr_contains_ip_ip", &[T::Opaque("net.CIDR"), T::Opaque("net.IP")], T::Bool)
                .since(30)
                .cost(StaticCost::ContainsIp),
        ],
    },
    Function {
        name: "ip",
        overloads: &[Overload::member("cidr_ip", &[T::Opaque("net.CIDR")], T::Opaque("net.IP")).since(30)],
    },
    Function {
        name: "isCIDR",
        overloads: &[Overload::new("is_cidr", &[T::String], T::Bool).since(30).cost(StaticCost::Traverse)],
    },
    Function {
        name: "masked",
        overloads: &[
            Overload::member("cidr_masked", &[T::Opaque("net.CIDR")], T::Opaque("net.CIDR")).since(30)
        ],
    },
    Function {
        name: "prefixLength",
        overloads: &[Overload::member("cidr_prefix_length", &[T::Opaque("net.CIDR")], T::Int).since(30)],
    },
    Function {
        name: "string",
        overloads: &[Overload::new("cidr_to_string", &[T::Opaque("net.CIDR")], T::String).since(30)],
    },
];
