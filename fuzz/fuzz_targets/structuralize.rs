//! A proposal is structural, and proposing again changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pleach_fuzz::{Bytes, schema};
use pleach_meta::Path;
use pleach_schema::structuralize::structuralize;
use pleach_schema::{JSONSchemaProps, Structural};

fuzz_target!(|data: &[u8]| {
    let schema = JSONSchemaProps::from_value(&schema(&mut Bytes(data), 4)).expect("made to decode");
    match structuralize(&schema, &Path::new("s")) {
        Ok(proposal) => {
            let proposed = &proposal.schema;
            assert!(Structural::of(proposed).is_ok_and(Structural::is_valid));
            let again = structuralize(proposed, &Path::new("s")).expect("a structural schema has a proposal");
            assert_eq!(again.schema.to_value(), proposed.to_value());
        }
        Err(obstacles) => assert!(!obstacles.is_empty()),
    }
});
