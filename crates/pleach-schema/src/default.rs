//! Fills in defaults.
//!
//! Last stage of settling. A property with a default is set when it is absent, or null without
//! being nullable; the defaults inside a value that was just set fill in too. Nothing is made
//! where no object is: `spec.a.b` has its default only when `spec.a` is there or has one itself.
//! Defaults of items and of map values only ever replace nulls. The default of the root is never used.
//!
//! A person who wonders why a default is missing can ask: [`explain_defaults`] names every default
//! that was applied and every one that was not, with the reason.
//!
//! **Invariant:** defaulting twice is defaulting once.

use pleach_json::{Map, Str, Value, grow_stack};
use pleach_work::charge;

use crate::compile::Node;
use crate::record::{AppliedDefault, Defaults, Reason, WithheldDefault};
use crate::trail::Trail;

/// How much the defaults that were handed out make an object grow by.
///
/// A default in the schema of items is had by each item, and defaults have defaults in them: a few kilobytes can
/// become gigabytes. An object that has grown too much ends its request, whatever is left of the budget.
#[derive(Default)]
pub(crate) struct Growth(usize);

/// The most bytes that defaults may add to an object.
const MAX_GROWTH: usize = 16 << 20;

/// More steps than any budget has.
const TOO_MUCH: u64 = 1 << 40;

impl Growth {
    /// The default of a schema, for an object.
    pub(crate) fn hand_out(&mut self, node: &Node, default: &Value) -> Value {
        let weight = node.default_weight();
        charge(4 + weight as u64 / 64);
        let before = self.0;
        self.0 += weight;
        if before <= MAX_GROWTH && self.0 > MAX_GROWTH {
            charge(TOO_MUCH);
        }
        default.clone()
    }
}

/// Fills in defaults.
pub fn default(value: &mut Value, node: &Node) {
    default_growing(value, node, &mut Growth::default());
}

/// Fills in defaults in a part of an object.
pub(crate) fn default_growing(value: &mut Value, node: &Node, growth: &mut Growth) {
    if node.below().defaults() {
        fill(value, node, &Trail::ROOT, &mut Silent, growth);
    }
}

/// Fills in defaults and says which.
pub fn default_noting(value: &mut Value, node: &Node) -> Vec<AppliedDefault> {
    let mut applied = Vec::new();
    fill(value, node, &Trail::ROOT, &mut applied, &mut Growth::default());
    applied
}

/// Fills in defaults, and says which and which not.
pub fn explain_defaults(value: &mut Value, node: &Node) -> Defaults {
    let mut withheld = Vec::new();
    if node.default().is_some() {
        withheld.push(WithheldDefault { path: String::new(), reason: Reason::OfTheRoot });
    }
    // Before anything is filled in: a null that stays is one that was there.
    kept_nulls(value, node, &Trail::ROOT, &mut withheld);
    let applied = default_noting(value, node);
    unreached(value, node, &Trail::ROOT, &mut withheld);
    withheld.sort_by(|a, b| a.path.cmp(&b.path));
    Defaults { applied, withheld }
}

