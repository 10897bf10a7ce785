//! The value type: what a JSON document is once read.
//!
//! `Int` and `Float` are different values, as they are for the API server: `1` is not `1.0`.
//! Arrays and objects are shared by their copies until one of them changes, so cloning is cheap at
//! any size. Dropping and comparing survive ten thousand levels of nesting (see [`grow_stack`]).

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::shared::Shared;
use crate::{Map, Str, grow_stack};

/// A JSON value.
#[derive(Clone, Default, PartialEq)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number whose text is an integer that fits 64 bits.
    Int(i64),
    /// Any other number; never NaN or infinite when it was read from JSON.
    Float(f64),
    /// A string.
    String(Str),
    /// A list.
    Array(Array),
    /// An object; keys are unique and sorted bytewise.
    Object(Map),
}

/// The type of a [`Value`] as JSON schema names it, with integers told apart from other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// `null`
    Null,
    /// `boolean`
    Boolean,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `string`
    String,
    /// `array`
    Array,
    /// `object`
    Object,
}

impl ValueKind {
    /// The name that JSON schema uses.
    #[inline]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl Value {
    /// An empty object.
    pub fn object() -> Self {
        Self::Object(Map::new())
    }

    /// The kind of a value.
    #[inline]
    pub fn kind(&self) -> ValueKind {
        match self {
            Self::Null => ValueKind::Null,
            Self::Bool(_) => ValueKind::Boolean,
            Self::Int(_) => ValueKind::Integer,
            Self::Float(_) => ValueKind::Number,
            Self::String(_) => ValueKind::String,
            Self::Array(_) => ValueKind::Array,
            Self::Object(_) => ValueKind::Object,
        }
    }

    /// Whether this is `null`.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether this is an array or an object.
    #[inline]
    pub fn is_container(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Object(_))
    }

    /// Whether two values are known to be equal without a look inside: equal scalars, or containers
    /// of which one was copied from the other and neither changed since.
    #[inline]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(a), Self::Array(b)) => a.is_same(b),
            (Self::Object(a), Self::Object(b)) => a.is_same(b),
            (Self::Array(_) | Self::Object(_), _) => false,
            (a, b) => a == b,
        }
    }

    /// Whether this value, written and read again, is the same value. A float without a fraction
    /// is read again as an integer. Values that are shared with `earlier`, which reads back, are not checked.
    pub fn reads_back(&self, earlier: Option<&Self>) -> bool {
        match self {
            Self::Float(number) => number.fract() != 0.0,
            Self::Array(items) => {
                let earlier = earlier.and_then(Self::as_array);
                earlier.is_some_and(|earlier| items.is_same(earlier))
                    || grow_stack(|| {
                        let before = |i| earlier.and_then(|earlier| earlier.get(i));
                        items.iter().enumerate().all(|(i, item)| item.reads_back(before(i)))
                    })
            }
            Self::Object(members) => {
                let earlier = earlier.and_then(Self::as_object);
                earlier.is_some_and(|earlier| members.is_same(earlier))
                    || grow_stack(|| {
                        let mut earlier = earlier.map(Map::ascending);
                        members.entries().iter().all(|(key, value)| match value {
                            Self::Array(_) | Self::Object(_) => {
                                value.reads_back(earlier.as_mut().and_then(|earlier| earlier.next(key)))
                            }
                            scalar => scalar.reads_back(None),
                        })
                    })
            }
            _ => true,
        }
    }

    /// The boolean, if it is one.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The integer, if it is one. A float with an integral value is not.
    #[inline]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(i) => Some(*i),
            _ => None,
        }
    }

    /// The number as a float, integers widened.
    #[inline]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Int(i) => Some(*i as f64),
            Self::Float(f) => Some(*f),
            _ => None,
        }
    }

    /// The string, if it is one.
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(s) => Some(s.as_str()),
            _ => None,
        }
    }

    /// The items, if it is an array.
    #[inline]
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Self::Array(a) => Some(a),
            _ => None,
        }
    }

    /// The items, if it is an array.
    #[inline]
    pub fn as_array_mut(&mut self) -> Option<&mut Array> {
        match self {
            Self::Array(a) => Some(a),
            _ => None,
        }
    }

    /// The members, if it is an object.
    #[inline]
    pub fn as_object(&self) -> Option<&Map> {
        match self {
            Self::Object(m) => Some(m),
            _ => None,
        }
    }

    /// The members, if it is an object.
    #[inline]
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        match self {
            Self::Object(m) => Some(m),
            _ => None,
        }
    }

    /// The member `key`, if this is an object that has it.
    #[inline]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// The member `key`, if this is an object that has it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.as_object_mut()?.get_mut(key)
    }

    /// Follows member names from here: `value.at(&["metadata", "name"])`.
    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// Moves the value out and leaves `null`.
    #[must_use]
    pub fn take(&mut self) -> Value {
        std::mem::take(self)
    }
}

