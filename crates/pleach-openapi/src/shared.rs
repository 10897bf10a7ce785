//! Shared types: metadata, statuses, options, scale; and the types of a CustomResourceDefinition.
//!
//! They are in JSON files beside this one, independent of the OpenAPI version: a `$ref` is a full name,
//! may have siblings, and defaults are given.

use pleach_json::{Map, Value, grow_stack};
use pleach_work::Constant;

use crate::Edition;
use crate::names::META;

static TYPES: Constant<Vec<(String, Value)>> = Constant::new(|| {
    let mut all = Vec::new();
    for (prefix, text) in [
        (META, include_str!("shared/meta.json")),
        ("io.k8s.api.autoscaling.v1.", include_str!("shared/autoscaling.json")),
        (DEFINITIONS, include_str!("shared/apiextensions.json")),
    ] {
        let types = pleach_json::parse(text.as_bytes()).expect("a file of this crate is JSON");
        let types = types.as_object().expect("a file of this crate is an object").clone();
        all.extend(types.into_vec().into_iter().map(|(name, schema)| (format!("{prefix}{name}"), schema)));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
});

/// Which shared types a document needs besides those of metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The types of Scale.
    pub scale: bool,
    /// The types of CRDs.
    pub definitions: bool,
}

/// The package of the CRD types.
const DEFINITIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";

/// The shared type of this name: a kind described here rather than by a CRD.
pub(crate) fn schema(name: &str, edition: Edition) -> Option<Value> {
    let found = TYPES.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
    Some(in_edition(&TYPES[found].1, edition))
}

/// Whether there is a shared type of this name.
pub(crate) fn has(name: &str) -> bool {
    TYPES.binary_search_by(|(known, _)| known.as_str().cmp(name)).is_ok()
}

/// The shared types that a document needs, except kinds with paths of their own.
pub(crate) fn schemas(edition: Edition, needed: Needed) -> Vec<(String, Value)> {
    TYPES
        .iter()
        .filter(|(name, _)| match name.strip_prefix(DEFINITIONS) {
            Some(own) => needed.definitions && own != "CustomResourceDefinition",
            None => needed.scale || name.starts_with(META),
        })
        .map(|(name, schema)| (name.clone(), in_edition(schema, edition)))
        .collect()
}

/// A schema as documents of an edition have it.
pub(crate) fn in_edition(schema: &Value, edition: Edition) -> Value {
    grow_stack(|| match schema {
        Value::Object(members) => object_in_edition(members, edition),
        Value::Array(items) => items.iter().map(|item| in_edition(item, edition)).collect::<Vec<_>>().into(),
        other => other.clone(),
    })
}

fn object_in_edition(members: &Map, edition: Edition) -> Value {
    let mut out = Map::with_capacity(members.len());
    for (key, value) in members.iter() {
        match (key.as_str(), value) {
            ("$ref", Value::String(name)) => {
                let reference = format!("{}{name}", edition.reference_prefix());
                if edition == Edition::V3 && members.len() > 1 {
                    let alone = Map::from(vec![("$ref".into(), reference.into())]);
                    out.insert("allOf", vec![Value::from(alone)]);
                } else {
                    out.insert("$ref", reference);
                }
            }
            // Property names can be anything, also "default".
            ("properties", Value::Object(named)) => {
                let named = named.iter().map(|(name, schema)| (name.clone(), in_edition(schema, edition)));
                out.insert("properties", Map::from(named.collect::<Vec<_>>()));
            }
            // v2 has no alternatives and says the type that stands for them.
            ("oneOf", _) if edition == Edition::V2 => {}
            ("type", _) if edition == Edition::V3 && members.contains_key("oneOf") => {}
            // v2 has no defaults.
            ("default", value) if edition == Edition::V2 && !value.is_null() => {}
            (_, value) => {
                out.insert(key.clone(), in_edition(value, edition));
            }
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_may_be_called_default() {
        let schema = pleach_json::json!({"default": {}, "properties": {"default": {"type": "string"}}});
        let expected = pleach_json::json!({"properties": {"default": {"type": "string"}}});
        assert_eq!(in_edition(&schema, Edition::V2), expected);
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(members) => members.iter().for_each(|(key, value)| match value {
                    Value::String(name) if key == "$ref" => found.push(name.to_string()),
                    value => references(value, found),
                }),
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                _ => {}
            }
        }
        for (name, schema) in TYPES.iter() {
            let mut found = Vec::new();
            references(schema, &mut found);
            for reference in found {
                assert!(TYPES.iter().any(|(known, _)| *known == reference), "{name} refers to {reference}");
            }
        }
    }

    #[test]
    fn a_reference_with_siblings_is_wrapped_in_v3() {
        let scale = schema(crate::names::SCALE, Edition::V3).unwrap();
        let metadata = scale.at(&["properties", "metadata"]).unwrap();
        assert!(metadata.get("allOf").is_some() && metadata.get("$ref").is_none(), "{metadata}");
        let scale = schema(crate::names::SCALE, Edition::V2).unwrap();
        let metadata = scale.at(&["properties", "metadata"]).unwrap();
        assert!(metadata.get("default").is_none() && metadata.get("$ref").is_some(), "{metadata}");
    }
}
