//! Field sets in their encoded form (`fieldsV1`), changed in place.
//!
//! A write changes few of the fields that managers own. So field sets stay in the form they are stored in, and a
//! write looks up only the paths that it changes: its cost grows with the change and not with the object. [`Set`] is
//! the form for everything else.
//!
//! **Invariant:** the form is the one that [`encode_fields`](crate::encode_fields) makes. All values
//! are objects; `.` stands only inside a step, beside others, and sorts before them. Whatever comes in
//! otherwise is brought into this form once, by way of a [`Set`].

use pleach_json::{Map, Str, Value, grow_stack};
use pleach_work::charge;

use crate::element::PathElement;
use crate::fields_v1::{self, decode_element, decode_fields, decode_members, encode_element, encode_level};
use crate::set::{Node, Set};

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
                debug_assert!(
                    // A key with escapes must be read to know that it is written as it would be.
                    is_canonical(&members, true)
                        || decode_members(&members)
                            .is_ok_and(|(set, _)| encode_level(&set, false) == members),
                    "{members:?}"
                );
                Ok(Self(members))
            }
            other => Self::read(other),
        }
    }

    /// A set that is already in this form.
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

    /// Removes paths, but not the paths below them.
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

    /// The union of several sets, two by two, so that a large one is not walked once for each small one.
    pub(crate) fn union(mut all: Vec<Self>) -> Self {
        while all.len() > 1 {
            let mut pairs = all.into_iter();
            let mut halved = Vec::with_capacity(pairs.len().div_ceil(2));
            while let Some(mut first) = pairs.next() {
                if let Some(second) = pairs.next() {
                    first.add(second);
                }
                halved.push(first);
            }
            all = halved;
        }
        all.pop().unwrap_or_default()
    }

    /// Whether the two have a member in common.
    pub(crate) fn intersects(&self, paths: &Set) -> bool {
        intersects(&self.0, paths)
    }

    /// The intersection.
    pub(crate) fn intersection(&self, paths: &Set) -> Set {
        intersection(&self.0, paths)
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
    charge(members.len() as u64);
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

/// Sets whether a step is a member of the set. Returns whether the step has to stay.
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

/// Whether it is better to look for the members among the paths than the other way round: an owner of a few
/// fields does not pay for all that a write changes.
fn is_short(members: &Map, paths: &Set) -> bool {
    members.len() < paths.nodes().len() / 4
}

/// The node of a path element.
fn node_of<'s>(paths: &'s Set, step: &str) -> Option<&'s Node> {
    match step.strip_prefix("f:") {
        Some(name) => paths.field_node(name),
        None if step == DOT => None,
        None => paths.node(&decode_element(step).ok().flatten()?),
    }
}

fn subtract(members: &mut Map, paths: &Set, whole: bool) {
    let mut gone = false;
    if is_short(members, paths) {
        charge(2 * members.len() as u64);
        for at in 0..members.len() {
            if let Some(node) = node_of(paths, &members.entries()[at].0) {
                gone |= subtract_at(members, at, node, whole);
            }
        }
    } else {
        charge(2 * paths.nodes().len() as u64);
        for node in paths.nodes() {
            if let Some(at) = position(members, &node.element) {
                gone |= subtract_at(members, at, node, whole);
            }
        }
    }
    if gone {
        members.retain(|_, below| !below.is_null());
    }
}

/// Subtracts a set's node from one element. Returns whether nothing is left; then its value is null.
fn subtract_at(members: &mut Map, at: usize, node: &Node, whole: bool) -> bool {
    let value = &mut members.entries_mut()[at].1;
    let Value::Object(below) = value else { return false };
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
    }
    !stays
}

fn add(members: &mut Map, other: Map) {
    if members.is_empty() {
        *members = other;
        return;
    }
    charge((2 * other.len() + members.len()) as u64);
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
    let meet = |below: &Value, node: &Node| match below {
        Value::Object(below) => {
            (node.member && is_member(below))
                || (!node.children.is_empty()
                    && !below.is_empty()
                    && grow_stack(|| intersects(below, &node.children)))
        }
        _ => false,
    };
    if is_short(members, paths) {
        charge(2 * members.len() as u64);
        return members.iter().any(|(key, below)| node_of(paths, key).is_some_and(|node| meet(below, node)));
    }
    charge(2 * paths.nodes().len() as u64);
    let at = |element: &PathElement| Some(&members.entries()[position(members, element)?].1);
    paths.nodes().iter().any(|node| at(&node.element).is_some_and(|below| meet(below, node)))
}

fn intersection(members: &Map, paths: &Set) -> Set {
    let mut out = Set::new();
    let mut both = |below: &Value, node: &Node| {
        let Value::Object(below) = below else { return };
        let children = if node.children.is_empty() || below.is_empty() {
            Set::new()
        } else {
            grow_stack(|| intersection(below, &node.children))
        };
        out.push(node.element.clone(), node.member && is_member(below), children);
    };
    if is_short(members, paths) {
        charge(2 * members.len() as u64);
        for (key, below) in members {
            if let Some(node) = node_of(paths, key) {
                both(below, node);
            }
        }
        // Keys of lists sort by value, their texts do not.
        out.sort();
    } else {
        charge(2 * paths.nodes().len() as u64);
        for node in paths.nodes() {
            if let Some(at) = position(members, &node.element) {
                both(&members.entries()[at].1, node);
            }
        }
    }
    out
}

fn is_subset(members: &Map, of: &Map) -> bool {
    charge(members.len() as u64);
    let mut others = steps(of);
    steps(members).iter().all(|(key, below)| {
        // Both are sorted: members that were passed over are not looked up again.
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
                assert_eq!(x.intersection(&right), left.intersection(&right), "{why}");
                assert_eq!(x.is_subset(&y), left.is_subset(&right), "{why}");
            }
        }
    }

    #[test]
    fn other_texts_are_normalized() {
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
