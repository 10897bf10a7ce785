//! Field and label selectors in the attributes of an access review: their validation, and requirements that are ignored.

use pleach_json::{Str, Value};
use pleach_meta::FieldError;
use pleach_meta::names::{check_label_value, check_qualified_name};
use pleach_meta::selector::{FieldSelector, LabelSelector, Operator, Requirement};

/// The two selectors that attributes may have.
const SELECTORS: [&str; 2] = ["fieldSelector", "labelSelector"];

/// Adds the errors of the selectors in `spec.resourceAttributes`.
pub(super) fn validate(attributes: &Value, errors: &mut Vec<FieldError>) {
    for name in SELECTORS {
        if let Some(selector) = attributes.get(name).filter(|selector| !selector.is_null()) {
            let path = format!("spec.resourceAttributes.{name}");
            validate_selector(selector, &path, name == "labelSelector", errors);
        }
    }
}

fn validate_selector(selector: &Value, path: &str, is_label: bool, errors: &mut Vec<FieldError>) {
    let raw = text(selector, "rawSelector");
    let requirements = requirements(selector);
    if !raw.is_empty() && !requirements.is_empty() {
        let why = "may not specified at the same time as requirements";
        errors.push(FieldError::invalid(format!("{path}.rawSelector"), raw, why));
    }
    if raw.is_empty() && requirements.is_empty() {
        let why = format!("when {path} is specified, requirements or rawSelector is required");
        errors.push(FieldError::required(format!("{path}.requirements"), why));
    }
    for (i, requirement) in requirements.iter().enumerate() {
        pleach_work::charge(1);
        validate_requirement(requirement, &format!("{path}.requirements[{i}]"), is_label, errors);
    }
}

fn validate_requirement(requirement: &Value, path: &str, is_label: bool, errors: &mut Vec<FieldError>) {
    let (key, values) = (text(requirement, "key"), values(requirement));
    if !is_label && key.is_empty() {
        errors.push(FieldError::required(format!("{path}.key"), "must be specified"));
    }
    match text(requirement, "operator") {
        "In" | "NotIn" if values.is_empty() => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required(format!("{path}.values"), why));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(format!("{path}.values"), why));
        }
        // Operators of later versions are ignored.
        _ => {}
    }
    if is_label {
        let wrong = check_qualified_name(key).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(format!("{path}.key"), key, why)));
        for (i, value) in values.iter().enumerate() {
            let wrong = check_label_value(value).into_iter();
            errors.extend(
                wrong.map(|why| FieldError::invalid(format!("{path}.values[{i}]"), value.as_str(), why)),
            );
        }
    }
}

/// Errors of requirements that were not understood: authorizers do not see these.
pub(super) fn evaluation_error(attributes: Option<&Value>) -> String {
    let mut parts = Vec::new();
    for name in SELECTORS {
        let Some(selector) = attributes.and_then(|a| a.get(name)).filter(|s| !s.is_null()) else { continue };
        let (usable, ignored) = if name == "fieldSelector" { fields(selector) } else { labels(selector) };
        if ignored > 0 {
            let partially = if usable > 0 { "partially " } else { "" };
            parts.push(format!("spec.resourceAttributes.{name} {partially}ignored due to parse error"));
        }
    }
    parts.join("; ")
}

/// The selectors as one would write them in a query, without requirements that are not understood.
pub(super) fn as_texts(attributes: Option<&Value>) -> (String, String) {
    let of = |name: &str, write: fn(&Value) -> Option<String>| -> String {
        let Some(selector) = attributes.and_then(|attributes| attributes.get(name)) else {
            return String::new();
        };
        let raw = text(selector, "rawSelector");
        if !raw.is_empty() {
            return raw.to_owned();
        }
        let written: Vec<String> = requirements(selector).into_iter().filter_map(write).collect();
        written.join(",")
    };
    (of("fieldSelector", field_text), of("labelSelector", label_text))
}

/// `key=value`
fn field_text(requirement: &Value) -> Option<String> {
    let operator = match text(requirement, "operator") {
        "In" => "=",
        "NotIn" => "!=",
        _ => return None,
    };
    let values = values(requirement);
    let [value] = values.as_slice() else { return None };
    let value = value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
    Some(format!("{}{operator}{value}", text(requirement, "key")))
}

