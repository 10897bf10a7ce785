//! PATCH: JSON patch, merge patch, strategic merge patch.
//!
//! A patch is applied to the live object in the version of the request; the result is decoded like a
//! body. When another write comes between, the patch is applied again to the new object.

use pleach_go::strconv::quote;
use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_patch::{Fault, JsonPatch, MAX_OPERATIONS};
use pleach_schema::Record;

use crate::decode;
use crate::engine::Engine;
use crate::limits;
use crate::live::Live;
use crate::object::Object;
use crate::options::{Body, Context, FieldValidation, PatchType, WriteOptions};
use crate::rejection::{Rejection, Subject};
use crate::settle::Settled;
use crate::target::Target;
use crate::write::Intent;

/// A patch that is not an apply.
struct Patch<'a> {
    target: &'a Target,
    change: Change,
    validation: FieldValidation,
    /// Repeated and unknown fields of the patch itself.
    strict: Vec<String>,
}

enum Change {
    Json(JsonPatch),
    Merge(Value),
    StrategicMerge(Value),
}

impl Engine {
    /// Changes an object by a JSON patch, merge patch or strategic merge patch.
    pub async fn patch(
        &self,
        target: &Target,
        patch_type: PatchType,
        body: &Body,
        options: &WriteOptions,
        context: &mut Context,
    ) -> Result<Object, Rejection> {
        // A patch of nothing is not read at all.
        if self.stored(&target.key_of(target.name())).await?.is_none() {
            return Err(Rejection::NotFound(target.subject()));
        }
        let mut patch = Patch::decode(target, patch_type, body, options.field_validation)?;
        self.write_over(target, &mut patch, options, context).await
    }
}

impl<'a> Patch<'a> {
    fn decode(
        target: &'a Target,
        patch_type: PatchType,
        body: &Body,
        validation: FieldValidation,
    ) -> Result<Self, Rejection> {
        let strictly = validation != FieldValidation::Ignore;
        let bad = |error: String| Rejection::BadRequest(error);
        let mut strict = Vec::new();
        let change = match patch_type {
            PatchType::Json => {
                let patch = if strictly {
                    let read = JsonPatch::parse_strict(&body.bytes)
                        .map_err(|error| bad(format!("error decoding patch: {error}")))?;
                    strict.extend(read.problems.iter().map(|problem| format!("json patch {problem}")));
                    read.patch
                } else {
                    JsonPatch::parse(&body.bytes).map_err(|error| bad(error.to_string()))?
                };
                if patch.len() > MAX_OPERATIONS {
                    return Err(Rejection::TooLarge(format!(
                        "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                        patch.len()
                    )));
                }
                Change::Json(patch)
            }
            PatchType::Merge | PatchType::StrategicMerge => {
                let decoded = pleach_json::parse_strict(&body.bytes).map_err(|error| {
                    bad(if strictly {
                        format!("error decoding patch: {error}")
                    } else {
                        "Invalid JSON Patch".to_owned()
                    })
                })?;
                if strictly {
                    strict.extend(decoded.duplicates.iter().map(|p| format!("duplicate field {}", quote(p))));
                }
                if !matches!(decoded.value, Value::Object(_)) {
                    return Err(bad(if strictly && !decoded.value.is_null() {
                        let error = pleach_go::json::type_error(&decoded.value, "map[string]interface {}");
                        format!("error decoding patch: {error}")
                    } else {
                        "Invalid JSON Patch".to_owned()
                    }));
                }
                if patch_type == PatchType::Merge {
                    Change::Merge(decoded.value)
                } else {
                    Change::StrategicMerge(decoded.value)
                }
            }
            PatchType::Apply => return Err(Rejection::internal("an apply is not a patch of this kind")),
        };
        Ok(Self { target, change, validation, strict })
    }
}

