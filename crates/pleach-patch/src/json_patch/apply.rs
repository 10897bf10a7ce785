//! Applying the operations of a JSON patch.

use pleach_go::json::type_error;
use pleach_json::{MAX_DEPTH, Value, to_vec};

use super::{JsonPatch, Member, Op, Operation, place};
use crate::error::PatchError;

const MISSING: &str = "missing value";

pub(super) fn apply(document: Value, patch: &JsonPatch, copy_limit: usize) -> Result<Value, PatchError> {
    if !matches!(document, Value::Object(_) | Value::Array(_) | Value::Null) {
        return Err(PatchError(type_error(&document, "jsonpatch.partialDoc")));
    }
    let mut run = Run { document, copied: 0, copy_limit };
    for operation in &patch.operations {
        run.step(operation).map_err(PatchError)?;
    }
    if patch.operations.iter().any(may_deepen) && run.document.depth() > MAX_DEPTH {
        return Err(PatchError("exceeded max depth".to_owned()));
    }
    Ok(run.document)
}

/// Whether an operation can make a document deeper than JSON may be.
fn may_deepen(operation: &Operation) -> bool {
    match operation.op {
        Op::Copy | Op::Move => true,
        Op::Add | Op::Replace => {
            let steps = match &operation.path {
                Member::Text(path) => path.len(),
                Member::Missing | Member::Wrong(_) => 0,
            };
            // A path has fewer steps than bytes.
            steps + operation.value.depth() > MAX_DEPTH
        }
        Op::Remove | Op::Test | Op::Unknown(_) => false,
    }
}

struct Run {
    document: Value,
    copied: usize,
    copy_limit: usize,
}

impl Run {
    fn step(&mut self, operation: &Operation) -> Result<(), String> {
        match &operation.op {
            Op::Add => self.add(operation),
            Op::Remove => self.remove(operation),
            Op::Replace => self.replace(operation),
            Op::Move => self.r#move(operation),
            Op::Copy => self.copy(operation),
            Op::Test => self.test(operation),
            Op::Unknown(kind) => Err(format!("Unexpected kind: {kind}")),
        }
    }

    fn add(&mut self, operation: &Operation) -> Result<(), String> {
        let Member::Text(path) = &operation.path else {
            return Err(format!("add operation failed to decode path: {MISSING}"));
        };
        let Some((container, key)) = place::find(&mut self.document, path) else {
            return Err(format!("add operation does not apply: doc is missing path: \"{path}\": {MISSING}"));
        };
        place::add(container, &key, operation.value.clone())
            .map_err(|error| format!("error in add for path: '{path}': {error}"))
    }

    fn remove(&mut self, operation: &Operation) -> Result<(), String> {
        let Member::Text(path) = &operation.path else {
            return Err(format!("remove operation failed to decode path: {MISSING}"));
        };
        let Some((container, key)) = place::find(&mut self.document, path) else {
            return Err(format!(
                "remove operation does not apply: doc is missing path: \"{path}\": {MISSING}"
            ));
        };
        place::remove(container, &key)
            .map(drop)
            .map_err(|error| format!("error in remove for path: '{path}': {error}"))
    }

    fn replace(&mut self, operation: &Operation) -> Result<(), String> {
        let path = operation
            .path
            .text("path")
            .map_err(|e| format!("replace operation failed to decode path: {e}"))?;
        if path.is_empty() {
            if !matches!(operation.value, Value::Object(_) | Value::Array(_)) {
                return Err("replace operation value must be object or array: %!w(<nil>)".to_owned());
            }
            self.document = operation.value.clone();
            return Ok(());
        }
        let Some((container, key)) = place::find(&mut self.document, path) else {
            return Err(format!("replace operation does not apply: doc is missing path: {path}: {MISSING}"));
        };
        if place::get(container, &key).is_err() {
            return Err(format!("replace operation does not apply: doc is missing key: {path}: {MISSING}"));
        }
        place::set(container, &key, operation.value.clone());
        Ok(())
    }

    fn r#move(&mut self, operation: &Operation) -> Result<(), String> {
        let from =
            operation.from.text("from").map_err(|e| format!("move operation failed to decode from: {e}"))?;
        let Some((container, key)) = place::find(&mut self.document, from) else {
            return Err(format!(
                "move operation does not apply: doc is missing from path: {from}: {MISSING}"
            ));
        };
        let value = place::remove(container, &key)
            .map_err(|error| format!("error in move for path: '{key}': {error}"))?;
        let path =
            operation.path.text("path").map_err(|e| format!("move operation failed to decode path: {e}"))?;
        let Some((container, key)) = place::find(&mut self.document, path) else {
            return Err(format!(
                "move operation does not apply: doc is missing destination path: {path}: {MISSING}"
            ));
        };
        place::add(container, &key, value)
            .map_err(|error| format!("error in move for path: '{path}': {error}"))
    }

    fn copy(&mut self, operation: &Operation) -> Result<(), String> {
        let from =
            operation.from.text("from").map_err(|e| format!("copy operation failed to decode from: {e}"))?;
        let Some((container, key)) = place::find(&mut self.document, from) else {
            return Err(format!(
                "copy operation does not apply: doc is missing from path: {from}: {MISSING}"
            ));
        };
        // What is not there is copied as null.
        let value = place::get(container, &key)
            .map_err(|error| format!("error in copy for from: '{from}': {error}"))?
            .cloned()
            .unwrap_or_default();
        let Member::Text(path) = &operation.path else {
            return Err(format!("copy operation failed to decode path: {MISSING}"));
        };
        if place::find(&mut self.document, path).is_none() {
            return Err(format!(
                "copy operation does not apply: doc is missing destination path: {path}: {MISSING}"
            ));
        }
        if !value.is_null() {
            self.copied += to_vec(&value).len();
        }
        if self.copied > self.copy_limit {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {}",
                self.copied, self.copy_limit
            ));
        }
        let Some((container, key)) = place::find(&mut self.document, path) else { return Ok(()) };
        place::add(container, &key, value)
            .map_err(|error| format!("error while adding value during copy: {error}"))
    }

    fn test(&mut self, operation: &Operation) -> Result<(), String> {
        let path =
            operation.path.text("path").map_err(|e| format!("test operation failed to decode path: {e}"))?;
        let failed = || Err(format!("testing value {path} failed: test failed"));
        if path.is_empty() {
            return if operation.is_met_by(&self.document) { Ok(()) } else { failed() };
        }
        let Some((container, key)) = place::find(&mut self.document, path) else {
            return Err(format!("test operation does not apply: is missing path: {path}: {MISSING}"));
        };
        let found = place::get(container, &key)
            .map_err(|error| format!("error in test for path: '{path}': {error}"))?;
        match found {
            None | Some(Value::Null) if operation.no_value => Ok(()),
            Some(found) if !operation.no_value && operation.is_met_by(found) => Ok(()),
            _ => failed(),
        }
    }
}

impl Operation {
    fn is_met_by(&self, found: &Value) -> bool {
        self.canonical && *found == self.value
    }
}

impl Member {
    fn text(&self, name: &str) -> Result<&str, String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Missing if name == "path" => Err(format!("operation missing path field: {MISSING}")),
            Self::Missing => Err(format!("operation, missing {name} field: {MISSING}")),
            Self::Wrong(error) => Err(error.clone()),
        }
    }
}
