//! Protobuf as the official Go clients use it, beyond the recorded conversations.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use pleach_clients::{Api, Running, definition};
use pleach_conformance::protobuf::{MEDIA_TYPE, envelope, frames, unwrap};
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const BOXES: &str = "/apis/example.com/v1/namespaces/default/boxes";
/// The `Accept` header of Go's typed clients.
const TYPED: &str = "application/vnd.kubernetes.protobuf,application/json";

fn message(fields: &Value) -> Vec<u8> {
    envelope(fields, &str::to_owned)
}

/// A CRD `plural.example.com` of one version, by field numbers.
fn crd(api_version: &str, plural: &str, kind: &str) -> Value {
    let schema = json!([[5, "object"], [29, [[1, "spec"], [2, [[5, "object"], [38, true]]]]]]);
    let spec = json!([
        [1, "example.com"],
        [3, [[1, plural], [4, kind]]],
        [4, "Namespaced"],
        [7, [[1, "v1"], [2, true], [3, true], [4, [[1, schema]]]]],
    ]);
    let metadata = json!([[1, format!("{plural}.example.com")]]);
    json!([[1, [[1, api_version], [2, "CustomResourceDefinition"]]], [2, [[1, metadata], [2, spec]]]])
}

fn send(api: &Api, method: &str, path: &str, fields: Option<&Value>) -> (u16, String, Value) {
    let headers = [("Accept", TYPED), ("Content-Type", MEDIA_TYPE)];
    let body = fields.map(message);
    let (status, media, bytes) = api.bytes(method, path, &headers, body.as_deref());
    let read = if media.contains("stream=watch") { frames(&bytes) } else { unwrap(&bytes) };
    (status, media, read)
}

#[test]
fn crds_in_protobuf() {
    let server = Running::in_memory();
    let api = server.api();
    let (status, media, made) =
        send(&api, "POST", CRDS, Some(&crd("apiextensions.k8s.io/v1", "boxes", "Box")));
    assert_eq!((status, media.as_str()), (201, MEDIA_TYPE), "{made}");
    let one = format!("{CRDS}/boxes.example.com");
    let (status, _, read) = send(&api, "GET", &one, None);
    assert_eq!((status, &read["k8s"]["2"]["2"]["3"]["5"]), (200, &json!("BoxList")), "defaults are there");
    // The object is sent back with a label.
    let version = read["k8s"]["2"]["1"]["6"].as_str().unwrap().to_owned();
    let mut changed = crd("apiextensions.k8s.io/v1", "boxes", "Box");
    let metadata = changed[1][1][0][1].as_array_mut().unwrap();
    metadata.push(json!([6, version]));
    metadata.push(json!([11, [[1, "a"], [2, "b"]]]));
    let (status, _, updated) = send(&api, "PUT", &one, Some(&changed));
    assert_eq!((status, &updated["k8s"]["2"]["1"]["11"]), (200, &json!({"1": "a", "2": "b"})), "{updated}");
    let (status, _, conflict) = send(&api, "PUT", &one, Some(&changed));
    assert_eq!((status, &conflict["k8s"]["2"]["4"]), (409, &json!("Conflict")));
    // The status is stored.
    let mut with_status = changed.clone();
    with_status[1][1][0][1][1] = json!([6, updated["k8s"]["2"]["1"]["6"]]);
    let stored = json!([3, [[1, [[1, "Mine"], [2, "True"], [4, "Because"]]], [3, "v1"]]]);
    with_status[1][1].as_array_mut().unwrap().push(stored);
    let (status, _, answer) = send(&api, "PUT", &format!("{one}/status"), Some(&with_status));
    assert_eq!(status, 200, "{answer}");
    let conditions = api.get(&one).ok()["status"]["conditions"].to_string();
    assert!(conditions.contains("Because"), "{conditions}");
    let (status, _, list) = send(&api, "GET", CRDS, None);
    assert_eq!((status, &list["k8s"]["1"]["2"]), (200, &json!("CustomResourceDefinitionList")));
    assert_eq!(list["k8s"]["2"]["2"]["1"]["1"], "boxes.example.com");
    let delete =
        json!([[1, [[1, "apiextensions.k8s.io/v1"], [2, "DeleteOptions"]]], [2, [[4, "Background"]]]]);
    let (status, ..) = send(&api, "DELETE", &one, Some(&delete));
    assert_eq!(status, 200);
}

