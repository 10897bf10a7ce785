//! Laws that hold for every schema and every value.

// What is wrong with a test should end it.
#![allow(clippy::unwrap_used)]

use pleach_json::{Map, Value, json};
use pleach_schema::validate::{validate, validate_update};
use pleach_schema::{Record, Schema, SchemaOptions, SettleOptions, default, nulls, prune};
use proptest::prelude::*;

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["a", "b", "c", "kind", "metadata", "x.y"][..])
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..40).prop_map(Value::from),
        prop::sample::select(&[0.5, 1.0, 2.5, -0.0, 1e19][..]).prop_map(Value::from),
        prop::sample::select(&["", "a", "abc", "1h", "2024-01-01"][..]).prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..5).prop_map(object),
        ]
    })
}

fn object(members: Vec<(&'static str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map>())
}

/// Schemas of every shape; defaults fit them or not.
fn schema() -> impl Strategy<Value = Value> {
    let keyword = prop_oneof![
        Just(("maxLength", json!(2))),
        Just(("minLength", json!(1))),
        Just(("pattern", json!("^a"))),
        Just(("format", json!("duration"))),
        Just(("format", json!("int32"))),
        Just(("minimum", json!(1.5))),
        Just(("maximum", json!(30))),
        Just(("multipleOf", json!(0.5))),
        Just(("enum", json!(["a", 1, null, {"a": 1}]))),
        Just(("minItems", json!(1))),
        Just(("maxItems", json!(2))),
        Just(("minProperties", json!(1))),
        Just(("maxProperties", json!(2))),
        Just(("required", json!(["a", "q"]))),
        Just(("nullable", json!(true))),
        Just(("x-kubernetes-preserve-unknown-fields", json!(true))),
        Just(("x-kubernetes-embedded-resource", json!(true))),
        Just(("x-kubernetes-int-or-string", json!(true))),
        Just(("x-kubernetes-list-type", json!("set"))),
        Just(("additionalProperties", json!(false))),
        scalar().prop_map(|value| ("default", value)),
        value().prop_map(|value| ("default", value)),
    ];
    let types = prop::sample::select(&["object", "array", "string", "integer", "number", "boolean", ""][..]);
    let leaf = (types.clone(), prop::collection::vec(keyword.clone(), 0..3))
        .prop_map(|(name, keywords)| node(name, keywords));
    leaf.prop_recursive(4, 30, 4, move |inner| {
        let structure = prop_oneof![
            prop::collection::vec((key(), inner.clone()), 0..4)
                .prop_map(|members| ("properties", object(members))),
            inner.clone().prop_map(|schema| ("additionalProperties", schema)),
            inner.clone().prop_map(|schema| ("items", schema)),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|list| ("anyOf", Value::from(list))),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|list| ("oneOf", Value::from(list))),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|list| ("allOf", Value::from(list))),
            inner.clone().prop_map(|schema| ("not", schema)),
        ];
        (types.clone(), prop::collection::vec(keyword.clone(), 0..3), prop::collection::vec(structure, 0..4))
            .prop_map(|(name, keywords, structure)| {
                node(name, keywords.into_iter().chain(structure).collect())
            })
    })
}

fn node(type_name: &str, keywords: Vec<(&'static str, Value)>) -> Value {
    let mut schema = object(keywords);
    if !type_name.is_empty() {
        schema.as_object_mut().unwrap().insert("type", type_name);
    }
    schema
}

fn compile(schema: &Value) -> Schema {
    Schema::from_value(schema, SchemaOptions::default())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pruning_twice_is_pruning_once(schema in schema(), mut value in value()) {
        let schema = compile(&schema);
        let mut noted = value.clone();
        prune::prune(&mut value, schema.root());
        prune::prune_noting(&mut noted, schema.root());
        prop_assert_eq!(&value, &noted);
        prop_assert!(prune::prune_noting(&mut noted, schema.root()).is_empty());
        prop_assert_eq!(value, noted);
    }

    #[test]
    fn defaulting_twice_is_defaulting_once(schema in schema(), mut value in value()) {
        let schema = compile(&schema);
        let mut explained = value.clone();
        default::default(&mut value, schema.root());
        default::explain_defaults(&mut explained, schema.root());
        prop_assert_eq!(&value, &explained);
        let again = default::default_noting(&mut value, schema.root());
        prop_assert!(again.is_empty(), "{:?}", again);
        prop_assert_eq!(value, explained);
    }

    #[test]
    fn settling_is_its_stages_and_is_done_once(schema in schema(), value in value()) {
        let schema = compile(&schema);
        let mut settled = value.clone();
        schema.settle(&mut settled, SettleOptions::CONVERTED).unwrap();
        let mut by_stages = value;
        prune::prune(&mut by_stages, schema.root());
        nulls::drop_nulls(&mut by_stages, schema.root());
        pleach_schema::coerce::coerce_stored(&mut by_stages, schema.root());
        prop_assert_eq!(&settled, &by_stages);
        let once = settled.clone();
        schema.settle(&mut settled, SettleOptions::CONVERTED).unwrap();
        prop_assert_eq!(settled, once);
    }

    #[test]
    fn what_is_told_does_not_change_what_is_done(schema in schema(), value in value()) {
        let schema = compile(&schema);
        let (mut told, mut partly, mut silently) = (value.clone(), value.clone(), value);
        let all = schema.settle(&mut told, SettleOptions::request(Record::Everything));
        let some = schema.settle(&mut partly, SettleOptions::request(Record::Unknown));
        let none = schema.settle(&mut silently, SettleOptions::request(Record::Nothing));
        prop_assert_eq!(&told, &partly);
        prop_assert_eq!(&told, &silently);
        prop_assert_eq!(all.is_ok(), none.is_ok());
        if let (Ok(all), Ok(some)) = (all, some) {
            prop_assert_eq!(all.pruned, some.pruned);
            prop_assert_eq!(all.nulls_dropped, some.nulls_dropped);
            prop_assert_eq!(all.unknown_metadata, some.unknown_metadata);
        }
        let mut stored = told.clone();
        schema.settle(&mut stored, SettleOptions::STORED).unwrap();
        let mut by_stages = told;
        prune::prune(&mut by_stages, schema.root());
        nulls::drop_nulls(&mut by_stages, schema.root());
        pleach_schema::coerce::coerce_stored(&mut by_stages, schema.root());
        default::default(&mut by_stages, schema.root());
        prop_assert_eq!(stored, by_stages);
    }

    #[test]
    fn yes_and_no_agree_with_the_errors(schema in schema(), value in value()) {
        let compiled = compile(&schema);
        let errors = validate(compiled.root(), &value, None);
        prop_assert_eq!(compiled.root().accepts(&value), errors.is_empty(), "{:?} {:?}", schema, errors);
    }

    #[test]
    fn an_update_never_finds_more_than_a_create(schema in schema(), new in value(), old in value()) {
        let schema = compile(&schema);
        let created: Vec<_> = validate(schema.root(), &new, None).iter().map(ToString::to_string).collect();
        for error in validate_update(schema.root(), &new, &old, None) {
            prop_assert!(created.contains(&error.to_string()), "{} is not in {:?}", error, created);
        }
    }

    #[test]
    fn equal_schemas_have_equal_fingerprints(schema in schema()) {
        let (first, second) = (compile(&schema), compile(&schema));
        prop_assert!(std::ptr::eq(first.root(), second.root()));
        prop_assert_eq!(first.fingerprint(), second.fingerprint());
    }
}
