use pleach_json::{Value, json};

use super::*;
use crate::Path;
use crate::field_error::FieldError;

fn texts(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn create(metadata: &Value, namespaced: bool, rule: NameRule) -> Vec<String> {
    texts(&validate_object_meta(ObjectMeta::new(metadata), namespaced, rule, &Path::new("metadata")))
}

fn update(new: &Value, old: &Value) -> Vec<String> {
    texts(&validate_object_meta_update(ObjectMeta::new(new), ObjectMeta::new(old), &Path::new("metadata")))
}

#[test]
fn a_request_s_metadata_comes_back_normal() {
    for (given, want, why) in [
        (json!({}), json!({}), "nothing"),
        (
            json!({"labels": {"a": null}, "annotations": {}}),
            json!({"labels": {"a": ""}}),
            "null labels are empty",
        ),
        (json!({"creationTimestamp": null, "name": "x"}), json!({"name": "x"}), "no creation time"),
        (json!({"clusterName": "x", "Name": "y"}), json!({}), "keys are matched by case"),
        (
            json!({"ownerReferences": [{"uid": "u", "controller": null, "blockOwnerDeletion": false}]}),
            json!({"ownerReferences": [
                {"apiVersion": "", "blockOwnerDeletion": false, "kind": "", "name": "", "uid": "u"}]}),
            "owner references are written whole",
        ),
        (
            json!({"managedFields": [{"fieldsV1": {"f:a": {}}, "time": null, "operation": ""}]}),
            json!({"managedFields": [{"fieldsV1": {"f:a": {}}}]}),
            "managed fields",
        ),
    ] {
        let mut value = given;
        decode(&mut value, &mut Decoder::lenient()).unwrap();
        assert_eq!(value, want, "{why}");
    }
}

#[test]
fn wrong_types_are_go_s_decoding_errors() {
    for (given, want) in [
        (json!("x"), "json: cannot unmarshal string into Go value of type v1.ObjectMeta"),
        (
            json!({"labels": {"a": 1}, "name": 1}),
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
        (
            json!({"labels": []}),
            "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string",
        ),
        (
            json!({"ownerReferences": [{"uid": 1}]}),
            "json: cannot unmarshal number into Go struct field OwnerReference.ownerReferences.uid of type types.UID",
        ),
        (
            json!({"managedFields": [{"operation": 1}]}),
            "json: cannot unmarshal number into Go struct field ManagedFieldsEntry.managedFields.operation of type \
             v1.ManagedFieldsOperationType",
        ),
    ] {
        let mut value = given;
        assert_eq!(decode(&mut value, &mut Decoder::lenient()).unwrap_err(), want);
    }
}

#[test]
fn stored_metadata_loses_only_what_does_not_decode() {
    let mut stored = json!({
        "name": "x", "generation": "many", "labels": {"a": "b", "c": 1}, "unknown": 1,
        "creationTimestamp": "then", "finalizers": ["f"],
    });
    decode_stored(&mut stored).unwrap();
    assert_eq!(stored, json!({"name": "x", "finalizers": ["f"]}));
    assert_eq!(
        decode_stored(&mut json!([])).unwrap_err(),
        "invalid metadata: expected object, got []interface {}"
    );
}

#[test]
fn names_and_namespaces_of_new_objects() {
    let subdomain = crate::names::check_dns1123_subdomain("A").remove(0);
    let label = crate::names::check_dns1123_label("B").remove(0);
    let rows: &[(Value, bool, &[&str], &str)] = &[
        (
            json!({}),
            true,
            &[
                "metadata.name: Required value: name or generateName is required",
                "metadata.namespace: Required value",
            ],
            "nothing",
        ),
        (
            json!({"name": "A", "generateName": "A-", "namespace": "B"}),
            true,
            &[
                &format!("metadata.name: Invalid value: \"A\": {subdomain}"),
                &format!("metadata.namespace: Invalid value: \"B\": {label}"),
            ],
            "bad names",
        ),
        (
            json!({"name": "a", "namespace": "b"}),
            false,
            &["metadata.namespace: Forbidden: not allowed on this type"],
            "cluster scope",
        ),
        (
            json!({"name": "a", "generateName": "a."}),
            false,
            &[&format!("metadata.generateName: Invalid value: \"a.\": {subdomain}")],
            "generateName",
        ),
        (
            json!({"name": "a", "generation": (-1)}),
            false,
            &["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
            "generation",
        ),
    ];
    for (metadata, namespaced, want, why) in rows {
        assert_eq!(create(metadata, *namespaced, NameRule::Dns1123Subdomain), *want, "{why}");
    }
    assert_eq!(
        create(&json!({"name": "a/b", "generateName": ".."}), false, NameRule::PathSegment),
        ["metadata.name: Invalid value: \"a/b\": may not contain '/'"]
    );
}

#[test]
fn maps_and_lists_of_new_objects() {
    let name_part = crate::names::check_qualified_name("a b").remove(0);
    let rows: &[(Value, &[&str], &str)] = &[
        (
            json!({"annotations": {"A b": "x", "x/Y": "z"}}),
            &[&format!("metadata.annotations: Invalid value: \"A b\": {name_part}")],
            "annotation keys",
        ),
        (
            json!({"annotations": {"a": ("x".repeat(TOTAL_ANNOTATION_SIZE_LIMIT))}}),
            &["metadata.annotations: Too long: may not be more than 262144 bytes"],
            "keys and values together",
        ),
        (
            json!({"ownerReferences": [{"apiVersion": "g/", "kind": "", "name": "", "uid": ""}]}),
            &[
                "metadata.ownerReferences.apiVersion: Invalid value: \"g/\": version must not be empty",
                "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty",
                "metadata.ownerReferences.name: Invalid value: \"\": must not be empty",
                "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty",
            ],
            "empty owners",
        ),
        (
            json!({"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "n", "uid": "u"}]}),
            &["metadata.ownerReferences: Invalid value: \
               {\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"n\",\"uid\":\"u\"}: /v1, Kind=Event is \
               disallowed from being an owner"],
            "events own nothing",
        ),
        (
            json!({"ownerReferences": [
                {"apiVersion": "v1", "kind": "A", "name": "1", "uid": "u", "controller": true},
                {"apiVersion": "v1", "kind": "B", "name": "2", "uid": "u", "controller": true},
            ]}),
            &["metadata.ownerReferences: Invalid value: \
               [{\"apiVersion\":\"v1\",\"kind\":\"A\",\"name\":\"1\",\"uid\":\"u\",\"controller\":true},\
               {\"apiVersion\":\"v1\",\"kind\":\"B\",\"name\":\"2\",\"uid\":\"u\",\"controller\":true}]: Only one \
               reference can have Controller set to true. Found \"true\" in references for A/1 and B/2"],
            "two controllers",
        ),
        (
            json!({"finalizers": ["orphan", "foregroundDeletion"]}),
            &[
                "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and \
               foregroundDeletion cannot be both set",
            ],
            "two policies",
        ),
        (
            json!({"managedFields": [{"fieldsType": "y", "manager": "é\u{200b}"}]}),
            &[
                "metadata.managedFields[0].operation: Invalid value: \"\": must be `Apply` or `Update`",
                "metadata.managedFields[0].fieldsType: Invalid value: \"y\": must be `FieldsV1`",
                "metadata.managedFields[0].manager: Invalid value: \"é\\u200b\": invalid character U+200B (at \
                 position 2)",
            ],
            "managed fields",
        ),
        (
            json!({"managedFields": [
                {"operation": "Apply", "manager": ("a".repeat(129)), "subresource": ("a".repeat(257))}]}),
            &[
                "metadata.managedFields[0].manager: Too long: may not be more than 128 bytes",
                "metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes",
            ],
            "long managers",
        ),
    ];
    for (metadata, want, why) in rows {
        let mut metadata = metadata.clone();
        metadata.as_object_mut().unwrap().insert("name", "a");
        assert_eq!(create(&metadata, false, NameRule::Dns1123Subdomain), *want, "{why}");
    }
}

#[test]
fn immutable_fields_of_updates() {
    let old = json!({
        "name": "a", "namespace": "y", "uid": "1", "creationTimestamp": "2020-01-01T00:00:00Z", "generation": 2,
        "resourceVersion": "1",
    });
    let new = json!({
        "name": "b", "namespace": "x", "uid": "2", "creationTimestamp": "2021-01-01T00:00:00Z", "generation": 1,
        "deletionTimestamp": "2021-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5,
    });
    assert_eq!(
        update(&new, &old),
        [
            "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
            "metadata.generation: Invalid value: 1: must not be decremented",
            "metadata.name: Invalid value: \"b\": field is immutable",
            "metadata.namespace: Invalid value: \"x\": field is immutable",
            "metadata.uid: Invalid value: \"2\": field is immutable",
            "metadata.creationTimestamp: Invalid value: \"2021-01-01T00:00:00Z\": field is immutable",
            "metadata.deletionTimestamp: Invalid value: \"2021-01-01T00:00:00Z\": field is immutable",
            "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
        ]
    );
    let terminating = json!({"name": "a", "resourceVersion": "1", "deletionTimestamp": "2021-01-01T00:00:00Z",
        "finalizers": ["a/b"]});
    let more = json!({"name": "a", "resourceVersion": "1", "deletionTimestamp": "2021-01-01T00:00:00Z",
        "finalizers": ["z/z", "a/b", "c/d"]});
    assert_eq!(
        update(&more, &terminating),
        [
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
          finalizers []string{\"c/d\", \"z/z\"}"
        ]
    );
    let live = json!({"name": "a", "resourceVersion": "1"});
    assert_eq!(
        update(&live, &terminating),
        ["metadata.deletionTimestamp: Invalid value: null: field is immutable"]
    );
}

#[test]
fn new_finalizers_without_a_domain_warn() {
    let old = json!({"finalizers": ["known"]});
    let new = json!({"finalizers": ["known", "plain", "a.b", "a.b/c", "orphan"]});
    assert_eq!(
        finalizer_warnings(ObjectMeta::new(&new), Some(ObjectMeta::new(&old))),
        [
            "metadata.finalizers: \"plain\": prefer a domain-qualified finalizer name to avoid accidental conflicts \
             with other finalizer writers",
            "metadata.finalizers: \"a.b\": prefer a domain-qualified finalizer name including a path (/) to avoid \
             accidental conflicts with other finalizer writers",
        ]
    );
}

#[test]
fn owner_references_are_kept_once() {
    let owner = |uid: &str, name: &str| json!({"apiVersion": "v1", "kind": "K", "name": name, "uid": uid});
    let mut metadata = json!({"ownerReferences": [
        (owner("u", "a")), (owner("v", "b")), (owner("u", "a")), (owner("u", "c")), (owner("u", "a"))]});
    let map = metadata.as_object_mut().unwrap();
    let warning = dedup_owner_references(map, "").unwrap();
    assert!(
        warning.starts_with(".metadata.ownerReferences contains duplicate entries; API server dedups"),
        "{warning}"
    );
    assert!(warning.ends_with("duplicate UID(s) observed: u"), "{warning}");
    assert_eq!(dedup_owner_references(map, ""), None);
    assert_eq!(
        metadata.get("ownerReferences"),
        Some(&json!([(owner("u", "a")), (owner("v", "b")), (owner("u", "c"))])),
        "the same uid under another name is another reference"
    );
}

#[test]
fn many_owner_references_are_kept_once_too() {
    let owner =
        |n: usize| json!({"apiVersion": "v1", "kind": "K", "name": "x", "uid": (format!("u{}", n % 30_000))});
    let references: Vec<Value> = (0..40_000).map(owner).collect();
    let mut metadata = json!({"ownerReferences": references});
    let warning = dedup_owner_references(metadata.as_object_mut().unwrap(), " after lunch").unwrap();
    assert!(warning.starts_with(".metadata.ownerReferences contains duplicate entries after lunch; API"));
    assert_eq!(warning.matches(", u").count(), 9_999);
    let left = metadata.get("ownerReferences").and_then(Value::as_array).unwrap();
    assert_eq!(left.len(), 30_000);
    assert_eq!(left[29_999].get("uid"), Some(&json!("u29999")), "in their order");
}

#[test]
fn errors_that_quote_everything_are_few() {
    // Each names all references.
    let owner = |n: usize| json!({"apiVersion": "v1", "kind": "K", "name": "x", "uid": (n.to_string()), "controller": true});
    let references: Vec<Value> = (0..20_000).map(owner).collect();
    let metadata = json!({"name": "x", "ownerReferences": references});
    let errors = validate_object_meta(ObjectMeta::new(&metadata), false, NameRule::PathSegment, &Path::ROOT);
    assert!(!errors.is_empty() && errors.len() <= 2, "{}", errors.len());
    // Each names the whole manager.
    let manager = "\u{1}".repeat(500_000);
    let errors = validate_field_manager(&manager, &Path::ROOT);
    assert!(errors.len() > 1 && errors.len() <= 4, "{}", errors.len());
    let many: Vec<Value> = (0..100_000).map(|n| json!(format!("-{n}"))).collect();
    let metadata = json!({"name": "x", "finalizers": many});
    let errors = validate_object_meta(ObjectMeta::new(&metadata), false, NameRule::PathSegment, &Path::ROOT);
    assert_eq!(errors.len(), crate::field_error::MAX_ERRORS + 1);
}
