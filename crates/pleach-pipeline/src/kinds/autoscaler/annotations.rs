//! Fields that autoscaling/v1 does not have, as the texts of annotations: JSON in the order of upstream's structs, metrics and
//! conditions with the field names of v1, the behavior with the names of the internal type.

use pleach_json::{Map, Value};

use crate::kinds::fields::{items, member, submember, text};

/// Fields of a v1 struct, in their order, and where v2 has them.
type Fields = &'static [(&'static str, &'static [&'static str])];

/// The kinds of metrics: the field of the metric, and the fields of its source and of its status.
const METRICS: [(&str, Fields, Fields); 5] = [
    (
        "object",
        &[
            ("target", &["describedObject"]),
            ("metricName", &["metric", "name"]),
            ("targetValue", &["target", "value"]),
            ("selector", &["metric", "selector"]),
            ("averageValue", &["target", "averageValue"]),
        ],
        &[
            ("target", &["describedObject"]),
            ("metricName", &["metric", "name"]),
            ("currentValue", &["current", "value"]),
            ("selector", &["metric", "selector"]),
            ("averageValue", &["current", "averageValue"]),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", &["metric", "name"]),
            ("targetAverageValue", &["target", "averageValue"]),
            ("selector", &["metric", "selector"]),
        ],
        &[
            ("metricName", &["metric", "name"]),
            ("currentAverageValue", &["current", "averageValue"]),
            ("selector", &["metric", "selector"]),
        ],
    ),
    (
        "resource",
        &[
            ("name", &["name"]),
            ("targetAverageUtilization", &["target", "averageUtilization"]),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
        &[
            ("name", &["name"]),
            ("currentAverageUtilization", &["current", "averageUtilization"]),
            ("currentAverageValue", &["current", "averageValue"]),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", &["name"]),
            ("targetAverageUtilization", &["target", "averageUtilization"]),
            ("targetAverageValue", &["target", "averageValue"]),
            ("container", &["container"]),
        ],
        &[
            ("name", &["name"]),
            ("currentAverageUtilization", &["current", "averageUtilization"]),
            ("currentAverageValue", &["current", "averageValue"]),
            ("container", &["container"]),
        ],
    ),
    (
        "external",
        &[
            ("metricName", &["metric", "name"]),
            ("metricSelector", &["metric", "selector"]),
            ("targetValue", &["target", "value"]),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
        &[
            ("metricName", &["metric", "name"]),
            ("metricSelector", &["metric", "selector"]),
            ("currentValue", &["current", "value"]),
            ("currentAverageValue", &["current", "averageValue"]),
        ],
    ),
];

const REFERENCE: [&str; 3] = ["kind", "name", "apiVersion"];
const CONDITION: [&str; 5] = ["type", "status", "lastTransitionTime", "reason", "message"];
const RULES: [(&str, &str); 2] = [("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")];
const POLICY: [(&str, &str); 3] = [("Type", "type"), ("Value", "value"), ("PeriodSeconds", "periodSeconds")];

/// An object in the order given.
fn object(members: Vec<(&str, String)>) -> String {
    let members: Vec<String> = members.into_iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

fn list(items: Vec<String>) -> String {
    format!("[{}]", items.join(","))
}

fn show(value: &Value) -> String {
    pleach_json::to_string(value)
}

fn pick<'a>(from: &Value, keys: &[&'a str]) -> Vec<(&'a str, String)> {
    keys.iter().filter_map(|key| Some((*key, show(from.get(key)?)))).collect()
}

/// Metrics with the field names of v1; `current` says whether they are those of a status.
pub(super) fn metrics_text(metrics: &[Value], current: bool) -> String {
    let one = |metric: &Value| {
        let mut members = vec![("type", show(metric.get("type").unwrap_or(&Value::Null)))];
        for (field, spec, status) in METRICS {
            let Some(source) = metric.get(field) else { continue };
            let fields = if current { status } else { spec };
            let shown = fields.iter().filter_map(|(key, path)| {
                let value = source.at(path)?;
                Some((*key, if *key == "target" { object(pick(value, &REFERENCE)) } else { show(value) }))
            });
            members.push((field, object(shown.collect())));
        }
        object(members)
    };
    list(metrics.iter().map(one).collect())
}

/// The reverse of [`metrics_text`].
pub(super) fn metrics_of(written: &str, current: bool) -> Option<Vec<Value>> {
    let parsed = pleach_json::parse(written.as_bytes()).ok()?;
    let metrics = parsed.as_array()?.iter().map(|metric| {
        let mut out = Map::new();
        out.insert("type", text(metric, "type"));
        for (field, spec, status) in METRICS {
            let Some(source) = metric.get(field) else { continue };
            let mut target = Value::object();
            for (key, path) in if current { status } else { spec } {
                let Some(value) = source.get(key) else { continue };
                match path {
                    [only] => drop(target.as_object_mut()?.insert(*only, value.clone())),
                    [holder, key] => drop(member(&mut target, holder).insert(*key, value.clone())),
                    _ => {}
                }
            }
            if !current {
                let target = member(&mut target, "target");
                let kind = if target.contains_key("averageUtilization") {
                    "Utilization"
                } else if target.contains_key("averageValue") {
                    "AverageValue"
                } else {
                    "Value"
                };
                target.insert("type", kind);
            }
            out.insert(field, target);
        }
        Some(Value::from(out))
    });
    metrics.collect()
}

/// Conditions in the order of the struct.
pub(super) fn conditions_text(conditions: &[Value]) -> String {
    list(conditions.iter().map(|condition| object(pick(condition, &CONDITION))).collect())
}

/// The behavior with the names of the internal type, nulls included.
pub(super) fn behavior_text(behavior: &Value) -> String {
    let rules = RULES.iter().map(|(name, key)| {
        let Some(rules) = behavior.get(key) else { return (*name, "null".to_owned()) };
        let of = |key: &str| show(rules.get(key).unwrap_or(&Value::Null));
        let policies = match rules.get("policies") {
            None => "null".to_owned(),
            Some(_) => list(
                items(rules, "policies")
                    .iter()
                    .map(|policy| {
                        let shown = POLICY
                            .iter()
                            .map(|(name, key)| (*name, show(policy.get(key).unwrap_or(&Value::Null))));
                        object(shown.collect())
                    })
                    .collect(),
            ),
        };
        let shown = vec![
            ("StabilizationWindowSeconds", of("stabilizationWindowSeconds")),
            ("SelectPolicy", of("selectPolicy")),
            ("Policies", policies),
            ("Tolerance", of("tolerance")),
        ];
        (*name, object(shown))
    });
    object(rules.collect())
}

/// The reverse of [`behavior_text`].
pub(super) fn behavior_of(written: &str) -> Option<Value> {
    let parsed = pleach_json::parse(written.as_bytes()).ok()?;
    let mut out = Value::object();
    for (name, key) in RULES {
        let Some(rules) = parsed.get(name).filter(|rules| !rules.is_null()) else { continue };
        let target = submember(out.as_object_mut()?, key);
        for (name, key) in [
            ("StabilizationWindowSeconds", "stabilizationWindowSeconds"),
            ("SelectPolicy", "selectPolicy"),
            ("Tolerance", "tolerance"),
        ] {
            if let Some(value) = rules.get(name).filter(|value| !value.is_null()) {
                target.insert(key, value.clone());
            }
        }
        let policies = items(rules, "Policies").iter().map(|policy| {
            let mut out = Map::new();
            for (name, key) in POLICY {
                out.insert(key, policy.get(name).cloned().unwrap_or_default());
            }
            Value::from(out)
        });
        let policies: Vec<Value> = policies.collect();
        if !policies.is_empty() {
            target.insert("policies", policies);
        }
    }
    Some(out)
}
