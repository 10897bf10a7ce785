//! Validation of selectable fields: paths to scalar fields that the schema knows.

use std::collections::HashSet;

use pleach_meta::{FieldError, Path};
use pleach_schema::{JSONSchemaProps, Structural};

use crate::types::SelectableField;

const MAX_SELECTABLE_FIELDS: usize = 8;

/// `before` are the fields of the old CRD's version: too many of them may stay as they are.
pub(super) fn validate(
    fields: &[SelectableField],
    schema: &JSONSchemaProps,
    before: &[SelectableField],
    path: &Path<'_>,
    schema_path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    if let Err(error) = Structural::of(schema) {
        errors.push(FieldError::invalid(schema_path, "", error));
        return;
    }
    let mut unique = HashSet::new();
    for (i, field) in fields.iter().enumerate() {
        let path = path.index(i);
        let path = path.child("jsonPath");
        let text = &field.json_path;
        if text.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let invalid = |detail: &str| FieldError::invalid(path, text.clone(), detail);
        match find(text, schema) {
            Err(error) => {
                errors.push(invalid(&format!("is an invalid path: {error}")));
                continue;
            }
            Ok(found) => {
                if tokens(text).nth(1) == Some("metadata") {
                    errors.push(invalid("must not point to fields in metadata"));
                }
                if !matches!(found.type_.as_str(), "string" | "boolean" | "integer") {
                    errors.push(invalid(
                        "must point to a field of type string, boolean or integer. Enum string fields and strings \
                         with formats are allowed.",
                    ));
                }
            }
        }
        if !unique.insert(text) {
            errors.push(FieldError::duplicate(path, text.clone()));
        }
    }
    let too_many_before = before.len() > MAX_SELECTABLE_FIELDS && before == fields;
    if unique.len() > MAX_SELECTABLE_FIELDS && !too_many_before {
        errors.push(FieldError::too_many(path, unique.len() as i64, MAX_SELECTABLE_FIELDS as i64));
    }
}

/// Dots and brackets, each on its own, and what is between them.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let special = |c: char| matches!(c, '.' | '[' | ']');
        let end = match rest.find(special)? {
            0 => 1,
            end => end,
        };
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(token)
    })
    .chain(std::iter::once_with(move || {
        let tail = text.rfind(['.', '[', ']']).map_or(0, |i| i + 1);
        &text[tail..]
    }))
    .filter(|token| !token.is_empty())
}

/// The schema a path leads to.
fn find<'a>(text: &str, root: &'a JSONSchemaProps) -> Result<&'a JSONSchemaProps, String> {
    let mut at = root;
    let mut tokens = tokens(text);
    while let Some(token) = tokens.next() {
        match token {
            "." => {}
            "[" => return Err("array notation is not allowed".to_owned()),
            other => return Err(format!("expected [ or . but got: {other}")),
        }
        let Some(name) = tokens.next() else { return Err("unexpected end of JSON path".to_owned()) };
        let next = if at.properties.is_some() { at.property(name) } else { at.additional_properties() };
        at = next.ok_or("does not refer to a valid field")?;
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_apart_at_dots_and_brackets() {
        for (text, want) in [
            (".spec.a", vec![".", "spec", ".", "a"]),
            ("spec", vec!["spec"]),
            (".spec..a", vec![".", "spec", ".", ".", "a"]),
            (".l[0]", vec![".", "l", "[", "0", "]"]),
            (".a.", vec![".", "a", "."]),
            ("", vec![]),
        ] {
            assert_eq!(tokens(text).collect::<Vec<_>>(), want, "{text}");
        }
    }
}
