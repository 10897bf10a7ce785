//! HorizontalPodAutoscalers, in two versions.

mod annotations;
mod validate;

use pleach_json::{Value, json};
use pleach_meta::FieldError;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{
    default_empty_to, default_to, int_at, items, member, object_mut, submember, text, text_at,
};
use crate::resource::Subresource;

/// The rules of HorizontalPodAutoscalers.
#[derive(Debug)]
pub struct Autoscaler;

fn is_v1(object: &Value) -> bool {
    text(object, "apiVersion") == "autoscaling/v1"
}

impl Rules for Autoscaler {
    fn default(&self, object: &mut Value) {
        let v1 = is_v1(object);
        let spec = member(object, "spec");
        default_to(spec, "minReplicas", 1);
        if v1 {
            return;
        }
        default_empty_to(spec, "metrics", || {
            json!([{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 80}}}])
        });
        if let Some(behavior) = object_mut(spec, "behavior") {
            let up = submember(behavior, "scaleUp");
            default_to(up, "stabilizationWindowSeconds", 0);
            default_to(up, "selectPolicy", "Max");
            default_empty_to(up, "policies", || {
                json!([{"type": "Pods", "value": 4, "periodSeconds": 15},
                    {"type": "Percent", "value": 100, "periodSeconds": 15}])
            });
            let down = submember(behavior, "scaleDown");
            default_to(down, "selectPolicy", "Max");
            default_empty_to(
                down,
                "policies",
                || json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]),
            );
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        if is_v1(object) {
            // The metrics of v1 are a field and annotations.
            let old = old.map(|old| if is_v1(old) { to_v2(old) } else { old.clone() });
            return self.validate(&to_v2(object), old.as_ref());
        }
        let mut errors = Errors::new();
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let (least, most) = (int_at(spec, &["minReplicas"]), int_at(spec, &["maxReplicas"]));
        if least < 1 {
            errors.push(FieldError::invalid("spec.minReplicas", least, "must be greater than or equal to 1"));
        }
        if most == 0 {
            errors.push(FieldError::required("spec.maxReplicas", "must be set and greater than 0"));
        } else if most < 0 {
            errors.push(FieldError::invalid("spec.maxReplicas", most, "must be greater than or equal to 1"));
        }
        if most < least {
            let why = "must be greater than or equal to `minReplicas`";
            errors.push(FieldError::invalid("spec.maxReplicas", most, why));
        }
        let target = spec.get("scaleTargetRef").unwrap_or(&Value::Null);
        // What was stored without a group stays valid.
        let known = old.map(|old| text_at(old, &["spec", "scaleTargetRef", "apiVersion"]));
        validate::reference(target, "spec.scaleTargetRef", known, true, &mut errors);
        let before =
            old.and_then(|old| old.get("spec")).map(|spec| items(spec, "metrics")).unwrap_or_default();
        for (i, metric) in items(spec, "metrics").iter().enumerate() {
            validate::metric(metric, before.get(i), &format!("spec.metrics[{i}]"), &mut errors);
        }
        let scales_to_zero = |metric: &Value| matches!(text(metric, "type"), "Object" | "External");
        if least == 0 && !items(spec, "metrics").iter().any(scales_to_zero) {
            let why =
                "must specify at least one Object or External metric to support scaling to zero replicas";
            errors.push(FieldError::forbidden("spec.metrics", why));
        }
        if let Some(behavior) = spec.get("behavior") {
            validate::behavior(behavior, "spec.behavior", &mut errors);
        }
        errors
    }

    fn convert(&self, object: &Value, to: &str) -> Option<Value> {
        match to {
            "v1" if !is_v1(object) => Some(to_v1(object)),
            "v2" if is_v1(object) => Some(to_v2(object)),
            _ => None,
        }
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for field in ["currentReplicas", "desiredReplicas"] {
            checks::non_negative(object.at(&["status", field]), &format!("status.{field}"), &mut errors);
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Reference", "string", |o, _| {
                let target = o.at(&["spec", "scaleTargetRef"]).unwrap_or(&Value::Null);
                format!("{}/{}", text(target, "kind"), text(target, "name")).into()
            }),
            computed("Targets", "string", |o, _| targets(o)),
            computed("MinPods", "string", |o, _| match o.at(&["spec", "minReplicas"]) {
                None => "<unset>".into(),
                Some(number) => pleach_json::to_string(number).into(),
            }),
            computed("MaxPods", "string", |o, _| int_at(o, &["spec", "maxReplicas"]).into()),
            computed("Replicas", "string", |o, _| int_at(o, &["status", "currentReplicas"]).into()),
            age_text(),
        ]
    }
}

const PREFIX: &str = "autoscaling.alpha.kubernetes.io/";

fn is_cpu(metric: &Value) -> bool {
    text(metric, "type") == "Resource"
        && text_at(metric, &["resource", "name"]) == "cpu"
        && metric.at(&["resource", "target", "averageUtilization"]).is_some()
}

