//! Walks that find several things at once agree with the walks that find one.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use pleach_json::{Map, Str, Value, json};
use pleach_schema::{Schema, SchemaOptions};

use crate::compare::{compare, compare_and_check};
use crate::create_walk::validate_and_write_fields;
use crate::fields::{Unowned, applied_fields, are_applied_fields, new_fields};
use crate::fields_baseline::{FieldsBaseline, share};
use crate::fits::fits;
use crate::merge::{LastMerge, changes, changes_after, merge};
use crate::same::{exact, same};
use crate::set::Set;
use crate::shape::Type;
use crate::validate::words;

fn schema() -> Schema {
    let text = || json!({"type": "string"});
    let item = || {
        json!({"type": "object", "properties": {
            "a": (text()),
            "n": {"type": "integer", "default": 1},
            "m": {"type": "object", "additionalProperties": {"type": "number"}},
            "s": {"type": "array", "items": {"type": "number"}, "x-kubernetes-list-type": "set"},
        }})
    };
    let keyed = |keys: Value| {
        json!({"type": "array", "items": (item()), "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": (keys)})
    };
    let schema = json!({"type": "object", "properties": {
        "a": (text()),
        "b": {"type": "boolean"},
        "f": {"type": "string", "format": "date-time"},
        "i": {"x-kubernetes-int-or-string": true},
        "k": (keyed(json!(["a"]))),
        "kn": (keyed(json!(["a", "n"]))),
        "l": {"type": "array", "items": {"type": "object", "properties": {"k": (keyed(json!(["n"])))}}},
        "m": {"type": "object", "additionalProperties": (text())},
        "n": {"type": "number"},
        "o": (item()),
        "p": {"type": "object", "properties": {"a": (text())}, "x-kubernetes-preserve-unknown-fields": true},
        "s": {"type": "array", "items": {"x-kubernetes-int-or-string": true}, "x-kubernetes-list-type": "set"},
        "w": {"type": "object", "properties": {"k": (keyed(json!(["a"])))}, "x-kubernetes-map-type": "atomic"},
        "x": {"x-kubernetes-preserve-unknown-fields": true},
    }});
    Schema::from_value(&json!({"type": "object", "properties": {"spec": (schema)}}), SchemaOptions::default())
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        3 => (-1..3i64).prop_map(Value::Int),
        2 => prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(1.5)].prop_map(Value::Float),
        4 => "[ab]|<".prop_map(|text| Value::String(text.into())),
    ]
}

fn object(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    members.into_iter().map(|(key, value)| (Str::from(key), value)).collect::<Map>().into()
}

/// An item of the schema's lists, more or less.
fn item() -> impl Strategy<Value = Value> {
    let number = prop_oneof![(0..3i64).prop_map(Value::Int), Just(Value::Float(1.0)), scalar()];
    let text = prop_oneof![4 => "[a-c]".prop_map(|text| Value::String(text.into())), 1 => scalar()];
    let members = btree_map("[ab]", number.clone(), 0..2).prop_map(object);
    (
        proptest::option::weighted(0.9, text),
        proptest::option::of(number.clone()),
        proptest::option::of(members),
        proptest::option::of(vec(number, 0..3).prop_map(Value::from)),
    )
        .prop_map(|(a, n, m, s)| {
            let members = [("a", a), ("n", n), ("m", m), ("s", s)];
            object(members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))))
        })
}

