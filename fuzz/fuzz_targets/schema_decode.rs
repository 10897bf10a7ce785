//! Any JSON is decoded as a schema: no panic, and what is written reads back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pleach_fuzz::{Bytes, schema};
use pleach_schema::{Decoder, JSONSchemaProps};

fuzz_target!(|data: &[u8]| {
    let value = pleach_json::parse(data).unwrap_or_else(|_| schema(&mut Bytes(data), 4));
    let mut decoder = Decoder::new("v1").with_unions(true);
    let decoded = decoder.schema(&value);
    let (error, unknown) = decoder.finish();
    assert!(unknown.len() <= 100);
    if error.is_none() {
        let written = decoded.to_value();
        let again = JSONSchemaProps::from_value(&written).expect("what was written decodes");
        assert_eq!(again.to_value(), written);
    }
});
