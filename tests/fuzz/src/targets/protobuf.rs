//! Request bodies in protobuf.

use pleach_server::read_protobuf;

/// Any bytes: an object or nothing, the same every time, that can be written as JSON.
pub(super) fn protobuf(data: &[u8]) {
    check(data);
    // Without an envelope, in one of each kind.
    for (api_version, kind) in KINDS {
        check(&enclose(api_version, kind, data));
    }
}

fn check(body: &[u8]) {
    let Some(object) = read_protobuf(body) else { return };
    let text = pleach_json::to_vec(&object);
    assert_eq!(pleach_json::to_vec(&pleach_json::parse(&text).expect("the object is JSON")), text);
    assert_eq!(read_protobuf(body), Some(object));
}

const KINDS: [(&str, &str); 4] =
    [("v1", "ConfigMap"), ("v1", "Secret"), ("v1", "Event"), ("coordination.k8s.io/v1", "Lease")];

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
    [b"k8s\0".to_vec(), field(1, &type_meta), field(2, raw)].concat()
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
    let mut all: Vec<Vec<u8>> = KINDS.iter().map(|(version, kind)| enclose(version, kind, &raw)).collect();
    all.push(raw);
    all.push(b"k8s\0".to_vec());
    all
}