/// Objects of which about half fit.
fn value() -> impl Strategy<Value = Value> {
    let wild = || {
        scalar().prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..3).prop_map(Value::from),
                btree_map("[abkmns]", inner, 0..3).prop_map(object),
            ]
        })
    };
    let texts = || btree_map("[ab]", "[ab]".prop_map(Value::from), 0..3).prop_map(object);
    let list = || vec(item(), 0..4).prop_map(Value::from);
    let member = prop_oneof![
        3 => ("[af]".prop_map(String::from), "[ab]".prop_map(Value::from)),
        3 => ("[ni]".prop_map(String::from), prop_oneof![(0..3i64).prop_map(Value::Int), Just(Value::Float(-0.0)), Just(Value::Float(0.0))]),
        6 => (prop_oneof![Just("k"), Just("kn")].prop_map(String::from), list()),
        2 => (Just("l".to_owned()), vec(list().prop_map(|k| object([("k".to_owned(), k)])), 0..3).prop_map(Value::from)),
        2 => (Just("m".to_owned()), texts()),
        2 => (Just("o".to_owned()), item()),
        2 => (Just("s".to_owned()), vec(scalar(), 0..4).prop_map(Value::from)),
        2 => (Just("w".to_owned()), list().prop_map(|k| object([("k".to_owned(), k)]))),
        3 => ("[px]".prop_map(String::from), wild()),
        1 => ("[abfiklmnopswxz]".prop_map(String::from), wild()),
    ];
    vec(member, 0..5).prop_map(|members| json!({"spec": (object(members))}))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_fit_if_there_is_no_error(value in value()) {
        let schema = schema();
        let of = Type::of(&schema);
        for duplicates in [true, false] {
            let said = words(&value, of, duplicates);
            prop_assert_eq!(fits(&value, of, !duplicates), said.is_ok(), "{:?}", said);
        }
        prop_assert_eq!(new_fields(&value, of).1, fits(&value, of, false));
        prop_assert_eq!(applied_fields(&value, of, None).1, fits(&value, of, true));
    }

    #[test]
    fn fields_are_known_again(a in value(), b in value(), labels in 0..4usize, status in any::<bool>()) {
        let schema = schema();
        let of = Type::of(&schema);
        let metadata = [json!({}), json!({"name": "x"}), json!({"labels": {"a": "b"}, "uid": "u"}), json!(null)];
        let whole = |spec: &Value, labels: usize| {
            let mut whole = json!({"apiVersion": "g/v1", "kind": "Foo", "metadata": (metadata[labels].clone())});
            let members = whole.as_object_mut().unwrap();
            if let Some(spec) = spec.get("spec") {
                members.insert("spec", spec.clone());
            }
            whole
        };
        let stripped = Set::of_fields(&[&["apiVersion"], &["kind"], &["metadata"], &["metadata", "name"], &["metadata", "uid"]]);
        let reset = Set::of_fields(&[&["spec"]]);
        let unowned = Unowned { stripped: &stripped, reset: status.then_some(&reset) };
        for (a, b) in [(whole(&a, labels), whole(&b, 0)), (whole(&a, labels), whole(&a, labels))] {
            let owned = |value: &Value| {
                let (mut fields, fits) = applied_fields(value, of, None);
                unowned.remove_from(&mut fields);
                (fields, fits)
            };
            let ((expected, _), (fields, fitting)) = (owned(&a), owned(&b));
            let is = are_applied_fields(&b, of, expected.members(), &unowned);
            prop_assert!(!is || (fields == expected && fitting), "{} {:?}", b, expected);
            if fields == expected && fits(&b, of, true) {
                prop_assert!(is, "{} {:?}", b, expected);
            }
        }
    }

    #[test]
    fn the_written_text_is_that_of_the_set(value in value(), names in vec("web(-[0-2]|!)?|a \\PC|<", 0..4), status in any::<bool>()) {
        let schema = schema();
        let of = Type::of(&schema);
        let mut whole = json!({"apiVersion": "g/v1", "kind": "Foo", "metadata": {"labels": {"<": "a", "b": "c"}, "name": "x"}});
        let members = whole.as_object_mut().unwrap();
        members.insert("spec", value.get("spec").unwrap().clone());
        let keyed: Vec<Value> = names.iter().map(|name| json!({"a": (name.as_str())})).collect();
        if !keyed.is_empty() {
            members.get_mut("spec").unwrap().as_object_mut().unwrap().insert("k", keyed);
        }
        let stripped = Set::of_fields(&[&["apiVersion"], &["kind"], &["metadata"], &["metadata", "name"], &["metadata", "uid"]]);
        let reset = Set::of_fields(&[&["spec"]]);
        let unowned = Unowned { stripped: &stripped, reset: status.then_some(&reset) };
        let mut text = b"before".to_vec();
        let Some(valid) = validate_and_write_fields(&whole, of, &unowned, &mut text) else {
            // Nothing that is plain and fits is given up on.
            let spec = format!("{:?}", whole.get("spec"));
            let odd = spec.contains("null") || spec.contains(|c: char| !c.is_ascii() || "\\.<>&".contains(c));
            let twice = !schema.validate_lists(&whole).is_empty() || !fits(&whole, of, true);
            prop_assert!(odd || twice, "{}", whole);
            return Ok(());
        };
        let (mut fields, fitting) = new_fields(&whole, of);
        unowned.remove_from(&mut fields);
        prop_assert!(fitting);
        prop_assert_eq!(String::from_utf8_lossy(&text[6..]).into_owned(), fields.into_value().to_string());
        let (values, lists) = (schema.validate_value(&whole), schema.validate_lists(&whole));
        prop_assert!(!valid || (values.is_empty() && lists.is_empty()), "{:?} {:?}", values, lists);
    }

    #[test]
    fn fields_are_shared_with_those_of_another(a in value(), b in value(), labels in 0..3usize, status in any::<bool>()) {
        let schema = schema();
        let of = Type::of(&schema);
        let whole = |specs: &[&Value], labels: usize| {
            let labels = [json!({}), json!({"a": "b"}), json!({"a": "b", "c": "d"})][labels].clone();
            let mut spec = Map::new();
            for more in specs.iter().filter_map(|value| value.get("spec").and_then(Value::as_object)) {
                spec.extend(more.clone());
            }
            json!({"apiVersion": "g/v1", "kind": "Foo", "metadata": {"name": "x", "labels": (labels)}, "spec": (spec)})
        };
        let stripped = Set::of_fields(&[&["apiVersion"], &["kind"], &["metadata"], &["metadata", "name"]]);
        let reset = Set::of_fields(&[&["status"]]);
        let unowned = Unowned { stripped: &stripped, reset: status.then_some(&reset) };
        let owned = |value: &Value, baseline: Option<FieldsBaseline<'_>>| {
            let (mut fields, fits) = applied_fields(value, of, baseline);
            unowned.remove_from(&mut fields);
            if let Some(baseline) = baseline {
                share(&mut fields, baseline);
            }
            (fields, fits)
        };
        let baseline = whole(&[&a], 1);
        let (known, fits) = owned(&baseline, None);
        prop_assume!(fits);
        for (specs, labels) in [(vec![&a], 1), (vec![&a, &b], labels), (vec![&b, &a], 1), (vec![&b], labels)] {
            let text = pleach_json::to_vec(&whole(&specs, labels));
            let parsed = pleach_json::parse_with(&text, (&baseline).into()).unwrap();
            let alone = owned(&parsed, None);
            for value in [Some(&baseline), None] {
                let both = owned(&parsed, Some(FieldsBaseline { value, fields: known.members() }));
                prop_assert_eq!(&both, &alone, "{} {}", baseline, parsed);
                if alone.0 == known {
                    prop_assert!(both.0.members().is_same(known.members()), "{} {}", baseline, parsed);
                }
            }
        }
    }

    #[test]
    fn applying_again_changes_nothing(live in value(), a in value(), b in value(), c in value()) {
        let schema = schema();
        let of = Type::of(&schema);
        let [live, a, b, c] = [live, a, b, c].map(|value| {
            if fits(&value, of, true) { value } else { json!({"spec": {}}) }
        });
        let said = merge(&live, &a, of);
        for between in [said.clone(), merge(&said, &c, of)] {
            for again in [a.clone(), merge(&a, &b, of), b.clone()] {
                let text = pleach_json::to_vec(&again);
                let again = pleach_json::parse_with(&text, (&a).into()).unwrap();
                let since = LastMerge { config: &a, result: &said };
                let known = changes_after(&between, &again, Some(since), None, of).map(|changed| changed.value);
                prop_assert_eq!(known, changes(&between, &again, of).map(|changed| changed.value));
            }
        }
    }

    #[test]
    fn a_comparison_tells_whether_the_first_fits(old in value(), new in value()) {
        let schema = schema();
        let of = Type::of(&schema);
        prop_assume!(fits(&new, of, false));
        let (comparison, does) = compare_and_check(&old, &new, of);
        prop_assert_eq!(does, fits(&old, of, false));
        prop_assert_eq!(&comparison, &compare(&old, &new, of));
        prop_assert_eq!(comparison, compare(&new, &old, of).reversed());
    }

    #[test]
    fn a_merge_knows_what_it_changes(live in value(), config in value()) {
        let schema = schema();
        let of = Type::of(&schema);
        prop_assume!(fits(&live, of, false) && fits(&config, of, true));
        let merged = merge(&live, &config, of);
        match changes(&live, &config, of) {
            None => prop_assert!(exact(&live, &merged)),
            Some(changed) => {
                prop_assert!(exact(&changed.value, &merged));
                prop_assert!(!changed.differs || !same(&live, &merged), "{live} {merged}");
            }
        }
        prop_assert!(!same(&live, &merged) || compare(&live, &merged, of).is_same());
    }
}

