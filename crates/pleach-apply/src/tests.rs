//! Laws that hold for whatever is applied.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use pleach_json::{Map, Str, Value, json};
use pleach_schema::{Schema, SchemaOptions};

mod fitting;

use crate::{
    Identity, ManagedFields, Path, PathElement, Request, Set, Tracker, Type, Versions, compare,
    decode_fields, encode_fields, extract, fields_of, merge, validate,
};

const V1: &str = "g/v1";

struct Kind(Schema);

impl Versions for Kind {
    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        (api_version == V1).then(|| Type::of(&self.0))
    }
}

fn kind() -> Kind {
    let text = json!({"type": "string"});
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": (text.clone()),
        "n": {"type": "integer"},
        "m": {"type": "object", "additionalProperties": (text.clone())},
        "am": {"type": "object", "additionalProperties": (text.clone()), "x-kubernetes-map-type": "atomic"},
        "l": {"type": "array", "items": (text.clone())},
        "s": {"type": "array", "items": (text.clone()), "x-kubernetes-list-type": "set"},
        "k": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {
                "name": (text.clone()),
                "v": (text.clone()),
                "o": {"type": "object", "properties": {"x": (text)}},
            }},
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }}}});
    Kind(Schema::from_value(&schema, SchemaOptions::default()))
}

fn tracker<'a>(kind: &'a Kind, manager: &'a str) -> Tracker<'a> {
    let request = Request { manager, api_version: V1, kind: "Foo", subresource: "", time: "T" };
    Tracker::new(kind, request)
}

fn apply(kind: &Kind, manager: &str, live: Option<&Value>, config: &Value, force: bool) -> Value {
    tracker(kind, manager).apply(live, config, force, &|_| {}).unwrap().object
}

fn object(members: impl IntoIterator<Item = (Str, Value)>) -> Value {
    members.into_iter().collect::<Map>().into()
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof![Just("1"), Just("2"), Just("<x>")].prop_map(Value::from)
}

fn texts() -> impl Strategy<Value = Value> {
    btree_map("[a-d]", text(), 0..4).prop_map(|map| object(map.into_iter().map(|(k, v)| (k.into(), v))))
}

fn free() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text(),
        any::<bool>().prop_map(Value::from),
        (0..3i64).prop_map(Value::from),
        vec(text(), 0..2).prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        btree_map("[p-r]", inner, 1..3).prop_map(|map| object(map.into_iter().map(|(k, v)| (k.into(), v))))
    })
}

fn items() -> impl Strategy<Value = Value> {
    let item = (option::of(text()), option::of(option::of(text())));
    (btree_map("[a-e]", item, 1..4), any::<bool>()).prop_map(|(items, backwards)| {
        let mut items: Vec<Value> = items
            .into_iter()
            .map(|(name, (v, o))| {
                let mut item = Map::new();
                item.insert("name", name);
                if let Some(v) = v {
                    item.insert("v", v);
                }
                if let Some(o) = o {
                    item.insert("o", object(o.map(|x| ("x".into(), x))));
                }
                item.into()
            })
            .collect();
        if backwards {
            items.reverse();
        }
        items.into()
    })
}

/// A configuration: any part of the spec. Lists with keys are not empty: such a list
/// says nothing, so that what it replaces comes and goes.
fn config() -> impl Strategy<Value = Value> {
    let set = proptest::collection::btree_set("[a-d]", 1..4)
        .prop_map(|set| Value::from(set.into_iter().map(Value::from).collect::<Vec<_>>()));
    (
        option::of(text()),
        option::of((0..3i64).prop_map(Value::from)),
        option::of(texts()),
        option::of(texts()),
        option::of(vec(text(), 0..3).prop_map(Value::from)),
        option::of(set),
        option::of(items()),
        option::of(btree_map("[p-r]", free(), 0..3)),
    )
        .prop_map(|(a, n, m, am, l, s, k, free)| {
            let free = free.map(|map| object(map.into_iter().map(|(k, v)| (k.into(), v))));
            let members =
                [("a", a), ("n", n), ("m", m), ("am", am), ("l", l), ("s", s), ("k", k), ("free", free)];
            let spec = members.into_iter().filter_map(|(key, value)| Some((key.into(), value?)));
            json!({"apiVersion": (V1), "kind": "Foo", "metadata": {"name": "x"}, "spec": (object(spec))})
        })
}

fn owned(object: &Value, manager: &str) -> Set {
    let entries = object.at(&["metadata", "managedFields"]).cloned().unwrap_or_default();
    let managed = ManagedFields::decode(&entries).unwrap();
    managed.owner(&Identity::apply(manager, "")).map(|owner| owner.fields.clone()).unwrap_or_default()
}

