#![doc = include_str!("../README.md")]

mod definition;
mod error;
mod explain;
mod report;
mod stages;
mod stored;
mod value;

pub use definition::Definition;
pub use error::Error;
pub use explain::Explanation;
pub use report::{CrdReport, FieldError, Verdict};
pub use stored::{Default, Stored, Withheld};
#[cfg(feature = "yaml")]
pub use value::from_yaml;

/// The CRD of the examples in this documentation.
#[doc(hidden)]
pub fn example_crd() -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["size"], "properties": {
                        "color": {"type": "string", "default": "red", "description": "As the eye sees it."},
                        "size": {"type": "integer", "minimum": 1, "x-kubernetes-validations": [
                            {"rule": "self >= oldSelf", "message": "cannot shrink"}]},
                    }},
                    "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
                }}},
            }],
        },
    })
}

/// An object of [`example_crd`].
#[doc(hidden)]
pub fn example_widget(size: i64) -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": size},
    })
}

/// Runs the Rust of the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ProjectReadme;