#[test]
fn the_baseline_of_an_item_is_the_item_with_its_key() {
    let list = |item: Value| {
        json!({
            "type": "array", "items": (item),
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        })
    };
    let name = || json!({"type": "string"});
    let env = list(json!({"type": "object", "properties": {"name": (name()), "value": (name())}}));
    let parts = list(json!({"type": "object", "properties": {"name": (name()), "env": (env)}}));
    let schema = Schema::from_value(
        &json!({"type": "object", "properties": {"parts": (parts)}}),
        SchemaOptions::default(),
    );
    let of = Type::of(&schema);
    let part = |name: &str, env: &str| json!({"name": name, "env": [{"name": env, "value": "x"}]});
    let earlier = json!({"parts": [(part("a", "X")), (part("b", "Y"))]});
    let fields = applied_fields(&earlier, of, None).0;
    for now in [
        json!({"parts": [(part("b", "X"))]}),
        json!({"parts": [(part("b", "Y")), (part("a", "X"))]}),
        json!({"parts": [(part("b", "X")), (part("a", "Y"))]}),
        json!({"parts": [(part("a", "X")), (part("c", "Y")), (part("b", "Y"))]}),
    ] {
        // Equal text at the same position is shared, whatever its key.
        let now = pleach_json::parse_with(&pleach_json::to_vec(&now), (&earlier).into()).unwrap();
        let baseline = FieldsBaseline { value: Some(&earlier), fields: fields.members() };
        assert_eq!(applied_fields(&now, of, Some(baseline)), applied_fields(&now, of, None), "{now}");
        let live = json!({"parts": [(part("a", "X")), (part("b", "Y"))]});
        let said = merge(&live, &earlier, of);
        let since = LastMerge { config: &earlier, result: &said };
        let known = changes_after(&said, &now, Some(since), None, of).map(|changed| changed.value);
        assert_eq!(known, changes(&said, &now, of).map(|changed| changed.value), "{now}");
    }
}
