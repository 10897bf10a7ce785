//! Validation of `podFailurePolicy`.

use pleach_go::strconv::quote;
use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;
use pleach_meta::names::check_qualified_name;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{items, text};

const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];

const MOST_RULES: i64 = 20;
const MOST_CONDITIONS: i64 = 20;
const MOST_CODES: i64 = 255;

fn too_many(list: &[Value], most: i64, path: &str, errors: &mut Errors) {
    if list.len() as i64 > most {
        errors.push(FieldError::too_many(path, list.len() as i64, most));
    }
}

/// Validates a value of an enumeration. The error of an empty one lists the valid values.
fn required_enum(text: &str, path: &str, supported: &[&str], errors: &mut Errors) {
    if text.is_empty() {
        let quoted: Vec<String> = supported.iter().map(|one| quote(one)).collect();
        errors.push(FieldError::required(path, format!("valid values: [{}]", quoted.join(" "))));
    } else {
        checks::one_of(text, path, supported, errors);
    }
}

/// The policy of a Job's spec.
pub(super) fn validate(policy: &Value, spec: &Value, path: &str, errors: &mut Errors) {
    let template = spec.at(&["template", "spec"]).unwrap_or(&Value::Null);
    let lists = ["containers", "initContainers"].into_iter().flat_map(|list| items(template, list));
    let containers: Vec<&str> = lists.map(|container| text(container, "name")).collect();
    let rules = items(policy, "rules");
    too_many(rules, MOST_RULES, &format!("{path}.rules"), errors);
    for (i, rule) in rules.iter().enumerate() {
        let path = format!("{path}.rules[{i}]");
        let action = text(rule, "action");
        if action == "FailIndex" {
            if spec.get("backoffLimitPerIndex").is_none() {
                let why = "requires the backoffLimitPerIndex to be set";
                errors.push(FieldError::invalid(format!("{path}.action"), action, why));
            }
        } else {
            required_enum(action, &format!("{path}.action"), &ACTIONS, errors);
        }
        let codes = rule.get("onExitCodes");
        if let Some(codes) = codes {
            exit_codes(codes, &containers, &format!("{path}.onExitCodes"), errors);
        }
        let conditions = items(rule, "onPodConditions");
        too_many(conditions, MOST_CONDITIONS, &format!("{path}.onPodConditions"), errors);
        for (i, pattern) in conditions.iter().enumerate() {
            let path = format!("{path}.onPodConditions[{i}]");
            let kind = text(pattern, "type");
            let wrong = check_qualified_name(kind).into_iter();
            errors.extend(wrong.map(|why| FieldError::invalid(format!("{path}.type"), kind, why)));
            let supported = ["False", "True", "Unknown"];
            required_enum(text(pattern, "status"), &format!("{path}.status"), &supported, errors);
        }
        let why = match (codes.is_some(), !conditions.is_empty()) {
            (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        errors.push(FieldError::invalid(path, BadValue::Omitted, why));
    }
}

fn exit_codes(codes: &Value, containers: &[&str], path: &str, errors: &mut Errors) {
    let operator = text(codes, "operator");
    required_enum(operator, &format!("{path}.operator"), &["In", "NotIn"], errors);
    if let Some(name) = codes.get("containerName").and_then(Value::as_str)
        && !containers.contains(&name)
    {
        let why = "must be one of the container or initContainer names in the pod template";
        errors.push(FieldError::invalid(format!("{path}.containerName"), name, why));
    }
    let path = format!("{path}.values");
    let values: Vec<i64> = items(codes, "values").iter().filter_map(Value::as_int).collect();
    too_many(items(codes, "values"), MOST_CODES, &path, errors);
    if values.is_empty() {
        let given = codes.get("values").cloned().unwrap_or_default();
        errors.push(FieldError::invalid(path.as_str(), given, "at least one value is required"));
    }
    for (i, value) in values.iter().enumerate() {
        let path = format!("{path}[{i}]");
        if operator == "In" && *value == 0 {
            errors.push(FieldError::invalid(path.as_str(), *value, "must not be 0 for the In operator"));
        }
        if values[..i].contains(value) {
            errors.push(FieldError::duplicate(path, *value));
        }
    }
    if values.windows(2).any(|pair| pair[0] > pair[1]) {
        let all: Vec<Value> = values.iter().map(|value| Value::from(*value)).collect();
        errors.push(FieldError::invalid(path, all, "must be ordered"));
    }
}

/// A policy as Go writes the internal type as JSON.
pub(super) fn dump(policy: &Value) -> BadValue {
    let show = |value: Option<&Value>| pleach_json::to_string(value.unwrap_or(&Value::Null));
    let codes = |codes: &Value| {
        let [name, operator, values] =
            ["containerName", "operator", "values"].map(|field| show(codes.get(field)));
        format!("{{\"ContainerName\":{name},\"Operator\":{operator},\"Values\":{values}}}")
    };
    let condition = |condition: &Value| {
        let [kind, status] = ["type", "status"].map(|field| show(condition.get(field)));
        format!("{{\"Type\":{kind},\"Status\":{status}}}")
    };
    let rule = |rule: &Value| {
        let codes = rule.get("onExitCodes").map_or_else(|| "null".to_owned(), codes);
        let conditions: Vec<String> = items(rule, "onPodConditions").iter().map(condition).collect();
        let conditions =
            if conditions.is_empty() { "null".to_owned() } else { format!("[{}]", conditions.join(",")) };
        let action = show(rule.get("action"));
        format!("{{\"Action\":{action},\"OnExitCodes\":{codes},\"OnPodConditions\":{conditions}}}")
    };
    let rules: Vec<String> = items(policy, "rules").iter().map(rule).collect();
    BadValue::Raw(format!("{{\"Rules\":[{}]}}", rules.join(",")))
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn rules_have_codes_or_conditions() {
        let spec = json!({"template": {"spec": {"containers": [{"name": "a"}]}}});
        for (rule, want) in [
            (json!({"action": "Count", "onExitCodes": {"operator": "In", "values": [1, 2]}}), &[][..]),
            (
                json!({"action": "Count"}),
                &["p.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"]
                    [..],
            ),
            (
                json!({"onPodConditions": [{"type": "A", "status": "True"}]}),
                &[
                    "p.rules[0].action: Required value: valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]",
                ][..],
            ),
            (
                json!({"action": "Count", "onExitCodes": {"operator": "In", "values": [2, 0, 2], "containerName": "b"}}),
                &[
                    "p.rules[0].onExitCodes.containerName: Invalid value: \"b\": must be one of the container or initContainer names in the pod template",
                    "p.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
                    "p.rules[0].onExitCodes.values[2]: Duplicate value: 2",
                    "p.rules[0].onExitCodes.values: Invalid value: [2,0,2]: must be ordered",
                ][..],
            ),
        ] {
            let mut errors = Errors::new();
            validate(&json!({"rules": [rule]}), &spec, "p", &mut errors);
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(texts, want);
        }
    }
}