/// The form of v1: the cpu metric has a field, all else is in annotations.
fn to_v1(object: &Value) -> Value {
    let mut out = object.clone();
    if let Some(members) = out.as_object_mut() {
        members.insert("apiVersion", "autoscaling/v1");
    }
    let spec = member(&mut out, "spec");
    let metrics = spec.remove("metrics").unwrap_or_default();
    let metrics = metrics.as_array().map(|list| list.to_vec()).unwrap_or_default();
    let behavior = spec.remove("behavior");
    let (cpu, others): (Vec<Value>, Vec<Value>) = metrics.into_iter().partition(is_cpu);
    if let Some(target) = cpu.first().and_then(|m| m.at(&["resource", "target", "averageUtilization"])) {
        spec.insert("targetCPUUtilizationPercentage", target.clone());
    }
    let status = member(&mut out, "status");
    let conditions = status.remove("conditions");
    let current = status.remove("currentMetrics").filter(|current| !current.is_null());
    status.get_or_insert_with("currentReplicas", || Value::Int(0));
    status.get_or_insert_with("desiredReplicas", || Value::Int(0));
    let current = current.as_ref().and_then(Value::as_array).map_or(&[][..], |list| &list[..]);
    let cpu = current.iter().filter(|one| text_at(one, &["resource", "name"]) == "cpu");
    let mut cpu = cpu.filter_map(|one| one.at(&["resource", "current", "averageUtilization"]));
    if let Some(percent) = cpu.next() {
        status.insert("currentCPUUtilizationPercentage", percent.clone());
    }
    let conditions = conditions.as_ref().and_then(Value::as_array).map_or(&[][..], |list| &list[..]);
    let mut texts = Vec::new();
    if !others.is_empty() {
        texts.push(("metrics", annotations::metrics_text(&others, false)));
    }
    texts.extend(behavior.map(|value| ("behavior", annotations::behavior_text(&value))));
    if !conditions.is_empty() {
        texts.push(("conditions", annotations::conditions_text(conditions)));
    }
    if !current.is_empty() {
        texts.push(("current-metrics", annotations::metrics_text(current, true)));
    }
    if !texts.is_empty() {
        let all = submember(member(&mut out, "metadata"), "annotations");
        for (name, text) in texts {
            all.insert(format!("{PREFIX}{name}"), text);
        }
    }
    out
}

fn to_v2(object: &Value) -> Value {
    let mut out = object.clone();
    if let Some(members) = out.as_object_mut() {
        members.insert("apiVersion", "autoscaling/v2");
    }
    let mut taken: Vec<(&str, Value)> = Vec::new();
    let metadata = member(&mut out, "metadata");
    if let Some(own) = object_mut(metadata, "annotations") {
        for name in ["metrics", "behavior", "conditions", "current-metrics"] {
            let Some(Value::String(text)) = own.remove(&format!("{PREFIX}{name}")) else { continue };
            let value = match name {
                "metrics" => annotations::metrics_of(&text, false).map(Value::from),
                "current-metrics" => annotations::metrics_of(&text, true).map(Value::from),
                "behavior" => annotations::behavior_of(&text),
                _ => pleach_json::parse(text.as_bytes()).ok(),
            };
            taken.extend(value.map(|value| (name, value)));
        }
        if own.is_empty() {
            metadata.remove("annotations");
        }
    }
    let spec = member(&mut out, "spec");
    let mut metrics: Vec<Value> = Vec::new();
    if let Some((_, Value::Array(list))) = taken.iter().find(|(name, _)| *name == "metrics") {
        metrics.extend(list.iter().cloned());
    }
    if let Some(target) = spec.remove("targetCPUUtilizationPercentage") {
        metrics.push(json!({"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": (target)}}}));
    }
    if !metrics.is_empty() {
        spec.insert("metrics", metrics);
    }
    for (name, value) in &taken {
        if *name == "behavior" {
            spec.insert("behavior", value.clone());
        }
    }
    let status = member(&mut out, "status");
    status.remove("currentCPUUtilizationPercentage");
    status.get_or_insert_with("currentMetrics", Value::default);
    status.get_or_insert_with("desiredReplicas", || Value::Int(0));
    if status.get("currentReplicas") == Some(&Value::Int(0)) {
        status.remove("currentReplicas");
    }
    for (name, value) in taken {
        match name {
            "conditions" => drop(status.insert("conditions", value)),
            "current-metrics" => drop(status.insert("currentMetrics", value)),
            _ => {}
        }
    }
    Autoscaler.default(&mut out);
    out
}

