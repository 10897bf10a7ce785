//! Blocks of IP addresses.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Cidr, Fault, Opaque, quote};

/// Blocks of IP addresses.
pub(super) static LIBRARY: Library = Library { name: "CIDR", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "cidr",
        call: Some(cidr),
        overloads: &[Overload::new("string_to_cidr", &[T::String], T::Opaque("net.CIDR"))
            .since(30)
            .cost(StaticCost::Traverse)],
    },
    Function {
        name: "containsCIDR",
        call: Some(contains_cidr),
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
        call: Some(contains_ip),
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
        call: Some(address),
        overloads: &[Overload::member("cidr_ip", &[T::Opaque("net.CIDR")], T::Opaque("net.IP")).since(30)],
    },
    Function {
        name: "isCIDR",
        call: Some(is_cidr),
        overloads: &[Overload::new("is_cidr", &[T::String], T::Bool).since(30).cost(StaticCost::Traverse)],
    },
    Function {
        name: "masked",
        call: Some(masked),
        overloads: &[
            Overload::member("cidr_masked", &[T::Opaque("net.CIDR")], T::Opaque("net.CIDR")).since(30)
        ],
    },
    Function {
        name: "prefixLength",
        call: Some(prefix_length),
        overloads: &[Overload::member("cidr_prefix_length", &[T::Opaque("net.CIDR")], T::Int).since(30)],
    },
    Function {
        name: "string",
        call: Some(to_string),
        overloads: &[Overload::new("cidr_to_string", &[T::Opaque("net.CIDR")], T::String).since(30)],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

const PREFIX: &str = "network address parse error during conversion from string";

fn parse(text: &str) -> Result<Cidr, Fault> {
    let cidr = Cidr::parse(text).map_err(|reason| Fault::error(format!("{PREFIX}: {PREFIX}: {reason}")))?;
    if super::ip::is_mapped(cidr.address()) {
        let text = quote(text);
        return Err(Fault::error(format!("{PREFIX}: IPv4-mapped IPv6 address {text} is not allowed")));
    }
    Ok(cidr)
}

fn block<'r>(value: &'r CelValue<'_>) -> Option<&'r Cidr> {
    match value {
        CelValue::Opaque(value) => match &**value {
            Opaque::Cidr(cidr) => Some(cidr),
            _ => None,
        },
        _ => None,
    }
}

fn cidr<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(text)] => Ok(CelValue::opaque(Opaque::Cidr(parse(text.as_str())?))),
        _ => call.no_such_overload(args),
    }
}

fn is_cidr<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::String(text)] => Ok(CelValue::Bool(parse(text.as_str()).is_ok())),
        _ => call.no_such_overload(args),
    }
}

fn contains_ip<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let [own, other] = args else { return call.no_such_overload(args) };
    let Some(own) = block(own) else { return call.no_such_overload(args) };
    let address = match other {
        // Odd: the reason is not in the error.
        CelValue::String(text) => super::ip::parse(text.as_str()).map_err(|_| Fault::no_such_overload())?,
        CelValue::Opaque(value) if let Opaque::Ip(address) = &**value => *address,
        _ => return call.no_such_overload(args),
    };
    Ok(CelValue::Bool(own.contains(address)))
}

fn contains_cidr<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let [own, other] = args else { return call.no_such_overload(args) };
    let Some(own) = block(own) else { return call.no_such_overload(args) };
    let other = match (other, block(other)) {
        (_, Some(other)) => *other,
        (CelValue::String(text), None) => parse(text.as_str())?,
        _ => return call.no_such_overload(args),
    };
    Ok(CelValue::Bool(own.contains_block(&other)))
}

fn property<'v>(call: &Call<'_>, args: &[CelValue<'v>], property: fn(&Cidr) -> CelValue<'v>) -> Outcome<'v> {
    match args {
        [value] if let Some(cidr) = block(value) => Ok(property(cidr)),
        _ => call.no_such_overload(args),
    }
}

fn address<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    property(call, args, |cidr| CelValue::opaque(Opaque::Ip(cidr.address())))
}

fn masked<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    property(call, args, |cidr| CelValue::opaque(Opaque::Cidr(cidr.masked())))
}

fn prefix_length<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    property(call, args, |cidr| CelValue::Int(i64::from(cidr.bits())))
}

fn to_string<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    property(call, args, |cidr| CelValue::string(cidr.to_string()))
}
