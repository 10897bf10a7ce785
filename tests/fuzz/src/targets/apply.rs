//! Server-side apply: managed fields as clients forge them, and applying configurations.

use pleach_apply::{
    ApplyError, ManagedFields, Request, Tracker, Type, Versions, compare, decode_fields, encode_fields,
    fields_of, merge, validate,
};
use pleach_json::{Value, json, parse};
use pleach_schema::{Schema, SchemaOptions};
use pleach_work::Constant;

use crate::bytes::{Bytes, long, seeds, split};

const API_VERSION: &str = "g/v1";

struct Kind(Schema);

impl Versions for Kind {
    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        (api_version == API_VERSION || api_version == "g/v2").then(|| Type::of(&self.0))
    }
}

static KIND: Constant<Kind> = Constant::new(|| {
    let item = json!({"type": "object", "properties": {
        "a": {"type": "string"},
        "n": {"type": "integer", "default": 1},
        "m": {"type": "object", "additionalProperties": {"type": "number"}},
        "s": {"type": "array", "items": {"type": "number"}, "x-kubernetes-list-type": "set"},
    }});
    let keyed = |keys: Value| {
        json!({"type": "array", "items": (item.clone()), "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": (keys)})
    };
    let spec = json!({"type": "object", "properties": {
        "a": {"type": "string"},
        "i": {"x-kubernetes-int-or-string": true},
        "k": (keyed(json!(["a"]))),
        "kn": (keyed(json!(["a", "n"]))),
        "l": {"type": "array", "items": {"type": "object", "properties": {"k": (keyed(json!(["n"])))}}},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "s": {"type": "array", "items": {"x-kubernetes-int-or-string": true}, "x-kubernetes-list-type": "set"},
        "w": {"type": "object", "properties": {"k": (keyed(json!(["a"])))}, "x-kubernetes-map-type": "atomic"},
        "x": {"x-kubernetes-preserve-unknown-fields": true},
    }});
    Kind(Schema::from_value(
        &json!({"type": "object", "properties": {"spec": (spec)}}),
        SchemaOptions::default(),
    ))
});

/// Any JSON as `managedFields` and as `fieldsV1`: what is decoded is encoded and decoded the same, and operations on
/// sets keep their laws.
pub(super) fn managed_fields(data: &[u8]) {
    let (first, second) = split(data);
    let Ok(first) = parse(first) else { return };
    if let Ok(managed) = ManagedFields::decode(&first) {
        let encoded = managed.encode();
        let again = ManagedFields::decode(&encoded).expect("what was encoded decodes");
        assert_eq!(again.encode(), encoded);
    }
    let Ok(a) = decode_fields(&first) else { return };
    let encoded = encode_fields(&a);
    assert_eq!(decode_fields(&encoded).expect("what was encoded decodes"), a);
    let b = parse(second).ok().and_then(|second| decode_fields(&second).ok()).unwrap_or_default();
    let (union, both, only) = (a.union(&b), a.intersection(&b), a.difference(&b));
    assert!(a.is_subset(&union) && b.is_subset(&union));
    assert!(both.is_subset(&a) && both.is_subset(&b) && only.is_subset(&a));
    assert!(only.intersection(&b).is_empty());
    assert_eq!(only.union(&both), a);
    assert_eq!(a.intersects(&b), !both.is_empty());
    assert_eq!(union.len() + both.len(), a.len() + b.len());
}

pub(super) fn managed_fields_seeds() -> Vec<Vec<u8>> {
    let mut all = seeds(&[
        r#"[{"manager":"m","operation":"Apply","apiVersion":"g/v1","time":"2024-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:a":{},"f:k":{"k:{\"a\":\"x\"}":{".":{},"f:n":{}}},"f:s":{"v:1":{},"v:\"b\"":{}}}}},{"manager":"m","operation":"Update","apiVersion":"g/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:a":{}}}},"subresource":"status"}]"#,
        r#"{"f:spec":{".":{},"f:a":{},"f:k":{"k:{\"a\":\"x\",\"n\":1}":{".":{},"f:n":{}},"i:0":{},"i:-1":{}},"f:s":{"v:1":{},"v:1.5":{},"v:{\"a\":[]}":{}}}}¦{"f:spec":{"f:a":{"f:b":{}},"f:k":{"k:{\"n\":1,\"a\":\"x\"}":{}}},"f:x":{}}"#,
        r#"{"f:":{"f:":{"f:":{}}},"z:unknown":{},"k:null":{},"v:null":{}}¦{}"#,
        r#"{"f:a":null}¦{"f:a":{".":null}}"#,
        "null",
    ]);
    all.push(long("[{\"manager\":\"x\"}", ",{\"manager\":\"m#\",\"operation\":\"Update\",\"apiVersion\":\"g/v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{\"f:a\":{}}}}", 80, "]"));
    all.push(long("{\"f:spec\":{\"f:a\":{}", ",\"f:k#\":{\"v:#\":{}}", 400, "}}¦{\"f:spec\":{\"f:k7\":{}}}"));
    all
}

