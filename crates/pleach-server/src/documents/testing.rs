//! Kinds for tests.

use std::sync::Arc;

use pleach_engine::catalog::ServedKind;
use pleach_engine::compile;
use pleach_engine::kinds::crd as definitions;
use pleach_json::{Value, json};

/// An established CRD in `trees.example.com/v1` whose spec has one field.
pub(super) fn crd(plural: &str, kind: &str, field: &str) -> Value {
    let singular = kind.to_lowercase();
    let list = format!("{kind}List");
    let names = json!({"plural": plural, "singular": singular, "kind": kind, "listKind": list});
    let field = Value::Object([(field.into(), json!({"type": "string"}))].into_iter().collect());
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": (format!("{plural}.trees.example.com")), "uid": "u"},
        "spec": {
            "group": "trees.example.com",
            "scope": "Namespaced",
            "names": (names.clone()),
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {"type": "object", "properties": field}},
                }},
            }],
        },
        "status": {
            "acceptedNames": names,
            "storedVersions": ["v1"],
            "conditions": [
                {"type": "NamesAccepted", "status": "True", "reason": "r", "message": ""},
                {"type": "Established", "status": "True", "reason": "r", "message": ""},
            ],
        },
    })
}

/// The kind that a CRD makes.
pub(super) fn kind(crd: &Value) -> Arc<ServedKind> {
    let crd = definitions::typed(crd).expect("a CRD of a test is one");
    Arc::new(compile::kind(&crd).into())
}

/// A place in a CRD; steps into lists are numbers.
pub(super) fn place<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match step.parse::<usize>() {
        Ok(at) => &mut value.as_array_mut().expect("a list")[at],
        Err(_) => value.get_mut(step).expect("it is there"),
    })
}

/// Sets a member of an object in a CRD.
pub(super) fn set(value: &mut Value, path: &[&str], key: &str, to: impl Into<Value>) {
    place(value, path).as_object_mut().expect("an object").insert(key, to.into());
}
