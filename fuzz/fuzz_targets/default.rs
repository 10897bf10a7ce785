//! Defaulting twice is defaulting once, and every default that was told is there.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pleach_fuzz::{Bytes, schema, value};
use pleach_schema::{Schema, SchemaOptions, default};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let schema = Schema::from_value(&schema(&mut bytes, 4), SchemaOptions::default());
    let object = value(&mut bytes, 5);
    let mut filled = object.clone();
    default::default(&mut filled, schema.root());
    let mut told = object.clone();
    let defaults = default::explain_defaults(&mut told, schema.root());
    assert_eq!(told, filled);
    assert_eq!(defaults.applied.is_empty(), filled == object);
    assert!(default::default_noting(&mut filled, schema.root()).is_empty());
    assert_eq!(told, filled);
});
