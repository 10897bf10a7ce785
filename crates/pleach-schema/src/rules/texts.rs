//! Validates the texts of a rule, without compiling it.

use pleach_meta::{FieldError, FieldErrors, Path};

use super::field_path::resolve_field_path;
use crate::props::{JSONSchemaProps, ValidationRule};
use crate::structural::Structural;

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Checks the texts of all rules of a node.
pub(crate) fn check(schema: &JSONSchemaProps, path: &Path<'_>, errors: &mut FieldErrors) {
    let rules = path.child("x-kubernetes-validations");
    for (i, rule) in schema.validations().iter().enumerate() {
        if errors.is_full() {
            return;
        }
        check_rule(schema, rule, &rules.index(i), errors);
    }
}

fn check_rule(schema: &JSONSchemaProps, rule: &ValidationRule, path: &Path<'_>, errors: &mut FieldErrors) {
    let text = go_trim(&rule.rule);
    let message = go_trim(&rule.message);
    if text.is_empty() {
        errors.push(FieldError::required(path.child("rule"), "rule is not specified"));
    } else if message.is_empty() && !rule.message.is_empty() {
        errors.push(blank(path.child("message"), &rule.message));
    } else if has_line_break(message) {
        errors.push(line_break(path.child("message"), &rule.message));
    } else if has_line_break(text) && message.is_empty() {
        errors.push(FieldError::required(
            path.child("message"),
            "message must be specified if rule contains line breaks",
        ));
    }
    if !rule.message_expression.is_empty() && go_trim(&rule.message_expression).is_empty() {
        errors.push(FieldError::required(
            path.child("messageExpression"),
            "messageExpression must be non-empty if specified",
        ));
    }
    if let Some(reason) = &rule.reason
        && !REASONS.contains(&reason.as_str())
    {
        errors.push(FieldError::not_supported(path.child("reason"), reason.clone(), &REASONS));
    }
    if rule.field_path.is_empty() {
        return;
    }
    let at = path.child("fieldPath");
    if go_trim(&rule.field_path).is_empty() {
        errors.push(blank(at, &rule.field_path));
    }
    if has_line_break(&rule.field_path) {
        errors.push(line_break(at, &rule.field_path));
    }
    // A path is resolved in the structural form; without one it is not validated.
    if resolve_field_path(&rule.field_path, schema).is_err() && Structural::of(schema).is_ok() {
        errors.push(FieldError::invalid(at, rule.field_path.clone(), "must be a valid path"));
    }
}

fn blank(path: Path<'_>, text: &str) -> FieldError {
    FieldError::invalid(path, text, "must be non-empty if specified")
}

fn line_break(path: Path<'_>, text: &str) -> FieldError {
    FieldError::invalid(path, text, "must not contain line breaks")
}

/// Go's `strings.TrimSpace`: the same characters as Rust's, which both take from Unicode.
fn go_trim(text: &str) -> &str {
    text.trim()
}

fn has_line_break(text: &str) -> bool {
    text.contains(['\n', '\r'])
}
