//! Conversion between the versions of a kind, as far as no webhook does it.

use std::borrow::Cow;

use pleach_json::Value;

use crate::error::Error;
use crate::kind::Kind;
use crate::settle;
use crate::typed::Typed;

/// An object on its way to another version.
#[derive(Debug)]
pub enum Converted {
    /// Converted.
    Done(Value),
    /// The kind's webhook converts it.
    ByWebhook(Value),
}

/// Converts as far as no webhook is needed; `typed` is the typed form of the value, if that is known. The result is
/// pruned but not defaulted.
pub fn convert(
    kind: &Kind,
    from: usize,
    to: usize,
    mut value: Value,
    typed: &Typed,
) -> Result<Converted, Error> {
    if from == to {
        return Ok(Converted::Done(value));
    }
    if kind.has_conversion_webhook() {
        return Ok(Converted::ByWebhook(value));
    }
    let version = &kind.versions[to];
    if let Cow::Owned(converted) = kind.strategy.convert(&value, typed, version)? {
        value = converted;
    } else if let Some(object) = value.as_object_mut() {
        object.insert("apiVersion", version.api_version.clone());
    }
    settle::converted(kind, to, &mut value);
    Ok(Converted::Done(value))
}

/// The version that an object is written in.
pub fn version_of(kind: &Kind, value: &Value) -> Result<usize, Error> {
    let api_version = value.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    kind.versions.iter().position(|v| v.api_version == api_version).ok_or_else(|| {
        Error::Plain(format!("request to convert CR to an invalid group/version: {api_version}"))
    })
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::kinds::tests::custom;

    #[test]
    fn without_a_webhook_only_the_api_version_changes_and_unknown_fields_go() {
        let kind = custom(json!({"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}));
        let object = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {}, "b": 2});
        assert_eq!(version_of(&kind, &object), Ok(0));
        let Ok(Converted::Done(converted)) = convert(&kind, 0, 1, object, &Typed::default()) else {
            panic!("no webhook is needed")
        };
        assert_eq!(converted, json!({"apiVersion": "example.com/v2", "kind": "Foo", "metadata": {}}));
        assert_eq!(version_of(&kind, &converted), Ok(1));
        assert!(version_of(&kind, &json!({"apiVersion": "example.com/v3"})).is_err());
    }
}
