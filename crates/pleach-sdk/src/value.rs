//! Between serde's types and the engine's value type.

use pleach_json::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// The engine's form of anything that can be serialized. By way of text, so that numbers and keys are read as the
/// server reads them.
pub(crate) fn to_value(object: &impl Serialize) -> Result<Value, Error> {
    let bytes = serde_json::to_vec(object).map_err(Error::Json)?;
    pleach_json::parse(&bytes).map_err(|error| Error::BadRequest(error.to_string()))
}

/// Anything that can be deserialized, from the engine's form.
pub(crate) fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    serde_json::from_slice(&pleach_json::to_vec(value)).map_err(Error::Json)
}

/// Reads YAML as kube-apiserver does: YAML 1.1, as go-yaml resolves it.
///
/// ```
/// let value: serde_json::Value = pleach_sdk::from_yaml("enabled: yes\nmode: 0644").unwrap();
/// assert_eq!(value, serde_json::json!({"enabled": true, "mode": 420}));
/// ```
#[cfg(feature = "yaml")]
pub fn from_yaml<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let value = pleach_yaml::parse(text.as_bytes()).map_err(|error| Error::Yaml(error.to_string()))?;
    from_value(&value)
}