fn targets(object: &Value) -> Value {
    let v2;
    let object = if is_v1(object) {
        v2 = to_v2(object);
        &v2
    } else {
        object
    };
    let metrics = object.get("spec").map(|spec| items(spec, "metrics")).unwrap_or_default();
    let current = object.get("status").map(|status| items(status, "currentMetrics")).unwrap_or_default();
    let shown: Vec<String> =
        metrics.iter().take(2).enumerate().map(|(i, metric)| target(metric, current.get(i))).collect();
    match metrics.len().saturating_sub(shown.len()) {
        0 if shown.is_empty() => "<none>".into(),
        0 => shown.join(", ").into(),
        more => format!("{} + {more} more...", shown.join(", ")).into(),
    }
}

/// Current and target value of a metric, whose status is the one at the same place.
fn target(metric: &Value, status: Option<&Value>) -> String {
    let source = match text(metric, "type") {
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        "Pods" => "pods",
        "Object" => "object",
        "External" => "external",
        _ => return "<unknown type>".into(),
    };
    let wanted = metric.at(&[source, "target"]).unwrap_or(&Value::Null);
    let average = wanted.get("averageValue").is_some();
    let status = status.and_then(|status| status.get(source));
    let current = |field: &str| status.and_then(|status| status.at(&["current", field]));
    // Go's text of a quantity that is nil.
    let quantity = |field: &str| {
        status.map_or("<unknown>", |_| current(field).and_then(Value::as_str).unwrap_or("<nil>"))
    };
    let percent = |value: Option<&Value>, absent: &str| {
        value.and_then(Value::as_int).map_or(absent.to_owned(), |number| format!("{number}%"))
    };
    match source {
        "resource" | "containerResource" => {
            let name = text_at(metric, &[source, "name"]);
            if average {
                return format!("{name}: {}/{}", quantity("averageValue"), text(wanted, "averageValue"));
            }
            let now = percent(current("averageUtilization"), "<unknown>");
            format!("{name}: {now}/{}", percent(wanted.get("averageUtilization"), "<auto>"))
        }
        "pods" => format!("{}/{}", quantity("averageValue"), text(wanted, "averageValue")),
        _ if average => {
            let now = current("averageValue").and_then(Value::as_str).unwrap_or("<unknown>");
            format!("{now}/{} (avg)", text(wanted, "averageValue"))
        }
        _ => format!("{}/{}", quantity("value"), text(wanted, "value")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_convert_both_ways() {
        let mut v2 = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "web"}},
            "status": {"currentMetrics": null, "desiredReplicas": 0}});
        Autoscaler.default(&mut v2);
        let v1 = to_v1(&v2);
        assert_eq!(v1.at(&["spec", "targetCPUUtilizationPercentage"]), Some(&Value::Int(80)));
        assert_eq!(to_v2(&v1), v2);
    }

    #[test]
    fn metrics_of_v1_are_validated() {
        let v1 = json!({"apiVersion": "autoscaling/v1", "metadata": {"name": "a"},
            "spec": {"minReplicas": 1, "maxReplicas": 3, "targetCPUUtilizationPercentage": 0,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
        let texts: Vec<String> = Autoscaler.validate(&v1, None).iter().map(ToString::to_string).collect();
        let path = "spec.metrics[0].resource.target.averageUtilization";
        assert_eq!(texts, [format!("{path}: Invalid value: 0: must be greater than 0")]);
    }

    #[test]
    fn targets_of_all_types_of_metrics() {
        let shown = |metric: Value, status: Value| target(&metric, Some(&status).filter(|it| !it.is_null()));
        let cpu = json!({"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "a",
            "target": {"type": "Utilization", "averageUtilization": 3}}});
        let now =
            json!({"type": "ContainerResource", "containerResource": {"current": {"averageUtilization": 4}}});
        assert_eq!(shown(cpu.clone(), now), "cpu: 4%/3%");
        assert_eq!(shown(cpu.clone(), Value::Null), "cpu: <unknown>/3%");
        let memory =
            json!({"type": "Resource", "resource": {"name": "memory", "target": {"averageValue": "1Gi"}}});
        let now = json!({"type": "Resource", "resource": {"current": {"averageValue": "2Gi"}}});
        assert_eq!(shown(memory, now), "memory: 2Gi/1Gi");
        let pods = json!({"type": "Pods", "pods": {"target": {"averageValue": "5"}}});
        assert_eq!(shown(pods.clone(), json!({"pods": {"current": {"averageValue": "3"}}})), "3/5");
        assert_eq!(shown(pods.clone(), json!({"pods": {"current": {}}})), "<nil>/5");
        let external = json!({"type": "External", "external": {"target": {"averageValue": "7"}}});
        assert_eq!(shown(external, json!({"external": {"current": {}}})), "<unknown>/7 (avg)");
        let object = json!({"type": "Object", "object": {"target": {"value": "8"}}});
        assert_eq!(shown(object, json!({"object": {"current": {"value": "9"}}})), "9/8");
        let all =
            json!({"apiVersion": "autoscaling/v2", "spec": {"metrics": [(cpu), (pods.clone()), (pods)]}});
        assert_eq!(targets(&all), Value::from("cpu: <unknown>/3%, <unknown>/5 + 1 more..."));
    }
}
