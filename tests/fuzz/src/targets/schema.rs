//! Schemas: decoding, checking, rewriting, and what they do to objects.

use pleach_meta::Path;
use pleach_schema::skeleton::skel;
use pleach_schema::structuralize::structuralize as propose;
use pleach_schema::validate::{validate as errors_of, validate_update};
use pleach_schema::{
    Decoder, JSONSchemaProps, Options, Record, Schema, SchemaContext, SchemaOptions, SettleOptions,
    Structural, Write, validate_schema,
};

use crate::bytes::{Bytes, seeds};
use crate::schemas::{schema, value};

/// Any JSON is decoded as a schema: no panic, and what is written reads back the same.
pub(super) fn schema_decode(data: &[u8]) {
    let value = pleach_json::parse(data).unwrap_or_else(|_| schema(&mut Bytes(data), 4));
    let mut decoder = Decoder::new("v1").with_extensions(true);
    let decoded = JSONSchemaProps::decode(&mut decoder, &value);
    let (error, unknown) = decoder.finish();
    assert!(unknown.len() <= 100);
    if error.is_none() {
        let written = decoded.to_value();
        let again = JSONSchemaProps::from_value(&written).expect("what was written decodes");
        assert_eq!(again.to_value(), written);
    }
}

/// The whole check of a schema: no panic; a schema without errors is structural and stays so when it
/// is unfolded, expanded or stripped of value validation.
pub(super) fn structural_check(data: &[u8]) {
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
}

/// The skeleton of any schema: no value validation is left, and its skeleton is itself.
pub(super) fn skeleton(data: &[u8]) {
    let schema = JSONSchemaProps::from_value(&schema(&mut Bytes(data), 5)).expect("made to decode");
    let skeleton = skel(&schema);
    let junctor = |node: &JSONSchemaProps| {
        !node.any_of().is_empty()
            || !node.all_of().is_empty()
            || !node.one_of().is_empty()
            || node.not().is_some()
    };
    assert!(!skeleton.any_node(&mut |node| junctor(node) || !node.required().is_empty()));
    assert_eq!(skel(&skeleton), skeleton);
}

/// A proposal is structural, and proposing again changes nothing.
pub(super) fn structuralize(data: &[u8]) {
    let schema = JSONSchemaProps::from_value(&schema(&mut Bytes(data), 4)).expect("made to decode");
    match propose(&schema, &Path::new("s")) {
        Ok(proposal) => {
            let proposed = &proposal.schema;
            assert!(Structural::of(proposed).is_ok_and(Structural::is_valid));
            let again = propose(proposed, &Path::new("s")).expect("a structural schema has a proposal");
            assert_eq!(again.schema.to_value(), proposed.to_value());
        }
        Err(obstacles) => assert!(!obstacles.is_empty()),
    }
}

/// Pruning twice is pruning once, with a record or without, and the record says whether anything changed.
pub(super) fn prune(data: &[u8]) {
    let mut bytes = Bytes(data);
    let schema = Schema::from_value(&schema(&mut bytes, 4), SchemaOptions::default());
    let object = value(&mut bytes, 5);
    let recorded = SettleOptions { record: Record::Unknown, ..SettleOptions::CONVERTED };
    let mut once = object.clone();
    let settled = schema.settle(&mut once, recorded).expect("stored objects settle");
    assert!(settled.pruned.is_sorted());
    let unchanged = settled.pruned.is_empty() && settled.nulls_dropped.is_empty();
    assert!(unchanged || once != object);
    assert!(!unchanged || once == object || schema.root().below().embedded_resources());
    let mut plain = object;
    schema.settle(&mut plain, SettleOptions::CONVERTED).expect("stored objects settle");
    assert_eq!(plain, once);
    let again = schema.settle(&mut once, recorded).expect("stored objects settle");
    assert!(again.pruned.is_empty() && again.nulls_dropped.is_empty());
    assert!(once == plain);
}

/// Defaulting twice is defaulting once, with a record or without, and every recorded default is there.
pub(super) fn default(data: &[u8]) {
    let mut bytes = Bytes(data);
    let schema = Schema::from_value(&schema(&mut bytes, 4), SchemaOptions::default());
    let mut object = value(&mut bytes, 5);
    schema.settle(&mut object, SettleOptions::CONVERTED).expect("stored objects settle");
    let mut filled = object.clone();
    schema.fill_defaults(&mut filled, None);
    let explained = SettleOptions { record: Record::Everything, ..SettleOptions::STORED };
    let mut settled = object.clone();
    let defaults = schema.settle(&mut settled, explained).expect("stored objects settle").defaults;
    assert_eq!(settled, filled);
    assert_eq!(defaults.applied.is_empty(), filled == object);
    let again = schema.settle(&mut settled, explained).expect("stored objects settle").defaults;
    assert!(again.applied.is_empty());
    assert!(settled.is_same(&filled) || settled == filled);
    let mut against = object;
    schema.fill_defaults(&mut against, Some(&filled));
    assert_eq!(against, filled);
}

/// Validation: the fast answer agrees with the errors, an update finds no more than a create, and
/// whatever the rules are, they end.
pub(super) fn validate(data: &[u8]) {
    let mut bytes = Bytes(data);
    let schema = Schema::from_value(&schema(&mut bytes, 4), SchemaOptions::default());
    let (new, old) = (value(&mut bytes, 5), value(&mut bytes, 5));
    let created: Vec<String> = errors_of(schema.root(), &new, None).iter().map(ToString::to_string).collect();
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
}

pub(super) fn schema_seeds() -> Vec<Vec<u8>> {
    // Bytes choose keywords: some long enough for nested schemas and values below them.
    let runs = (1..12_u8)
        .map(|seed| (0..200_u16).map(|i| (i as u8).wrapping_mul(seed).rotate_left(3) ^ seed).collect());
    let texts = seeds(&[
        r#"{"type":"object","properties":{"spec":{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^a+$","default":"a"},"l":{"type":"array","items":{"type":"integer"},"x-kubernetes-list-type":"set"}},"x-kubernetes-validations":[{"rule":"self.a != ''"}]}}}"#,
    ]);
    runs.chain(texts).collect()
}
