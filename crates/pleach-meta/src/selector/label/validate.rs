//! Validation of `LabelSelector` objects.

use pleach_json::{Map, Value};

use crate::field_error::{FieldError, FieldErrors};
use crate::names::{check_label_value, check_qualified_name};
use crate::path::Path;

/// Validates `matchLabels` and `matchExpressions` of a selector.
pub fn validate_label_selector(selector: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let mut found = FieldErrors::new();
    validate(selector, path, &mut found);
    errors.extend(found.into_vec());
}

fn validate(selector: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let labels = path.child("matchLabels");
    for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flat_map(Map::iter)
    {
        if errors.is_full() {
            return;
        }
        check_key(key, &labels, errors);
        check_value(value.as_str().unwrap_or_default(), &labels, errors);
    }
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    for (i, expression) in expressions.enumerate() {
        if errors.is_full() {
            return;
        }
        validate_requirement(expression, &path.child("matchExpressions").index(i), errors);
    }
}

fn validate_requirement(requirement: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let text = |key: &str| requirement.get(key).and_then(Value::as_str).unwrap_or_default();
    let values = requirement.get("values").and_then(Value::as_array);
    let is_empty = values.is_none_or(|values| values.is_empty());
    let values_path = path.child("values");
    match text("operator") {
        "In" | "NotIn" => {
            if is_empty {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(values_path, detail));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !is_empty {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(values_path, detail));
            }
        }
        other => {
            let detail = "not a valid selector operator";
            errors.push(FieldError::invalid(path.child("operator"), other, detail));
        }
    }
    check_key(text("key"), &path.child("key"), errors);
    for (i, value) in values.into_iter().flatten().enumerate() {
        if errors.is_full() {
            return;
        }
        check_value(value.as_str().unwrap_or_default(), &values_path.index(i), errors);
    }
}

fn check_key(key: &str, path: &Path<'_>, errors: &mut FieldErrors) {
    errors.extend(check_qualified_name(key).into_iter().map(|m| FieldError::invalid(path, key, m)));
}

fn check_value(value: &str, path: &Path<'_>, errors: &mut FieldErrors) {
    errors.extend(check_label_value(value).into_iter().map(|m| FieldError::invalid(path, value, m)));
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn selectors_are_rejected_with_upstream_s_messages() {
        let key = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
        let value = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
        for (selector, want) in [
            (json!({}), vec![]),
            (json!({"matchLabels": {"a": "b"}}), vec![]),
            (
                json!({"matchLabels": {"a b": "c d"}}),
                vec![
                    format!("s.matchLabels: Invalid value: \"a b\": {key}"),
                    format!("s.matchLabels: Invalid value: \"c d\": {value}"),
                ],
            ),
            (
                json!({"matchExpressions": [{}]}),
                vec![
                    "s.matchExpressions[0].operator: Invalid value: \"\": not a valid selector operator".to_owned(),
                    "s.matchExpressions[0].key: Invalid value: \"\": name part must be non-empty".to_owned(),
                    format!("s.matchExpressions[0].key: Invalid value: \"\": {key}"),
                ],
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": []}]}),
                vec![
                    "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
                        .to_owned(),
                ],
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["?"]}]}),
                vec![
                    "s.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                        .to_owned(),
                    format!("s.matchExpressions[0].values[0]: Invalid value: \"?\": {value}"),
                ],
            ),
        ] {
            let mut errors = Vec::new();
            validate_label_selector(&selector, &Path::new("s"), &mut errors);
            let got: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(got, want, "{selector:?}");
        }
    }
}