impl Patch<'_> {
    /// The live object with the change made.
    fn apply(&self, live: &Value) -> Result<Value, Rejection> {
        match &self.change {
            Change::Json(patch) => {
                let patched = pleach_patch::apply_json_patch(live.clone(), patch)
                    .map_err(|_| Rejection::Unprocessable)?;
                // A value that is copied into itself repeatedly gets deep quickly.
                limits::check_nesting(&patched, Some(live))?;
                Ok(patched)
            }
            Change::Merge(patch) => pleach_patch::merge_patch(live.clone(), patch)
                .map_err(|error| Rejection::BadRequest(error.to_string())),
            Change::StrategicMerge(patch) => strategic(self.target, live, patch),
        }
    }

    /// A patched object of a built-in kind. A JSON or merge patch that makes it another kind or version is refused; a
    /// strategic merge patch cannot do so.
    fn of_kind(&self, mut patched: Value) -> Result<Value, Rejection> {
        let kind = &self.target.kind;
        let api_version = self.target.version().api_version.as_str();
        let text = |key: &str| patched.get(key).and_then(Value::as_str).unwrap_or_default();
        let (found, found_version) = (text("kind"), text("apiVersion"));
        if (found, found_version) == (kind.kind.as_str(), api_version) {
            return Ok(patched);
        }
        if matches!(self.change, Change::StrategicMerge(_)) {
            if let Some(members) = patched.as_object_mut() {
                members.insert("kind", kind.kind.clone());
                members.insert("apiVersion", api_version);
            }
            return Ok(patched);
        }
        let other_kind = kind.strategy.other_kind_error(&kind.kind, found);
        let error = other_kind.filter(|_| found_version == api_version).unwrap_or_else(|| {
            let scheme = kind.strategy.scheme();
            format!(
                "no kind \"{found}\" is registered for version \"{found_version}\" in scheme \"{scheme}\""
            )
        });
        Err(invalid_patch(pleach_json::to_string(&patched), &error))
    }

    /// The patched object is wrong. The error quotes it, so the change is made once more.
    fn invalid(&self, live: &Value, error: &str) -> Rejection {
        if let Change::StrategicMerge(patch) = &self.change {
            // Of these upstream shows the patch, as Go formats a map.
            return invalid_patch(pleach_go::fmt::go_v(patch).into_owned(), error);
        }
        match self.apply(live) {
            Ok(patched) => invalid_patch(pleach_json::to_string(&patched), error),
            Err(rejection) => rejection,
        }
    }
}

impl Intent for Patch<'_> {
    fn candidate(&mut self, live: &Live, context: &mut Context) -> Result<Option<Settled>, Rejection> {
        let patched = self.apply(live)?;
        let ignored = self.validation == FieldValidation::Ignore;
        let record = if ignored { Record::Nothing } else { Record::Unknown };
        check_type_meta(&patched)?;
        let patched = if self.target.kind.is_custom() { patched } else { self.of_kind(patched)? };
        let baseline = live.spanned().map(|spanned| spanned.value());
        let decoded = decode::object(self.target.resource(), patched, record, baseline)
            .map_err(|error| self.invalid(live, &error))?;
        let mut strict = self.strict.clone();
        strict.extend(decoded.strict.iter().map(|path| decode::unknown_field(&self.target.kind, path)));
        decode::report(strict, self.validation, &mut context.warnings)
            .map_err(|error| self.invalid(live, &error))?;
        Ok(Some(decoded.value))
    }

    fn is_unconditional(&self) -> bool {
        false
    }
}

/// A patch may not remove `apiVersion` and `kind`.
fn check_type_meta(patched: &Value) -> Result<(), Rejection> {
    let missing = |key: &str| patched.get(key).and_then(Value::as_str).is_none_or(str::is_empty);
    if missing("kind") {
        let text = pleach_json::to_string(patched);
        let error = format!("Object 'Kind' is missing in '{text}'");
        return Err(invalid_patch(text, &error));
    }
    if missing("apiVersion") {
        return Err(Rejection::internal(
            "Object 'apiVersion' is missing in 'object has no apiVersion field'",
        ));
    }
    Ok(())
}

/// A strategic merge patch, by the merge keys of the kind.
fn strategic(target: &Target, live: &Value, patch: &Value) -> Result<Value, Rejection> {
    let (Value::Object(live), Value::Object(patch)) = (live.clone(), patch) else {
        return Err(Rejection::BadRequest("Invalid JSON Patch".into()));
    };
    let schema = target.kind.strategy.strategic_schema();
    let merged = pleach_patch::strategic_merge_patch(live, patch, &schema);
    merged.map(Value::Object).map_err(|error| {
        let told = error.to_string();
        match error.fault() {
            Fault::Malformed => Rejection::BadRequest(told),
            Fault::Unprocessable => Rejection::Unprocessable,
            Fault::Unforeseen => Rejection::Plain(told),
        }
    })
}

/// The patched object is wrong: a 422 without a subject, with the whole object.
fn invalid_patch(patched: String, error: &str) -> Rejection {
    Rejection::Invalid {
        subject: Subject::default(),
        errors: vec![FieldError::invalid("patch", patched, error)],
    }
}

#[cfg(test)]
mod tests;
