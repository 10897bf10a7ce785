//! Settling: an object is pruned, its nulls are dropped, its values coerced and its defaults filled in.
//!
//! A thin layer over the schema engine: which schema, which options, which order of steps. Kinds whose strategy
//! decodes the whole object pass through untouched.

use pleach_json::Value;
use pleach_meta::object_meta::decode_stored;
use pleach_schema::{Record, SettleOptions};

use crate::error::Error;
use crate::kind::Kind;
use crate::prepare::metadata_mut;
use crate::resource::Resource;
use crate::typed::Typed;

/// A settled object: the first stage of every write.
#[derive(Clone, Debug)]
pub struct Settled {
    value: Value,
    typed: Typed,
}

impl Settled {
    /// The object.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Changes the metadata, which no schema describes.
    pub fn edit<T>(&mut self, how: impl FnOnce(&mut Value) -> T) -> T {
        how(&mut self.value)
    }

    /// The object, for the next stage.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// The object and its typed form, for the next stage.
    pub fn into_parts(self) -> (Value, Typed) {
        (self.value, self.typed)
    }
}

/// An object of a kind whose strategy decodes the whole object.
pub fn typed(value: Value, typed: Typed) -> Settled {
    Settled { value, typed }
}

fn untyped(value: Value) -> Settled {
    Settled { value, typed: Typed::default() }
}

/// A live object whose number of replicas changed.
pub fn rescaled(value: Value) -> Settled {
    untyped(value)
}

/// The result of a server-side apply, which has its defaults already: only the metadata is decoded.
pub fn applied(mut value: Value) -> Result<Settled, Error> {
    if let Some(metadata) = value.get_mut("metadata") {
        decode_stored(metadata).map_err(Error::Plain)?;
    }
    Ok(untyped(value))
}

/// The object after a mutating webhook: defaulted, not pruned, and nulls stay, as upstream does it.
pub fn mutated(kind: &Kind, version: usize, mut value: Value) -> Settled {
    if kind.strategy.api_kind().is_some() {
        // What cannot be decoded any more stays as it is: validation rejects it.
        let mut decoded = value.clone();
        let resource = Resource::new(kind, version);
        if kind.strategy.decode(resource, &mut decoded, &mut Typed::default()).is_ok() {
            value = decoded;
        }
    } else if value.get("kind").and_then(Value::as_str) == Some(kind.kind.as_str()) {
        kind.versions[version].schema.get().fill_defaults(&mut value, None);
    }
    untyped(value)
}

/// Settles a request's object. `record` says which changes are reported.
pub fn request(
    resource: Resource<'_>,
    mut value: Value,
    baseline: Option<&Value>,
    record: Record,
) -> Result<(Settled, pleach_schema::Settled), String> {
    // Another kind at this address is not touched: validation rejects it.
    if value.get("kind").and_then(Value::as_str) != Some(resource.kind.kind.as_str()) {
        return Ok((untyped(value), pleach_schema::Settled::default()));
    }
    let changes = resource
        .version()
        .schema
        .get()
        .settle_against(&mut value, baseline, SettleOptions::request(record))
        .map_err(|error| error.to_string())?;
    Ok((untyped(value), changes))
}

/// Settles an object from the store, in the version it was stored in.
pub fn stored(kind: &Kind, version: usize, value: &mut Value) -> Result<(), Error> {
    if kind.strategy.decodes_whole_object() {
        return Ok(());
    }
    if let Some(object) = value.as_object_mut() {
        let mut metadata = object.remove("metadata").unwrap_or_default();
        decode_stored(&mut metadata).map_err(Error::Plain)?;
        object.insert("metadata", metadata);
    }
    kind.versions[version]
        .schema
        .get()
        .settle(value, SettleOptions::STORED)
        .map_err(|error| Error::Plain(error.to_string()))?;
    if kind.is_custom() && !metadata_mut(value).contains_key("generation") {
        metadata_mut(value).insert("generation", 1);
    }
    Ok(())
}

/// Settles the result of a conversion: it is pruned, and not defaulted.
pub fn converted(kind: &Kind, version: usize, value: &mut Value) {
    if kind.strategy.decodes_whole_object() {
        return;
    }
    // Values of a converted object that cannot be coerced are dropped, so this has no errors.
    let _ = kind.versions[version].schema.get().settle(value, SettleOptions::CONVERTED);
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::kinds::tests::custom;

    #[test]
    fn pruning_and_defaulting_by_stage() {
        let kind = custom(json!({
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}}},
        }));
        let object = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"},
            "spec": {"more": 1}});
        let spec = |value: &Value| value.get("spec").cloned().unwrap_or_default();
        let (settled, changes) =
            request(Resource::new(&kind, 0), object.clone(), None, Record::Unknown).unwrap();
        assert_eq!(spec(settled.value()), json!({"size": 1}), "a request is pruned and defaulted");
        assert_eq!(changes.pruned, ["spec.more"]);
        assert_eq!(spec(mutated(&kind, 0, object.clone()).value()), json!({"more": 1, "size": 1}));
        let mut value = object.clone();
        converted(&kind, 0, &mut value);
        assert_eq!(spec(&value), json!({}), "a converted object is pruned only");
        let mut value = object.clone();
        stored(&kind, 0, &mut value).unwrap();
        assert_eq!(spec(&value), json!({"size": 1}));
        assert_eq!(value.at(&["metadata", "generation"]), Some(&Value::Int(1)));
        let other = json!({"kind": "Bar", "spec": {"more": 1}});
        let (settled, _) = request(Resource::new(&kind, 0), other.clone(), None, Record::Unknown).unwrap();
        assert_eq!(*settled.value(), other, "an object of another kind is left as it is");
    }
}
