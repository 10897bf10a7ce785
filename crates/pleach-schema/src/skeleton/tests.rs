//! The examples of the design by their numbers, and the properties.

use pleach_json::{Value, json};
use proptest::prelude::*;

use super::*;

fn schema(value: &Value) -> JSONSchemaProps {
    JSONSchemaProps::from_value(value).expect("the schema decodes")
}

fn skeleton(value: &Value) -> Value {
    skel(&schema(value)).to_value()
}

/// Pruning as the design has it: a field is kept if the skeleton names it or lets any name pass.
fn prune(value: &Value, skeleton: &JSONSchemaProps) -> Value {
    match value {
        Value::Object(members) => {
            let mut out = pleach_json::Map::new();
            for (name, member) in members {
                if let Some(property) = skeleton.property(name) {
                    out.insert(name.clone(), prune(member, property));
                } else if let Some(additional) = &skeleton.additional_properties {
                    let anything = JSONSchemaProps::default();
                    out.insert(name.clone(), prune(member, additional.schema().unwrap_or(&anything)));
                }
            }
            out.into()
        }
        other => other.clone(),
    }
}

#[test]
fn example_1_a_field_is_specified_if_a_properties_key_names_it() {
    let s = json!({"properties": {"a": {}, "b": {"type": "string"}, "c": {"not": {}}}});
    let pruned = prune(&json!({"a": 1, "c": 3, "d": 4}), &skel(&schema(&s)));
    assert_eq!(pruned, json!({"a": 1, "c": 3}));
}

