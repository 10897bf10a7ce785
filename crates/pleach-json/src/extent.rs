//! Depth and size of a value, found in one walk without recursion.
//!
//! Copies share memory, so a value of a few kilobytes can stand for gigabytes of text (a list that holds one
//! list twice, which holds another twice, …). The walk therefore ends as soon as the value is known to be larger
//! than the caller cares about.

use crate::{Str, Value};

/// How deep and how large a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// How many containers are nested: none in a scalar, one in `{}`.
    pub depth: usize,
    /// How many values it consists of.
    pub values: usize,
    /// The bytes of its compact JSON text, escapes and the digits of numbers not counted exactly. More than the
    /// limit of the walk if that was met; then the rest is not in any of these figures.
    pub bytes: usize,
}

/// Bytes that stand for a number or a word.
const SCALAR: usize = 4;

/// The rest of an open container.
enum Rest<'v> {
    Items(std::slice::Iter<'v, Value>),
    Members(std::slice::Iter<'v, (Str, Value)>),
}

impl Value {
    /// How deep and how large this value is. The walk ends when there are more than `most_bytes`.
    pub fn extent(&self, most_bytes: usize) -> Extent {
        let extent = self.walk_extent(most_bytes);
        pleach_work::charge(extent.values as u64);
        extent
    }

    fn walk_extent(&self, most_bytes: usize) -> Extent {
        let mut extent = Extent::default();
        let mut open: Vec<Rest<'_>> = Vec::new();
        let mut next = Some(self);
        loop {
            if let Some(value) = next.take() {
                extent.values += 1;
                match value {
                    Self::String(text) => extent.bytes += text.len() + 2,
                    Self::Array(items) => {
                        extent.bytes += 2;
                        open.push(Rest::Items(items.iter()));
                        extent.depth = extent.depth.max(open.len());
                    }
                    Self::Object(members) => {
                        extent.bytes += 2;
                        open.push(Rest::Members(members.entries().iter()));
                        extent.depth = extent.depth.max(open.len());
                    }
                    Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => extent.bytes += SCALAR,
                }
            }
            if extent.bytes > most_bytes {
                return extent;
            }
            match open.last_mut() {
                None => return extent,
                Some(Rest::Items(items)) => next = items.next(),
                Some(Rest::Members(members)) => {
                    next = members.next().map(|(key, value)| {
                        extent.bytes += key.len() + 3;
                        value
                    });
                }
            }
            if next.is_some() {
                extent.bytes += 1;
            } else {
                open.pop();
            }
        }
    }

    /// How many containers are nested, whatever the size of the value.
    ///
    /// Shared parts are walked as often as they are met: for values whose size is known to be bounded.
    pub fn depth(&self) -> usize {
        self.extent(usize::MAX).depth
    }
}

#[cfg(test)]
mod tests {
    use crate::{Value, json, to_string};

    #[test]
    fn extents() {
        for (value, depth, values) in [
            (json!(null), 0, 1),
            (json!("text"), 0, 1),
            (json!({}), 1, 1),
            (json!([1, [2, []], {"a": {"b": [3]}}]), 4, 9),
            (json!({"a": {"b": "c"}, "d": [[[]]]}), 4, 6),
        ] {
            let extent = value.extent(usize::MAX);
            assert_eq!((extent.depth, extent.values), (depth, values), "{value}");
            let written = to_string(&value).len();
            assert!(extent.bytes >= written && extent.bytes <= written + 5 * values, "{value} {extent:?}");
        }
        let mut deep = Value::Null;
        for _ in 0..100_000 {
            deep = vec![deep].into();
        }
        assert_eq!(deep.depth(), 100_000);
    }

    #[test]
    fn the_walk_ends_when_the_value_is_too_large() {
        let mut doubling = json!({"key": "value"});
        for _ in 0..60 {
            doubling = vec![doubling.clone(), doubling].into();
        }
        let (extent, limit) = (doubling.extent(10_000), 10_000);
        assert!(extent.bytes > limit && extent.bytes < limit + 100 && extent.values < limit, "{extent:?}");
    }
}
