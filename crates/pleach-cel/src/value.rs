//! Runtime values.
//!
//! A [`CelValue`] borrows from the object under validation: a field access pairs a reference to the
//! JSON value with its `DeclType`, converts scalars and copies nothing else. Elements of lists and
//! maps are converted when accessed, so an element that does not fit its schema is an error only for
//! rules that access it.
//!
//! Computed values own their data behind `Arc`s. Values are immutable.

use pleach_json::Str;
use std::fmt;
use std::sync::Arc;

mod authz;
mod cidr;
mod compare;
pub(crate) mod duration;
mod fault;
mod key;
mod list;
mod map;
mod object;
mod read;
mod semver;
mod timestamp;

pub use crate::value::authz::{Authorize, Authz, AuthzCheck, AuthzDecision, AuthzUser, CheckedResource};
pub use crate::value::cidr::Cidr;
pub use crate::value::duration::Duration;
pub use crate::value::fault::Fault;
pub use crate::value::key::{ByIdentity, Key, RareScalar};
pub use crate::value::list::List;
pub use crate::value::map::{Map, OwnedMap};
pub use crate::value::object::ObjectValue;
pub use crate::value::semver::Semver;
pub use crate::value::timestamp::{Civil, Timestamp};
pub use pleach_go::quantity::ExactQuantity as Quantity;
pub use pleach_go::url::Url;

pub(crate) use crate::value::cidr::parse_address;
pub(crate) use crate::value::compare::{compare, equal, is_comparable, order};
pub(crate) use crate::value::list::{Items, ScalarKey};
pub(crate) use crate::value::map::{Entries, text as key_text};
pub(crate) use crate::value::read::{read, read_untyped};
pub(crate) use pleach_go::fmt::float_v as double_text;
pub(crate) use pleach_go::strconv::quote;

use crate::library::format::Format;