trait Note {
    fn applied(&mut self, at: &Trail<'_>, value: &Value);
}

struct Silent;

impl Note for Silent {
    fn applied(&mut self, _: &Trail<'_>, _: &Value) {}
}

impl Note for Vec<AppliedDefault> {
    fn applied(&mut self, at: &Trail<'_>, value: &Value) {
        self.push(AppliedDefault { path: at.to_string(), value: value.clone() });
    }
}

fn fill(value: &mut Value, node: &Node, at: &Trail<'_>, note: &mut impl Note, growth: &mut Growth) {
    match value {
        Value::Object(members) => grow_stack(|| fill_object(members, node, at, note, growth)),
        Value::Array(items) => {
            let Some(of_items) = node.items().filter(|items| items.below().defaults()) else { return };
            grow_stack(|| {
                charge(items.len() as u64);
                for (i, item) in items.iter_mut().enumerate() {
                    let at = at.index(i);
                    replace_null(item, of_items, &at, note, growth);
                    fill(item, of_items, &at, note, growth);
                }
            });
        }
        _ => {}
    }
}

/// Up to this many new members are put in their places one by one.
const FEW: usize = 4;

fn fill_object(members: &mut Map, node: &Node, at: &Trail<'_>, note: &mut impl Note, growth: &mut Growth) {
    charge((members.len() + 4 * node.defaulted_len()) as u64);
    let mut added: Vec<(Str, Value)> = Vec::new();
    for (property, default) in node.defaulted() {
        match members.get(&property.name) {
            Some(Value::Null) if property.node.is_nullable() => {}
            Some(Value::Null) => {
                members.insert(property.name.clone(), growth.hand_out(&property.node, default));
                note.applied(&at.key(&property.name), default);
            }
            Some(_) => {}
            None => {
                let at = at.key(&property.name);
                let mut value = growth.hand_out(&property.node, default);
                note.applied(&at, &value);
                fill(&mut value, &property.node, &at, note, growth);
                added.push((property.name.clone(), value));
            }
        }
    }
    let mut from = 0;
    for i in 0..members.len() {
        let (key, member) = &members.entries()[i];
        // In scalars there is nothing to fill in; a null may itself give way to a default.
        let container = matches!(member, Value::Object(_) | Value::Array(_));
        if !container && !member.is_null() {
            continue;
        }
        let (of_member, declared) = match node.next_property(&mut from, key) {
            Some(property) => (&property.node, true),
            None => match node.additional().schema() {
                Some(of_member) => (of_member, false),
                None => continue,
            },
        };
        if !of_member.below().defaults() || (declared && !container) {
            continue;
        }
        let (key, member) = &mut members.entries_mut()[i];
        let at = at.key(key);
        if !declared {
            replace_null(member, of_member, &at, note, growth);
        }
        fill(member, of_member, &at, note, growth);
    }
    if added.len() <= FEW {
        for (key, value) in added {
            members.insert(key, value);
        }
    } else {
        members.merge(added);
    }
}

/// A null item or map value becomes the default of its schema, unless it may be null.
fn replace_null(value: &mut Value, node: &Node, at: &Trail<'_>, note: &mut impl Note, growth: &mut Growth) {
    if let (Value::Null, false, Some(default)) = (&*value, node.is_nullable(), node.default()) {
        *value = growth.hand_out(node, default);
        note.applied(at, default);
    }
}

/// The defaults that a null stands in the way of, because it may.
fn kept_nulls(value: &Value, node: &Node, at: &Trail<'_>, withheld: &mut Vec<WithheldDefault>) {
    if !node.below().defaults() {
        return;
    }
    let mut visit = |value: &Value, node: &Node, at: &Trail<'_>| {
        if value.is_null() && node.is_nullable() && node.default().is_some() {
            withheld.push(WithheldDefault { path: at.to_string(), reason: Reason::NullKept });
        }
        grow_stack(|| kept_nulls(value, node, at, withheld));
    };
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                if let Some(of_member) = node.member(key) {
                    visit(member, of_member, &at.key(key));
                }
            }
        }
        Value::Array(items) => {
            let Some(of_items) = node.items() else { return };
            for (i, item) in items.iter().enumerate() {
                visit(item, of_items, &at.index(i));
            }
        }
        _ => {}
    }
}

/// The defaults below what is not there, or is no object.
fn unreached(value: &Value, node: &Node, at: &Trail<'_>, withheld: &mut Vec<WithheldDefault>) {
    if !node.below().defaults() {
        return;
    }
    match value {
        Value::Object(members) => {
            for property in node.properties() {
                let at = at.key(&property.name);
                match members.get(&property.name) {
                    Some(member) => grow_stack(|| unreached(member, &property.node, &at, withheld)),
                    None => below(&property.node, &at, &Reason::ParentAbsent(at.to_string()), withheld),
                }
            }
            for (key, member) in members {
                if node.property(key).is_none()
                    && let Some(of_member) = node.additional().schema()
                {
                    grow_stack(|| unreached(member, of_member, &at.key(key), withheld));
                }
            }
        }
        Value::Array(items) if node.items().is_some() => {
            for (i, item) in items.iter().enumerate() {
                let Some(of_items) = node.items() else { continue };
                grow_stack(|| unreached(item, of_items, &at.index(i), withheld));
            }
        }
        Value::Null => below(node, at, &Reason::ParentNull(at.to_string()), withheld),
        _ => below(node, at, &Reason::ParentNoObject(at.to_string()), withheld),
    }
}

