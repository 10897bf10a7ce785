//! JSON patches, merge patches and strategic merge patches.

use pleach_json::{Map, Value, json, parse};
use pleach_patch::{
    JsonPatch, StrategicSchema, apply_json_patch, create_merge_patch, merge_patch, strategic_merge_patch,
};

use crate::{Attack, BODY, Make, SCALE, attack, fitting};

/// As many operations as a patch may have.
const OPERATIONS: usize = 10_000;

/// A patch of the same operation again and again, on a document.
fn patch(
    name: &'static str,
    document: impl FnOnce() -> Value + 'static,
    operation: impl Fn(usize) -> String + 'static,
) -> Make {
    Box::new(move || {
        let document = document();
        let operations: Vec<String> = (0..OPERATIONS)
            .map(operation)
            .scan(0, |bytes, next| {
                *bytes += next.len() + 1;
                (*bytes < BODY).then_some(next)
            })
            .collect();
        let text = format!("[{}]", operations.join(","));
        attack(name, text.len().max(BODY), move || {
            let patch = JsonPatch::parse_strict(text.as_bytes()).unwrap().patch;
            apply_json_patch(document, &patch)
        })
    })
}

fn long_list() -> Value {
    json!({"a": (vec![Value::from(1); 900_000 / SCALE])})
}

fn wide_object(prefix: &str) -> Value {
    let members: Map = (0..fitting(12)).map(|n| (format!("{prefix}{n:06}").into(), Value::from(1))).collect();
    json!({"a": members})
}

pub(crate) fn all() -> Vec<Make> {
    vec![
        patch("JSON patch: inserts at the front", long_list, |_| {
            r#"{"op":"add","path":"/a/0","value":0}"#.to_owned()
        }),
        patch("JSON patch: removals at the front", long_list, |_| {
            r#"{"op":"remove","path":"/a/0"}"#.to_owned()
        }),
        patch("JSON patch: moves from end to front", long_list, |_| {
            r#"{"op":"move","from":"/a/-1","path":"/a/0"}"#.to_owned()
        }),
        patch(
            "JSON patch: new members at the front",
            || wide_object("b"),
            |n| format!(r#"{{"op":"add","path":"/a/a{n}","value":0}}"#),
        ),
        patch(
            "JSON patch: members removed at the front",
            || wide_object("b"),
            |n| format!(r#"{{"op":"remove","path":"/a/b{n:06}"}}"#),
        ),
        patch(
            "JSON patch: copies that double",
            || json!({"a": ["x"]}),
            |_| r#"{"op":"copy","from":"/a","path":"/a/-"}"#.to_owned(),
        ),
        patch(
            "JSON patch: copies that deepen",
            || json!({"a": {}}),
            |n| {
                if n == 0 {
                    r#"{"op":"add","path":"/a/a","value":{}}"#.to_owned()
                } else {
                    let path = "/a".repeat(1 << n.min(11));
                    format!(r#"{{"op":"copy","from":"/a","path":"{path}/a"}}"#)
                }
            },
        ),
        patch("JSON patch: copies of a long list", long_list, |n| {
            format!(r#"{{"op":"copy","from":"/a","path":"/b{n}"}}"#)
        }),
        patch(
            "JSON patch: a copy that is changed",
            || json!({"a": (vec![Value::from(1); 1_000])}),
            |n| {
                if n % 2 == 0 {
                    r#"{"op":"copy","from":"/a","path":"/b"}"#.to_owned()
                } else {
                    r#"{"op":"add","path":"/b/0","value":1}"#.to_owned()
                }
            },
        ),
        patch("JSON patch: tests of a long list", long_list, |_| {
            r#"{"op":"test","path":"/a/899","value":1}"#.to_owned()
        }),
        patch(
            "JSON patch: long paths",
            || json!({}),
            |_| format!(r#"{{"op":"test","path":"{}"}}"#, "/a".repeat(100)),
        ),
        Box::new(|| {
            let keys: Vec<String> = (0..fitting(12)).map(|n| format!("\"k{n:07}\":1,")).collect();
            let keys = keys.concat();
            let text = format!("[{{{keys}\"op\":\"test\",\"path\":\"\"}}]");
            attack("JSON patch: an operation of many members", text.len(), move || {
                JsonPatch::parse_strict(text.as_bytes()).is_ok()
            })
        }),
        Box::new(|| {
            let (old, new) = (wide_object("b"), wide_object("a"));
            attack("merge patch: new members before all others", BODY, move || {
                let both = merge_patch(old.clone(), &new);
                let (Value::Object(old), Value::Object(new)) = (old, new) else { return (None, Map::new()) };
                (Some(both), create_merge_patch(&old, &new))
            })
        }),
        Box::new(|| {
            let deep = |leaf: Value| (0..9_990).fold(leaf, |below, _| json!({"a": below, "b": 1}));
            let (old, new) = (deep(json!(1)), deep(json!(2)));
            attack("merge patch: deep objects", 20 * 9_990, move || merge_patch(old, &new))
        }),
        Box::new(|| {
            let Value::Object(old) = wide_object("b") else { unreachable!() };
            let nulls: Map = (0..fitting(15)).map(|n| (format!("b{n:06}").into(), Value::Null)).collect();
            let Value::Object(patch) = json!({"a": nulls}) else { unreachable!() };
            attack("strategic merge patch: removals", BODY, move || {
                strategic_merge_patch(old, &patch, &StrategicSchema::new())
            })
        }),
        Box::new(|| strategic("strategic merge patch: owners", |n| json!({"uid": (format!("u{n}"))}), "x")),
        Box::new(|| {
            let delete = |n: usize| json!({"$patch": "delete", "uid": (format!("u{n}"))});
            strategic("strategic merge patch: owners that go", delete, "x")
        }),
        Box::new(|| {
            let finalizers = |n: usize| parse(format!("\"a/f{n}\"").as_bytes()).unwrap();
            strategic(
                "strategic merge patch: finalizers that go",
                finalizers,
                "$deleteFromPrimitiveList/finalizers",
            )
        }),
        Box::new(|| {
            let finalizers = |n: usize| parse(format!("\"a/f{n}\"").as_bytes()).unwrap();
            strategic("strategic merge patch: finalizers in order", finalizers, "$setElementOrder/finalizers")
        }),
    ]
}

/// A patch of the metadata of an object with many owners and finalizers.
fn strategic(name: &'static str, change: impl Fn(usize) -> Value, key: &str) -> Attack {
    let n = fitting(40);
    let owners: Vec<Value> = (0..n).map(|n| json!({"uid": (format!("u{n}")), "name": "x"})).collect();
    let finalizers: Vec<Value> = (0..n).map(|n| Value::from(format!("a/f{n}"))).collect();
    let original = json!({"metadata": {"ownerReferences": owners, "finalizers": finalizers}});
    let changes: Vec<Value> = (0..n).rev().map(change).collect();
    let mut metadata = Map::new();
    let key = if key == "x" { "ownerReferences" } else { key };
    metadata.insert(key, changes);
    let patch = json!({"metadata": metadata});
    let (Value::Object(original), Value::Object(patch)) = (original, patch) else { unreachable!() };
    attack(name, BODY, move || {
        strategic_merge_patch(original, &patch, &StrategicSchema::new().with_metadata()).is_ok()
    })
}
