//! Where anything new comes in, it is brought into the shape its schema promises.
//!
//! A thin layer over the schema engine: which schema, which options, which order of stages. CRDs are
//! typed objects with a decoder of their own and pass through untouched.

use pleach_json::Value;
use pleach_meta::object_meta::decode_stored;
use pleach_schema::{Baseline, Record, SettleOptions};

use crate::kind::{Kind, Strategy};
use crate::prepare::metadata_mut;
use crate::rejection::Rejection;

/// An object in the shape its schema promises: the first stage of every write, whoever wrote the object.
#[derive(Clone, Debug)]
pub struct Settled(Value);

impl Settled {
    /// The object.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Changes what its schema does not say: metadata.
    pub(crate) fn edit<T>(&mut self, how: impl FnOnce(&mut Value) -> T) -> T {
        how(&mut self.0)
    }

    /// The object, for the next stage.
    pub(crate) fn into_value(self) -> Value {
        self.0
    }
}

/// An object of a kind whose decoder does all that a schema would.
pub(crate) fn typed(value: Value) -> Settled {
    Settled(value)
}

/// A live object with a number changed that its schema lets be changed.
pub(crate) fn rescaled(value: Value) -> Settled {
    Settled(value)
}

/// What an apply made, which has filled in defaults already: only the metadata is decoded.
pub(crate) fn applied(mut value: Value) -> Result<Settled, Rejection> {
    if let Some(metadata) = value.get_mut("metadata") {
        decode_stored(metadata).map_err(Rejection::Plain)?;
    }
    Ok(Settled(value))
}

/// What a webhook made of an object: defaulted, not pruned, and nulls stay, as upstream has it.
pub(crate) fn mutated(kind: &Kind, version: usize, mut value: Value) -> Settled {
    if value.get("kind").and_then(Value::as_str) == Some(kind.kind.as_str()) {
        kind.versions[version].schema.get().fill_defaults(&mut value, Baseline::Unknown);
    }
    Settled(value)
}

/// Settles a request's object; the paths of unknown fields come back if they are wanted.
pub(crate) fn request(
    kind: &Kind,
    version: usize,
    mut value: Value,
    baseline: Baseline<'_>,
    strictly: bool,
) -> Result<(Settled, Vec<String>), String> {
    let record = if strictly { Record::Unknown } else { Record::Nothing };
    let schema = kind.versions[version].schema.get();
    // Another kind at the right address is not touched: validation will say what is wrong with it.
    if value.get("kind").and_then(Value::as_str) != Some(kind.kind.as_str()) {
        return Ok((Settled(value), Vec::new()));
    }
    let settled = schema
        .settle_against(&mut value, baseline, SettleOptions::request(record))
        .map_err(|error| error.to_string())?;
    let mut unknown = settled.pruned;
    unknown.extend(settled.unknown_metadata);
    Ok((Settled(value), unknown))
}

/// Settles an object from the store, in the version it was stored in.
pub(crate) fn stored(kind: &Kind, version: usize, value: &mut Value) -> Result<(), Rejection> {
    if kind.strategy == Strategy::CustomResourceDefinition {
        return Ok(());
    }
    if let Some(object) = value.as_object_mut() {
        let mut metadata = object.remove("metadata").unwrap_or_default();
        decode_stored(&mut metadata).map_err(Rejection::Plain)?;
        object.insert("metadata", metadata);
    }
    kind.versions[version]
        .schema
        .get()
        .settle(value, SettleOptions::STORED)
        .map_err(|error| Rejection::Plain(error.to_string()))?;
    if kind.is_custom() && !metadata_mut(value).contains_key("generation") {
        metadata_mut(value).insert("generation", 1);
    }
    Ok(())
}

/// Settles the result of a conversion: what came in is pruned, nothing is defaulted.
pub(crate) fn converted(kind: &Kind, version: usize, value: &mut Value) {
    if kind.strategy == Strategy::CustomResourceDefinition {
        return;
    }
    // What a stored or converted object cannot be coerced to is dropped, so this has no errors.
    let _ = kind.versions[version].schema.get().settle(value, SettleOptions::CONVERTED);
}
