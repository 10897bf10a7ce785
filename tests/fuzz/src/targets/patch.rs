//! The three kinds of patches. An input is a document, a separator and a patch.

use pleach_json::{Map, Value, parse, to_vec};
use pleach_patch::{
    JsonPatch, StrategicSchema, apply_json_patch, create_merge_patch, merge_patch, strategic_merge_patch,
};

use crate::bytes::{long, seeds, split};

/// Both readers of patches agree (the strict one refuses more), a patch does the same every time, and its result can be
/// written and read.
pub(super) fn json_patch(data: &[u8]) {
    let (document, patch) = split(data);
    let read = JsonPatch::parse(patch);
    let strict = JsonPatch::parse_strict(patch).ok().map(|strict| strict.patch);
    assert!(read.is_ok() || strict.is_none(), "what is read strictly is read");
    let (Ok(document), Ok(patch)) = (parse(document), read) else { return };
    let result = apply_json_patch(document.clone(), &patch);
    let again = apply_json_patch(document.clone(), strict.as_ref().unwrap_or(&patch));
    match (result, again) {
        (Ok(result), Ok(again)) => {
            assert_eq!(result, again);
            assert!(!patch.is_empty() || result == document);
            let stored = parse(&to_vec(&result)).expect("the result can be stored");
            assert!(stored == result || !result.reads_back(None));
        }
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
        other => panic!("{other:?}"),
    }
}

pub(super) fn json_patch_seeds() -> Vec<Vec<u8>> {
    let mut all = seeds(&[
        r#"{"a":{"b":[1,2,3],"c":{}},"d/e":1,"f~g":2}¦[{"op":"add","path":"/a/b/-","value":4},{"op":"add","path":"/a/b/0","value":{"x":[]}},{"op":"remove","path":"/a/b/1"},{"op":"replace","path":"/d~1e","value":null},{"op":"copy","from":"/a","path":"/h"},{"op":"move","from":"/f~0g","path":"/a/c/i"},{"op":"test","path":"/a/b/-1","value":4}]"#,
        r#"[1,[2],{"a":3}]¦[{"op":"copy","from":"","path":"/1/0"},{"op":"copy","from":"","path":"/1/0"},{"op":"remove","path":"/-1"}]"#,
        r#"{"a":[]}¦[{"op":"add","path":"/a/0","value":1},{"op":"add","path":"/a/0","value":1},{"op":"add","path":"/a/0","value":1}]"#,
        r#"{}¦[{"op":"test","path":"/x","value":null},{"op":"add","path":"","value":{"a":1}}]"#,
        r#"{"a":1}¦[{"op":"nonsense","path":5,"from":null,"more":{}}]"#,
    ]);
    all.push(long(
        "{\"a\":[]}¦[",
        "{\"op\":\"add\",\"path\":\"/a/0\",\"value\":#},",
        150,
        "{\"op\":\"test\",\"path\":\"/a/0\",\"value\":149}]",
    ));
    all.push(long("{\"a\":[0", ",#", 800, "]}¦[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/0\"},{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/0\"}]"));
    all
}

/// Patching twice is patching once, and a patch made from two objects leads from one to the other.
pub(super) fn merge_patches(data: &[u8]) {
    let (document, patch) = split(data);
    let (Ok(document), Ok(patch)) = (parse(document), parse(patch)) else { return };
    if let Ok(result) = merge_patch(document.clone(), &patch) {
        let again = merge_patch(result.clone(), &patch).expect("a patch that was merged can be merged");
        assert_eq!(again, result);
    }
    if let (Value::Object(old), Value::Object(new)) = (&document, &patch)
        && !has_null_member(&patch)
    {
        let between = create_merge_patch(old, new);
        assert_eq!(merge_patch(document.clone(), &between.into()).expect("its own patch fits"), patch);
    }
}