/// `key in (a,b)`
fn label_text(requirement: &Value) -> Option<String> {
    if !is_usable_label(requirement) {
        return None;
    }
    let (key, values) = (text(requirement, "key"), values(requirement).join(","));
    Some(match text(requirement, "operator") {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "Exists" => key.to_owned(),
        _ => format!("!{key}"),
    })
}

/// How many requirements of a field selector are understood, and how many are not.
fn fields(selector: &Value) -> (usize, usize) {
    let raw = text(selector, "rawSelector");
    if !raw.is_empty() {
        return FieldSelector::parse(raw).map_or((0, 1), |parsed| (parsed.requirements().len(), 0));
    }
    let is_usable = |requirement: &Value| {
        matches!(text(requirement, "operator"), "In" | "NotIn") && values(requirement).len() == 1
    };
    count(selector, is_usable)
}

/// The same of a label selector.
fn labels(selector: &Value) -> (usize, usize) {
    let raw = text(selector, "rawSelector");
    if !raw.is_empty() {
        return LabelSelector::parse(raw).map_or((0, 1), |parsed| (parsed.requirements().len(), 0));
    }
    count(selector, is_usable_label)
}

fn is_usable_label(requirement: &Value) -> bool {
    let operator = match text(requirement, "operator") {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        _ => return false,
    };
    Requirement::new(text(requirement, "key"), operator, values(requirement)).is_ok()
}

fn count(selector: &Value, is_usable: impl Fn(&Value) -> bool) -> (usize, usize) {
    let all = requirements(selector);
    let usable = all.iter().filter(|requirement| is_usable(requirement)).count();
    (usable, all.len() - usable)
}

fn requirements(selector: &Value) -> Vec<&Value> {
    selector.get("requirements").and_then(Value::as_array).into_iter().flatten().collect()
}

fn values(requirement: &Value) -> Vec<Str> {
    let values = requirement.get("values").and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str).map(Str::from).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn selectors_are_written_as_in_a_query() {
        let attributes = json!({
            "fieldSelector": {"requirements": [
                {"key": "spec.a", "operator": "In", "values": ["x,=\\"]},
                {"key": "spec.b", "operator": "NotIn", "values": ["y"]},
                {"key": "spec.c", "operator": "Exists"},
            ]},
            "labelSelector": {"requirements": [
                {"key": "a", "operator": "In", "values": ["x", "y"]}, {"key": "b", "operator": "NotIn", "values": ["z"]},
                {"key": "c", "operator": "Exists"}, {"key": "d", "operator": "DoesNotExist"},
                {"key": "e", "operator": "Other"},
            ]},
        });
        let (fields, labels) = as_texts(Some(&attributes));
        assert_eq!(fields, r"spec.a=x\,\=\\,spec.b!=y");
        let parsed = FieldSelector::parse(&fields).unwrap();
        assert_eq!(parsed.requirements()[0].value, "x,=\\");
        assert_eq!(labels, "a in (x,y),b notin (z),c,!d");
        assert_eq!(LabelSelector::parse(&labels).unwrap().requirements().len(), 4);
        let raw = json!({"fieldSelector": {"rawSelector": "a=b"}});
        assert_eq!(as_texts(Some(&raw)), ("a=b".to_owned(), String::new()));
    }

    #[test]
    fn selectors_that_cannot_be_used_are_noted() {
        for (attributes, want) in [
            (json!({"fieldSelector": {"rawSelector": "a=b"}}), ""),
            (
                json!({"fieldSelector": {"rawSelector": "x"}, "labelSelector": {"rawSelector": "!!"}}),
                "spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error",
            ),
            (
                json!({"fieldSelector": {"requirements": [
                    {"key": "a", "operator": "In", "values": ["x", "y"]},
                    {"key": "b", "operator": "NotIn", "values": ["z"]},
                ]}}),
                "spec.resourceAttributes.fieldSelector partially ignored due to parse error",
            ),
            (
                json!({"labelSelector": {"requirements": [{"key": "a", "operator": "Newer", "values": ["x"]}]}}),
                "spec.resourceAttributes.labelSelector ignored due to parse error",
            ),
        ] {
            assert_eq!(evaluation_error(Some(&attributes)), want, "{attributes:?}");
        }
    }
}
