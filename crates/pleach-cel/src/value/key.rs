//! Keys of computed maps: every type of value can be one, or nearly.
//!
//! The API server keeps such maps in a map of its own language, which decides what is the same key:
//! scalars, times and addresses by their value; lists, maps, optionals and the rest only if they are
//! the very same. So `{[1]: 2}` has one entry, and no list but the one in it finds it. Bytes and
//! semantic versions cannot be keys there: an evaluation that tries ends in an internal error.
//!
//! Odd: keys that are the same only as such have no order of their own; a walk over them goes by
//! their text.

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
    /// A scalar that is seldom a key.
    Rare(Rare),
    /// Equal only to itself.
    Itself(Itself<'a>),
}

/// A scalar that is seldom a key: ordered by what it is, equal by value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rare {
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

/// A value that is equal only to itself.
#[derive(Clone, Debug)]
pub struct Itself<'a> {
    /// Where it is; unique as long as `value` lives.
    at: usize,
    value: Arc<CelValue<'a>>,
}

impl PartialEq for Itself<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Itself<'_> {}

impl PartialOrd for Itself<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Itself<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}

impl<'a> Itself<'a> {
    fn of(value: &CelValue<'a>) -> Self {
        let value = Arc::new(value.clone());
        let at = match &*value {
            CelValue::List(List::Owned(list)) => Arc::as_ptr(list).addr(),
            CelValue::Map(Map::Owned(map)) => Arc::as_ptr(map).addr(),
            CelValue::Optional(Some(inner)) => Arc::as_ptr(inner).addr(),
            CelValue::Opaque(opaque) => Arc::as_ptr(opaque).addr(),
            // What is read from the object is made anew every time.
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
            CelValue::Duration(duration) => Self::Rare(Rare::Duration(*duration)),
            CelValue::Timestamp(time) => {
                Self::Rare(Rare::Timestamp(time.seconds, time.nanos, time.offset_minutes))
            }
            CelValue::Type(name) => Self::Rare(Rare::Type(name.clone())),
            CelValue::Optional(None) => Self::Rare(Rare::NoOptional),
            CelValue::Bytes(_) => return Err(unhashable("types.Bytes")),
            CelValue::Opaque(opaque) => match &**opaque {
                Opaque::Ip(ip) => Self::Rare(Rare::Ip(*ip)),
                Opaque::Cidr(cidr) => Self::Rare(Rare::Cidr(*cidr)),
                Opaque::Semver(_) => return Err(unhashable("cel.Semver")),
                _ => Self::Itself(Itself::of(value)),
            },
            _ => Self::Itself(Itself::of(value)),
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
            Self::Itself(itself) => (*itself.value).clone(),
            Self::Rare(rare) => match rare {
                Rare::Duration(duration) => CelValue::Duration(*duration),
                Rare::Timestamp(seconds, nanos, offset_minutes) => CelValue::Timestamp(Timestamp {
                    seconds: *seconds,
                    nanos: *nanos,
                    offset_minutes: *offset_minutes,
                }),
                Rare::Type(name) => CelValue::Type(name.clone()),
                Rare::Ip(ip) => CelValue::opaque(Opaque::Ip(*ip)),
                Rare::Cidr(cidr) => CelValue::opaque(Opaque::Cidr(*cidr)),
                Rare::NoOptional => CelValue::Optional(None),
            },
        }
    }

    /// Whether only the very same value finds it.
    pub(super) fn is_itself(&self) -> bool {
        matches!(self, Self::Itself(_))
    }
}

fn unhashable(go_type: &str) -> Fault {
    Fault::Internal(format!("internal error: runtime error: hash of unhashable type {go_type}").into())
}