#[test]
fn v1beta1_crds_in_protobuf() {
    let server = Running::in_memory();
    let api = server.api();
    let beta = CRDS.replace("/v1/", "/v1beta1/");
    let schema = json!([[5, "object"], [29, [[1, "a"], [2, [[5, "string"]]]]]]);
    let spec = json!([
        [1, "example.com"],
        [2, "v1"],
        [3, [[1, "boxes"], [4, "Box"]]],
        [4, "Namespaced"],
        [5, [[1, schema]]],
        [8, [[1, "A"], [2, "string"], [6, ".a"]]],
        [10, false],
    ]);
    let body = json!([
        [1, [[1, "apiextensions.k8s.io/v1beta1"], [2, "CustomResourceDefinition"]]],
        [2, [[1, [[1, "boxes.example.com"]]], [2, spec]]],
    ]);
    let (status, _, made) = send(&api, "POST", &beta, Some(&body));
    assert_eq!(status, 201, "{made}");
    assert_eq!(made["k8s"]["2"]["2"]["2"], "v1", "{made}");
    assert_eq!(made["k8s"]["2"]["2"]["8"]["6"], ".a", "{made}");
    let new = api.get(&format!("{CRDS}/boxes.example.com")).ok();
    assert_eq!(new["spec"]["versions"][0]["additionalPrinterColumns"][0]["jsonPath"], ".a");
}

#[test]
fn watches_are_framed() {
    let server = Running::start(&pleach_conformance::AS_RECORDED);
    let api = server.api();
    api.create(CRDS, &definition("boxes", "Box", json!({"spec": {"type": "object"}})));
    api.create(
        BOXES,
        &json!({"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "a"}, "spec": {}}),
    );
    api.create(
        CONFIG_MAPS,
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}),
    );
    let watch = "?watch=true&timeoutSeconds=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let (status, media, events) = send(&api, "GET", &format!("{CONFIG_MAPS}{watch}"), None);
    assert_eq!((status, media.as_str()), (200, "application/vnd.kubernetes.protobuf;stream=watch"));
    let first = &events["frames"][0];
    assert_eq!(first["1"], "ADDED", "{events}");
    assert_eq!(first["2"]["1"]["k8s"]["1"], json!({"1": "v1", "2": "ConfigMap"}), "{events}");
    assert_eq!(first["2"]["1"]["k8s"]["2"]["2"], json!({"1": "k", "2": "v"}), "{events}");
    let end = &events["frames"][1];
    assert_eq!(end["1"], "BOOKMARK", "{events}");
    let annotations = &end["2"]["1"]["k8s"]["2"]["1"]["12"];
    assert_eq!(*annotations, json!({"1": "k8s.io/initial-events-end", "2": "true"}), "{events}");
    // Metadata of custom resources.
    let partial = format!("{MEDIA_TYPE};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    let (status, media, bytes) = api.bytes("GET", &format!("{BOXES}{watch}"), &[("Accept", &partial)], None);
    assert_eq!((status, media.contains("stream=watch")), (200, true));
    let first = &frames(&bytes)["frames"][0]["2"]["1"]["k8s"];
    assert_eq!(first["1"], json!({"1": "meta.k8s.io/v1", "2": "PartialObjectMetadata"}), "{first}");
    assert_eq!(first["2"]["1"]["1"], "a", "{first}");
    // An error inside the stream, and one before it.
    let (status, _, events) = send(&api, "GET", &format!("{CONFIG_MAPS}?watch=true&resourceVersion=x"), None);
    assert_eq!((status, &events["k8s"]["1"]["2"]), (500, &json!("Status")), "{events}");
}

#[test]
fn hostile_protobuf_is_refused() {
    let server = Running::in_memory();
    let api = server.api();
    let headers = [("Content-Type", MEDIA_TYPE)];
    // A schema nested in a hundred thousand others.
    let mut schema = Vec::new();
    for _ in 0..100_000 {
        let mut length = Vec::new();
        let mut left = schema.len();
        while left > 127 {
            length.push(left as u8 & 127 | 128);
            left >>= 7;
        }
        length.push(left as u8);
        // Backwards, so that every level is an append.
        schema.extend(length.iter().rev());
        schema.extend([1, 0xe2]);
    }
    schema.reverse();
    let mut body = message(&crd("apiextensions.k8s.io/v1", "deep", "Deep"));
    let wrapped = |number: u8, inner: &[u8]| {
        let mut out = vec![number << 3 | 2];
        let mut left = inner.len();
        while left > 127 {
            out.push(left as u8 & 127 | 128);
            left >>= 7;
        }
        out.push(left as u8);
        out.extend_from_slice(inner);
        out
    };
    let deep = wrapped(2, &wrapped(2, &wrapped(7, &wrapped(4, &wrapped(1, &schema)))));
    body.extend(deep);
    let (status, _, answer) = api.bytes("POST", CRDS, &headers, Some(&body));
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(status == 400 && answer.contains("exceeded max depth"), "{status} {answer}");
    // Random bytes of every length.
    for length in [0, 1, 3, 4, 5, 100] {
        let junk: Vec<u8> = b"k8s\0".iter().copied().chain([0x12, 0xff, 0x7f]).cycle().take(length).collect();
        for (method, path) in [("POST", CRDS), ("POST", CONFIG_MAPS), ("PUT", &*format!("{CONFIG_MAPS}/a"))] {
            let (status, _, answer) = api.bytes(method, path, &headers, Some(&junk));
            assert_eq!(status, 400, "{method} {path} {junk:?}: {}", String::from_utf8_lossy(&answer));
        }
    }
    assert_eq!(api.get("/readyz").status, 200);
}
