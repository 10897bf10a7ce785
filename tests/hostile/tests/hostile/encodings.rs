//! Bodies in CBOR and protobuf.

use pleach_server::fuzzing::{read_cbor, read_protobuf};

use crate::{BODY, Make, attack};

/// A body that is read as CBOR.
fn cbor(name: &'static str, body: impl FnOnce() -> Vec<u8> + 'static) -> Make {
    Box::new(move || {
        let body = body();
        attack(name, body.len(), move || read_cbor(&body))
    })
}

/// `head`, then `each` until the body is full, then `end`.
fn filled(head: &[u8], each: &[u8], end: &[u8]) -> Vec<u8> {
    let times = (BODY - head.len() - end.len()) / each.len();
    [head, &each.repeat(times), end].concat()
}

/// A field with a length before its content.
fn field(number: u64, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 8);
    for mut number in [number << 3 | 2, content.len() as u64] {
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }
    out.extend_from_slice(content);
    out
}

/// An object in its envelope that is read.
fn protobuf(
    name: &'static str,
    api_version: &'static str,
    kind: &'static str,
    raw: impl FnOnce() -> Vec<u8> + 'static,
) -> Make {
    Box::new(move || {
        let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        let body = [b"k8s\0".to_vec(), field(1, &type_meta), field(2, &raw())].concat();
        attack(name, body.len(), move || read_protobuf(&body, api_version, kind))
    })
}

/// So many of a field with this content as fit, beside what is around it.
fn repeated(number: u64, content: &[u8]) -> Vec<u8> {
    filled(&[], &field(number, content), &[0; 64])[..].strip_suffix(&[0; 64]).unwrap_or_default().to_vec()
}

/// The raw object of a CRD whose only version has this schema.
fn crd(schema: &[u8]) -> Vec<u8> {
    let version = [field(1, b"v1"), vec![2 << 3, 1, 3 << 3, 1], field(4, &field(1, schema))].concat();
    let names = [field(1, b"foos"), field(4, b"Foo")].concat();
    let spec = [field(1, b"g.io"), field(3, &names), field(4, b"Namespaced"), field(7, &version)].concat();
    [field(1, &field(1, b"foos.g.io")), field(2, &spec)].concat()
}

const CRD: (&str, &str) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");

pub(crate) fn all() -> Vec<Make> {
    // 0x9f and 0xbf begin lists and maps without a length, 0xff ends them.
    let mut all = vec![
        cbor("CBOR: a list of numbers", || filled(&[0x9f], &[0x01], &[0xff])),
        cbor("CBOR: a list of empty lists", || filled(&[0x9f], &[0x80], &[0xff])),
        cbor("CBOR: a list of small maps", || filled(&[0x9f], &[0xa1, 0x41, b'a', 0x01], &[0xff])),
        cbor("CBOR: lists in lists", || filled(&[], &[0x9f], &[])),
        cbor("CBOR: tags on tags", || filled(&[], &[0xd6], &[])),
        cbor("CBOR: times in times", || filled(&[], &[0xc1], &[0x00])),
        cbor("CBOR: one key again and again", || filled(&[0xbf], &[0x41, b'a', 0x01], &[0xff])),
        cbor("CBOR: a text in pieces", || filled(&[0x5f], &[0x41, b'a'], &[0xff])),
        cbor("CBOR: a text in empty pieces", || filled(&[0x5f], &[0x40], &[0xff])),
        cbor("CBOR: long floats", || {
            filled(&[0x9f], &[0xfb, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08], &[0xff])
        }),
        cbor("CBOR: lengths that are not there", || {
            filled(&[0x9f], &[0x9b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff], &[])
        }),
        cbor("CBOR: bytes of control characters", || filled(&[0x5a, 0, 0x20, 0, 0], &[0x01], &[])),
        cbor("CBOR: different keys", || {
            let mut body = vec![0xbf];
            let mut number = 0_u32;
            while body.len() + 8 < BODY {
                body.push(0x44);
                body.extend(number.to_be_bytes().map(|byte| b'a' + byte % 26));
                body.push(0x01);
                number += 7_919;
            }
            body.push(0xff);
            body
        }),
    ];
    let metadata = |number: u64, content: Vec<u8>| move || field(1, &repeated(number, &content));
    all.extend([
        protobuf("protobuf: data of one key", "v1", "ConfigMap", || repeated(2, &field(1, b"k"))),
        protobuf("protobuf: empty entries", "v1", "ConfigMap", || repeated(2, b"")),
        protobuf("protobuf: fields that are not known", "v1", "ConfigMap", || repeated(500, b"")),
        protobuf("protobuf: empty owners", "v1", "ConfigMap", metadata(13, Vec::new())),
        protobuf("protobuf: empty managers", "v1", "ConfigMap", metadata(17, Vec::new())),
        protobuf(
            "protobuf: managers of one field",
            "v1",
            "ConfigMap",
            metadata(17, field(7, &field(1, b"{\"f:a\":{}}"))),
        ),
        protobuf("protobuf: empty finalizers", "v1", "ConfigMap", metadata(14, Vec::new())),
        protobuf("protobuf: metadata again and again", "v1", "ConfigMap", || repeated(1, &field(1, b"a"))),
        protobuf("protobuf: empty containers", "v1", "Pod", || field(2, &repeated(2, b""))),
        protobuf("protobuf: a schema of empty schemas", CRD.0, CRD.1, || {
            crd(&repeated(29, &[field(1, b"a"), field(2, b"")].concat()))
        }),
        protobuf("protobuf: junctors of empty schemas", CRD.0, CRD.1, || crd(&repeated(26, b""))),
        protobuf("protobuf: schemas in schemas", CRD.0, CRD.1, || {
            let levels = 200_000.min(BODY / 16);
            let mut schema = Vec::new();
            // Every level is a field of the one around it; lengths are written from the inside out.
            for _ in 0..levels.min(20_000) {
                schema = field(26, &schema);
            }
            crd(&schema)
        }),
        protobuf("protobuf: defaults of short lists", CRD.0, CRD.1, || {
            let schema = field(8, &field(1, b"[[],[],[],[],[],[]]"));
            crd(&repeated(29, &[field(1, b"a"), field(2, &schema)].concat()))
        }),
    ]);
    all
}
