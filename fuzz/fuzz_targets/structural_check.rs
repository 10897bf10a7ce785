//! The whole check of a schema: no panic; a schema without errors is structural and stays so when it
//! is unfolded, expanded or stripped of value validation.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pleach_fuzz::{Bytes, schema};
use pleach_meta::Path;
use pleach_schema::{JSONSchemaProps, Options, SchemaContext, Structural, validate_schema};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let status_enabled = bytes.next() % 2 == 0;
    let schema = JSONSchemaProps::from_value(&schema(&mut bytes, 4)).expect("made to decode");
    let context = SchemaContext { path: Path::new("s"), status_enabled, options: Options::CREATE };
    let errors = validate_schema(&schema, &context);
    let structural = Structural::of(&schema);
    if let Ok(structural) = structural {
        assert_eq!(structural.is_valid(), structural.violations(&Path::ROOT).is_empty());
    }
    if !errors.is_empty() {
        return;
    }
    assert!(structural.is_ok_and(Structural::is_valid));
    for rewrite in [
        JSONSchemaProps::unfold,
        JSONSchemaProps::expand,
        JSONSchemaProps::unfold_embedded_resources,
        JSONSchemaProps::drop_value_validations,
    ] {
        let mut rewritten = schema.clone();
        rewrite(&mut rewritten);
        let once = rewritten.clone();
        rewrite(&mut rewritten);
        assert_eq!(rewritten, once, "rewriting twice is rewriting once");
        assert!(Structural::of(&once).is_ok_and(Structural::is_valid), "{:?}", once.to_value());
    }
});
