//! Request bodies in protobuf.

use std::sync::OnceLock;

use pleach_engine::gates::Gates;
use pleach_json::{parse, to_vec};
use pleach_server::fuzzing::{read_protobuf, read_protobuf_delete_options, write_protobuf};

use crate::bytes::Bytes;

/// A byte that chooses a kind, and a body, with an envelope or without: an object that can be written as JSON, or
/// nothing. Written as protobuf it is read and written the same.
pub(super) fn protobuf(data: &[u8]) {
    let mut bytes = Bytes(data);
    let kinds = kinds();
    let (api_version, kind) = &kinds[usize::from(bytes.next()) % kinds.len()];
    let enclosed;
    let body = if bytes.0.starts_with(MAGIC) {
        bytes.0
    } else {
        enclosed = enclose(api_version, kind, bytes.0);
        &enclosed
    };
    if kind == "DeleteOptions" {
        let _ = read_protobuf_delete_options(body);
        return;
    }
    let Some(object) = read_protobuf(body, api_version, kind) else { return };
    let text = to_vec(&object);
    let stored = parse(&text).expect("the object is JSON");
    assert!(stored == object || !object.reads_back(None));
    let Some(written) = write_protobuf(&object) else { return };
    let again = read_protobuf(&written, api_version, kind).expect("what was written is read");
    assert_eq!(write_protobuf(&again), Some(written), "{text:?}", text = String::from_utf8_lossy(&text));
}

const MAGIC: &[u8] = b"k8s\0";

/// Version and kind of every kind that has a message: the first ones, and all built-in kinds.
fn kinds() -> &'static [(String, String)] {
    static KINDS: OnceLock<Vec<(String, String)>> = OnceLock::new();
    KINDS.get_or_init(|| {
        let first = FIRST.iter().map(|(api_version, kind)| ((*api_version).to_owned(), (*kind).to_owned()));
        let built_in = pleach_engine::kinds::all(Gates::default()).flat_map(|kind| {
            let versions: Vec<String> =
                kind.versions.iter().map(|version| version.api_version.to_string()).collect();
            versions.into_iter().map(move |version| (version, kind.kind.to_string()))
        });
        first.chain(built_in).collect()
    })
}

const FIRST: [(&str, &str); 8] = [
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "Event"),
    ("v1", "Namespace"),
    ("coordination.k8s.io/v1", "Lease"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("v1", "DeleteOptions"),
];

fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(content);
    out
}

fn enclose(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), field(1, &type_meta), field(2, raw)].concat()
}

pub(super) fn protobuf_seeds() -> Vec<Vec<u8>> {
    let entry = |key: &str, value: &str| [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
    let owner =
        [field(1, b"Pod"), field(3, b"p"), field(4, b"uid"), field(5, b"v1"), vec![6 << 3, 1]].concat();
    let metadata = [
        field(1, b"name"),
        field(3, b"ns"),
        field(5, b"uid"),
        vec![7 << 3, 0x80, 0x01],
        field(8, &[8, 0x80, 0xa8, 0xd6, 0xb9, 0x07, 16, 5]),
        field(11, &entry("label", "value")),
        field(12, &entry("note", "text")),
        field(13, &owner),
        field(14, b"finalizer"),
        field(17, &[field(1, b"m"), field(2, b"Update"), field(7, &field(1, b"{\"f:data\":{}}"))].concat()),
    ]
    .concat();
    let raw =
        [field(1, &metadata), field(2, &entry("key", "data")), field(3, &entry("bin", "\0\x01"))].concat();
    // A schema in schemas, as a CRD has it: maps of messages that hold the same message.
    let leaf = [field(5, b"string"), field(9, b"^a$"), vec![15 << 3, 3]].concat();
    let member = [field(1, b"spec"), field(2, &leaf)].concat();
    let schema = [field(5, b"object"), field(29, &member), field(8, &field(1, b"{\"a\":1}"))].concat();
    let version = [field(1, b"v1"), vec![2 << 3, 1, 3 << 3, 1], field(4, &field(1, &schema))].concat();
    let names = [field(1, b"foos"), field(4, b"Foo")].concat();
    let crd = [field(1, b"g"), field(3, &names), field(4, b"Namespaced"), field(7, &version)].concat();
    let crd = [field(1, &metadata), field(2, &crd)].concat();
    let mut all = Vec::new();
    for (number, (api_version, kind)) in (0_u8..).zip(kinds()) {
        all.push([&[number][..], &raw].concat());
        all.push([&[number][..], &enclose(api_version, kind, &raw)].concat());
        all.push([&[number][..], &crd].concat());
    }
    all.push(b"\0k8s\0".to_vec());
    all
}
