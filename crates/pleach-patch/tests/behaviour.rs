//! Limits, large patches, and what holds for every patch.

use std::time::{Duration, Instant};

use pleach_json::{Map, Str, Value, json, parse, to_vec};
use pleach_patch::{
    JsonPatch, StrategicSchema, apply_json_patch, create_merge_patch, merge_patch, strategic_merge_patch,
};
use proptest::prelude::*;

#[test]
fn copies_may_not_add_up_to_more_than_a_request_may_hold() {
    let text = "x".repeat(100_000);
    let document = json!({"a": text, "list": []});
    let copies = |n: usize| {
        let copy = json!({"op": "copy", "from": "/a", "path": "/list/-"});
        JsonPatch::from_value(&Value::from(vec![copy; n])).expect("a patch")
    };
    assert!(apply_json_patch(document.clone(), &copies(31)).is_ok());
    let error = apply_json_patch(document, &copies(32)).expect_err("too much");
    assert_eq!(
        error.to_string(),
        "Unable to complete the copy, the accumulated size increase of copy is 3200064, exceeding the limit 3145728"
    );
}

/// Generous, for slow machines: what was quadratic would take minutes.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn large_objects_merge_in_good_time() {
    let wide = |step: usize| -> Map {
        (0..100_000 / step)
            .map(|i| (Str::from(format!("key-{:06}", i * step)), Value::Int(i as i64)))
            .collect()
    };
    let start = Instant::now();
    let merged = merge_patch(Value::Object(wide(2)), &Value::Object(wide(3))).expect("objects");
    assert_eq!(merged.as_object().map(Map::len), Some(66_666));
    let nulls: Map = wide(1).keys().map(|key| (key.clone(), Value::Null)).collect();
    assert_eq!(merge_patch(merged, &Value::Object(nulls)), Ok(Value::object()));
    let patch = create_merge_patch(&wide(2), &wide(3));
    assert_eq!(merge_patch(Value::Object(wide(2)), &Value::Object(patch)), Ok(Value::Object(wide(3))));
    let items = |n: i64| Value::from((0..n).map(|i| json!({"name": i, "v": n})).collect::<Vec<_>>());
    let schema = StrategicSchema::new().merge_list("items", "name");
    let list = |n| Map::from_iter([("items".into(), items(n))]);
    let merged = strategic_merge_patch(list(50_000), &list(40_000), &schema).expect("lists");
    assert_eq!(merged.get("items").and_then(Value::as_array).map(|items| items.len()), Some(50_000));
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn as_many_operations_as_are_allowed_apply_in_good_time() {
    let start = Instant::now();
    let numbers = Value::from((0..20_000).map(Value::Int).collect::<Vec<_>>());
    let members: Map = (0..20_000).map(|i| (Str::from(format!("k{i:06}")), Value::Int(i))).collect();
    let document = json!({"list": numbers, "map": Value::Object(members)});
    let operations = (0..10_000).map(|i| match i % 4 {
        0 => json!({"op": "add", "path": "/list/0", "value": i}),
        1 => json!({"op": "remove", "path": "/list/0"}),
        2 => json!({"op": "add", "path": (format!("/map/a{i}")), "value": i}),
        _ => json!({"op": "test", "path": "/list/-1", "value": 19_999}),
    });
    let patch = JsonPatch::from_value(&Value::from(operations.collect::<Vec<_>>())).expect("a patch");
    let patched = apply_json_patch(document, &patch).expect("it applies");
    assert_eq!(patched.get("map").and_then(Value::as_object).map(Map::len), Some(22_500));
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn deep_documents_and_patches_do_not_overflow_the_stack() {
    let deep = format!("{}1{}", r#"{"a":"#.repeat(9_000), "}".repeat(9_000));
    let value = parse(deep.as_bytes()).expect("JSON");
    let merged = merge_patch(value.clone(), &value).expect("objects");
    assert!(merged == value);
    let path = "/a".repeat(9_000);
    let patch = JsonPatch::from_value(&json!([{"op": "replace", "path": path.as_str(), "value": 2}]))
        .expect("a patch");
    assert!(apply_json_patch(value.clone(), &patch).is_ok());
    let map = value.as_object().expect("an object").clone();
    assert!(strategic_merge_patch(map.clone(), &map, &StrategicSchema::new()).is_ok());
}

#[test]
fn metadata_of_every_kind_merges() {
    let document = json!({"metadata": {
        "finalizers": ["a", "b"],
        "ownerReferences": [{"uid": "1", "name": "x"}, {"uid": "2", "name": "y"}],
        "labels": {"k": "v"},
    }});
    let patch = json!({"metadata": {
        "$deleteFromPrimitiveList/finalizers": ["a"],
        "ownerReferences": [{"$patch": "delete", "uid": "1"}, {"uid": "2", "name": "z"}],
        "labels": {"k": null, "l": "w"},
    }});
    let (Value::Object(document), Value::Object(patch)) = (document, patch) else { panic!("objects") };
    let schema = StrategicSchema::new().with_metadata();
    let merged = strategic_merge_patch(document, &patch, &schema).expect("it applies");
    let want = json!({"metadata": {
        "finalizers": ["b"],
        "ownerReferences": [{"uid": "2", "name": "z"}],
        "labels": {"l": "w"},
    }});
    assert_eq!(Value::Object(merged), want);
}

/// Objects without nulls: a merge patch cannot say them.
fn object() -> impl Strategy<Value = Map> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0..5_i64).prop_map(Value::from),
        "[a-c]".prop_map(Value::from)
    ];
    let value = leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-e]", inner), 0..4).prop_map(|members| Value::Object(
                members.into_iter().map(|(k, v)| (Str::from(k), v)).collect()
            )),
        ]
    });
    prop::collection::vec(("[a-e]", value), 0..5)
        .prop_map(|members| members.into_iter().map(|(k, v)| (Str::from(k), v)).collect())
}

