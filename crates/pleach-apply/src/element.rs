//! Path elements: one step from a container to a member or item.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use pleach_go::fmt::float_v;
use pleach_go::strconv::quote;
use pleach_json::{Str, Value, grow_stack};

use crate::same::{hash, order};

/// One step of a path. Elements are ordered field < key < value < index.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A member of an object.
    Field(Str),
    /// The item of a list that has these values in its key fields, sorted by name.
    Key(Box<[(Str, Value)]>),
    /// The item of a set.
    Value(Value),
    /// The item at a place in a list.
    Index(i64),
}

impl PathElement {
    /// A member of an object.
    pub fn field(name: impl Into<Str>) -> Self {
        Self::Field(name.into())
    }

    /// Whether this is the member of an object of that name.
    pub(crate) fn is_field(&self, name: &str) -> bool {
        matches!(self, Self::Field(own) if own == name)
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.as_str().cmp(b.as_str()),
            (Self::Key(a), Self::Key(b)) => {
                let pairs = a.iter().zip(b.iter());
                let mut orders = pairs
                    .map(|((ka, va), (kb, vb))| ka.as_str().cmp(kb.as_str()).then_with(|| order(va, vb)));
                orders.find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Self::Value(a), Self::Value(b)) => order(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

impl Hash for PathElement {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Self::Field(name) => name.as_str().hash(state),
            Self::Key(fields) => {
                for (name, value) in fields {
                    name.as_str().hash(state);
                    hash(value, state);
                }
            }
            Self::Value(value) => hash(value, state),
            Self::Index(index) => index.hash(state),
        }
    }
}

/// As conflicts name it: `.name`, `[name="a",port=80]`, `[="a"]`, `[0]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", Shown(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", Shown(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A value inside brackets.
struct Shown<'a>(&'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) => f.write_str(&float_v(*x)),
            Value::String(s) => f.write_str(&quote(s)),
            Value::Array(items) => grow_stack(|| {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{}", Shown(item))?;
                }
                f.write_str("]")
            }),
            Value::Object(members) => {
                grow_stack(|| members.iter().try_for_each(|(key, value)| write!(f, "{key}={}", Shown(value))))
            }
        }
    }
}
