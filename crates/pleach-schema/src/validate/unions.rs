//! The unions of an object: a part of value validation that stock Kubernetes does not have.
//!
//! The rules of unions are in [`crate::unions`]; this module applies them. Like all of value
//! validation, an update lets be what did not change.

use pleach_json::{Value, grow_stack};
use pleach_meta::{FieldErrors, Path};

use crate::compile::Node;
use crate::ratchet::Ratchet;
use crate::unions::validate_unions;

/// The faults of all unions of a value, unless what they are in equals what it was.
pub(super) fn validate(
    node: &Node,
    value: &Value,
    at: &Path<'_>,
    old: Option<(&Ratchet, &Value)>,
    errors: &mut FieldErrors,
) {
    if !node.below().unions() || errors.is_full() {
        return;
    }
    match value {
        Value::Object(members) => grow_stack(|| {
            let unchanged = old.is_some_and(|(ratchet, old)| ratchet.is_equal(node, value, old));
            if !unchanged {
                errors.extend(validate_unions(members, node.unions(), at));
            }
            for (key, member) in members {
                let old = old.and_then(|(ratchet, old)| Some((ratchet, old.get(key)?)));
                if let Some(of_member) = node.property(key) {
                    validate(of_member, member, &at.child(key), old, errors);
                } else if let Some(of_member) = node.additional().schema() {
                    validate(of_member, member, &at.key(key), old, errors);
                }
            }
        }),
        Value::Array(items) => {
            let Some(of_items) = node.items() else { return };
            grow_stack(|| {
                for (i, item) in items.iter().enumerate() {
                    let old =
                        old.and_then(|(ratchet, old)| Some((ratchet, ratchet.old_item(node, item, old)?)));
                    validate(of_items, item, &at.index(i), old, errors);
                }
            });
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use crate::validate::{validate, validate_update};
    use crate::{Decoder, JSONSchemaProps, Schema, SchemaOptions};

    #[test]
    fn unions_hold_where_they_are_declared() {
        let union = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "x-kubernetes-unions": [{"fields": {"a": "", "b": ""}}]});
        let schema = json!({"type": "object", "properties": {"f": (union.clone()), "l": {"type": "array", "items": union}}});
        let decoded = JSONSchemaProps::decode(&mut Decoder::new("v1").with_extensions(true), &schema);
        let compiled = Schema::compile(&decoded, SchemaOptions::default());
        let both = json!({"f": {"a": 1, "b": 2}, "l": [{"a": 1}, {"a": 1, "b": 2}]});
        let fields: Vec<_> = validate(compiled.root(), &both, None).into_iter().map(|e| e.field).collect();
        assert_eq!(fields, ["f.b", "l[1].b"]);
        let fields: Vec<_> = validate_update(compiled.root(), &both, &json!({"f": {"a": 1, "b": 2}}), None)
            .into_iter()
            .map(|e| e.field)
            .collect();
        assert_eq!(fields, ["l[1].b"], "what did not change is let be");
        let stock = Schema::compile(
            &JSONSchemaProps::decode(&mut Decoder::new("v1"), &schema),
            SchemaOptions::default(),
        );
        assert!(validate(stock.root(), &both, None).is_empty(), "stock Kubernetes does not know them");
    }
}
