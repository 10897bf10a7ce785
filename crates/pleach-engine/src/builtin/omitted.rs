//! What upstream's types of built-in kinds leave out: fields that hold nothing.

use pleach_json::{Map, Value};

use crate::kind::{Kind, Strategy};

/// Leaves out what is empty, as an object does upstream that went through its type. Parts of it are shared with
/// other copies, and are opened only if there is something to change.
pub(crate) fn leave_out(kind: &Kind, object: &mut Value) {
    match (kind.strategy, kind.plural.as_str()) {
        (Strategy::Namespace, _) => {
            leave_out_empty(object, &["spec"], "finalizers");
            leave_out_empty(object, &["status"], "conditions");
        }
        (Strategy::BuiltIn, "configmaps" | "secrets") => {
            leave_out_empty(object, &[], "binaryData");
            leave_out_empty(object, &[], "data");
        }
        (Strategy::BuiltIn, "serviceaccounts") => {
            for list in ["imagePullSecrets", "secrets"] {
                if object.get(list).is_some_and(has_empty)
                    && let Some(Value::Array(references)) = object.get_mut(list)
                {
                    references.iter_mut().for_each(leave_out_all_empty);
                }
                leave_out_empty(object, &[], list);
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Whether any reference in a list has an empty member.
fn has_empty(list: &Value) -> bool {
    let references = list.as_array().into_iter().flat_map(|references| references.iter());
    references.filter_map(Value::as_object).flat_map(Map::iter).any(|(_, value)| is_empty(value))
}

/// Leaves out a member of what a path leads to, if it is empty.
fn leave_out_empty(object: &mut Value, path: &[&str], key: &str) {
    if !object.at(path).and_then(|holder| holder.get(key)).is_some_and(is_empty) {
        return;
    }
    let holder = path.iter().try_fold(object, |holder, step| holder.get_mut(step));
    if let Some(members) = holder.and_then(Value::as_object_mut) {
        members.remove(key);
    }
}

fn leave_out_all_empty(object: &mut Value) {
    if let Some(members) = object.as_object_mut() {
        members.retain(|_, value| !is_empty(value));
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::builtin;

    #[test]
    fn empty_fields_are_left_out() {
        for (manifest, strategy, object, want) in [
            (
                "configmap",
                Strategy::BuiltIn,
                json!({"data": {}, "binaryData": {"a": ""}}),
                json!({"binaryData": {"a": ""}}),
            ),
            ("secret", Strategy::BuiltIn, json!({"data": {}, "type": "Opaque"}), json!({"type": "Opaque"})),
            (
                "serviceaccount",
                Strategy::BuiltIn,
                json!({"imagePullSecrets": [], "secrets": [{"name": "a", "namespace": ""}, {"name": "b"}]}),
                json!({"secrets": [{"name": "a"}, {"name": "b"}]}),
            ),
            (
                "namespace",
                Strategy::Namespace,
                json!({"spec": {"finalizers": []}, "status": {"phase": "Active"}}),
                json!({"spec": {}, "status": {"phase": "Active"}}),
            ),
            (
                "lease",
                Strategy::BuiltIn,
                json!({"spec": {"holderIdentity": ""}}),
                json!({"spec": {"holderIdentity": ""}}),
            ),
        ] {
            let kind = builtin::tests::kind(manifest, strategy);
            let mut left = object;
            leave_out(&kind, &mut left);
            assert_eq!(left, want, "{manifest}");
        }
    }
}
