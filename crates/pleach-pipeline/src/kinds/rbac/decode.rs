//! Decoding of roles and bindings by upstream's Go types, and the defaults of bindings.

use pleach_go::json::{Decoder, GoType};
use pleach_json::Value;

use super::GROUP;
use crate::types;

/// Decodes a role in place; returns the paths of unknown fields.
pub(super) fn role(namespaced: bool, value: &mut Value) -> Result<Vec<String>, String> {
    decode(value, if namespaced { "rbac/v1.Role" } else { "rbac/v1.ClusterRole" })
}

/// Decodes a binding in place; returns the paths of unknown fields.
pub(super) fn binding(namespaced: bool, value: &mut Value) -> Result<Vec<String>, String> {
    decode(value, if namespaced { "rbac/v1.RoleBinding" } else { "rbac/v1.ClusterRoleBinding" })
}

fn decode(value: &mut Value, type_name: &str) -> Result<Vec<String>, String> {
    let root = types::go_root(type_name).expect("a type of the table");
    let mut decoder = Decoder::noting_unknown("").with_literal_numbers();
    decoder.decode(value, &GoType::Struct(root))?;
    Ok(decoder.into_unknown())
}

/// `SetDefaults`: API groups of the role and of users and groups.
pub(super) fn default_binding(object: &mut Value) {
    let is_empty = |value: &Value| value.get("apiGroup").and_then(Value::as_str).is_none_or(str::is_empty);
    let fill = |value: &mut Value| {
        if let Some(members) = value.as_object_mut() {
            members.insert("apiGroup", GROUP);
        }
    };
    if object.get("roleRef").is_some_and(is_empty)
        && let Some(role) = object.get_mut("roleRef")
    {
        fill(role);
    }
    let lacks = |subject: &Value| {
        is_empty(subject) && matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group"))
    };
    let subjects = object.get("subjects").and_then(Value::as_array);
    if subjects.is_some_and(|list| list.iter().any(lacks))
        && let Some(Value::Array(subjects)) = object.get_mut("subjects")
    {
        subjects.iter_mut().filter(|subject| lacks(subject)).for_each(fill);
    }
}
