//! `ObjectMeta`: the `metadata` of every object.
//!
//! The in-memory object stays a [`Value`]; this is a view on the `metadata` member of it and the
//! rules for what may stand there. Decoding leaves it as the API server would write it, and costs
//! one walk when it is in that form already.

mod shape;
mod validate;

use pleach_go::fmt::go_type;
use pleach_go::json::{Decoder, GoType, is_normal};
use pleach_json::{Map, Str, Value};

pub use shape::{MANAGED_FIELDS, MANAGED_FIELDS_ENTRY, OBJECT_META, OWNER_REFERENCE, OWNER_REFERENCES};
pub use validate::{
    NameRule, TOTAL_ANNOTATION_SIZE_LIMIT, dedup_owner_references, finalizer_warnings, validate_annotations,
    validate_field_manager, validate_labels, validate_object_meta, validate_object_meta_beside,
    validate_object_meta_update, validate_object_meta_with,
};

/// Decodes `metadata` of a request in place: what it becomes is what a client will see again.
/// Unknown fields are dropped, and noted if the decoder does that.
pub fn decode(metadata: &mut Value, decoder: &mut Decoder) -> Result<(), String> {
    // Nearly always nothing is to be changed, and then nothing is opened to change.
    if !decoder.has_error() && is_normal(metadata, &GoType::Struct(&OBJECT_META)) {
        return Ok(());
    }
    decoder.decode(metadata, &GoType::Struct(&OBJECT_META))
}

/// Decodes `metadata` that was stored: fields that do not decode are dropped. What is no object at
/// all is an error.
pub fn decode_stored(metadata: &mut Value) -> Result<(), String> {
    if is_normal(metadata, &GoType::Struct(&OBJECT_META)) {
        return Ok(());
    }
    let map = match metadata {
        Value::Object(map) => map,
        Value::Null => {
            *metadata = Value::object();
            return Ok(());
        }
        other => return Err(format!("invalid metadata: expected object, got {}", go_type(other))),
    };
    let mut bad: Vec<Str> = Vec::new();
    for (key, value) in map.entries_mut() {
        let Some(field) = OBJECT_META.fields.iter().find(|f| f.name == key.as_str()) else { continue };
        // A struct of this one field, so that one bad field harms no other.
        let mut decoder = Decoder::lenient();
        decoder.value(value, &field.ty);
        if decoder.has_error() {
            bad.push(key.clone());
        }
    }
    if !bad.is_empty() {
        map.retain(|key, _| !bad.contains(key));
    }
    Decoder::lenient().fields(map, &OBJECT_META);
    Ok(())
}

/// A view on the `metadata` of an object, which has been decoded.
#[derive(Clone, Copy, Debug)]
pub struct ObjectMeta<'a>(Option<&'a Map>);

impl<'a> ObjectMeta<'a> {
    /// The metadata of `object`; all empty where there is none.
    pub fn of(object: &'a Value) -> Self {
        Self(object.get("metadata").and_then(Value::as_object))
    }

    /// The `metadata` member itself.
    pub fn new(metadata: &'a Value) -> Self {
        Self(metadata.as_object())
    }

    /// The member `key`.
    pub fn get(self, key: &str) -> Option<&'a Value> {
        self.0?.get(key)
    }

    fn text(self, key: &str) -> &'a str {
        self.0.and_then(|m| m.get_str(key)).unwrap_or_default()
    }

    /// `name`, empty if there is none.
    pub fn name(self) -> &'a str {
        self.text("name")
    }

    /// `generateName`
    pub fn generate_name(self) -> &'a str {
        self.text("generateName")
    }

    /// `namespace`, empty for cluster-scoped objects.
    pub fn namespace(self) -> &'a str {
        self.text("namespace")
    }

    /// `uid`
    pub fn uid(self) -> &'a str {
        self.text("uid")
    }

    /// `resourceVersion`
    pub fn resource_version(self) -> &'a str {
        self.text("resourceVersion")
    }

    /// `creationTimestamp`
    pub fn creation_timestamp(self) -> Option<&'a str> {
        self.get("creationTimestamp")?.as_str()
    }

    /// `generation`, 0 if there is none.
    pub fn generation(self) -> i64 {
        self.get("generation").and_then(Value::as_int).unwrap_or_default()
    }

    /// `deletionTimestamp`; an object that has one is being deleted.
    pub fn deletion_timestamp(self) -> Option<&'a str> {
        self.get("deletionTimestamp")?.as_str()
    }

    /// Whether the object is being deleted.
    pub fn is_terminating(self) -> bool {
        self.get("deletionTimestamp").is_some_and(|t| !t.is_null())
    }

    /// `deletionGracePeriodSeconds`
    pub fn deletion_grace_period_seconds(self) -> Option<i64> {
        self.get("deletionGracePeriodSeconds")?.as_int()
    }

    /// `labels`
    pub fn labels(self) -> Option<&'a Map> {
        self.get("labels")?.as_object()
    }

    /// One label's value.
    pub fn label(self, key: &str) -> Option<&'a str> {
        self.labels()?.get_str(key)
    }

    /// `annotations`
    pub fn annotations(self) -> Option<&'a Map> {
        self.get("annotations")?.as_object()
    }

    /// One annotation's value.
    pub fn annotation(self, key: &str) -> Option<&'a str> {
        self.annotations()?.get_str(key)
    }

    /// `finalizers`
    pub fn finalizers(self) -> impl Iterator<Item = &'a str> + Clone {
        self.items("finalizers").filter_map(Value::as_str)
    }

    /// `ownerReferences`
    pub fn owner_references(self) -> impl Iterator<Item = &'a Value> + Clone {
        self.items("ownerReferences")
    }

    /// `managedFields`
    pub fn managed_fields(self) -> impl Iterator<Item = &'a Value> + Clone {
        self.items("managedFields")
    }

    fn items(self, key: &str) -> impl Iterator<Item = &'a Value> + Clone {
        self.get(key).and_then(Value::as_array).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests;