proptest! {
    #[test]
    fn the_patch_between_two_objects_leads_from_one_to_the_other(old in object(), new in object()) {
        let patch = create_merge_patch(&old, &new);
        prop_assert_eq!(merge_patch(Value::Object(old), &Value::Object(patch)), Ok(Value::Object(new)));
    }

    #[test]
    fn a_merge_patch_applied_twice_is_applied_once(old in object(), patch in object()) {
        let patch = Value::Object(patch);
        let once = merge_patch(Value::Object(old), &patch).expect("objects");
        prop_assert_eq!(merge_patch(once.clone(), &patch), Ok(once));
    }

    #[test]
    fn without_a_schema_a_strategic_patch_is_a_merge_patch(old in object(), patch in object()) {
        let strategic = strategic_merge_patch(old.clone(), &patch, &StrategicSchema::new()).expect("no directives");
        prop_assert_eq!(Ok(Value::Object(strategic)), merge_patch(Value::Object(old), &Value::Object(patch)));
    }

    #[test]
    fn any_operations_apply_or_are_refused(
        old in object(),
        operations in prop::collection::vec((
            "add|remove|replace|move|copy|test|x", "(/[a-e0-2~-]{0,2}){0,3}", "(/[a-e0-2-]{0,2}){0,3}", object(),
        ), 0..6),
    ) {
        let operations: Vec<Value> = operations
            .into_iter()
            .map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
            .collect();
        let patch = JsonPatch::parse(&to_vec(&Value::from(operations))).expect("a patch");
        let _ = apply_json_patch(Value::Object(old), &patch);
    }

    #[test]
    fn any_text_is_a_patch_or_is_refused(text in "[\\[\\]{}:,\"a-z/0-9 ]{0,40}") {
        let _ = JsonPatch::parse(text.as_bytes());
        let _ = JsonPatch::parse_strict(text.as_bytes());
    }
}