#[test]
fn example_2_fields_of_all_branches_are_specified() {
    let s = json!({"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]});
    let pruned = prune(&json!({"a": 1, "b": 2, "c": 3}), &skel(&schema(&s)));
    assert_eq!(pruned, json!({"a": 1, "b": 2}));
}

#[test]
fn example_3_also_those_that_no_value_satisfies() {
    let s = json!({
        "properties": {"a": {}, "b": {"type": "string", "properties": {"x": {}}}},
        "anyOf": [{"properties": {"c": {}}}, {"properties": {"d": {"not": {}}}}],
    });
    let skeleton = skel(&schema(&s));
    for (path, specified) in
        [("a", true), ("b", true), ("b.x", true), ("c", true), ("d", true), ("b.y", false), ("e", false)]
    {
        let found = path.split('.').try_fold(&skeleton, |at, name| at.property(name));
        assert_eq!(found.is_some(), specified, "{path}");
    }
}

#[test]
fn example_4_value_validations_are_not_part_of_it() {
    let s = json!({"properties": {
        "a": {"type": "string", "pattern": "<some-long-regex-for-ips>", "format": "ip"},
        "b": {"properties": {"x": {}, "y": {}}},
    }});
    let want = json!({"properties": {"a": {"type": "string"}, "b": {"properties": {"x": {}, "y": {}}}}});
    assert_eq!(skeleton(&s), want);
}

#[test]
fn example_5_a_type_stays_if_all_agree_on_it() {
    let s = json!({
        "anyOf": [
            {"properties": {"a": {"type": "string"}}},
            {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
        ],
        "properties": {"c": {}},
    });
    assert_eq!(skeleton(&s), json!({"properties": {"a": {}, "b": {"type": "string"}, "c": {}}}));
}

#[test]
fn example_6_an_object_that_is_struct_and_map_is_found() {
    let s = json!({"anyOf": [
        {"properties": {"a": {"type": "string"}}},
        {"additionalProperties": {"type": "integer"}},
    ]});
    // The design prints the two keywords without their contents.
    let skeleton = skel(&schema(&s));
    assert_eq!(
        skeleton.to_value(),
        json!({"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}})
    );
    assert_eq!(polymorphic_objects(&skeleton, &Path::new("s")), ["s"]);
}

#[test]
fn merge_keeps_what_all_agree_on() {
    for (why, parts, want) in [
        ("no part, no schema", json!([]), json!({})),
        ("one that says no type does not agree", json!([{"type": "object"}, {}]), json!({})),
        (
            "items at each position",
            json!([{"items": [{"type": "string"}, {"type": "integer"}]}, {"items": [{"type": "integer"}]}]),
            json!({"items": [{}, {"type": "integer"}]}),
        ),
        (
            "one schema for all items counts at every position",
            json!([{"items": [{"type": "string"}]}, {"items": {"type": "string"}}]),
            json!({"items": [{"type": "string"}]}),
        ),
        (
            "additional items and pattern properties",
            json!([
                {"additionalItems": {"type": "string"}, "patternProperties": {"x": {"type": "string"}}},
                {"additionalItems": true, "patternProperties": {"x": {"type": "string"}, "y": {}}},
            ]),
            json!({"additionalItems": {}, "patternProperties": {"x": {"type": "string"}, "y": {}}}),
        ),
        (
            "what may not be there gives way",
            json!([{"additionalProperties": false}, {"additionalProperties": {"type": "string"}}]),
            json!({"additionalProperties": {"type": "string"}}),
        ),
    ] {
        let parts: Vec<_> = parts.as_array().expect("a list").iter().map(schema).collect();
        assert_eq!(merge(&parts).to_value(), want, "{why}");
    }
}

#[test]
fn the_fifth_example_accepts_what_its_skeleton_does_not() {
    let s = json!({"anyOf": [
        {"properties": {"a": {"type": "string"}}},
        {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
    ]});
    let object = json!({"a": "x", "b": 5});
    assert!(accepts(&schema(&s), &object), "by the first branch, which does not know b");
    assert!(!accepts(&skel(&schema(&s)), &object), "the skeleton knows b from the second");
}

/// The meaning of the keywords that skeletons and the schemas of the properties below use.
pub(crate) fn accepts(schema: &JSONSchemaProps, value: &Value) -> bool {
    let kind = value.kind().as_str();
    let type_ = schema.type_.as_str();
    let typed = type_.is_empty() || type_ == kind || (type_ == "number" && kind == "integer");
    let required =
        value.as_object().is_none_or(|o| schema.required().iter().all(|name| o.contains_key(name)));
    let members = value.as_object().is_none_or(|o| {
        o.iter().all(|(name, member)| match (schema.property(name), &schema.additional_properties) {
            (Some(property), _) => accepts(property, member),
            (None, Some(SchemaOrBool::Schema(additional))) => accepts(additional, member),
            (None, Some(SchemaOrBool::Bool(allowed))) => *allowed,
            (None, None) => true,
        })
    });
    let items = value
        .as_array()
        .is_none_or(|a| schema.items().is_none_or(|items| a.iter().all(|item| accepts(items, item))));
    let one_of = schema.one_of();
    typed
        && required
        && members
        && items
        && schema.all_of().iter().all(|s| accepts(s, value))
        && (schema.any_of().is_empty() || schema.any_of().iter().any(|s| accepts(s, value)))
        && (one_of.is_empty() || one_of.iter().filter(|s| accepts(s, value)).count() == 1)
        && schema.not().is_none_or(|s| !accepts(s, value))
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c"])
}

fn type_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["object", "array", "string", "integer", "number", "boolean"])
}

/// Schemas as JSON; `junctors` are the ones they may use, `typed` says whether types may stand in
/// them.
pub(crate) fn schemas(junctors: &'static [&'static str], typed: bool) -> impl Strategy<Value = Value> {
    branch(true, 2, junctors, typed)
}

fn branch(types: bool, depth: u32, junctors: &'static [&'static str], typed: bool) -> BoxedStrategy<Value> {
    let type_ = if types { prop::option::of(type_name()).boxed() } else { Just(None).boxed() };
    let leaf = (type_, prop::option::of(name())).prop_map(|(type_, required)| {
        let mut out = pleach_json::Map::new();
        if let Some(type_) = type_ {
            out.insert("type", type_);
        }
        if let Some(required) = required {
            out.insert("required", json!([required]));
        }
        out
    });
    if depth == 0 {
        return leaf.prop_map(Value::from).boxed();
    }
    let below = || branch(types, depth - 1, junctors, typed);
    let nested = move || branch(types && typed, depth - 1, junctors, typed);
    (
        leaf,
        prop::collection::vec((name(), below()), 0..3),
        prop::option::of(below()),
        prop::option::of(below()),
        prop::option::of((prop::sample::select(junctors), prop::collection::vec(nested(), 1..3))),
    )
        .prop_map(|(mut out, properties, items, additional, junctor)| {
            if !properties.is_empty() {
                let map: pleach_json::Map =
                    properties.into_iter().map(|(name, schema)| (name.into(), schema)).collect();
                out.insert("properties", map);
            } else if let Some(additional) = additional {
                out.insert("additionalProperties", additional);
            }
            if let Some(items) = items {
                out.insert("items", items);
            }
            match junctor {
                Some(("not", mut list)) => {
                    out.insert("not", list.remove(0));
                }
                Some((keyword, list)) => {
                    out.insert(keyword, list);
                }
                None => {}
            }
            out.into()
        })
        .boxed()
}

pub(crate) fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::from("x")),
        Just(Value::Int(1)),
        Just(Value::Float(1.5)),
        Just(Value::Bool(true)),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..4).prop_map(|members| {
                let members: pleach_json::Map = members.into_iter().map(|(n, v)| (n.into(), v)).collect();
                members.into()
            }),
        ]
    })
}

