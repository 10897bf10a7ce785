//! The skeleton of any schema: no value validation is left, and its skeleton is itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pleach_fuzz::{Bytes, schema};
use pleach_schema::JSONSchemaProps;
use pleach_schema::skeleton::skel;

fuzz_target!(|data: &[u8]| {
    let schema = JSONSchemaProps::from_value(&schema(&mut Bytes(data), 5)).expect("made to decode");
    let skeleton = skel(&schema);
    let junctor = |node: &JSONSchemaProps| {
        !node.any_of().is_empty() || !node.all_of().is_empty() || !node.one_of().is_empty() || node.not().is_some()
    };
    assert!(!skeleton.any_node(&mut |node| junctor(node) || !node.required().is_empty()));
    assert_eq!(skel(&skeleton), skeleton);
});
