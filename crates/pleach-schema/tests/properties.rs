//! Properties that hold for every schema and every value.

// What is wrong with a test should end it.
#![allow(clippy::unwrap_used)]

#[path = "support/stages.rs"]
mod stages;

use pleach_json::{Map, Value, json};
use pleach_schema::validate::{validate, validate_update};
use pleach_schema::{Record, Schema, SchemaOptions, SettleOptions};
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
    fn settling_twice_is_settling_once(schema in schema(), value in value()) {
        let schema = compile(&schema);
        for options in [SettleOptions::CONVERTED, SettleOptions::STORED] {
            let mut settled = value.clone();
            schema.settle(&mut settled, options).unwrap();
            let mut again = settled.clone();
            let options = SettleOptions { record: Record::Everything, ..options };
            let recorded = schema.settle(&mut again, options).unwrap();
            prop_assert!(again.is_same(&settled), "{:?} became {:?}", settled, again);
            prop_assert!(recorded.pruned.is_empty() && recorded.nulls_dropped.is_empty(), "{:?}", recorded);
            prop_assert!(recorded.defaults.applied.is_empty(), "{:?}", recorded);
        }
    }

    #[test]
    fn one_walk_does_what_the_stages_do(schema in schema(), value in value(), preserve: bool) {
        let options = SchemaOptions { preserve_unknown_fields: preserve, ..SchemaOptions::default() };
        let schema = Schema::from_value(&schema, options);
        let mut stages = value.clone();
        if !preserve {
            stages::prune(&mut stages, Some(schema.root()));
            stages::drop_nulls(&mut stages, schema.root());
        }
        stages::coerce_stored(&mut stages, schema.root());
        let mut converted = value.clone();
        schema.settle(&mut converted, SettleOptions::CONVERTED).unwrap();
        prop_assert_eq!(&converted, &stages);
        stages::default(&mut stages, schema.root());
        let mut stored = value.clone();
        schema.settle(&mut stored, SettleOptions::STORED).unwrap();
        prop_assert_eq!(&stored, &stages);
        let (mut defaulted, mut stages) = (value.clone(), value);
        schema.fill_defaults(&mut defaulted, None);
        stages::default(&mut stages, schema.root());
        prop_assert_eq!(defaulted, stages);
    }

    #[test]
    fn a_baseline_changes_nothing_but_what_is_shared(schema in schema(), old in value(), new in value(), part in value()) {
        let schema = compile(&schema);
        let mut settled = old;
        schema.settle(&mut settled, SettleOptions::STORED).unwrap();
        // Something of the old object, something new, and something that is neither.
        let mut mixed = settled.clone();
        if let (Some(members), Some(new)) = (mixed.as_object_mut(), new.as_object()) {
            members.extend(new.iter().take(2).map(|(key, value)| (key.clone(), value.clone())));
            members.insert("c", part);
        }
        for object in [mixed, new] {
            for options in [SettleOptions::STORED, SettleOptions::request(Record::Unknown)] {
                let (mut alone, mut against) = (object.clone(), object.clone());
                let alone_recorded = schema.settle(&mut alone, options);
                let recorded = schema.settle_against(&mut against, Some(&settled), options);
                prop_assert_eq!(alone, against);
                prop_assert_eq!(
                    alone_recorded.map_err(|error| error.to_string()),
                    recorded.map_err(|error| error.to_string())
                );
            }
        }
    }

    #[test]
    fn recording_does_not_change_the_result(schema in schema(), value in value()) {
        let schema = compile(&schema);
        let (mut explained, mut listed, mut plain) = (value.clone(), value.clone(), value);
        let all = schema.settle(&mut explained, SettleOptions::request(Record::Everything));
        let some = schema.settle(&mut listed, SettleOptions::request(Record::Unknown));
        let none = schema.settle(&mut plain, SettleOptions::request(Record::Nothing));
        prop_assert_eq!(&explained, &listed);
        prop_assert_eq!(&explained, &plain);
        prop_assert_eq!(all.is_ok(), none.is_ok());
        if let (Ok(all), Ok(some)) = (all, some) {
            prop_assert_eq!(all.pruned, some.pruned);
            prop_assert_eq!(all.nulls_dropped, some.nulls_dropped);
            prop_assert_eq!(all.unknown_metadata, some.unknown_metadata);
        }
    }

    #[test]
    fn accepts_agrees_with_the_errors(schema in schema(), value in value()) {
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
