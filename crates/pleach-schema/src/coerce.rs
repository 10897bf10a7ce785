//! Brings embedded resources into the form of resources, and says what is wrong with them.
//!
//! Coercion is the third stage of settling: `apiVersion` and `kind` of an embedded resource must be
//! strings, and its `metadata` is decoded and written back as `ObjectMeta`. A request with something
//! else there is refused, at the first fault; in stored objects what does not fit is dropped.
//! The root of an object is not touched here: its metadata is decoded with the request.
//!
//! [`validate_embedded`] is a stage of validation: every embedded resource needs an `apiVersion` and
//! a `kind`, and its metadata obeys the rules of metadata. It is never ratcheted.

use pleach_json::{Map, Value, grow_stack};
use pleach_meta::go_struct::Decoder;
use pleach_meta::group_version::GroupVersion;
use pleach_meta::names::check_dns1035_label;
use pleach_meta::object_meta::{self, NameRule, ObjectMeta, validate_object_meta};
use pleach_meta::{FieldError, FieldErrors, Path};
use pleach_work::charge;

use crate::compile::Node;

/// Coerces the embedded resources of a request; unknown fields of their metadata are put into
/// `unknown`, if it is given.
pub fn coerce(value: &mut Value, node: &Node, unknown: Option<&mut Vec<String>>) -> Result<(), FieldError> {
    Coercion { stored: false, unknown }.visit(value, node, &Path::ROOT)
}

/// Coerces the embedded resources of something stored.
pub fn coerce_stored(value: &mut Value, node: &Node) {
    // With `stored` set nothing is refused.
    let _ = Coercion { stored: true, unknown: None }.visit(value, node, &Path::ROOT);
}

struct Coercion<'u> {
    stored: bool,
    unknown: Option<&'u mut Vec<String>>,
}

impl Coercion<'_> {
    fn visit(&mut self, value: &mut Value, node: &Node, at: &Path<'_>) -> Result<(), FieldError> {
        if !node.below().embedded_resources() {
            return Ok(());
        }
        match value {
            Value::Object(members) => grow_stack(|| {
                if node.is_embedded_resource() {
                    self.resource(members, at)?;
                }
                charge(members.len() as u64);
                for (key, member) in members.entries_mut() {
                    let key = &*key;
                    if let Some(of_member) = node.property(key) {
                        self.visit(member, of_member, &at.child(key))?;
                    } else if let Some(of_member) = node.additional().schema() {
                        self.visit(member, of_member, &at.key(key))?;
                    }
                }
                Ok(())
            }),
            Value::Array(items) => {
                let Some(of_items) = node.items() else { return Ok(()) };
                grow_stack(|| {
                    items
                        .iter_mut()
                        .enumerate()
                        .try_for_each(|(i, item)| self.visit(item, of_items, &at.index(i)))
                })
            }
            _ => Ok(()),
        }
    }

    fn resource(&mut self, members: &mut Map, at: &Path<'_>) -> Result<(), FieldError> {
        for key in ["apiVersion", "kind"] {
            let wrong = members.get(key).filter(|value| value.as_str().is_none());
            match wrong {
                Some(_) if self.stored => {
                    members.remove(key);
                }
                Some(value) => {
                    return Err(FieldError::invalid(at.child(key), value.clone(), "must be a string"));
                }
                None => {}
            }
        }
        let Some(metadata) = members.get_mut("metadata") else { return Ok(()) };
        let at = at.child("metadata");
        if self.stored {
            // What is no object stays as it is, for validation to refuse when it is next written.
            let _ = object_meta::decode_stored(metadata);
            return Ok(());
        }
        let before = metadata.clone();
        let prefix = at.to_string();
        let mut decoder = match &self.unknown {
            Some(_) => Decoder::noting_unknown(&prefix),
            None => Decoder::lenient(),
        };
        if let Err(error) = object_meta::decode(metadata, &mut decoder) {
            return Err(FieldError::invalid(at, before, error));
        }
        if let Some(unknown) = &mut self.unknown {
            unknown.extend(decoder.into_unknown());
        }
        Ok(())
    }
}

/// What is wrong with the embedded resources of an object.
pub fn validate_embedded(value: &Value, node: &Node) -> Vec<FieldError> {
    let mut errors = FieldErrors::new();
    visit(value, node, &Path::ROOT, &mut errors);
    errors.into()
}

fn visit(value: &Value, node: &Node, at: &Path<'_>, errors: &mut FieldErrors) {
    if !node.below().embedded_resources() || errors.is_full() {
        return;
    }
    match value {
        Value::Object(members) => grow_stack(|| {
            if node.is_embedded_resource() {
                validate_resource(members, at, errors);
            }
            charge(members.len() as u64);
            for (key, member) in members {
                if let Some(of_member) = node.property(key) {
                    visit(member, of_member, &at.child(key), errors);
                } else if let Some(of_member) = node.additional().schema() {
                    visit(member, of_member, &at.key(key), errors);
                }
            }
        }),
        Value::Array(items) => {
            let Some(of_items) = node.items() else { return };
            grow_stack(|| {
                for (i, item) in items.iter().enumerate() {
                    visit(item, of_items, &at.index(i), errors);
                }
            });
        }
        _ => {}
    }
}

