//! Validates embedded resources (`x-kubernetes-embedded-resource`).
//!
//! A stage of validation of its own: every embedded resource needs an `apiVersion` and a `kind`, and its
//! metadata obeys the rules of metadata. It is never ratcheted.

use pleach_go::json::Decoder;
use pleach_json::{Map, Value, grow_stack};
use pleach_meta::group_version::GroupVersion;
use pleach_meta::names::check_dns1035_label;
use pleach_meta::object_meta::{self, NameRule, ObjectMeta, validate_object_meta};
use pleach_meta::{FieldError, FieldErrors, Path};
use pleach_work::charge;

use crate::compile::Node;

/// The errors of the embedded resources of an object.
pub(crate) fn validate_embedded(value: &Value, node: &Node) -> Vec<FieldError> {
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
    // A template needs no name: a valid one stands in for it.
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
    fn embedded_resources_need_type_and_valid_metadata() {
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