/// Whether a null stands where a merge patch means removal: upstream's library also removes those in lists that are
/// added.
fn has_null_member(value: &Value) -> bool {
    let nested = |value: &Value| pleach_json::grow_stack(|| has_null_member(value));
    match value {
        Value::Object(members) => members.values().any(|value| value.is_null() || nested(value)),
        Value::Array(items) => items.iter().any(nested),
        _ => false,
    }
}

pub(super) fn merge_patch_seeds() -> Vec<Vec<u8>> {
    let mut all = seeds(&[
        r#"{"a":{"b":1,"c":[1,{"d":null}]},"e":"f"}¦{"a":{"b":null,"c":[2],"x":{"y":null,"z":1}},"e":{"g":1}}"#,
        r#"{"a":{"b":{"c":{}}}}¦{"a":{"b":{"c":{"d":{"e":5}}}}}"#,
        r#"{"a":1}¦[1]"#,
        r#"{"a":1}¦{}"#,
        r#"[1]¦{"a":null}"#,
    ]);
    all.push(long("{\"a\":{}}¦{\"a\":{\"z\":null", ",\"k#\":{\"v\":#}", 400, "}}"));
    all
}

/// The same answer every time; an empty patch changes nothing; a result takes the same patch again or says why not.
pub(super) fn strategic_patch(data: &[u8]) {
    let (original, patch) = split(data);
    let (Ok(Value::Object(original)), Ok(Value::Object(patch))) = (parse(original), parse(patch)) else {
        return;
    };
    let schema = StrategicSchema::new()
        .with_metadata()
        .merge_list("spec.ports", "port")
        .merge_list("spec.ports.more", "name")
        .merge_set("spec.set")
        .replace_map("spec.whole");
    let unchanged = strategic_merge_patch(original.clone(), &Map::new(), &schema);
    assert_eq!(unchanged.ok().as_ref(), Some(&original));
    let result = strategic_merge_patch(original.clone(), &patch, &schema);
    let again = strategic_merge_patch(original, &patch, &schema);
    match (result, again) {
        (Ok(result), Ok(again)) => {
            assert_eq!(result, again);
            drop(strategic_merge_patch(result, &patch, &schema));
        }
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
        other => panic!("{other:?}"),
    }
}

pub(super) fn strategic_seeds() -> Vec<Vec<u8>> {
    let mut all = seeds(&[
        r#"{"metadata":{"finalizers":["a","b"],"ownerReferences":[{"uid":"1","name":"x"}]},"spec":{"ports":[{"port":1,"more":[{"name":"n","v":1}]},{"port":2}],"set":[1,2],"whole":{"a":1}}}¦{"metadata":{"finalizers":["c"],"$deleteFromPrimitiveList/finalizers":["a"],"ownerReferences":[{"uid":"1","$patch":"delete"}]},"spec":{"$setElementOrder/ports":[{"port":2},{"port":1}],"ports":[{"port":1,"more":[{"name":"m"}]},{"port":3}],"$retainKeys":["ports","set"],"set":[3],"whole":{"b":2}}}"#,
        r#"{"spec":{"ports":[{"port":1},{"port":1},{"x":1}]}}¦{"spec":{"ports":[{"$patch":"replace"},{"port":4}]}}"#,
        r#"{"a":{"b":1}}¦{"a":{"$patch":"delete"},"b":{"$patch":"merge","c":null}}"#,
        r#"{"spec":{"set":["a"]}}¦{"spec":{"$setElementOrder/set":["b","a"],"set":["b"]}}"#,
    ]);
    all.push(long(
        "{\"spec\":{\"ports\":[{\"port\":1}]}}¦{\"spec\":{\"ports\":[{\"port\":2}",
        ",{\"port\":#,\"v\":1}",
        300,
        "]}}",
    ));
    all.push(long(
        "{\"spec\":{\"set\":[1",
        ",#",
        600,
        "]}}¦{\"spec\":{\"$deleteFromPrimitiveList/set\":[3,4],\"set\":[1,2000]}}",
    ));
    all
}
