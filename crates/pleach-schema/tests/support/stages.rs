//! The stages of settling one after the other, as simply as they can be said: what the one walk of the
//! library is compared with.

use pleach_json::{Map, Value};
use pleach_meta::object_meta;
use pleach_schema::Node;
use pleach_schema::compile::Additional;

/// Removes the fields that the schema does not name.
pub(crate) fn prune(value: &mut Value, node: Option<&Node>) {
    prune_in(value, node, false);
}

/// `inherited`: an array above preserves unknown fields.
fn prune_in(value: &mut Value, node: Option<&Node>, inherited: bool) {
    let preserved = inherited || node.is_some_and(Node::preserves_unknown_fields);
    match (value, node) {
        (Value::Object(members), None) if !inherited => *members = Map::new(),
        (Value::Object(members), Some(node)) => {
            let resource = node.is_root() || node.is_embedded_resource();
            members.retain(|key, member| {
                if resource && matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
                    return true;
                }
                match (node.property(key), node.additional()) {
                    (Some(of_member), _) | (None, Additional::Schema(of_member)) => {
                        prune_in(member, Some(of_member), false);
                        true
                    }
                    (None, Additional::Bool(_)) => {
                        prune_in(member, None, false);
                        true
                    }
                    (None, Additional::Absent) => preserved,
                }
            });
        }
        (Value::Array(items), _) => {
            let of_items = node.and_then(Node::items);
            items.iter_mut().for_each(|item| prune_in(item, of_items.map(AsRef::as_ref), preserved));
        }
        _ => {}
    }
}

/// Removes null members whose schema is neither nullable nor has a default.
pub(crate) fn drop_nulls(value: &mut Value, node: &Node) {
    match value {
        Value::Object(members) => members.retain(|key, member| {
            let Some(of_member) = node.member(key) else { return true };
            drop_nulls(member, of_member);
            !member.is_null() || of_member.is_nullable() || of_member.default().is_some()
        }),
        Value::Array(items) => {
            let Some(of_items) = node.items() else { return };
            items.iter_mut().for_each(|item| drop_nulls(item, of_items));
        }
        _ => {}
    }
}

/// Drops what does not fit from the type and metadata of stored embedded resources.
pub(crate) fn coerce_stored(value: &mut Value, node: &Node) {
    match value {
        Value::Object(members) => {
            if node.is_embedded_resource() {
                for key in ["apiVersion", "kind"] {
                    if members.get(key).is_some_and(|value| value.as_str().is_none()) {
                        members.remove(key);
                    }
                }
                if let Some(metadata) = members.get_mut("metadata") {
                    let _ = object_meta::decode_stored(metadata);
                }
            }
            for (key, member) in members.iter_mut() {
                if let Some(of_member) = node.member(key) {
                    coerce_stored(member, of_member);
                }
            }
        }
        Value::Array(items) => {
            let Some(of_items) = node.items() else { return };
            items.iter_mut().for_each(|item| coerce_stored(item, of_items));
        }
        _ => {}
    }
}

/// Applies defaults.
pub(crate) fn default(value: &mut Value, node: &Node) {
    match value {
        Value::Object(members) => {
            for property in node.properties() {
                let Some(default) = property.node.default() else { continue };
                match members.get(&property.name) {
                    Some(Value::Null) if property.node.is_nullable() => {}
                    None | Some(Value::Null) => drop(members.insert(property.name.clone(), default.clone())),
                    Some(_) => {}
                }
            }
            for (key, member) in members.iter_mut() {
                if let Some(of_member) = node.member(key) {
                    replace_null(member, of_member);
                    self::default(member, of_member);
                }
            }
        }
        Value::Array(items) => {
            let Some(of_items) = node.items() else { return };
            for item in items.iter_mut() {
                replace_null(item, of_items);
                default(item, of_items);
            }
        }
        _ => {}
    }
}

fn replace_null(value: &mut Value, node: &Node) {
    if let (Value::Null, false, Some(default)) = (&*value, node.is_nullable(), node.default()) {
        *value = default.clone();
    }
}
