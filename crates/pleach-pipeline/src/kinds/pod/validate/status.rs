//! Validation of the status of Pods, and of resizes.

use std::net::IpAddr;

use pleach_json::{Str, Value};
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;

use super::pod_spec;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{int_at, items, search, text, text_at};
use crate::kinds::pod::resources;

/// A resize: only cpu and memory may change.
pub(super) fn resize(object: &Value, old: &Value, errors: &mut Errors) {
    let (Some(spec), Some(was)) = (object.get("spec"), old.get("spec")) else { return };
    pod_spec(spec, "spec", errors);
    if !errors.is_empty() {
        return;
    }
    let class = text_at(old, &["status", "qosClass"]);
    if resources::qos_class(spec) != class {
        let why = "Pod QOS Class may not change as a result of resizing";
        errors.push(FieldError::invalid("spec", class, why));
    }
    let mut others = false;
    for list in ["containers", "initContainers"] {
        for (i, (new, before)) in items(spec, list).iter().zip(items(was, list)).enumerate() {
            let path = format!("spec.{list}[{i}].resources");
            for which in ["limits", "requests"] {
                let of = |container: &Value| resources::list(container.at(&["resources", which]));
                let (now, then) = (of(new), of(before));
                let is_compute = |name: &Str| name == "cpu" || name == "memory";
                if then.keys().any(|name| is_compute(name) && !now.contains_key(name)) {
                    errors.push(FieldError::forbidden(
                        format!("{path}.{which}"),
                        format!("resource {which} cannot be removed"),
                    ));
                }
                let mut names = now.keys().chain(then.keys()).filter(|name| !is_compute(name));
                others |= names.any(|name| now.get(name) != then.get(name));
            }
        }
    }
    if others {
        errors.push(FieldError::forbidden("spec", "only cpu and memory resources are mutable"));
    }
}

/// An update of the status.
pub(super) fn status(object: &Value, old: &Value, errors: &mut Errors) {
    let (new_class, old_class) =
        (text_at(object, &["status", "qosClass"]), text_at(old, &["status", "qosClass"]));
    if new_class != old_class {
        errors.push(FieldError::invalid("status.qosClass", new_class, "field is immutable"));
    }
    let status = object.get("status").unwrap_or(&Value::Null);
    let node = text(status, "nominatedNodeName");
    if !node.is_empty() && node != text_at(old, &["status", "nominatedNodeName"]) {
        checks::dns_subdomain(node, "status.nominatedNodeName", errors);
        if !text_at(object, &["spec", "nodeName"]).is_empty() {
            let why = "may not be set on pods that are already bound to a node";
            errors.push(FieldError::forbidden("status.nominatedNodeName", why));
        }
    }
    let observed = int_at(status, &["observedGeneration"]);
    if observed < 0 {
        let why = "must be a non-negative integer";
        errors.push(FieldError::invalid("status.observedGeneration", observed, why));
    }
    for (i, condition) in items(status, "conditions").iter().enumerate() {
        let kind = text(condition, "type");
        let path = format!("status.conditions[{i}].Type");
        let wrong = pleach_meta::names::check_qualified_name(kind).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(path.as_str(), kind, why)));
    }
    addresses(status, "podIPs", errors);
    addresses(status, "hostIPs", errors);
    terminated(object, old, errors);
}

/// Addresses: one of each family at most.
fn addresses(status: &Value, list: &str, errors: &mut Errors) {
    let all = items(status, list);
    let path = format!("status.{list}");
    for (i, one) in all.iter().enumerate() {
        checks::ip(text(one, "ip"), &format!("{path}[{i}]"), errors);
    }
    let families: Vec<bool> =
        all.iter().filter_map(|one| text(one, "ip").parse::<IpAddr>().ok()).map(|ip| ip.is_ipv4()).collect();
    if all.len() > 1 && (all.len() > 2 || families.len() == 2 && families[0] == families[1]) {
        let shown: Vec<String> = all
            .iter()
            .map(|one| format!("{{\"IP\":{}}}", pleach_json::to_string(&text(one, "ip").into())))
            .collect();
        let why = "may specify no more than one IP for each IP family";
        errors.push(FieldError::invalid(path, BadValue::Raw(format!("[{}]", shown.join(","))), why));
    }
}

/// Containers that do not run again stay terminated.
fn terminated(object: &Value, old: &Value, errors: &mut Errors) {
    let policy = text_at(object, &["spec", "restartPolicy"]);
    let (Some(status), Some(was)) = (object.get("status"), old.get("status")) else { return };
    for (list, containers) in
        [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")]
    {
        for (i, before) in items(was, list).iter().enumerate() {
            let Some(state) = before.at(&["state", "terminated"]) else { continue };
            let name = text(before, "name");
            let containers = object.get("spec").map(|spec| items(spec, containers)).unwrap_or_default();
            let is_sidecar =
                |one: &Value| text(one, "name") == name && text(one, "restartPolicy") == "Always";
            let sidecar = search(containers, is_sidecar).is_some();
            let may_restart = match policy {
                "Always" => list == "containerStatuses" || sidecar,
                "OnFailure" => int_at(state, &["exitCode"]) != 0 || sidecar,
                _ => sidecar,
            };
            let now = search(items(status, list), |one| text(one, "name") == name);
            if !may_restart && now.is_some_and(|now| now.at(&["state", "terminated"]).is_none()) {
                errors.push(FieldError::forbidden(
                    format!("status.{list}[{i}].state"),
                    "may not be transitioned to non-terminated state",
                ));
            }
        }
    }
}