/// Every path that `properties` keys name in the schema, whatever junctors are around.
fn named(schema: &JSONSchemaProps, path: &str, out: &mut Vec<String>) {
    for (name, property) in schema.properties() {
        let path = format!("{path}.{name}");
        out.push(path.clone());
        named(property, &path, out);
    }
    let junctors = schema.all_of().iter().chain(schema.any_of()).chain(schema.one_of()).chain(schema.not());
    junctors.for_each(|nested| named(nested, path, out));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_skeleton_accepts_the_values_of_a_schema_with_untyped_junctors(
        s in schemas(&["allOf", "anyOf", "oneOf", "not"], false), value in values(),
    ) {
        let schema = schema(&s);
        prop_assume!(no_free_members_in_junctors(&schema, false));
        if accepts(&schema, &value) {
            prop_assert!(accepts(&skel(&schema), &value));
        }
    }

    #[test]
    fn a_skeleton_accepts_the_values_of_a_schema_with_all_of(
        s in schemas(&["allOf"], true), value in values(),
    ) {
        let schema = schema(&s);
        prop_assume!(no_free_members_in_junctors(&schema, false));
        if accepts(&schema, &value) {
            prop_assert!(accepts(&skel(&schema), &value));
        }
    }

    #[test]
    fn every_named_field_is_named_in_the_skeleton_and_nothing_else(
        s in schemas(&["allOf", "anyOf", "oneOf", "not"], true),
    ) {
        let schema = schema(&s);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        named(&schema, "", &mut before);
        named(&skel(&schema), "", &mut after);
        before.sort();
        before.dedup();
        after.sort();
        prop_assert_eq!(before, after);
    }

    #[test]
    fn the_skeleton_of_a_skeleton_is_itself(s in schemas(&["allOf", "anyOf", "oneOf", "not"], true)) {
        let once = skel(&schema(&s));
        prop_assert_eq!(skel(&once), once);
    }
}

/// Whether `additionalProperties` stand only outside of junctors: inside they speak of fields that
/// another branch may name.
fn no_free_members_in_junctors(schema: &JSONSchemaProps, inside: bool) -> bool {
    let nested = schema.all_of().iter().chain(schema.any_of()).chain(schema.one_of()).chain(schema.not());
    let mixes = |s: &JSONSchemaProps| s.additional_properties.is_some();
    let has_junctor = nested.clone().next().is_some();
    !(mixes(schema) && (inside || has_junctor))
        && nested.clone().all(|s| no_free_members_in_junctors(s, true))
        && schema.properties().iter().all(|(_, s)| no_free_members_in_junctors(s, inside))
        && schema.items().is_none_or(|s| no_free_members_in_junctors(s, inside))
        && schema.additional_properties().is_none_or(|s| no_free_members_in_junctors(s, inside))
}
