//! Validation of metrics and of the behavior of HorizontalPodAutoscalers.

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::names::check_path_segment_name;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{items, text};

/// The types of metrics with the fields of their sources, in the order of the types.
const TYPES: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];
/// The sources in the order of their validation.
const SOURCES: [&str; 5] = ["object", "external", "pods", "resource", "containerResource"];
const LONGEST_WINDOW: i64 = 3600;
const LONGEST_PERIOD: i64 = 1800;

/// A name that becomes a part of a URL.
fn segment(value: &str, path: &str, missing: &str, errors: &mut Errors) {
    if value.is_empty() {
        errors.push(FieldError::required(path, missing));
    }
    let wrong = check_path_segment_name(value).into_iter().filter(|_| !value.is_empty());
    errors.extend(wrong.map(|why| FieldError::invalid(path, value, why)));
}

/// `ValidateCrossVersionObjectReference`; an invalid version of the stored object stays allowed. The target of scaling is
/// in an API group, unless it is a ReplicationController.
pub(super) fn reference(target: &Value, path: &str, known: Option<&str>, scaled: bool, errors: &mut Errors) {
    for field in ["kind", "name"] {
        segment(text(target, field), &format!("{path}.{field}"), "", errors);
    }
    let version = text(target, "apiVersion");
    if known == Some(version) {
        return;
    }
    let wrong = match pleach_meta::GroupVersion::parse(version) {
        Err(why) => Some(why),
        Ok(version)
            if scaled && version.group.is_empty() && text(target, "kind") != "ReplicationController" =>
        {
            Some("apiVersion must specify API group".to_owned())
        }
        Ok(_) => None,
    };
    errors.extend(wrong.map(|why| FieldError::invalid(format!("{path}.apiVersion"), version, why)));
}

/// `validateMetricSpec`
pub(super) fn metric(metric: &Value, old: Option<&Value>, path: &str, errors: &mut Errors) {
    let (kind, at) = (text(metric, "type"), format!("{path}.type"));
    let supported = TYPES.map(|(kind, _)| kind);
    if kind.is_empty() {
        errors.push(FieldError::required(at.as_str(), "must specify a metric source type"));
    }
    checks::one_of(kind, &at, &supported, errors);
    let present: Vec<&str> = SOURCES.into_iter().filter(|source| metric.get(source).is_some()).collect();
    if let Some(first) = present.first() {
        let known = old.and_then(|old| old.at(&["object", "describedObject", "apiVersion"])?.as_str());
        source(metric.get(first).unwrap_or(&Value::Null), first, known, &format!("{path}.{first}"), errors);
    }
    let expected = TYPES.iter().find(|(known, _)| *known == kind).map(|(_, field)| *field);
    match expected {
        Some(field) if metric.get(field).is_none() => {
            let why = "must populate information for the given metric source";
            errors.push(FieldError::required(format!("{path}.{field}"), why));
        }
        Some(_) => {}
        // An unknown type is reported twice.
        None => checks::one_of(kind, &at, &supported, errors),
    }
    if present.len() != 1 {
        for field in present.into_iter().filter(|field| Some(*field) != expected) {
            let why = "must populate the given metric source only";
            errors.push(FieldError::forbidden(format!("{path}.{field}"), why));
        }
    }
}

fn source(source: &Value, kind: &str, known: Option<&str>, path: &str, errors: &mut Errors) {
    let target = source.get("target").unwrap_or(&Value::Null);
    let target_path = format!("{path}.target");
    let has = |field: &str| target.get(field).is_some();
    let required = |field: &str, why: &str| FieldError::required(format!("{target_path}.{field}"), why);
    match kind {
        "object" => {
            let described = source.get("describedObject").unwrap_or(&Value::Null);
            reference(described, &format!("{path}.describedObject"), known, false, errors);
            identifier(source, path, errors);
            self::target(target, &target_path, errors);
            if !has("value") && !has("averageValue") {
                errors.push(required("averageValue", "must set either a target value or averageValue"));
            }
        }
        "external" => {
            identifier(source, path, errors);
            self::target(target, &target_path, errors);
            if !has("value") && !has("averageValue") {
                let why = "must set either a target value for metric or a per-pod target";
                errors.push(required("averageValue", why));
            }
            if has("value") && has("averageValue") {
                let why = "may not set both a target value for metric and a per-pod target";
                errors.push(FieldError::forbidden(format!("{target_path}.value"), why));
            }
        }
        "pods" => {
            identifier(source, path, errors);
            self::target(target, &target_path, errors);
            if !has("averageValue") {
                errors.push(required("averageValue", "must specify a positive target averageValue"));
            }
        }
        _ => {
            if text(source, "name").is_empty() {
                errors.push(FieldError::required(format!("{path}.name"), "must specify a resource name"));
            }
            if kind == "containerResource" {
                match text(source, "container") {
                    "" => {
                        let path = format!("{path}.container");
                        errors.push(FieldError::required(path, "must specify a container"));
                    }
                    container => checks::dns_label(container, &format!("{path}.container"), errors),
                }
            }
            self::target(target, &target_path, errors);
            if !has("averageUtilization") && !has("averageValue") {
                let why = "must set either a target raw value or a target utilization";
                errors.push(required("averageUtilization", why));
            }
            if has("averageUtilization") && has("averageValue") {
                let why = "may not set both a target raw value and a target utilization";
                errors.push(FieldError::forbidden(format!("{target_path}.averageValue"), why));
            }
        }
    }
}

