//! Parameters of operations, and their shared names in the v2 document.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE;
use pleach_json::{Value, json};
use pleach_work::Constant;

use crate::names::META;
use crate::shape;
use crate::{Edition, json as writer};

/// A parameter in both OpenAPI versions.
pub(crate) struct Parameter {
    /// The name in texts and lists of operations.
    pub(crate) id: &'static str,
    name: String,
    v3: Value,
    /// In the v2 document: a reference, or the parameter itself.
    v2: Value,
    /// The target of the reference.
    v2_shared: Option<(String, Value)>,
}

const TEXTS: &str = include_str!("parameters.json");

/// Parameters that the v2 document inlines.
const WRITTEN_OUT: [&str; 2] = ["dryRun", "fieldValidation"];

static ALL: Constant<Vec<Parameter>> = Constant::new(|| {
    let texts = pleach_json::parse(TEXTS.as_bytes()).expect("a file of this crate is JSON");
    let texts = texts.as_object().expect("a file of this crate is an object").clone();
    texts.iter().map(|(id, text)| Parameter::new(id, text)).collect()
});

impl Parameter {
    fn new(id: &str, text: &Value) -> Self {
        let id: &'static str = KNOWN.iter().find(|known| **known == id).expect("every text has its use");
        let name = id.split(' ').next().unwrap_or(id);
        let member = |key: &str| text.get(key).cloned().unwrap_or_default();
        let (place, kind, description) = (member("in"), member("type"), member("description"));
        let mut v3 = json!({
            "name": name, "in": (place.clone()), "description": (description.clone()),
            "schema": {"type": (kind.clone()), "uniqueItems": true},
        });
        let mut v2 = json!({
            "name": name, "in": (place.clone()), "description": description, "type": kind,
            "uniqueItems": true,
        });
        if place.as_str() == Some("path") {
            for form in [&mut v2, &mut v3] {
                form.as_object_mut().map(|members| members.insert("required", true));
            }
        }
        let (v2, v2_shared) = if WRITTEN_OUT.contains(&name) {
            (v2, None)
        } else {
            let (reference, key) = share(name, &v2);
            (reference, Some((key, v2)))
        };
        Self { id, name: name.to_owned(), v3, v2, v2_shared }
    }
}

/// All query parameters and `namespace`; each must be used.
const KNOWN: [&str; 22] = [
    "allowWatchBookmarks",
    "continue",
    "dryRun",
    "fieldManager",
    "fieldManager (patch)",
    "fieldSelector",
    "fieldValidation",
    "force",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "labelSelector",
    "limit",
    "namespace",
    "orphanDependents",
    "pretty",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
];

/// The name of a shared parameter in a v2 document, made unique by eight letters of a hash.
fn share(name: &str, parameter: &Value) -> (Value, String) {
    let mut text = Vec::new();
    writer::write(&shape::v2::PARAMETER, parameter, &mut text);
    // FNV-1 with 64 bits.
    let hash = text
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte));
    let letters = BASE64_URL_SAFE.encode(hash.to_be_bytes());
    let key = format!("{name}-{}", &letters[..8]);
    (json!({"$ref": (format!("#/parameters/{key}"))}), key)
}

fn body(schema: &str, required: bool) -> Value {
    let reference = format!("{}{schema}", Edition::V2.reference_prefix());
    let mut body = json!({"name": "body", "in": "body", "schema": {"$ref": reference}});
    if required {
        body.as_object_mut().map(|members| members.insert("required", true));
    }
    body
}

/// The body parameter of a v2 operation. Those of the API machinery are shared.
pub(crate) fn v2_body(schema: &str, required: bool) -> Value {
    let body = body(schema, required);
    if schema.starts_with(META) { share("body", &body).0 } else { body }
}

/// The shared parameters of a v2 document.
pub(crate) fn v2_shared() -> Vec<(String, Value)> {
    let mut shared: Vec<(String, Value)> = ALL.iter().filter_map(|p| p.v2_shared.clone()).collect();
    for (schema, required) in [("DeleteOptions", false), ("Patch", true)] {
        let body = body(&format!("{META}{schema}"), required);
        shared.push((share("body", &body).1, body));
    }
    shared.sort_by(|a, b| a.0.cmp(&b.0));
    shared
}

/// The path parameter `name`.
pub(crate) fn name_of(kind: &str, edition: Edition) -> Value {
    let description = format!("name of the {kind}");
    match edition {
        Edition::V2 => json!({
            "name": "name", "in": "path", "description": description, "required": true, "type": "string",
            "uniqueItems": true,
        }),
        Edition::V3 => json!({
            "name": "name", "in": "path", "description": description, "required": true,
            "schema": {"type": "string", "uniqueItems": true},
        }),
    }
}

/// The parameters of that name, as `(name, value)` for sorting.
pub(crate) fn get(id: &str, edition: Edition) -> (&'static str, Value) {
    let found = ALL.iter().find(|p| p.id == id).expect("operations use only known parameters");
    let value = match edition {
        Edition::V2 => &found.v2,
        Edition::V3 => &found.v3,
    };
    (found.name.as_str(), value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_names_are_upstreams() {
        let names: Vec<String> = v2_shared().into_iter().map(|(name, _)| name).collect();
        for known in [
            "allowWatchBookmarks-HC2hJt-J",
            "body-2Y1dVQaQ",
            "body-78PwaGsr",
            "fieldManager-7c6nTn1T",
            "fieldManager-Qy4HdaTW",
            "gracePeriodSeconds--K5HaBOS",
            "namespace-vgWSWtn3",
            "sendInitialEvents-rLXlEK_k",
        ] {
            assert!(names.iter().any(|name| name == known), "{known} is not in {names:?}");
        }
    }
}
