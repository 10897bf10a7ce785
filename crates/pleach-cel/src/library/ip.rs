//! IP addresses.

use crate::function::{Function, Library, Overload, StaticCost};
use crate::types::T;

/// IP addresses.
pub(super) static LIBRARY: Library = Library { name: "IP", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "family",
        overloads: &[Overload::member("ip_family", &[T::Opaque("net.IP")], T::Int).since(30)],
    },
    Function {
        name: "ip",
        overloads: &[Overload::new("string_to_ip", &[T::String], T::Opaque("net.IP"))
            .since(30)
            .cost(StaticCost::Traverse)],
    },
    Function {
        name: "ip.isCanonical",
        overloads: &[Overload::new("ip_is_canonical", &[T::String], T::Bool)
            .since(30)
            .cost(StaticCost::TraverseTwice)],
    },
    Function {
        name: "isGlobalUnicast",
        overloads: &[Overload::member("ip_is_global_unicast", &[T::Opaque("net.IP")], T::Bool).since(30)],
    },
    Function {
        name: "isIP",
        overloads: &[Overload::new("is_ip", &[T::String], T::Bool).since(30).cost(StaticCost::Traverse)],
    },
    Function {
        name: "isLinkLocalMulticast",
        overloads: &[
            Overload::member("ip_is_link_local_multicast", &[T::Opaque("net.IP")], T::Bool).since(30)
        ],
    },
    Function {
        name: "isLinkLocalUnicast",
        overloads: &[Overload::member("ip_is_link_local_unicast", &[T::Opaque("net.IP")], T::Bool).since(30)],
    },
    Function {
        name: "isLoopback",
        overloads: &[Overload::member("ip_is_loopback", &[T::Opaque("net.IP")], T::Bool).since(30)],
    },
    Function {
        name: "isUnspecified",
        overloads: &[Overload::member("ip_is_unspecified", &[T::Opaque("net.IP")], T::Bool).since(30)],
    },
    Function {
        name: "string",
        overloads: &[Overload::new("ip_to_string", &[T::Opaque("net.IP")], T::String).since(30)],
    },
];