/// A value; `'a` is the lifetime of the object and of the program.
#[derive(Clone, Debug)]
pub enum CelValue<'a> {
    /// `null`
    Null,
    /// `bool`
    Bool(bool),
    /// `int`
    Int(i64),
    /// `uint`
    Uint(u64),
    /// `double`
    Double(f64),
    /// `string`
    String(Text<'a>),
    /// `bytes`
    Bytes(Arc<[u8]>),
    /// `timestamp`
    Timestamp(Timestamp),
    /// `duration`
    Duration(Duration),
    /// A type as a value, by its name.
    Type(Str),
    /// `list`
    List(List<'a>),
    /// `map`; an object is one as well.
    Map(Map<'a>),
    /// `optional_type`
    Optional(Option<Arc<CelValue<'a>>>),
    /// A value of a Kubernetes library.
    Opaque(Arc<Opaque>),
    /// A literal of a type that mutations have: `Object{…}`, `Object.spec{…}`, `JSONPatch{…}`.
    Object(Arc<ObjectValue<'a>>),
    /// An element of a computed list that was taken from a list with a schema and does not fit it. Only
    /// in lists; accessing it is an error.
    #[doc(hidden)]
    Failed(Arc<Fault>),
}

/// A string, borrowed from the object or computed.
#[derive(Clone)]
pub enum Text<'a> {
    /// Part of the object or of the program.
    Borrowed(&'a str),
    /// Computed.
    Owned(Str),
}

/// A value of one of the Kubernetes libraries.
#[derive(Debug, PartialEq)]
pub enum Opaque {
    /// `kubernetes.URL`
    Url(Url),
    /// `net.IP`
    Ip(std::net::IpAddr),
    /// `net.CIDR`
    Cidr(Cidr),
    /// `kubernetes.Quantity`
    Quantity(Quantity),
    /// `kubernetes.Semver`
    Semver(Semver),
    /// `kubernetes.NamedFormat`
    Format(&'static Format),
    /// `google.protobuf.Empty`
    Empty,
    /// A value of the authorization library.
    Authz(Authz),
}

impl Text<'_> {
    /// The characters.
    #[inline]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Owned(text) => text,
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl<'a> CelValue<'a> {
    /// A computed string.
    pub fn string(text: impl Into<Str>) -> Self {
        Self::String(Text::Owned(text.into()))
    }

    /// A list of computed values.
    pub fn list(items: Vec<CelValue<'a>>) -> Self {
        Self::List(List::of(items))
    }

    /// An optional with a value.
    pub fn some(value: CelValue<'a>) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// An element that does not fit its schema.
    pub(crate) fn failed(fault: Fault) -> Self {
        Self::Failed(Arc::new(fault))
    }

    /// A value of a Kubernetes library.
    pub fn opaque(value: Opaque) -> Self {
        Self::Opaque(Arc::new(value))
    }

    /// The characters, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// Whether it contains other values.
    pub(crate) fn is_container(&self) -> bool {
        matches!(self, Self::List(_) | Self::Map(_) | Self::Optional(Some(_)) | Self::Object(_))
    }

    /// The name of the value's type, as `type(x)` shows it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Opaque(opaque) => opaque.type_name(),
            Self::Object(object) => object.short_type_name(),
            Self::Failed(_) => "error",
        }
    }

    /// The Go name of the value's type, which some messages show.
    pub(crate) fn go_type(&self) -> &'static str {
        match self {
            Self::Null => "types.Null",
            Self::Bool(_) => "types.Bool",
            Self::Int(_) => "types.Int",
            Self::Uint(_) => "types.Uint",
            Self::Double(_) => "types.Double",
            Self::String(_) => "types.String",
            Self::Bytes(_) => "types.Bytes",
            Self::Timestamp(_) => "types.Timestamp",
            Self::Duration(_) => "types.Duration",
            Self::Type(_) => "*types.Type",
            Self::List(_) => "*types.baseList",
            Self::Map(_) => "*types.baseMap",
            Self::Optional(_) => "*types.Optional",
            Self::Opaque(opaque) => match &**opaque {
                Opaque::Url(_) => "cel.URL",
                Opaque::Ip(_) => "cel.IP",
                Opaque::Cidr(_) => "cel.CIDR",
                Opaque::Quantity(_) => "cel.Quantity",
                Opaque::Semver(_) => "cel.Semver",
                Opaque::Format(_) => "*cel.Format",
                Opaque::Empty => "*types.protoObj",
                Opaque::Authz(authz) => authz.go_type(),
            },
            Self::Object(object) => object.go_type(),
            Self::Failed(_) => "*types.Err",
        }
    }

    /// The size used for costs: code points, bytes, elements; 1 for others.
    pub fn size(&self) -> u64 {
        match self {
            Self::String(text) => code_points(text.as_str()),
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(list) => list.len() as u64,
            Self::Map(map) => map.len() as u64,
            Self::Optional(Some(inner)) => inner.size(),
            Self::Opaque(opaque) => match &**opaque {
                Opaque::Ip(ip) => {
                    if ip.is_ipv4() {
                        4
                    } else {
                        16
                    }
                }
                Opaque::Cidr(cidr) => u64::from(cidr.bits().div_ceil(8)),
                _ => 1,
            },
            _ => 1,
        }
    }
}

/// How many code points a text has.
pub(crate) fn code_points(text: &str) -> u64 {
    let count = if text.is_ascii() { text.len() } else { text.chars().count() };
    count as u64
}

impl Opaque {
    fn type_name(&self) -> &'static str {
        match self {
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Empty => "google.protobuf.Empty",
            Self::Authz(authz) => authz.type_name(),
        }
    }

    /// How many bytes comparing it, or computing with it, reads; small for most.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Url(url) => url.bytes(),
            Self::Quantity(quantity) => quantity.digits(),
            Self::Semver(version) => version.bytes(),
            _ => 0,
        }
    }

    /// The text of an address or CIDR, which messages treat as a string.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Ip(ip) => Some(ip.to_string()),
            Self::Cidr(cidr) => Some(cidr.to_string()),
            _ => None,
        }
    }
}

impl From<bool> for CelValue<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for CelValue<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<String> for CelValue<'_> {
    fn from(value: String) -> Self {
        Self::string(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_fits_in_half_a_cache_line() {
        assert!(size_of::<CelValue<'_>>() <= 32, "{}", size_of::<CelValue<'_>>());
        assert!(size_of::<Result<CelValue<'_>, Fault>>() <= 40);
    }
}