/// A live object and a configuration: applying twice is applying once, and typed operations on any values end
/// without a panic.
pub(super) fn apply(data: &[u8]) {
    let mut bytes = Bytes(data);
    let choice = bytes.next();
    let (live, config) = split(bytes.0);
    let (Ok(live), Ok(config)) = (parse(live), parse(config)) else { return };
    let of = Type::of(&KIND.0);
    let (old, new) =
        (live.get("spec").cloned().unwrap_or_default(), config.get("spec").cloned().unwrap_or_default());
    let (old, new) = (json!({"spec": (old)}), json!({"spec": (new)}));
    if validate(&old, of, false).is_ok() && validate(&new, of, false).is_ok() {
        let _ = fields_of(&new, of);
        let _ = compare(&old, &new, of);
        let merged = merge(&old, &new, of);
        assert_eq!(merge(&merged, &new, of), merged, "merging twice is merging once");
    }
    if live.as_object().is_none() || config.as_object().is_none() {
        return;
    }
    let request = Request {
        manager: if choice & 2 == 0 { "m" } else { "kubectl" },
        api_version: API_VERSION,
        kind: "A",
        subresource: if choice & 4 == 0 { "" } else { "status" },
        time: "2024-01-01T00:00:00Z",
    };
    let tracker = Tracker::new(&*KIND, request);
    let live = (choice & 8 == 0).then_some(&live);
    match tracker.apply(live, &config, choice & 1 == 1, &|_| ()) {
        Ok(applied) => {
            let again = tracker.apply(Some(&applied.object), &config, false, &|_| ());
            let again = again.expect("what was applied is applied again without conflicts");
            // Without any owner all fields have one again, as upstream has it: `before-first-apply`.
            if applied.object.at(&["metadata", "managedFields"]).is_some() {
                assert_eq!(again.object, applied.object);
            }
        }
        Err(ApplyError::Conflicts(conflicts)) => assert!(!conflicts.causes().is_empty()),
        Err(ApplyError::BadRequest(text) | ApplyError::Failed(text)) => assert!(!text.is_empty()),
        Err(_) => {}
    }
    let mut updated = config;
    tracker.update(live, &mut updated);
}

pub(super) fn apply_seeds() -> Vec<Vec<u8>> {
    let choices: [u8; 4] = [0, 1, 3, 9];
    let texts = seeds(&[
        r#"{"apiVersion":"g/v1","kind":"A","metadata":{"name":"x","managedFields":[{"manager":"o","operation":"Update","apiVersion":"g/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:a":{},"f:k":{"k:{\"a\":\"x\"}":{".":{},"f:a":{},"f:n":{}}}}}},{"manager":"m","operation":"Apply","apiVersion":"g/v2","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:m":{"f:q":{}},"f:s":{"v:1":{}}}}}]},"spec":{"a":"b","k":[{"a":"x","n":2}],"m":{"q":"r"},"s":[1,"t"]}}¦{"apiVersion":"g/v1","kind":"A","metadata":{"name":"x"},"spec":{"a":"c","k":[{"a":"x","n":3},{"a":"y","s":[1,2]}],"kn":[{"a":"z"}],"s":["t",5],"w":{"k":[{"a":"1"}]},"x":{"any":[{"thing":null}]}}}"#,
        r#"{"apiVersion":"g/v1","kind":"A","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"g/v1\",\"kind\":\"A\",\"spec\":{\"a\":\"b\"}}"}},"spec":{"a":"b","l":[{"k":[{"n":1},{"n":2}]}]}}¦{"apiVersion":"g/v1","kind":"A","spec":{"a":"d","l":[{"k":[{"n":2}]}],"i":"7"}}"#,
        r#"{"spec":{"k":[{"a":"x"},{"a":"x"},{"n":1}]}}¦{"apiVersion":"g/v1","kind":"A","spec":{"k":[{"a":"x"}]}}"#,
    ]);
    let mut all: Vec<Vec<u8>> =
        texts.iter().flat_map(|text| choices.map(|choice| [&[choice], &text[..]].concat())).collect();
    all.push(long("\u{1}{\"apiVersion\":\"g/v1\",\"kind\":\"A\",\"spec\":{\"a\":\"b\"}}¦{\"apiVersion\":\"g/v1\",\"kind\":\"A\",\"spec\":{\"k\":[{\"a\":\"x\"}", ",{\"a\":\"#\",\"n\":#}", 350, "]}}"));
    all
}