/// Every default that is reached from here through declared properties alone.
fn below(node: &Node, at: &Trail<'_>, reason: &Reason, withheld: &mut Vec<WithheldDefault>) {
    for property in node.properties().iter().filter(|p| p.node.below().defaults()) {
        let at = at.key(&property.name);
        if property.node.default().is_some() {
            withheld.push(WithheldDefault { path: at.to_string(), reason: reason.clone() });
        } else {
            grow_stack(|| below(&property.node, &at, reason, withheld));
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::{Schema, SchemaOptions};

    fn schema(properties: &Value) -> Schema {
        let schema = json!({"type": "object", "properties": (properties.clone())});
        Schema::from_value(&schema, SchemaOptions::default())
    }

    #[test]
    fn defaults() {
        let text = json!({"type": "string", "default": "x"});
        let object = json!({"type": "object", "properties": {"b": {"type": "integer", "default": 1}, "c": {"type": "string"}}});
        let mut own = object.clone();
        own.as_object_mut().unwrap().insert("default", json!({"c": "d"}));
        for (why, properties, value, want) in [
            ("absent", json!({"a": (text.clone())}), json!({}), json!({"a": "x"})),
            ("present", json!({"a": (text.clone())}), json!({"a": ""}), json!({"a": ""})),
            ("null", json!({"a": (text.clone())}), json!({"a": null}), json!({"a": "x"})),
            (
                "null that may be",
                json!({"a": {"type": "string", "default": "x", "nullable": true}}),
                json!({"a": null}),
                json!({"a": null}),
            ),
            ("nothing is made for what is below", json!({"o": (object.clone())}), json!({}), json!({})),
            (
                "but what is there is filled",
                json!({"o": (object.clone())}),
                json!({"o": {}}),
                json!({"o": {"b": 1}}),
            ),
            (
                "also when it is a default",
                json!({"o": (own.clone())}),
                json!({}),
                json!({"o": {"b": 1, "c": "d"}}),
            ),
            (
                "in items",
                json!({"l": {"type": "array", "items": (object.clone())}}),
                json!({"l": [{}, {"b": 2}, null]}),
                json!({"l": [{"b": 1}, {"b": 2}, null]}),
            ),
            (
                "items replace nulls",
                json!({"l": {"type": "array", "items": (own.clone())}}),
                json!({"l": [null]}),
                json!({"l": [{"b": 1, "c": "d"}]}),
            ),
            (
                "map values too",
                json!({"m": {"type": "object", "additionalProperties": (text.clone())}}),
                json!({"m": {"k": null, "j": "y"}}),
                json!({"m": {"k": "x", "j": "y"}}),
            ),
            (
                "a null default is none",
                json!({"a": {"type": "string", "nullable": true, "default": null}}),
                json!({}),
                json!({}),
            ),
            (
                "other types are left alone",
                json!({"o": (object.clone())}),
                json!({"o": "text"}),
                json!({"o": "text"}),
            ),
        ] {
            let schema = schema(&properties);
            let mut filled = value.clone();
            default(&mut filled, schema.root());
            assert_eq!(filled, want, "{why}");
            assert!(default_noting(&mut filled, schema.root()).is_empty(), "{why}: twice is once");
        }
    }

    #[test]
    fn stale_unknown_fields_are_not_handed_out() {
        let schema = schema(
            &json!({"o": {"type": "object", "properties": {"b": {"type": "string"}}, "default": {"b": "x", "stale": 1}}}),
        );
        let mut value = json!({});
        default(&mut value, schema.root());
        assert_eq!(value, json!({"o": {"b": "x"}}));
    }

    #[test]
    fn why_not() {
        let schema = schema(&json!({
            "a": {"type": "string", "default": "x"},
            "n": {"type": "string", "default": "x", "nullable": true},
            "o": {"type": "object", "properties": {"b": {"type": "string", "default": "y"}, "p": {"type": "object", "properties": {"c": {"type": "string", "default": "z"}}}}},
            "s": {"type": "object", "properties": {"d": {"type": "string", "default": "y"}}},
        }));
        let mut value = json!({"n": null, "s": "text"});
        let told = explain_defaults(&mut value, schema.root());
        assert_eq!(value, json!({"a": "x", "n": null, "s": "text"}));
        assert_eq!(told.applied, [AppliedDefault { path: "a".into(), value: json!("x") }]);
        let withheld: Vec<_> = told.withheld.iter().map(ToString::to_string).collect();
        assert_eq!(
            withheld,
            [
                "n: the null stays, because the field is nullable",
                "o.b: there is no o to put it in",
                "o.p.c: there is no o to put it in",
                "s.d: s is no object",
            ]
        );
    }
}
