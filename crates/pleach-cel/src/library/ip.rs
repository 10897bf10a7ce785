//! IP addresses.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Fault, Opaque, parse_address, quote};
use std::net::{IpAddr, Ipv4Addr};

/// IP addresses.
pub(super) static LIBRARY: Library = Library { name: "IP", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "family",
        call: Some(family),
        overloads: &[Overload::member("ip_family", &[T::Opaque("net.IP")], T::Int).since(30)],
    },
    Function {
        name: "ip",
        call: Some(ip),
        overloads: &[Overload::new("string_to_ip", &[T::String], T::Opaque("net.IP"))
            .since(30)
            .cost(StaticCost::Traverse)],
    },
    Function {
        name: "ip.isCanonical",
        call: Some(is_canonical),
        overloads: &[Overload::new("ip_is_canonical", &[T::String], T::Bool)
            .since(30)
            .cost(StaticCost::TraverseTwice)],
    },
    Function {
        name: "isGlobalUnicast",
        call: Some(is_global_unicast),
        overloads: &[Overload::member("ip_is_global_unicast", &[T::Opaque("net.IP")], T::Bool).since(30)],
    },
    Function {
        name: "isIP",
        call: Some(is_ip),
        overloads: &[Overload::new("is_ip", &[T::String], T::Bool).since(30).cost(StaticCost::Traverse)],
    },
    Function {
        name: "isLinkLocalMulticast",
        call: Some(is_link_local_multicast),
        overloads: &[
            Overload::member("ip_is_link_local_multicast", &[T::Opaque("net.IP")], T::Bool).since(30)
        ],
    },
    Function {
        name: "isLinkLocalUnicast",
        call: Some(is_link_local_unicast),
        overloads: &[Overload::member("ip_is_link_local_unicast", &[T::Opaque("net.IP")], T::Bool).since(30)],
    },
    Function {
        name: "isLoopback",
        call: Some(is_loopback),
        overloads: &[Overload::member("ip_is_loopback", &[T::Opaque("net.IP")], T::Bool).since(30)],
    },
    Function {
        name: "isUnspecified",
        call: Some(is_unspecified),
        overloads: &[Overload::member("ip_is_unspecified", &[T::Opaque("net.IP")], T::Bool).since(30)],
    },
    Function {
        name: "string",
        call: Some(to_string),
        overloads: &[Overload::new("ip_to_string", &[T::Opaque("net.IP")], T::String).since(30)],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

/// Reads an address of the forms Kubernetes allows.
pub(super) fn parse(text: &str) -> Result<IpAddr, Fault> {
    let parsed = parse_address(text).map_err(|reason| {
        Fault::error(format!(
            "IP Address {} parse error during conversion from string: {reason}",
            quote(text)
        ))
    })?;
    if parsed.has_zone {
        return Err(Fault::error(format!("IP address {} with zone value is not allowed", quote(text))));
    }
    if is_mapped(parsed.address) {
        return Err(Fault::error(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text))));
    }
    Ok(parsed.address)
}

/// Whether it is an IPv4 address written as an IPv6 address.
pub(super) fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some())
}

fn ip<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(text)] => Ok(CelValue::opaque(Opaque::Ip(parse(text.as_str())?))),
        _ => call.no_such_overload(args),
    }
}

fn is_ip<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(text)] => Ok(CelValue::Bool(parse(text.as_str()).is_ok())),
        _ => call.no_such_overload(args),
    }
}

fn is_canonical<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(text)] => Ok(CelValue::Bool(parse(text.as_str())?.to_string() == text.as_str())),
        _ => call.no_such_overload(args),
    }
}

fn property<'v, R: Into<CelValue<'v>>>(
    call: &Call<'_>,
    args: &[CelValue<'v>],
    property: fn(IpAddr) -> R,
) -> Outcome<'v> {
    match args {
        [CelValue::Opaque(value)] if let Opaque::Ip(address) = &**value => Ok(property(*address).into()),
        _ => call.no_such_overload(args),
    }
}

fn family<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    property(call, args, |address| if address.is_ipv4() { 4i64 } else { 6 })
}

fn is_unspecified<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    property(call, args, |address| address.is_unspecified())
}

fn is_loopback<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    property(call, args, |address| address.is_loopback())
}

fn is_link_local_multicast<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    property(call, args, |address| match address {
        IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    })
}

fn link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn is_link_local_unicast<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    property(call, args, link_local_unicast)
}

/// All that is left, private addresses included.
fn is_global_unicast<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    property(call, args, |address| {
        address != IpAddr::V4(Ipv4Addr::BROADCAST)
            && !address.is_unspecified()
            && !address.is_loopback()
            && !address.is_multicast()
            && !link_local_unicast(address)
    })
}

fn to_string<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    property(call, args, |address| address.to_string())
}
