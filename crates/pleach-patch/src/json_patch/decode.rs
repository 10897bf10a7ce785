//! Decoding a JSON patch.

use std::collections::HashSet;

use pleach_go::json::{field_type_error, type_error};
use pleach_go::strconv::quote;
use pleach_json::{Map, Value, parse_strict as parse_json};

use super::written::{self, Written};
use super::{JsonPatch, Member, Op, Operation};
use crate::error::DecodeError;

/// The members that an operation may have.
const MEMBERS: [&str; 4] = ["from", "op", "path", "value"];

/// Strict decoding reports at most this many problems.
const MAX_PROBLEMS: usize = 100;

/// A patch and its unknown and duplicate fields.
#[derive(Debug, Clone, PartialEq)]
pub struct StrictPatch {
    /// The patch.
    pub patch: JsonPatch,
    /// `unknown field "[0].foo"` and `duplicate field "[1].path"`.
    pub problems: Vec<String>,
}

pub(super) fn parse(bytes: &[u8]) -> Result<JsonPatch, DecodeError> {
    let mut patch = from_value(&pleach_json::parse(bytes)?)?;
    if patch.operations.iter().any(|operation| operation.op == Op::Test) {
        patch.note(&written::operations(bytes));
    }
    Ok(patch)
}

pub(super) fn parse_strict(bytes: &[u8]) -> Result<StrictPatch, DecodeError> {
    let parsed = parse_json(bytes).map_err(|error| {
        if error.is_out_of_range() {
            // Only the value may be a number.
            let text = error.to_string().replace("Go value", "Go struct field jsonPatchOp.value");
            return DecodeError::Shape(text);
        }
        DecodeError::Json(error)
    })?;
    let written = written::operations(bytes);
    check_types(&parsed.value, &written)?;
    let mut patch = from_value(&parsed.value)?;
    patch.note(&written);
    Ok(StrictPatch { patch, problems: problems(&written, &parsed.duplicates) })
}

/// Unknown and duplicate members in the order of the document. Nothing is reported inside an
/// unknown one.
fn problems(written: &[Written], duplicates: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut nested = duplicates.iter().peekable();
    for (i, operation) in written.iter().enumerate() {
        let mut seen: HashSet<&str> = HashSet::with_capacity(MEMBERS.len());
        for key in &operation.keys {
            if problems.len() >= MAX_PROBLEMS {
                return problems;
            }
            let again = !seen.insert(key);
            let path = format!("[{i}].{key}");
            match (MEMBERS.contains(&key.as_str()), again) {
                (false, false) => problems.push(format!("unknown field {}", quote(&path))),
                (true, true) => problems.push(format!("duplicate field {}", quote(&path))),
                _ => {}
            }
            let inside =
                |found: &&String| found.strip_prefix(&path).is_some_and(|rest| rest.starts_with(['.', '[']));
            while let Some(found) = nested.next_if(|found| inside(found) || **found == path) {
                if key == "value" && inside(&found) {
                    problems.push(format!("duplicate field {}", quote(found)));
                }
            }
        }
    }
    problems
}

pub(super) fn from_value(value: &Value) -> Result<JsonPatch, DecodeError> {
    let operations = match value {
        Value::Null => &[],
        Value::Array(operations) => operations.as_slice(),
        other => {
            return Err(DecodeError::Shape(type_error(other, "jsonpatch.Patch")));
        }
    };
    let operations = operations.iter().enumerate().map(|(i, operation)| match operation {
        Value::Null => Ok(Operation::from_map(&Map::new())),
        Value::Object(map) => Ok(Operation::from_map(map)),
        other => {
            // sigs.k8s.io/json names the element, where encoding/json says "Go value".
            let text = type_error(other, "jsonpatch.Operation");
            Err(DecodeError::Shape(text.replace("Go value", &format!("Patch.{i}"))))
        }
    });
    Ok(JsonPatch { operations: operations.collect::<Result<_, _>>()? })
}

/// Strict decoding goes through a struct first, which checks types.
fn check_types(value: &Value, written: &[Written]) -> Result<(), DecodeError> {
    let wrong = |value: &Value, go_type: &str| Err(DecodeError::Shape(type_error(value, go_type)));
    let operations = match value {
        Value::Null => return Ok(()),
        Value::Array(operations) => operations,
        other => return wrong(other, "[]handlers.jsonPatchOp"),
    };
    for (operation, written) in operations.iter().zip(written) {
        match operation {
            Value::Null => {}
            Value::Object(map) => {
                for key in written.keys.iter().filter(|key| matches!(key.as_str(), "op" | "path" | "from")) {
                    if let Some(member) = map.get(key)
                        && !matches!(member, Value::Null | Value::String(_))
                    {
                        let text = field_type_error(member, "jsonPatchOp", key, "string");
                        return Err(DecodeError::Shape(text));
                    }
                }
            }
            other => return wrong(other, "handlers.jsonPatchOp"),
        }
    }
    Ok(())
}

impl JsonPatch {
    /// Notes which values are not written the way Go writes them.
    fn note(&mut self, written: &[Written]) {
        for (operation, written) in self.operations.iter_mut().zip(written) {
            operation.canonical = written.canonical;
        }
    }
}

impl Operation {
    fn from_map(map: &Map) -> Self {
        let value = map.get("value").cloned().unwrap_or_default();
        Self {
            op: Op::from_member(map.get("op")),
            path: Member::from_value(map.get("path")),
            from: Member::from_value(map.get("from")),
            no_value: value.is_null(),
            value,
            canonical: true,
        }
    }
}

impl Op {
    fn from_member(member: Option<&Value>) -> Self {
        match member.and_then(Value::as_str) {
            Some("add") => Self::Add,
            Some("remove") => Self::Remove,
            Some("replace") => Self::Replace,
            Some("move") => Self::Move,
            Some("copy") => Self::Copy,
            Some("test") => Self::Test,
            Some(other) => Self::Unknown(other.to_owned()),
            None => Self::Unknown("unknown".to_owned()),
        }
    }
}

impl Member {
    fn from_value(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Missing,
            Some(Value::String(text)) => Self::Text(text.to_string()),
            Some(other) => Self::Wrong(type_error(other, "string")),
        }
    }
}
