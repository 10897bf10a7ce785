//! Pods and PodTemplates.

mod app_armor;
pub(crate) mod cells;
pub(crate) mod defaults;
pub(crate) mod disabled;
mod label_keys;
pub mod requests;
pub mod resources;
pub mod security_standards;
pub(crate) mod validate;

use pleach_json::{Map, Value, json};
use pleach_meta::FieldError;

use crate::columns::{age_text, computed, wide};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::fields::{default_to, int_at, items, member, search, text_at};
use crate::prepare::copy_member;
use crate::resource::Subresource;
use crate::strategy::{Role, Stamp};

/// The rules of Pods.
#[derive(Debug)]
pub struct Pod;

impl Rules for Pod {
    fn default(&self, object: &mut Value) {
        let spec = member(object, "spec");
        defaults::pod_spec(spec);
        defaults::pod(spec);
    }

    fn kept_when_empty(&self) -> &'static [[&'static str; 2]] {
        &[["spec", "overhead"]]
    }

    fn prepare_for_create(&self, object: &mut Value) {
        label_keys::merge(object);
        app_armor::sync(object);
        let class = object.get("spec").map_or("BestEffort", resources::qos_class);
        let gated = object.get("spec").is_some_and(|spec| !items(spec, "schedulingGates").is_empty());
        let mut status = Map::new();
        status.insert("phase", "Pending");
        status.insert("qosClass", class);
        if gated {
            status.insert(
                "conditions",
                json!([{
                    "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
                    "message": "Scheduling is blocked due to non-empty scheduling gates",
                    "lastProbeTime": null, "lastTransitionTime": null,
                }]),
            );
        }
        if let Some(members) = object.as_object_mut() {
            members.insert("status", status);
        }
    }

    fn stamp(&self, object: &mut Value, _: Option<&Value>, subresource: Subresource, by: &Stamp<'_>) {
        if subresource != Subresource::None {
            return;
        }
        if let Some(Value::Array(conditions)) = member(object, "status").get_mut("conditions") {
            for condition in conditions.iter_mut().filter_map(Value::as_object_mut) {
                if condition.get_str("reason") == Some("SchedulingGated") {
                    default_to(condition, "lastTransitionTime", by.now);
                }
            }
        }
    }

    fn prepare_for_subresource(&self, object: &mut Value, old: &Value, subresource: Subresource) {
        match subresource {
            Subresource::Status => {
                let class = old.at(&["status", "qosClass"]).cloned();
                let status = member(object, "status");
                if let Some(class) = class
                    && !status.contains_key("qosClass")
                {
                    status.insert("qosClass", class);
                }
                if status.get_str("phase").is_none_or(str::is_empty) {
                    status.insert("phase", "Pending");
                }
                // The list follows the single address.
                if let Some(ip) = status.get("podIP").cloned() {
                    let first = status.get("podIPs").and_then(Value::as_array).and_then(|ips| ips.first());
                    if first.is_none_or(|first| first.get("ip") != Some(&ip)) {
                        status.insert("podIPs", json!([{"ip": (ip)}]));
                    }
                } else if let Some(ip) = status
                    .get("podIPs")
                    .and_then(Value::as_array)
                    .and_then(|ips| ips.first())
                    .and_then(|first| first.get("ip"))
                    .cloned()
                {
                    status.insert("podIP", ip);
                }
            }
            Subresource::EphemeralContainers | Subresource::Resize => {
                let new = object.clone();
                copy_member(object, old, "spec");
                copy_member(object, old, "status");
                for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
                    let was = old.at(&["metadata", field]).cloned();
                    let metadata = crate::prepare::metadata_mut(object);
                    match was {
                        Some(was) => metadata.insert(field, was),
                        None => metadata.remove(field),
                    };
                }
                let spec = member(object, "spec");
                if subresource == Subresource::EphemeralContainers {
                    match new.at(&["spec", "ephemeralContainers"]) {
                        Some(list) => spec.insert("ephemeralContainers", list.clone()),
                        None => spec.remove("ephemeralContainers"),
                    };
                } else {
                    take_resources(spec, &new);
                }
                if object.get("spec") != old.get("spec") {
                    let generation = int_at(old, &["metadata", "generation"]);
                    crate::prepare::metadata_mut(object).insert("generation", generation + 1);
                }
            }
            _ => {}
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        match old {
            Some(old) => validate::update(object, old),
            None => validate::create(object),
        }
    }

    fn validate_subresource(&self, object: &Value, old: &Value, subresource: Subresource) -> Vec<FieldError> {
        validate::subresource(object, old, subresource)
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() { Vec::new() } else { validate::warnings(object) }
    }

    fn row_conditions(&self, object: &Value) -> Option<Value> {
        let (reason, message) = match text_at(object, &["status", "phase"]) {
            "Succeeded" => ("Succeeded", "The pod has completed successfully."),
            "Failed" => ("Failed", "The pod failed."),
            _ => return None,
        };
        Some(json!([{
            "type": "Completed", "status": "True", "reason": (reason), "message": (message),
        }]))
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Ready", "string", cells::ready),
            computed("Status", "string", cells::status),
            computed("Restarts", "string", cells::restarts),
            age_text(),
            wide(computed("IP", "string", |pod, _| cells::or_none(text_at(pod, &["status", "podIP"])))),
            wide(computed("Node", "string", |pod, _| cells::or_none(text_at(pod, &["spec", "nodeName"])))),
            wide(computed("Nominated Node", "string", |pod, _| {
                cells::or_none(text_at(pod, &["status", "nominatedNodeName"]))
            })),
            wide(computed("Readiness Gates", "string", cells::readiness_gates)),
        ]
    }

    fn role(&self) -> Role {
        Role::Pod
    }

    fn has_grace_period(&self) -> bool {
        true
    }

    fn grace_period(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        let own = object.at(&["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_int);
        let phase = text_at(object, &["status", "phase"]);
        if text_at(object, &["spec", "nodeName"]).is_empty() || phase == "Succeeded" || phase == "Failed" {
            return Some(0);
        }
        let period = asked.or(own).unwrap_or(30);
        Some(if period < 0 { 1 } else { period })
    }
}

/// Takes cpu, memory and resize policies of containers from another Pod.
fn take_resources(spec: &mut Map, new: &Value) {
    for list in ["containers", "initContainers"] {
        let Some(Value::Array(containers)) = spec.get_mut(list) else { continue };
        for container in containers.iter_mut() {
            let name = text_at(container, &["name"]).to_owned();
            let found = new.get("spec").map(|spec| items(spec, list)).unwrap_or_default();
            let found = search(found, |other| text_at(other, &["name"]) == name);
            if let (Some(found), Some(container)) = (found, container.as_object_mut()) {
                for key in ["resources", "resizePolicy"] {
                    match found.get(key) {
                        Some(value) => container.insert(key, value.clone()),
                        None => container.remove(key),
                    };
                }
            }
        }
    }
}

/// The rules of PodTemplates.
#[derive(Debug)]
pub struct PodTemplate;

impl Rules for PodTemplate {
    fn pod_template(&self) -> Option<&'static [&'static str]> {
        Some(&["template"])
    }

    fn default(&self, object: &mut Value) {
        if let Some(members) = object.as_object_mut() {
            defaults::template(members);
        }
    }

    fn validate(&self, object: &Value, _: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Some(template) = object.get("template") {
            validate::template(template, "template", &mut errors);
        }
        errors
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some_and(|old| old.get("template") == object.get("template")) {
            return Vec::new();
        }
        object.get("template").map(|t| validate::template_warnings(t, "template")).unwrap_or_default()
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Containers", "string", |o, _| cells::container_names(o.at(&["template", "spec"]))),
            computed("Images", "string", |o, _| cells::container_images(o.at(&["template", "spec"]))),
            computed("Pod Labels", "string", |o, _| cells::labels(o.at(&["template", "metadata", "labels"]))),
        ]
    }
}

/// A selector as text, for `/scale`: a label selector, or a map of labels.
pub fn selector_as_text(selector: &Value) -> String {
    let is_label_selector =
        selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
    if is_label_selector {
        return cells::selector_text(Some(selector));
    }
    let labels = selector.as_object().into_iter().flat_map(Map::iter);
    labels
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect::<Vec<_>>()
        .join(",")
}
