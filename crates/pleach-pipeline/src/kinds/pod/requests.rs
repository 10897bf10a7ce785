//! Binding and Eviction: bodies of requests about Pods, which are decoded like objects and not stored.

use pleach_json::{Value, json};
use pleach_meta::{FieldError, field_error};
use pleach_work::Constant;

use crate::gates::Gates;
use crate::kind::Kind;
use crate::kinds::api_kind::{ApiKind, Plain, namespaced};
use crate::kinds::fields::{items, member, submember, text, text_at};

static BINDING_KIND: ApiKind = namespaced("", &[("v1", "core/v1.Binding")], "Binding", "bindings", &Plain);

static EVICTION_KIND: ApiKind = namespaced(
    "policy",
    &[("v1", "policy/v1.Eviction"), ("v1beta1", "policy/v1.Eviction")],
    "Eviction",
    "evictions",
    &Plain,
);

/// Binding: assigns a Pod to a Node.
pub static BINDING: Constant<Kind> = Constant::new(|| BINDING_KIND.to_kind(Gates::default()));

/// Eviction: deletes a Pod if its PodDisruptionBudget allows it.
pub static EVICTION: Constant<Kind> = Constant::new(|| EVICTION_KIND.to_kind(Gates::default()));

/// `ValidatePodBinding`: what is wrong with a Binding, as one text.
pub fn binding_error(binding: &Value) -> Option<String> {
    let mut errors = Vec::new();
    let kind = text_at(binding, &["target", "kind"]);
    if !matches!(kind, "" | "Node") {
        errors.push(FieldError::not_supported("target.kind", kind, &["Node", "<empty>"]));
    }
    if text_at(binding, &["target", "name"]).is_empty() {
        errors.push(FieldError::required("target.name", ""));
    }
    (!errors.is_empty()).then(|| field_error::aggregate(&errors))
}

/// Assigns a Pod to the Node of a Binding; the error says why it cannot be.
pub fn bind(pod: &mut Value, binding: &Value, now: &str) -> Result<(), String> {
    let name = text_at(pod, &["metadata", "name"]);
    if pod.at(&["metadata", "deletionTimestamp"]).is_some() {
        return Err(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let node = text_at(pod, &["spec", "nodeName"]);
    if !node.is_empty() {
        return Err(format!("pod {name} is already assigned to node {}", pleach_go::strconv::quote(node)));
    }
    if pod.get("spec").is_some_and(|spec| !items(spec, "schedulingGates").is_empty()) {
        return Err(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    member(pod, "spec").insert("nodeName", text_at(binding, &["target", "name"]));
    let metadata = member(pod, "metadata");
    for key in ["annotations", "labels"] {
        let Some(given) = binding.at(&["metadata", key]).and_then(Value::as_object) else { continue };
        let own = submember(metadata, key);
        given.iter().for_each(|(key, value)| drop(own.insert(key.clone(), value.clone())));
    }
    set_condition(pod, &json!({"type": "PodScheduled", "status": "True"}), now);
    Ok(())
}

/// The condition of a Pod that is being evicted.
pub fn mark_evicted(pod: &mut Value, now: &str) {
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    });
    set_condition(pod, &condition, now);
}

/// Whether a Pod may be evicted whatever its budget says: it does not run, or is being deleted already.
pub fn ignores_budgets(pod: &Value) -> bool {
    matches!(text_at(pod, &["status", "phase"]), "Succeeded" | "Failed" | "Pending")
        || pod.at(&["metadata", "deletionTimestamp"]).is_some()
}

/// Whether a Pod has ended or is being deleted.
pub fn has_ended(pod: &Value) -> bool {
    matches!(text_at(pod, &["status", "phase"]), "Succeeded" | "Failed")
        || pod.at(&["metadata", "deletionTimestamp"]).is_some()
}

/// Whether the condition Ready is true.
pub fn is_ready(pod: &Value) -> bool {
    let conditions = pod.get("status").map(|status| items(status, "conditions")).unwrap_or_default();
    conditions.iter().any(|one| text(one, "type") == "Ready" && text(one, "status") == "True")
}

/// `UpdatePodCondition`: the time of a condition whose status stays is kept.
pub(crate) fn set_condition(pod: &mut Value, condition: &Value, now: &str) {
    let mut condition = condition.clone();
    let status = member(pod, "status");
    let Value::Array(list) = status.get_or_insert_with("conditions", || Value::from(Vec::new())) else {
        return;
    };
    let at = list.iter().position(|one| text(one, "type") == text(&condition, "type"));
    let kept = at.map(|at| &list[at]).filter(|one| text(one, "status") == text(&condition, "status"));
    let time = kept.and_then(|one| one.get("lastTransitionTime")).cloned().unwrap_or_else(|| now.into());
    if let Some(members) = condition.as_object_mut() {
        members.insert("lastProbeTime", Value::Null);
        members.insert("lastTransitionTime", time);
    }
    match at {
        Some(at) => list[at] = condition,
        None => list.push(condition),
    }
}

/// The container that a request for logs or commands means, given the one that it names.
pub fn container_of(pod: &Value, wanted: &str) -> Result<String, String> {
    let name = text_at(pod, &["metadata", "name"]);
    let spec = pod.get("spec").cloned().unwrap_or_default();
    let names = |list: &str| -> Vec<String> {
        items(&spec, list).iter().map(|one| text(one, "name").to_owned()).collect()
    };
    let containers = names("containers");
    let all = [names("initContainers"), containers.clone(), names("ephemeralContainers")].concat();
    match &containers[..] {
        _ if !wanted.is_empty() && all.iter().any(|one| one == wanted) => Ok(wanted.to_owned()),
        _ if !wanted.is_empty() => Err(format!("container {wanted} is not valid for pod {name}")),
        [] => Err(format!("a container name must be specified for pod {name}")),
        [only] => Ok(only.clone()),
        _ => Err(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            all.join(" ")
        )),
    }
}
