//! Removes from an object every field its schema does not name.
//!
//! First stage of settling: bodies, stored objects and converted objects all pass through it. It
//! cannot fail. What it removed can be asked for as paths, sorted; the caller makes them warnings
//! or a rejection. Dropping nulls, the second stage, rides along where both are wanted, because
//! the two look at the same members: see [`crate::nulls`] for the rule.
//!
//! Kept although no property names it:
//! * everything under `x-kubernetes-preserve-unknown-fields`; declared members below are pruned
//!   again, and the items of an array inherit being kept;
//! * `apiVersion`, `kind` and `metadata` of the object and of embedded resources;
//! * the keys of a map; with `additionalProperties: true` only the keys, for nothing is said
//!   about what is below them.
//!
//! Items and scalars are never removed, and types are not looked at.
//!
//! **Invariant:** pruning twice is pruning once.

use pleach_json::{Map, Value, grow_stack};
use pleach_work::charge;

use crate::compile::{Additional, Node};
use crate::nulls::{self, is_dropped};
use crate::trail::Trail;

/// Who is told what went.
pub(crate) trait Note {
    /// A field that no schema names was removed.
    fn pruned(&mut self, at: &Trail<'_>);
    /// A null that nothing allows was removed.
    fn null_dropped(&mut self, at: &Trail<'_>);
}

/// Nobody.
pub(crate) struct Silent;

impl Note for Silent {
    fn pruned(&mut self, _: &Trail<'_>) {}
    fn null_dropped(&mut self, _: &Trail<'_>) {}
}

/// The most bytes of paths that are noted. At ten thousand levels the paths of a few kilobytes of fields would
/// have gigabytes.
const MAX_NOTED_BYTES: usize = 1 << 20;

/// A list of each, as far as there is room.
#[derive(Default)]
pub(crate) struct Noted {
    pub(crate) pruned: Vec<String>,
    pub(crate) nulls: Vec<String>,
    bytes: usize,
}

impl Noted {
    /// A path, if there is room for it.
    fn path(&mut self, at: &Trail<'_>) -> Option<String> {
        let path = (self.bytes <= MAX_NOTED_BYTES).then(|| at.to_string())?;
        self.bytes += path.len() + size_of::<String>();
        Some(path)
    }
}

impl Note for Noted {
    fn pruned(&mut self, at: &Trail<'_>) {
        let path = self.path(at);
        self.pruned.extend(path);
    }
    fn null_dropped(&mut self, at: &Trail<'_>) {
        let path = self.path(at);
        self.nulls.extend(path);
    }
}

/// Removes what the schema does not name.
pub fn prune(value: &mut Value, node: &Node) {
    Pruner::<_, false> { note: &mut Silent }.prune(value, Some(node), &Trail::ROOT);
}

/// Removes what the schema does not name and returns the paths of it, sorted.
pub fn prune_noting(value: &mut Value, node: &Node) -> Vec<String> {
    let mut noted = Noted::default();
    Pruner::<_, false> { note: &mut noted }.prune(value, Some(node), &Trail::ROOT);
    noted.pruned.sort_unstable();
    noted.pruned
}

/// Prunes and drops nulls in one walk.
pub(crate) fn prune_and_drop_nulls(value: &mut Value, node: &Node, note: &mut impl Note) {
    Pruner::<_, true> { note }.prune(value, Some(node), &Trail::ROOT);
}

/// Whether the schema speaks of this member only as part of a resource.
pub(crate) fn is_resource_member(key: &str) -> bool {
    matches!(key, "apiVersion" | "kind" | "metadata")
}

struct Pruner<'n, N, const NULLS: bool> {
    note: &'n mut N,
}

impl<N: Note, const NULLS: bool> Pruner<'_, N, NULLS> {
    fn prune(&mut self, value: &mut Value, node: Option<&Node>, at: &Trail<'_>) {
        let preserved = node.is_some_and(Node::preserves_unknown_fields);
        match (value, node) {
            (Value::Object(members), Some(node)) => grow_stack(|| self.object(members, node, preserved, at)),
            (Value::Object(members), None) => {
                charge(members.len() as u64);
                members.retain(|key, _| {
                    self.note.pruned(&at.key(key));
                    false
                });
            }
            (Value::Array(items), _) => {
                let of_items = node.and_then(Node::items).map(AsRef::as_ref);
                grow_stack(|| {
                    charge(items.len() as u64);
                    for (i, item) in items.iter_mut().enumerate() {
                        if preserved {
                            self.keep(item, of_items, &at.index(i));
                        } else {
                            self.prune(item, of_items, &at.index(i));
                        }
                    }
                });
            }
            _ => {}
        }
    }

    /// Below a preserved array: items are preserved as well, whatever their schema says.
    fn keep(&mut self, value: &mut Value, node: Option<&Node>, at: &Trail<'_>) {
        match (value, node) {
            (Value::Object(members), Some(node)) => grow_stack(|| self.object(members, node, true, at)),
            (Value::Array(items), Some(node)) => grow_stack(|| {
                for (i, item) in items.iter_mut().enumerate() {
                    self.keep(item, node.items().map(AsRef::as_ref), &at.index(i));
                }
            }),
            _ => {}
        }
    }

    fn object(&mut self, members: &mut Map, node: &Node, preserved: bool, at: &Trail<'_>) {
        charge(members.len() as u64);
        let mut from = 0;
        let resource = node.is_resource();
        members.retain(|key, member| {
            let at = at.key(key);
            let declared = node.next_property(&mut from, key).map(|p| &*p.node);
            if resource && is_resource_member(key) {
                // Not pruned; the nulls in it still are what the schema says.
                let of_member = declared.or_else(|| node.additional().schema().map(AsRef::as_ref));
                let Some(of_member) = of_member.filter(|_| NULLS) else { return true };
                nulls::drop_below(member, of_member, &at, self.note);
                return self.stays(member, of_member, &at);
            }
            let of_member = match (declared, node.additional()) {
                (Some(of_member), _) => of_member,
                (None, Additional::Schema(of_member)) => of_member,
                (None, Additional::Bool(_)) => {
                    self.prune(member, None, &at);
                    return true;
                }
                (None, Additional::Absent) => {
                    if !preserved {
                        self.note.pruned(&at);
                    }
                    return preserved;
                }
            };
            self.prune(member, Some(of_member), &at);
            self.stays(member, of_member, &at)
        });
    }

    /// Whether a member stays as far as nulls are concerned.
    fn stays(&mut self, member: &Value, of_member: &Node, at: &Trail<'_>) -> bool {
        let dropped = NULLS && member.is_null() && is_dropped(of_member);
        if dropped {
            self.note.null_dropped(at);
        }
        !dropped
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::{Schema, SchemaOptions};

    #[track_caller]
    fn check(why: &str, spec: &Value, object: &Value, want: &Value, paths: &[&str]) {
        let schema = json!({"type": "object", "properties": {"spec": (spec.clone())}});
        let schema = Schema::from_value(&schema, SchemaOptions::default());
        let wrap = |spec: &Value| json!({"apiVersion": "v1", "kind": "K", "metadata": {"any": 1}, "spec": (spec.clone())});
        let mut pruned = wrap(object);
        assert_eq!(prune_noting(&mut pruned, schema.root()), paths, "{why}");
        assert_eq!(pruned, wrap(want), "{why}");
        assert!(prune_noting(&mut pruned, schema.root()).is_empty(), "{why}: twice is once");
        let mut silently = wrap(object);
        prune(&mut silently, schema.root());
        assert_eq!(silently, pruned, "{why}: with and without notes");
    }

    #[test]
    fn what_no_schema_names_goes() {
        let object = json!({"type": "object", "properties": {"a": {"type": "string"}, "o": {"type": "object", "properties": {"b": {"type": "string"}}}}});
        for (why, spec, value, want, paths) in [
            (
                "unknown fields go, with all that is below",
                object.clone(),
                json!({"a": "x", "z": {"y": 1}, "o": {"c": 1}}),
                json!({"a": "x", "o": {}}),
                &["spec.o.c", "spec.z"][..],
            ),
            ("types are not looked at", json!({"type": "string"}), json!({"a": 1}), json!({}), &["spec.a"]),
            (
                "items stay, what is in them goes",
                json!({"type": "array", "items": {"type": "array", "items": {"type": "object"}}}),
                json!([[{"a": 1}, 2, null], 3]),
                json!([[{}, 2, null], 3]),
                &["spec[0][0].a"],
            ),
            (
                "keys of a map stay",
                json!({"type": "object", "additionalProperties": {"type": "object"}}),
                json!({"k.x/y": {"z": 1}}),
                json!({"k.x/y": {}}),
                &["spec.k.x/y.z"],
            ),
            (
                "true keeps one level",
                json!({"type": "object", "additionalProperties": true}),
                json!({"a": 1, "c": {"d": 1}, "e": [{"f": 1}], "g": null}),
                json!({"a": 1, "c": {}, "e": [{}], "g": null}),
                &["spec.c.d", "spec.e[0].f"],
            ),
            (
                "type meta outside of resources is unknown",
                json!({"type": "object"}),
                json!({"apiVersion": "v1", "kind": "K", "metadata": {}}),
                json!({}),
                &["spec.apiVersion", "spec.kind", "spec.metadata"],
            ),
            (
                "keys are not quoted",
                json!({"type": "object"}),
                json!({"": 1, "a b": 1, "q\"": 1}),
                json!({}),
                &["spec.", "spec.a b", "spec.q\""],
            ),
        ] {
            check(why, &spec, &value, &want, paths);
        }
    }

    #[test]
    fn what_is_preserved_stays() {
        for (why, spec, value, want, paths) in [
            (
                "declared members are pruned again",
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"o": {"type": "object", "properties": {"b": {"type": "string"}}}}}),
                json!({"kept": {"z": 1}, "o": {"b": "x", "lost": 1}}),
                json!({"kept": {"z": 1}, "o": {"b": "x"}}),
                &["spec.o.lost"][..],
            ),
            (
                "items inherit it",
                json!({"type": "array", "x-kubernetes-preserve-unknown-fields": true, "items": {"type": "object", "properties": {"o": {"type": "object"}}}}),
                json!([{"kept": 1, "o": {"lost": 1}}]),
                json!([{"kept": 1, "o": {}}]),
                &["spec[0].o.lost"],
            ),
            (
                "beside a map nothing is unknown",
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "additionalProperties": {"type": "object"}}),
                json!({"k": {"lost": 1}}),
                json!({"k": {}}),
                &["spec.k.lost"],
            ),
            (
                "embedded resources keep what makes them resources",
                json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}}),
                json!({"apiVersion": "v1", "kind": "K", "metadata": {"what": 1}, "lost": 1, "spec": {"lost": 1}}),
                json!({"apiVersion": "v1", "kind": "K", "metadata": {"what": 1}, "spec": {}}),
                &["spec.lost", "spec.spec.lost"],
            ),
            (
                "anything",
                json!({"x-kubernetes-preserve-unknown-fields": true}),
                json!([[{"a": {"b": null}}]]),
                json!([[{"a": {"b": null}}]]),
                &[],
            ),
        ] {
            check(why, &spec, &value, &want, paths);
        }
    }

    #[test]
    fn ten_thousand_levels() {
        let mut deep = json!({"lost": 1});
        for level in 0..10_000 {
            deep = if level % 2 == 0 { json!({"a": deep}) } else { json!([deep]) };
        }
        let schema =
            json!({"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": true}});
        let schema = Schema::from_value(&schema, SchemaOptions::default());
        let mut kept = json!({"m": (deep.clone())});
        prune(&mut kept, schema.root());
        assert!(kept == json!({"m": deep}));
    }
}