/// The items of a JSON array: a `Vec` that its copies share until one of them changes, and whose
/// drop and comparison do not overflow the stack.
#[derive(Clone, Default)]
pub struct Array(Shared<Value>);

impl Array {
    /// An empty array.
    #[inline]
    pub const fn new() -> Self {
        Self(Shared::new())
    }

    /// The items as a plain vector.
    pub fn into_vec(mut self) -> Vec<Value> {
        self.0.take()
    }

    /// Whether two arrays are equal because neither changed since one was copied from the other.
    #[inline]
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }

    /// The items, open to change, if no other value shares them: nothing is copied.
    #[inline]
    pub fn unshared_mut(&mut self) -> Option<&mut [Value]> {
        self.0.unshared_mut().map(Vec::as_mut_slice)
    }
}

impl Deref for Array {
    type Target = Vec<Value>;
    #[inline]
    fn deref(&self) -> &Vec<Value> {
        static NONE: Vec<Value> = Vec::new();
        self.0.as_vec().unwrap_or(&NONE)
    }
}

impl DerefMut for Array {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<Value> {
        self.0.make_mut()
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        self.0.release(Value::is_container);
    }
}

impl PartialEq for Array {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || grow_stack(|| **self == **other)
    }
}

impl From<Vec<Value>> for Array {
    fn from(items: Vec<Value>) -> Self {
        Self(items.into())
    }
}

impl FromIterator<Value> for Array {
    fn from_iter<I: IntoIterator<Item = Value>>(iter: I) -> Self {
        iter.into_iter().collect::<Vec<_>>().into()
    }
}

impl IntoIterator for Array {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a Array {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.as_slice().iter()
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        grow_stack(|| self.0.as_slice().fmt(f))
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(b) => b.fmt(f),
            Self::Int(i) => i.fmt(f),
            Self::Float(x) => x.fmt(f),
            Self::String(s) => s.as_str().fmt(f),
            Self::Array(a) => a.fmt(f),
            Self::Object(m) => m.fmt(f),
        }
    }
}

/// Compact JSON text.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::to_string(self))
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<i64> for Value {
    fn from(i: i64) -> Self {
        Self::Int(i)
    }
}

impl From<i32> for Value {
    fn from(i: i32) -> Self {
        Self::Int(i.into())
    }
}

impl From<u32> for Value {
    fn from(i: u32) -> Self {
        Self::Int(i.into())
    }
}

impl From<f64> for Value {
    fn from(f: f64) -> Self {
        Self::Float(f)
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Self::String(s.into())
    }
}

impl From<&String> for Value {
    fn from(s: &String) -> Self {
        Self::String(s.into())
    }
}

impl From<String> for Value {
    fn from(s: String) -> Self {
        Self::String(s.into())
    }
}

impl From<Str> for Value {
    fn from(s: Str) -> Self {
        Self::String(s)
    }
}

impl From<Array> for Value {
    fn from(a: Array) -> Self {
        Self::Array(a)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::Array(items.into())
    }
}

impl From<Map> for Value {
    fn from(m: Map) -> Self {
        Self::Object(m)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_are_different_values() {
        assert_ne!(Value::Int(1), Value::Float(1.0));
        assert_eq!(Value::Int(1).as_number(), Value::Float(1.0).as_number());
    }

    #[test]
    fn ten_thousand_levels_drop_clone_and_compare() {
        let mut deep = Value::Null;
        for level in 0..10_000 {
            deep = if level % 2 == 0 {
                Value::from(vec![deep])
            } else {
                Map::from_iter([("a".into(), deep)]).into()
            };
        }
        let copy = deep.clone();
        assert!(copy == deep);
    }

    #[test]
    fn a_value_reads_back_as_written() {
        for number in [0.5, -2.25, 1e-9, 1.0, -0.0, 0.0, 1e3, 1e18, 1e20, 1e21, 1e300, f64::MIN_POSITIVE] {
            let value = Value::from(vec![Map::from_iter([("a".into(), Value::Float(number))]).into()]);
            let again = crate::parse(&crate::to_vec(&value)).unwrap();
            assert!(!value.reads_back(None) || value == again, "{number}");
            assert!(value.reads_back(Some(&value.clone())), "what is shared is not looked at");
        }
        assert!(Value::Float(0.5).reads_back(None));
        assert!(!Value::Float(1.0).reads_back(None));
    }

    #[test]
    fn a_value_is_small() {
        assert!(size_of::<Value>() <= 24, "{}", size_of::<Value>());
    }
}
