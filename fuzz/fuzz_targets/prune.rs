//! Pruning twice is pruning once, with notes or without, and settling is no different.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pleach_fuzz::{Bytes, schema, value};
use pleach_schema::{Schema, SchemaOptions, SettleOptions, nulls, prune};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let schema = Schema::from_value(&schema(&mut bytes, 4), SchemaOptions::default());
    let object = value(&mut bytes, 5);
    let mut once = object.clone();
    let paths = prune::prune_noting(&mut once, schema.root());
    assert!(paths.is_sorted());
    assert_eq!(paths.is_empty(), once == object);
    let mut silently = object.clone();
    prune::prune(&mut silently, schema.root());
    assert_eq!(silently, once);
    assert!(prune::prune_noting(&mut silently, schema.root()).is_empty());
    nulls::drop_nulls(&mut once, schema.root());
    pleach_schema::coerce::coerce_stored(&mut once, schema.root());
    let mut settled = object;
    schema.settle(&mut settled, SettleOptions::CONVERTED).expect("what is stored always settles");
    assert_eq!(settled, once);
});
