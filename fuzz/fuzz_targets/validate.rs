//! Validation: the fast answer agrees with the errors, an update finds no more than a create, and
//! whatever the rules are, they end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pleach_fuzz::{Bytes, schema, value};
use pleach_schema::validate::{validate, validate_update};
use pleach_schema::{Schema, SchemaOptions, Write};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let schema = Schema::from_value(&schema(&mut bytes, 4), SchemaOptions::default());
    let (new, old) = (value(&mut bytes, 5), value(&mut bytes, 5));
    let created: Vec<String> = validate(schema.root(), &new, None).iter().map(ToString::to_string).collect();
    let accepted = schema.root().accepts(&new);
    // Unions are not the fast answer's business.
    assert!(accepted || !created.is_empty());
    assert!(!accepted || created.is_empty() || schema.root().below().unions());
    for error in validate_update(schema.root(), &new, &old, None) {
        assert!(created.contains(&error.to_string()));
    }
    schema.validate(&new, Write::Create, Vec::new(), |_| {});
    schema.validate(&new, Write::Update(&old), Vec::new(), |_| {});
    schema.validate(&new, Write::Status(&old), Vec::new(), |_| {});
});
