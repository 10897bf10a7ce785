//! CBOR, which upstream has behind a feature gate.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use pleach_clients::{Api, Running, definition, eventually};
use serde_json::json;

const FOOS: &str = "/apis/example.com/v1/namespaces/default/foos";
const CBOR: &str = "application/cbor";

fn with_foos(server: &Running) -> Api {
    let api = server.api();
    let crd = definition(
        "foos",
        "Foo",
        json!({"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}),
    );
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd);
    eventually("the kind is served", || (api.get(FOOS).status == 200).then_some(()));
    api
}

/// A map of texts, whose values may be further bytes.
fn map(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut out = vec![0xa0 + members.len() as u8];
    for (key, value) in members {
        out.extend(text(key));
        out.extend(value);
    }
    out
}

fn text(text: &str) -> Vec<u8> {
    [&[0x60 + text.len() as u8], text.as_bytes()].concat()
}

fn foo(name: &str, n: u8) -> Vec<u8> {
    map(&[
        ("apiVersion", text("example.com/v1")),
        ("kind", text("Foo")),
        ("metadata", map(&[("name", text(name))])),
        ("spec", map(&[("n", vec![n])])),
    ])
}

fn contains(all: &[u8], part: &[u8]) -> bool {
    all.windows(part.len()).any(|window| window == part)
}

#[test]
fn without_the_gate_it_is_refused() {
    let server = Running::in_memory();
    let api = with_foos(&server);
    let send = |method: &str, path: &str, headers: &[(&str, &str)]| {
        api.bytes(method, path, headers, Some(&foo("a", 1)))
    };
    let (status, _, body) = send("POST", FOOS, &[("Content-Type", CBOR)]);
    let body = String::from_utf8(body).unwrap();
    assert_eq!(status, 415);
    assert!(body.contains("accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf\""), "{body}");
    let apply = format!("{FOOS}/a?fieldManager=m");
    assert_eq!(send("PATCH", &apply, &[("Content-Type", "application/apply-patch+cbor")]).0, 415);
    let get = |path: &str, accept: &str| {
        let (status, media, _) = api.bytes("GET", path, &[("Accept", accept)], None);
        (status, media)
    };
    assert_eq!(get(FOOS, CBOR), (406, "application/json".to_owned()));
    assert_eq!(get("/api/v1/configmaps", CBOR).0, 406);
    assert_eq!(get(FOOS, "application/cbor,application/json"), (200, "application/json".to_owned()));
    assert_eq!(get(&format!("{FOOS}?watch=1&timeoutSeconds=1"), "application/cbor-seq").0, 406);
}

#[test]
fn with_the_gate_it_is_read_and_written() {
    let server = Running::start(&["--in-memory", "--feature-gates", "CBORServingAndStorage=true"]);
    let api = with_foos(&server);
    let both = [("Content-Type", CBOR), ("Accept", CBOR)];
    let (status, media, body) = api.bytes("POST", FOOS, &both, Some(&foo("a", 7)));
    assert_eq!((status, media.as_str()), (201, CBOR), "{}", String::from_utf8_lossy(&body));
    assert!(body.starts_with(b"\xd9\xd9\xf7") && contains(&body, b"Dspec\xa1An\x07"), "{body:x?}");
    assert_eq!(api.get(&format!("{FOOS}/a")).ok()["spec"], json!({"n": 7}), "it is stored as JSON says it");

    // An error, a list, metadata alone, a table and a watch.
    let (status, media, body) = api.bytes("POST", FOOS, &both, Some(&foo("a", 7)));
    assert_eq!((status, media.as_str()), (409, CBOR));
    assert!(contains(&body, b"MAlreadyExists"), "{body:x?}");
    let get = |path: &str, accept: &str| api.bytes("GET", path, &[("Accept", accept)], None);
    for (accept, part) in [
        (CBOR.to_owned(), "FooList"),
        (format!("{CBOR};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"), "PartialObjectMetadataList"),
        (format!("{CBOR};as=Table;g=meta.k8s.io;v=v1"), "columnDefinitions"),
    ] {
        let (status, media, body) = get(FOOS, &accept);
        assert_eq!((status, media.as_str()), (200, CBOR), "{accept}");
        assert!(contains(&body, part.as_bytes()), "{accept}: {body:x?}");
    }
    for accept in [CBOR, "application/cbor-seq"] {
        let (status, media, body) = get(&format!("{FOOS}?watch=1&timeoutSeconds=1"), accept);
        assert_eq!((status, media.as_str()), (200, "application/cbor-seq"), "{accept}");
        assert!(body.starts_with(b"\xd9\xd9\xf7\xa2DtypeEADDED"), "{body:x?}");
    }
    let (status, _, body) = get("/api/v1/namespaces/default", CBOR);
    assert!(status == 200 && contains(&body, b"INamespace"), "built-in kinds too: {body:x?}");

    // What is no CBOR, or no object, is an error.
    for (bytes, want) in
        [(&b"\xa1\x61a"[..], 400), (b"{}", 400), (b"", 400), (b"\x01", 400), (b"\xa2\x61a\x01\x61a\x02", 400)]
    {
        assert_eq!(api.bytes("POST", FOOS, &both, Some(bytes)).0, want, "{bytes:x?}");
    }
    let apply = [("Content-Type", "application/apply-patch+cbor"), ("Accept", CBOR)];
    assert_eq!(api.bytes("PATCH", &format!("{FOOS}/b?fieldManager=m"), &apply, Some(&foo("b", 3))).0, 201);
    let options = map(&[
        ("apiVersion", text("v1")),
        ("kind", text("DeleteOptions")),
        ("dryRun", vec![0x81, 0x63, b'A', b'l', b'l']),
    ]);
    assert_eq!(api.bytes("DELETE", &format!("{FOOS}/b"), &both, Some(&options)).0, 200);
    assert_eq!(api.get(&format!("{FOOS}/b")).status, 200, "it was a dry run");
}
