//! Sets of paths as `managedFields` keeps them, changed where they stand.
//!
//! Most of what owners own is left alone by a write. So owners keep their fields in the form they are
//! stored in, and a write finds its way in there along what it changes: the cost is that of the change
//! and not of the object. [`Set`] is the form for everything else.
//!
//! **Invariant:** the form is the one that [`encode_fields`](crate::encode_fields) makes. All values
//! are objects; `.` stands only inside a step, beside others, and sorts before them. Whatever comes in
//! otherwise is brought into this form once, by way of a [`Set`].

use pleach_json::{Map, Str, Value, grow_stack};

use crate::element::PathElement;
use crate::fields_v1::{self, decode_fields, decode_members, encode_element, encode_level};
use crate::set::Set;

/// A set of paths as `fieldsV1` has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Encoded(Map);

/// Says inside a step that the step itself is a member.
pub(crate) const DOT: Str = Str::new_static(".");

impl Encoded {
    /// Reads a `fieldsV1`.
    pub(crate) fn read(fields: Value) -> Result<Self, String> {
        match fields {
            Value::Object(members) if is_canonical(&members, true) => Ok(Self(members)),
            other => Ok(Self::from(&decode_fields(&other)?)),
        }
    }

    /// Reads a `fieldsV1` that is in this form.
    pub(crate) fn read_own(fields: Value) -> Result<Self, String> {
        match fields {
            Value::Object(members) => {
                debug_assert!(is_canonical(&members, true), "{members:?}");
                Ok(Self(members))
            }
            other => Self::read(other),
        }
    }

    /// What was made in this form.
    pub(crate) fn from_map(members: Map) -> Self {
        Self(members)
    }

    pub(crate) fn members(&self) -> &Map {
        &self.0
    }

    /// The `fieldsV1`.
    pub(crate) fn into_value(self) -> Value {
        self.0.into()
    }

