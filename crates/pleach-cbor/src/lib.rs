//! CBOR as upstream's serializer reads and writes it (feature gate `CBORServingAndStorage`).
//!
//! An object is one data item after the tag of self-described CBOR. Texts are written as byte strings, as upstream
//! does, and read as either; the distinction between integers and floating-point numbers is kept. A byte string under
//! a tag that expects base64 or base16 later is that text. Values without a JSON form are refused: other simple values,
//! keys that are no texts, big numbers, NaN. A map may not have a key twice.
//!
//! The crate never knows HTTP or a store: the server speaks it with clients, and values in etcd may be written in it.

mod read;
mod write;

pub use read::read;
pub use write::{event, write};

/// The tag of self-described CBOR: every object that upstream stores begins with it.
pub const MAGIC: &[u8] = b"\xd9\xd9\xf7";

#[cfg(test)]
mod tests {
    use pleach_json::{Value, json, parse};

    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits
            .chunks(2)
            .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
            .collect()
    }

    #[test]
    fn values_are_written_as_upstream_writes_them() {
        for (value, want) in [
            (json!({"a": 1}), "d9d9f7 a1 4161 01"),
            (json!({}), "d9d9f7 a0"),
            (json!({"b": [true, false, null, -1, "x"]}), "d9d9f7 a1 4162 85 f5 f4 f6 20 4178"),
            (json!({"f": 1.5}), "d9d9f7 a1 4166 f93e00"),
            (json!({"f": 100_000.5}), "d9d9f7 a1 4166 fa47c35040"),
            (json!({"f": 0.1}), "d9d9f7 a1 4166 fb3fb999999999999a"),
            (json!({"n": (i64::MIN)}), "d9d9f7 a1 416e 3b7fffffffffffffff"),
        ] {
            assert_eq!(write(&value), hex(want), "{value:?}");
            assert_eq!(read(&hex(want)), Ok(value));
        }
        assert_eq!(
            event("ADDED", &json!({"a": 1})),
            hex("d9d9f7 a2 4474797065 454144444544 466f626a656374 a1 4161 01")
        );
    }

    #[test]
    fn a_time_is_a_number_or_a_text() {
        // Tags in tags, as many as a body has room for.
        for tag in [0xc0, 0xc1] {
            let mut bytes = vec![tag; 3 << 20];
            bytes.push(0);
            assert!(read(&bytes).is_err(), "{tag:x}");
        }
        for bytes in ["c1 81 00", "c1 a0", "c1 41 61", "c1 c1 00", "c0 00", "c0 80", "c0 c0 41 61"] {
            assert!(read(&hex(bytes)).is_err(), "{bytes}");
        }
    }

    #[test]
    fn every_way_to_write_a_value_is_read() {
        for (bytes, want) in [
            ("a1 6161 01", json!({"a": 1})),
            ("d9d9f7 d9d9f7 a1 6161 01", json!({"a": 1})),
            ("bf 6161 9f 01 02 ff ff", json!({"a": [1, 2]})),
            ("a1 6161 5f 4178 4179 ff", json!({"a": "xy"})),
            ("a1 6161 7f 6178 6179 ff", json!({"a": "xy"})),
            ("a1 6161 d6 43 010203", json!({"a": "AQID"})),
            ("a1 6161 d5 42 fbff", json!({"a": "-_8"})),
            ("a1 6161 d7 42 fbff", json!({"a": "fbff"})),
            ("a1 6161 c0 74 323032362d30312d30325430333a30343a30355a", json!({"a": "2026-01-02T03:04:05Z"})),
            ("a1 6161 d864 01", json!({"a": 1})),
            ("a2 6162 01 6161 02", json!({"a": 2, "b": 1})),
            ("a1 6161 fb 3ff0000000000000", json!({"a": 1.0})),
        ] {
            assert_eq!(read(&hex(bytes)), Ok(want), "{bytes}");
        }
    }

    #[test]
    fn values_without_a_json_form_are_refused() {
        for (bytes, why) in [
            ("", "nothing"),
            ("a1 6161", "the end is missing"),
            ("a1 6161 01 00", "something follows"),
            ("a2 6161 01 6161 02", "a key twice"),
            ("a1 01 01", "a number as a key"),
            ("a1 6161 1b ffffffffffffffff", "more than 64 bits with a sign"),
            ("a1 6161 3b ffffffffffffffff", "less than that"),
            ("a1 6161 c2 41 01", "a big number"),
            ("a1 6161 f97e00", "not a number"),
            ("a1 6161 f97c00", "infinity"),
            ("a1 6161 f7", "undefined"),
            ("a1 6161 f0", "a simple value"),
            ("a1 6161 61 ff", "no UTF-8"),
            ("a1 6161 41 ff", "no UTF-8 in a byte string"),
            ("ff", "an end without a beginning"),
            ("9b ffffffffffffffff", "a list of more items than bytes"),
            ("bb ffffffffffffffff", "a map of more members than bytes"),
        ] {
            assert!(read(&hex(bytes)).is_err(), "{why}: {:?}", read(&hex(bytes)));
        }
        let deep = [vec![0x81; 20_000], vec![0]].concat();
        assert!(read(&deep).unwrap_err().contains("nested"));
        let deep = [vec![0xc6; 20_000], vec![0]].concat();
        assert!(read(&deep).unwrap_err().contains("nested"), "tags count");
    }

    #[test]
    fn objects_come_back() {
        let text = r#"{"a":{"b":[1,-2.5,1e300,"ü",null,{"c":true}],"d":{}},"e":[]}"#;
        let value: Value = parse(text.as_bytes()).unwrap();
        assert_eq!(read(&write(&value)), Ok(value));
    }
}