fn identifier(source: &Value, path: &str, errors: &mut Errors) {
    let metric = source.get("metric").unwrap_or(&Value::Null);
    segment(text(metric, "name"), &format!("{path}.metric.name"), "must specify a metric name", errors);
}

/// The target of a metric.
fn target(target: &Value, path: &str, errors: &mut Errors) {
    let kind = text(target, "type");
    let at = format!("{path}.type");
    if kind.is_empty() {
        errors.push(FieldError::required(at.as_str(), "must specify a metric target type"));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let why = "must be either Utilization, Value, or AverageValue";
        errors.push(FieldError::invalid(at, kind, why));
    }
    for field in ["value", "averageValue"] {
        if let Some(value) = target.get(field)
            && checks::quantity(value).is_some_and(|quantity| quantity.sign() != 1)
        {
            errors.push(FieldError::invalid(format!("{path}.{field}"), value.clone(), "must be positive"));
        }
    }
    if let Some(percent) = target.get("averageUtilization").and_then(Value::as_int).filter(|n| *n < 1) {
        let why = "must be greater than 0";
        errors.push(FieldError::invalid(format!("{path}.averageUtilization"), percent, why));
    }
}

/// `validateBehavior`
pub(super) fn behavior(behavior: &Value, path: &str, errors: &mut Errors) {
    for field in ["scaleUp", "scaleDown"] {
        if let Some(rules) = behavior.get(field) {
            scaling_rules(rules, &format!("{path}.{field}"), errors);
        }
    }
}

fn scaling_rules(rules: &Value, path: &str, errors: &mut Errors) {
    let at = format!("{path}.stabilizationWindowSeconds");
    match rules.get("stabilizationWindowSeconds").and_then(Value::as_int) {
        Some(seconds) if seconds < 0 => {
            errors.push(FieldError::invalid(at, seconds, "must be greater than or equal to zero"));
        }
        Some(seconds) if seconds > LONGEST_WINDOW => {
            let why = format!("must be less than or equal to {LONGEST_WINDOW}");
            errors.push(FieldError::invalid(at, seconds, why));
        }
        _ => {}
    }
    let policies = ["Disabled", "Max", "Min"];
    checks::one_of_if_set(rules.get("selectPolicy"), &format!("{path}.selectPolicy"), &policies, errors);
    let policies = items(rules, "policies");
    if policies.is_empty() {
        errors.push(FieldError::required(format!("{path}.policies"), "must specify at least one Policy"));
    }
    for (i, policy) in policies.iter().enumerate() {
        let path = format!("{path}.policies[{i}]");
        checks::one_of(text(policy, "type"), &format!("{path}.type"), &["Percent", "Pods"], errors);
        for field in ["value", "periodSeconds"] {
            let number = policy.get(field).and_then(Value::as_int).unwrap_or_default();
            let at = format!("{path}.{field}");
            if number <= 0 {
                errors.push(FieldError::invalid(at, number, "must be greater than zero"));
            } else if field == "periodSeconds" && number > LONGEST_PERIOD {
                let why = format!("must be less than or equal to {LONGEST_PERIOD}");
                errors.push(FieldError::invalid(at, number, why));
            }
        }
    }
    let tolerance = rules.get("tolerance").and_then(checks::quantity);
    if let Some(tolerance) = tolerance.filter(|tolerance| tolerance.sign() < 0) {
        let at = format!("{path}.tolerance");
        errors.push(FieldError::invalid(at, tolerance.canonical(), "must be greater than or equal to 0"));
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    fn texts(check: impl FnOnce(&mut Errors)) -> Vec<String> {
        let mut errors = Errors::new();
        check(&mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn metrics_have_the_source_of_their_type() {
        for (spec, want) in [
            (
                json!({"type": "Pods", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 0}}}),
                &[
                    "m.resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
                    "m.pods: Required value: must populate information for the given metric source",
                ][..],
            ),
            (
                json!({"type": "External", "external": {"metric": {"name": "a/b"}, "target": {"type": "Value"}}, "pods": {}}),
                &[
                    "m.external.metric.name: Invalid value: \"a/b\": may not contain '/'",
                    "m.external.target.averageValue: Required value: must set either a target value for metric or a per-pod target",
                    "m.pods: Forbidden: must populate the given metric source only",
                ],
            ),
            (
                json!({"type": "ContainerResource", "containerResource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}}}),
                &["m.containerResource.container: Required value: must specify a container"],
            ),
        ] {
            assert_eq!(texts(|errors| metric(&spec, None, "m", errors)), want);
        }
    }

    #[test]
    fn behavior_is_bounded() {
        let spec = json!({
            "scaleUp": {"stabilizationWindowSeconds": 3601, "selectPolicy": "Most", "policies": [{"type": "Nodes", "value": 0, "periodSeconds": 1801}]},
            "scaleDown": {"policies": []},
        });
        assert_eq!(
            texts(|errors| behavior(&spec, "b", errors)),
            [
                "b.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
                "b.scaleUp.selectPolicy: Unsupported value: \"Most\": supported values: \"Disabled\", \"Max\", \"Min\"",
                "b.scaleUp.policies[0].type: Unsupported value: \"Nodes\": supported values: \"Percent\", \"Pods\"",
                "b.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
                "b.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
                "b.scaleDown.policies: Required value: must specify at least one Policy",
            ]
        );
    }
}
