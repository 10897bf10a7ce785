//! Conversion between versions, also by webhook.
//!
//! A conversion webhook takes a round trip. Code that can wait for it is `async`; tracking field managers cannot
//! wait, so it is run again when the conversion it needs is known ([`Conversions`]).

use std::sync::{Mutex, PoisonError};

use pleach_json::{Str, Value};
use pleach_pipeline::Typed;
use pleach_pipeline::convert::{Converted, convert};

use crate::catalog::ServedKind;
use crate::engine::Engine;
use crate::rejection::Rejection;
use crate::settle;
use crate::webhooks::CallError;
use crate::webhooks::conversion::Converter;

impl Engine {
    /// An object of one version as another; `typed` is its typed form, if that is known.
    pub(crate) async fn convert(
        &self,
        kind: &ServedKind,
        from: usize,
        to: usize,
        value: Value,
        typed: &Typed,
    ) -> Result<Value, Rejection> {
        match convert(kind, from, to, value, typed)? {
            Converted::Done(value) => Ok(value),
            Converted::ByWebhook(value) => {
                let Some(converter) = &kind.converter else {
                    return Err(Rejection::internal("a kind without its conversion webhook"));
                };
                let call = self.call_converter(converter, &value, &kind.versions[to].api_version);
                // Boxed: few writes wait for it, and the future of every write would have room for it.
                let mut value = Box::pin(call).await.map_err(|error| match error {
                    CallError::Failed(text) => Rejection::Plain(text),
                    CallError::Overloaded => Rejection::TooManyRequests,
                })?;
                settle::converted(kind, to, &mut value);
                Ok(value)
            }
        }
    }

    async fn call_converter(
        &self,
        converter: &Converter,
        value: &Value,
        to: &str,
    ) -> Result<Value, CallError> {
        let mut converted = converter.convert(&*self.caller, self.new_uid(), value, to).await?;
        if let Some(metadata) = converted.get_mut("metadata") {
            pleach_meta::object_meta::decode_stored(metadata)?;
        }
        Ok(converted)
    }

    /// Calls the webhook for the conversion that synchronous code has requested; returns whether there was a request.
    pub(crate) async fn convert_requested(
        &self,
        kind: &ServedKind,
        conversions: &Conversions,
    ) -> Result<bool, Rejection> {
        let (Some((object, to)), Some(converter)) = (conversions.take_requested(), &kind.converter) else {
            return Ok(false);
        };
        let converted = match Box::pin(self.call_converter(converter, &object, &to)).await {
            Ok(converted) => Ok(converted),
            Err(CallError::Failed(text)) => Err(text),
            // Not the same as a failure: a manager whose fields cannot be converted loses them.
            Err(CallError::Overloaded) => return Err(Rejection::TooManyRequests),
        };
        conversions.insert(object, to, converted);
        Ok(true)
    }
}

/// Conversions by webhook that synchronous code has requested.
///
/// Code that needs one that is not known yet requests it here and fails, and is run again once it is
/// known. Such code has no side effects, so the last run is as good as one that
/// could have waited.
#[derive(Debug, Default)]
pub(crate) struct Conversions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    known: Vec<(Value, Str, Result<Value, String>)>,
    requested: Option<(Value, Str)>,
}

impl Conversions {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object in another version, if that is known; otherwise the conversion is requested.
    pub(crate) fn get(&self, object: &Value, to: &str) -> Result<Value, String> {
        let mut state = self.state();
        if let Some((.., converted)) = state.known.iter().find(|(o, v, _)| v == to && o == object) {
            return converted.clone();
        }
        state.requested.get_or_insert_with(|| (object.clone(), to.into()));
        Err("the conversion is not known yet".into())
    }

    fn take_requested(&self) -> Option<(Value, Str)> {
        self.state().requested.take()
    }

    fn insert(&self, object: Value, to: Str, converted: Result<Value, String>) {
        self.state().known.push((object, to, converted));
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn a_requested_conversion_is_stored_once() {
        let conversions = Conversions::default();
        let (object, other) = (json!({"a": 1}), json!({"a": 2}));
        assert!(conversions.get(&object, "g/v2").is_err());
        assert!(conversions.get(&other, "g/v2").is_err());
        let (requested, to) = conversions.take_requested().unwrap();
        assert_eq!((&requested, to.as_str()), (&object, "g/v2"), "one at a time, the first first");
        conversions.insert(requested, to, Ok(json!({"b": 1})));
        assert_eq!(conversions.get(&object, "g/v2"), Ok(json!({"b": 1})));
        assert!(conversions.take_requested().is_none());
        assert!(conversions.get(&object, "g/v3").is_err(), "another version is another conversion");
    }
}
