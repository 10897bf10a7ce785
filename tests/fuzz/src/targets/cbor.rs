//! Request bodies in CBOR.

use pleach_json::{parse, to_vec};
use pleach_server::fuzzing::{read_cbor, write_cbor};

/// Any bytes: a value that can be written as JSON, or nothing. Written as CBOR it is read and written the same.
pub(super) fn cbor(data: &[u8]) {
    let Some(value) = read_cbor(data) else { return };
    let text = to_vec(&value);
    let stored = parse(&text).expect("the value is JSON");
    assert!(stored == value || !value.reads_back(None));
    let written = write_cbor(&value);
    let again = read_cbor(&written).expect("what was written is read");
    assert_eq!(again, value);
    assert_eq!(write_cbor(&again), written);
}

/// A value of each sort.
pub(super) fn cbor_seeds() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#,
        r#"{"a":[1,-1,1.5,0.1,1e300,true,false,null,"x",[],{}]}"#,
    ];
    let mut seeds: Vec<Vec<u8>> =
        texts.iter().map(|text| write_cbor(&parse(text.as_bytes()).expect("seeds are JSON"))).collect();
    // Lengths that are not given, and tags.
    seeds.push(b"\xbf\x61a\x9f\x01\x5f\x41x\xff\xff\x61b\xd6\x43\x01\x02\x03\xff".to_vec());
    seeds
}