fn validate_resource(members: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let check_group_version = |text: &str| GroupVersion::parse(text).err().into_iter().collect::<Vec<_>>();
    let check_kind = |text: &str| {
        let prefix = "may have mixed case, but should otherwise match: ";
        let messages = check_dns1035_label(&text.to_lowercase());
        if messages.is_empty() { messages } else { vec![format!("{prefix}{}", messages.join(","))] }
    };
    type_member(members, "apiVersion", at, check_group_version, errors);
    type_member(members, "kind", at, check_kind, errors);
    if let Some(metadata) = members.get("metadata") {
        validate_metadata(metadata, &at.child("metadata"), errors);
    }
}

fn type_member(
    members: &Map,
    key: &str,
    at: &Path<'_>,
    check: impl FnOnce(&str) -> Vec<String>,
    errors: &mut FieldErrors,
) {
    let at = at.child(key);
    match members.get(key) {
        None => errors.push(FieldError::required(at, "")),
        Some(Value::String(text)) if text.is_empty() => {
            errors.push(FieldError::invalid(at, "", "must not be empty"));
        }
        Some(Value::String(text)) => {
            errors.extend(
                check(text).into_iter().map(|message| FieldError::invalid(at, text.clone(), message)),
            );
        }
        Some(other) => errors.push(FieldError::invalid(at, other.clone(), "must be a string")),
    }
}

fn validate_metadata(metadata: &Value, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut decoded = metadata.clone();
    if let Err(error) = object_meta::decode(&mut decoded, &mut Decoder::lenient()) {
        errors.push(FieldError::invalid(at, metadata.clone(), error));
        return;
    }
    // A template needs no name: one that is always right stands in for it.
    if ObjectMeta::new(&decoded).name().is_empty()
        && let Some(members) = decoded.as_object_mut()
    {
        members.insert("name", "fakename");
    }
    let meta = ObjectMeta::new(&decoded);
    errors.extend(validate_object_meta(meta, !meta.namespace().is_empty(), NameRule::PathSegment, at));
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::{Schema, SchemaOptions};

    fn schema() -> Schema {
        let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
        let schema = json!({"type": "object", "properties": {
            "e": (embedded.clone()),
            "l": {"type": "array", "items": (embedded.clone())},
            "m": {"type": "object", "additionalProperties": (embedded.clone())},
        }});
        Schema::from_value(&schema, SchemaOptions::default())
    }

    #[test]
    fn a_request_is_refused_at_the_first_fault() {
        for (why, value, want) in [
            (
                "apiVersion is a string",
                json!({"e": {"apiVersion": 1, "kind": true}}),
                "e.apiVersion: Invalid value: 1: must be a string",
            ),
            ("kind too", json!({"l": [{"kind": null}]}), "l[0].kind: Invalid value: null: must be a string"),
            (
                "metadata decodes",
                json!({"m": {"k": {"metadata": {"name": 5}}}}),
                "m[k].metadata: Invalid value: {\"name\":5}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
            ),
        ] {
            let error = coerce(&mut value.clone(), schema().root(), None).unwrap_err();
            assert_eq!(error.to_string(), want, "{why}");
        }
    }

    #[test]
    fn metadata_is_cleaned() {
        let mut value = json!({
            "e": {"apiVersion": "v1", "kept": 1, "metadata": {"name": "n", "lost": 1, "labels": {"a": null}, "creationTimestamp": null}},
            "m": {"k.x": {"metadata": {"lost": {"x": 1}}}},
        });
        let mut unknown = Vec::new();
        coerce(&mut value, schema().root(), Some(&mut unknown)).unwrap();
        assert_eq!(
            value,
            json!({"e": {"apiVersion": "v1", "kept": 1, "metadata": {"name": "n", "labels": {"a": ""}}}, "m": {"k.x": {"metadata": {}}}})
        );
        assert_eq!(unknown, ["e.metadata.lost", "m[k.x].metadata.lost"]);
    }

    #[test]
    fn what_is_stored_is_kept_as_far_as_it_fits() {
        let mut value = json!({"e": {"apiVersion": 1, "kind": "K", "metadata": {"name": 5, "labels": {"a": "b"}}}, "l": [{"metadata": "x"}]});
        coerce_stored(&mut value, schema().root());
        assert_eq!(
            value,
            json!({"e": {"kind": "K", "metadata": {"labels": {"a": "b"}}}, "l": [{"metadata": "x"}]})
        );
    }

    #[test]
    fn embedded_resources_are_resources() {
        for (why, value, want) in [
            ("all there", json!({"e": {"apiVersion": "a/b", "kind": "Kind"}}), &[][..]),
            (
                "nothing there",
                json!({"l": [{}]}),
                &["l[0].apiVersion: Required value", "l[0].kind: Required value"],
            ),
            (
                "empty",
                json!({"m": {"k": {"apiVersion": "", "kind": ""}}}),
                &[
                    "m[k].apiVersion: Invalid value: \"\": must not be empty",
                    "m[k].kind: Invalid value: \"\": must not be empty",
                ],
            ),
            (
                "too many slashes",
                json!({"e": {"apiVersion": "a/b/c", "kind": "K"}}),
                &["e.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c"],
            ),
            (
                "a negative generation",
                json!({"e": {"apiVersion": "v1", "kind": "K", "metadata": {"generation": (-1)}}}),
                &["e.metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
            ),
        ] {
            let errors: Vec<_> =
                validate_embedded(&value, schema().root()).iter().map(ToString::to_string).collect();
            assert_eq!(errors, want, "{why}");
        }
    }
}
