//! Keys of computed maps.
//!
//! The API server uses Go maps, whose equality decides: scalars, times and addresses by value; lists,
//! maps, optionals and others by identity. So `{[1]: 2}` has one entry, found only with that very list.
//! Bytes and semantic versions are not hashable in Go: the evaluation ends in an internal error.
//!
//! Odd: keys by identity have no order of their own and are iterated in order of their text.

use crate::value::{CelValue, Fault, List, Map, Opaque, Text, Timestamp};
use crate::work::Work;
use pleach_json::Str;
use std::cmp::Ordering;
use std::sync::Arc;

/// A key of a computed map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'a> {
    /// `bool`
    Bool(bool),
    /// `int`
    Int(i64),
    /// `uint`
    Uint(u64),
    /// `string`
    String(Str),
    /// `double`, by its bits
    Double(u64),
    /// `null`
    Null,
    /// A scalar that is rarely a key.
    RareScalar(RareScalar),
    /// A value compared by identity.
    ByIdentity(ByIdentity<'a>),
}

/// A scalar that is rarely a key: ordered by kind, equal by value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RareScalar {
    /// `duration`
    Duration(crate::value::Duration),
    /// `timestamp`: seconds, nanoseconds, and the offset it was written with
    Timestamp(i64, u32, i16),
    /// A type, by its name.
    Type(Str),
    /// `net.IP`
    Ip(std::net::IpAddr),
    /// `net.CIDR`
    Cidr(crate::value::Cidr),
    /// `optional.none()`
    NoOptional,
}

/// A value compared by identity.
#[derive(Clone, Debug)]
pub struct ByIdentity<'a> {
    /// Its address; unique as long as `value` lives.
    at: usize,
    value: Arc<CelValue<'a>>,
}

impl PartialEq for ByIdentity<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for ByIdentity<'_> {}

impl PartialOrd for ByIdentity<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByIdentity<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}

impl<'a> ByIdentity<'a> {
    fn of(value: &CelValue<'a>) -> Self {
        let value = Arc::new(value.clone());
        let at = match &*value {
            CelValue::List(List::Owned(list)) => Arc::as_ptr(list).addr(),
            CelValue::Map(Map::Owned(map)) => Arc::as_ptr(map).addr(),
            CelValue::Optional(Some(inner)) => Arc::as_ptr(inner).addr(),
            CelValue::Opaque(opaque) => Arc::as_ptr(opaque).addr(),
            // A value read from the object is made on every access.
            _ => Arc::as_ptr(&value).addr(),
        };
        Self { at, value }
    }
}

impl<'a> Key<'a> {
    /// The key a value is, charged for the copy of its text.
    pub(crate) fn charged(work: &Work<'_>, value: &CelValue<'a>) -> Result<Self, Fault> {
        work.build(value.as_str().map_or(0, str::len))?;
        Self::of(value)
    }

    /// The key a value is; an error for types that cannot be one.
    pub fn of(value: &CelValue<'a>) -> Result<Self, Fault> {
        Ok(match value {
            CelValue::Bool(b) => Self::Bool(*b),
            CelValue::Int(i) => Self::Int(*i),
            CelValue::Uint(u) => Self::Uint(*u),
            CelValue::String(Text::Owned(text)) => Self::String(text.clone()),
            CelValue::String(text) => Self::String(text.as_str().into()),
            // Both zeros are the same key.
            CelValue::Double(d) => Self::Double(if *d == 0.0 { 0 } else { d.to_bits() }),
            CelValue::Null => Self::Null,
            CelValue::Duration(duration) => Self::RareScalar(RareScalar::Duration(*duration)),
            CelValue::Timestamp(time) => {
                Self::RareScalar(RareScalar::Timestamp(time.seconds, time.nanos, time.offset_minutes))
            }
            CelValue::Type(name) => Self::RareScalar(RareScalar::Type(name.clone())),
            CelValue::Optional(None) => Self::RareScalar(RareScalar::NoOptional),
            CelValue::Bytes(_) => return Err(unhashable("types.Bytes")),
            CelValue::Opaque(opaque) => match &**opaque {
                Opaque::Ip(ip) => Self::RareScalar(RareScalar::Ip(*ip)),
                Opaque::Cidr(cidr) => Self::RareScalar(RareScalar::Cidr(*cidr)),
                Opaque::Semver(_) => return Err(unhashable("cel.Semver")),
                _ => Self::ByIdentity(ByIdentity::of(value)),
            },
            _ => Self::ByIdentity(ByIdentity::of(value)),
        })
    }

    /// The key as a value.
    pub fn to_value(&self) -> CelValue<'a> {
        match self {
            Self::Bool(b) => CelValue::Bool(*b),
            Self::Int(i) => CelValue::Int(*i),
            Self::Uint(u) => CelValue::Uint(*u),
            Self::String(s) => CelValue::String(Text::Owned(s.clone())),
            Self::Double(bits) => CelValue::Double(f64::from_bits(*bits)),
            Self::Null => CelValue::Null,
            Self::ByIdentity(itself) => (*itself.value).clone(),
            Self::RareScalar(rare) => match rare {
                RareScalar::Duration(duration) => CelValue::Duration(*duration),
                RareScalar::Timestamp(seconds, nanos, offset_minutes) => CelValue::Timestamp(Timestamp {
                    seconds: *seconds,
                    nanos: *nanos,
                    offset_minutes: *offset_minutes,
                }),
                RareScalar::Type(name) => CelValue::Type(name.clone()),
                RareScalar::Ip(ip) => CelValue::opaque(Opaque::Ip(*ip)),
                RareScalar::Cidr(cidr) => CelValue::opaque(Opaque::Cidr(*cidr)),
                RareScalar::NoOptional => CelValue::Optional(None),
            },
        }
    }

    /// Whether it is compared by identity.
    pub(super) fn is_by_identity(&self) -> bool {
        matches!(self, Self::ByIdentity(_))
    }
}

fn unhashable(go_type: &str) -> Fault {
    Fault::Internal(format!("internal error: runtime error: hash of unhashable type {go_type}").into())
}