    /// The set.
    pub(crate) fn to_set(&self) -> Set {
        decode_members(&self.0).map(|(set, _)| set).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes paths away and leaves what is below them.
    pub(crate) fn subtract(&mut self, paths: &Set) {
        subtract(&mut self.0, paths, false);
    }

    /// Takes paths away and all that is below them.
    pub(crate) fn subtract_whole(&mut self, paths: &Set) {
        subtract(&mut self.0, paths, true);
    }

    /// Adds the other's members.
    pub(crate) fn add(&mut self, other: Self) {
        add(&mut self.0, other.0);
    }

    /// Whether the two have a member in common.
    pub(crate) fn intersects(&self, paths: &Set) -> bool {
        intersects(&self.0, paths)
    }

    /// Whether every member is one of the other's.
    pub(crate) fn is_subset(&self, other: &Self) -> bool {
        self.0.is_same(&other.0) || is_subset(&self.0, &other.0)
    }
}

impl From<&Set> for Encoded {
    fn from(set: &Set) -> Self {
        Self(encode_level(set, false))
    }
}

/// The steps below a step.
pub(crate) fn steps(members: &Map) -> &[(Str, Value)] {
    match members.entries() {
        [(key, _), steps @ ..] if *key == DOT => steps,
        steps => steps,
    }
}

/// Whether a step is a member, by what is below it.
fn is_member(below: &Map) -> bool {
    below.entries().first().is_none_or(|(key, _)| *key == DOT)
}

fn is_canonical(members: &Map, root: bool) -> bool {
    let steps = steps(members);
    let has_dot = steps.len() < members.len();
    if has_dot && (root || steps.is_empty() || members.entries()[0].1 != Value::object()) {
        return false;
    }
    steps.iter().all(|(key, below)| match below {
        Value::Object(below) => {
            fields_v1::is_canonical(key) && (below.is_empty() || grow_stack(|| is_canonical(below, false)))
        }
        _ => false,
    })
}

/// Makes it so that a step is a member or is not. Whether it stays at all comes back.
fn mark(below: &mut Map, member: bool) -> bool {
    let steps = steps(below).len();
    let has_dot = steps < below.len();
    match (steps, has_dot) {
        (0, _) => {
            *below = Map::new();
            return member;
        }
        (_, true) if !member => drop(below.remove(&DOT)),
        (_, false) if member => drop(below.insert(DOT, Map::new())),
        _ => {}
    }
    true
}

/// Where a step is. Fields are found without the text of their step.
fn position(members: &Map, element: &PathElement) -> Option<usize> {
    let PathElement::Field(name) = element else {
        return members.position(&encode_element(element)).ok();
    };
    let wanted = name.as_bytes();
    let compare = |(key, _): &(Str, Value)| match key.as_bytes() {
        [b'f', b':', name @ ..] => name.cmp(wanted),
        other => other.cmp(b"f:"),
    };
    members.entries().binary_search_by(compare).ok()
}

fn subtract(members: &mut Map, paths: &Set, whole: bool) {
    let mut gone = false;
    for node in paths.nodes() {
        let Some(at) = position(members, &node.element) else { continue };
        let value = &mut members.entries_mut()[at].1;
        let Value::Object(below) = value else { continue };
        let member = is_member(below) && !node.member;
        let stays = if whole && node.member {
            false
        } else {
            if !node.children.is_empty() && !below.is_empty() {
                grow_stack(|| subtract(below, &node.children, whole));
            }
            mark(below, member)
        };
        if !stays {
            // All that goes goes at once: taking one out moves all that follow.
            *value = Value::Null;
            gone = true;
        }
    }
    if gone {
        members.retain(|_, below| !below.is_null());
    }
}

fn add(members: &mut Map, other: Map) {
    if members.is_empty() {
        *members = other;
        return;
    }
    let mut new = Vec::new();
    for (key, there) in other {
        match (members.position(&key), there) {
            (Ok(at), Value::Object(there)) if key != DOT => {
                let Value::Object(below) = &mut members.entries_mut()[at].1 else { continue };
                let member = is_member(below) || is_member(&there);
                if !there.is_empty() {
                    grow_stack(|| add(below, there));
                }
                mark(below, member);
            }
            (Ok(_), _) => {}
            (Err(_), there) => new.push((key, there)),
        }
    }
    members.merge(new);
}

fn intersects(members: &Map, paths: &Set) -> bool {
    let at = |element: &PathElement| Some(&members.entries()[position(members, element)?].1);
    paths.nodes().iter().any(|node| match at(&node.element) {
        Some(Value::Object(below)) => {
            (node.member && is_member(below))
                || (!node.children.is_empty()
                    && !below.is_empty()
                    && grow_stack(|| intersects(below, &node.children)))
        }
        _ => false,
    })
}

fn is_subset(members: &Map, of: &Map) -> bool {
    let mut others = steps(of);
    steps(members).iter().all(|(key, below)| {
        // Both are sorted: what was passed over is not asked for again.
        let at = match others.first() {
            Some((first, _)) if first == key => 0,
            _ => others.partition_point(|(other, _)| other < key),
        };
        others = &others[at..];
        match (others.first(), below) {
            (Some((other, Value::Object(there))), Value::Object(below)) if other == key => {
                others = &others[1..];
                (!is_member(below) || is_member(there))
                    && (below.is_empty() || grow_stack(|| is_subset(below, there)))
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields_v1::encode_fields;
    use pleach_json::json;

    /// Every operation does to the form what it does to the set.
    #[test]
    fn as_sets_do() {
        let sets: Vec<Value> = vec![
            json!({}),
            json!({"f:a": {}}),
            json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}}),
            json!({"f:a": {"f:b": {}}}),
            json!({"f:a": {"f:b": {".": {}, "f:x": {}, "f:y": {"f:z": {}}}}, "f:d": {}}),
            json!({"f:a": {"f:b": {"f:x": {}}, "f:c": {}}}),
            json!({"f:l": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}, "k:{\"name\":\"b\"}": {}}}),
            json!({"f:l": {".": {}, "k:{\"name\":\"a\"}": {"f:name": {}}, "v:1": {}, "i:3": {}}}),
            json!({"f:l": {"k:{\"name\":\"a\"}": {}}, "f:a": {".": {}, "f:b": {"f:y": {".": {}, "f:z": {}}}}}),
        ];
        for a in &sets {
            let (x, left) = (Encoded::read(a.clone()).unwrap(), decode_fields(a).unwrap());
            assert_eq!(x.0, *a.as_object().unwrap(), "what is right stays");
            assert_eq!(x.to_set(), left);
            for b in &sets {
                let (y, right) = (Encoded::read(b.clone()).unwrap(), decode_fields(b).unwrap());
                let done = |change: &dyn Fn(&mut Encoded)| {
                    let mut x = x.clone();
                    change(&mut x);
                    x.into_value()
                };
                let why = format!("{a} {b}");
                assert_eq!(done(&|x| x.add(y.clone())), encode_fields(&left.union(&right)), "{why}");
                assert_eq!(done(&|x| x.subtract(&right)), encode_fields(&left.difference(&right)), "{why}");
                let whole = encode_fields(&left.recursive_difference(&right));
                assert_eq!(done(&|x| x.subtract_whole(&right)), whole, "{why}");
                assert_eq!(x.intersects(&right), left.intersects(&right), "{why}");
                assert_eq!(x.is_subset(&y), left.is_subset(&right), "{why}");
            }
        }
    }

    #[test]
    fn what_is_not_in_the_form_is_brought_into_it() {
        for fields in [
            json!(null),
            json!({".": {}, "f:a": {".": {}}}),
            json!({"f:a": null}),
            json!({"x:a": {}}),
            json!({"f:a": {"x:b": {}}}),
            json!({"f:a": {".": 1, "f:b": {}}}),
            json!({"f:l": {"k:{\"b\":1,\"a\":2}": {}}}),
            json!({"f:l": {"k:{\"a\":1 }": {}}}),
            json!({"f:l": {"k:null": {}, "k:{}": {}}}),
            json!({"f:l": {"v:1e3": {}, "v:-0": {}, "v:01": {}, "v:1.50": {}}}),
            json!({"f:l": {"v:\"<\"": {}, "v:\"\\u0041\"": {}, "v:\"é\"": {}}}),
            json!({"f:l": {"i:+1": {}, "i:007": {}, "i:-3": {}}}),
        ] {
            let Ok(set) = decode_fields(&fields) else {
                assert!(Encoded::read(fields.clone()).is_err(), "{fields}");
                continue;
            };
            assert_eq!(Encoded::read(fields.clone()).unwrap().into_value(), encode_fields(&set), "{fields}");
        }
        for bad in [json!([]), json!({"f:a": 1}), json!({"spec": {}}), json!({"f:l": {"k:{": {}}})] {
            assert!(Encoded::read(bad).is_err());
        }
    }
}