/// The set that a configuration owns: its fields except fields without managers.
fn said(config: &Value, kind: &Kind) -> Set {
    let fields = fields_of(config, Type::of(&kind.0));
    fields.difference(&Set::of_fields(&[&["apiVersion"], &["kind"], &["metadata", "name"]]))
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

fn paths() -> impl Strategy<Value = Set> {
    let element = prop_oneof![
        "[a-c]".prop_map(PathElement::field),
        (0..3i64).prop_map(|n| PathElement::Value(n.into())),
        (0..3i64).prop_map(|n| PathElement::Key(Box::new([("k".into(), n.into())]))),
        (0..3i64).prop_map(PathElement::Index),
    ];
    vec(vec(element, 1..4), 0..8).prop_map(|paths| paths.into_iter().map(Path).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn apply_twice_is_apply_once(first in config(), other in config(), second in config()) {
        let kind = kind();
        let made = apply(&kind, "m1", None, &first, false);
        let shared = apply(&kind, "m2", Some(&made), &other, true);
        let once = apply(&kind, "m1", Some(&shared), &second, true);
        // A container that lost all it had is null, and no valid object has that.
        prop_assume!(!has_null(&once));
        let twice = apply(&kind, "m1", Some(&once), &second, false);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn owners_own_what_they_said_until_others_change_it(first in config(), second in config()) {
        let kind = kind();
        let made = apply(&kind, "m1", None, &first, false);
        prop_assert_eq!(owned(&made, "m1"), said(&first, &kind));
        let both = apply(&kind, "m2", Some(&made), &second, true);
        prop_assert_eq!(owned(&both, "m2"), said(&second, &kind));
        let of = Type::of(&kind.0);
        let change = compare(&made, &both, of);
        let lost = change.modified.union(&change.added).union(&change.removed);
        prop_assert_eq!(owned(&both, "m1"), said(&first, &kind).difference(&lost));
        prop_assert!(validate(&both, of, false).is_ok());
    }

    #[test]
    fn an_empty_configuration_removes_its_fields(first in config(), second in config()) {
        let kind = kind();
        let alone = apply(&kind, "m1", None, &first, false);
        let both = apply(&kind, "m2", Some(&alone), &second, true);
        let nothing = json!({"apiVersion": (V1), "kind": "Foo", "metadata": {"name": "x"}});
        let left = apply(&kind, "m2", Some(&both), &nothing, true);
        prop_assert!(owned(&left, "m2").is_empty());
        // Everything that is left was there before or belongs to the other.
        let of = Type::of(&kind.0);
        let new = compare(&alone, &left, of).added;
        prop_assert!(!new.intersects(&said(&second, &kind).difference(&said(&first, &kind))), "{:?}", new);
    }

    #[test]
    fn extracting_and_merging_back_changes_nothing(first in config(), second in config()) {
        let kind = kind();
        let of = Type::of(&kind.0);
        let both = merge(&first, &second, of);
        for config in [&first, &second] {
            let part = extract(&both, &fields_of(config, of), of);
            prop_assert_eq!(&merge(&both, &part, of), &both);
        }
        prop_assert_eq!(merge(&both, &both, of), both);
    }

    #[test]
    fn comparing_tells_what_a_merge_changes(first in config(), second in config()) {
        let kind = kind();
        let of = Type::of(&kind.0);
        let both = merge(&first, &second, of);
        let change = compare(&first, &both, of);
        // Where nothing is declared a container may give way to a scalar.
        let removed = change.removed.recursive_difference(&Set::of_fields(&[&["spec", "free"]]));
        prop_assert!(removed.is_empty(), "a merge takes nothing away: {:?}", removed);
        prop_assert!(compare(&both, &both, of).is_same());
    }

    #[test]
    fn sets_obey_the_laws(a in paths(), b in paths()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.intersection(&b).is_subset(&a) && a.is_subset(&a.union(&b)));
        prop_assert_eq!(a.intersects(&b), !a.intersection(&b).is_empty());
        prop_assert!(a.recursive_difference(&b).is_subset(&a.difference(&b)));
        prop_assert_eq!(a.len() + b.len(), a.union(&b).len() + a.intersection(&b).len());
        prop_assert_eq!(decode_fields(&encode_fields(&a)).unwrap(), a);
    }
}

#[test]
fn long_lists_take_time_in_proportion() {
    let kind = kind();
    let config = |from: i64, to: i64| {
        let items: Vec<Value> =
            (from..to).map(|i| json!({"name": (format!("item-{i}")), "v": "1"})).collect();
        json!({"apiVersion": (V1), "kind": "Foo", "metadata": {"name": "x"}, "spec": {"k": (Value::from(items))}})
    };
    let made = apply(&kind, "m1", None, &config(0, 10_000), false);
    let both = apply(&kind, "m2", Some(&made), &config(5_000, 15_000), false);
    assert_eq!(both.at(&["spec", "k"]).and_then(Value::as_array).map(|items| items.len()), Some(15_000));
    let left = apply(&kind, "m1", Some(&both), &config(0, 1), false);
    assert_eq!(left.at(&["spec", "k"]).and_then(Value::as_array).map(|items| items.len()), Some(10_001));
}

#[test]
fn ten_thousand_levels() {
    let kind = kind();
    let mut deep = json!({"leaf": 1});
    for _ in 0..10_000 {
        deep = object([("a".into(), deep)]);
    }
    let config =
        json!({"apiVersion": (V1), "kind": "Foo", "metadata": {"name": "x"}, "spec": {"free": (deep)}});
    let made = apply(&kind, "m1", None, &config, false);
    let mut changed = made.clone();
    tracker(&kind, "u1").update(Some(&made), &mut changed);
    assert_eq!(changed, made);
}
