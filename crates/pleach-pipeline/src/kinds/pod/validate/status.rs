//! Validation of the status of Pods, and of resizes.

use std::collections::HashSet;
use std::net::IpAddr;

use pleach_json::{Str, Value};
use pleach_meta::FieldError;
use pleach_meta::field_error::{BadValue, ErrorType};

use super::{is_mirror, whole};
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{int_at, items, search, text, text_at};
use crate::kinds::pod::resources;

/// A resize: only cpu and memory may change.
pub(super) fn resize(object: &Value, old: &Value, errors: &mut Errors) {
    let (Some(spec), Some(was)) = (object.get("spec"), old.get("spec")) else { return };
    whole(object, errors);
    if !errors.is_empty() {
        return;
    }
    let fixed = if is_mirror(old) {
        Some("static pods cannot be resized")
    } else {
        (text_at(was, &["os", "name"]) == "windows").then_some("windows pods cannot be resized")
    };
    if let Some(why) = fixed {
        errors.push(FieldError::forbidden("[]", why));
        return;
    }
    let class = text_at(old, &["status", "qosClass"]);
    if resources::qos_class(spec) != class {
        let why = "Pod QOS Class may not change as a result of resizing";
        errors.push(FieldError::invalid("spec", class, why));
    }
    // A kubelet that can resize reports the resources of running containers.
    let statuses = old.get("status").map(|status| items(status, "containerStatuses")).unwrap_or_default();
    let running = statuses.iter().find(|status| status.at(&["state", "running"]).is_some());
    if running.is_some_and(|status| status.get("resources").is_none()) {
        errors.push(FieldError::forbidden("spec", "Pod running on node without support for resize"));
    }
    let is_sidecar = |container: &Value| text(container, "restartPolicy") == "Always";
    for list in ["initContainers", "containers"] {
        for (i, (new, before)) in items(spec, list).iter().zip(items(was, list)).enumerate() {
            if list == "initContainers" && !is_sidecar(before) {
                continue;
            }
            for which in ["requests", "limits"] {
                let of = |container: &Value| resources::list(container.at(&["resources", which]));
                let now = of(new);
                if of(before).keys().any(|name| !now.contains_key(name)) {
                    errors.push(FieldError::forbidden(
                        format!("spec.{list}[{i}].resources.{which}"),
                        format!("resource {which} cannot be removed"),
                    ));
                }
            }
        }
    }
    for (list, why) in [
        ("containers", "only cpu and memory resources are mutable"),
        ("initContainers", "only cpu and memory resources for sidecar containers are mutable"),
    ] {
        for (new, before) in items(spec, list).iter().zip(items(was, list)) {
            if list == "initContainers" && !is_sidecar(before) {
                if new != before {
                    let why = "resources for non-sidecar init containers are immutable";
                    errors.push(FieldError::forbidden("spec", why));
                }
                continue;
            }
            let is_compute = |name: &Str| name == "cpu" || name == "memory";
            let differs = ["limits", "requests"].iter().any(|which| {
                let of = |container: &Value| resources::list(container.at(&["resources", which]));
                let (now, then) = (of(new), of(before));
                let mut others = now.keys().chain(then.keys()).filter(|name| !is_compute(name));
                others.any(|name| now.get(name) != then.get(name))
            });
            if differs {
                errors.push(FieldError::forbidden("spec", why));
            }
        }
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
        let observed = int_at(condition, &["observedGeneration"]);
        if observed < 0 {
            let path = format!("status.conditions[{i}].observedGeneration");
            errors.push(FieldError::invalid(path, observed, "must be a non-negative integer"));
        }
        let path = format!("status.conditions[{i}].Type");
        let wrong = pleach_meta::names::check_qualified_name(kind).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(path.as_str(), kind, why)));
    }
    terminated(object, old, errors);
    claims(status, object.get("spec").unwrap_or(&Value::Null), errors);
    addresses(status, "podIPs", errors);
    let first = items(status, "hostIPs").first().map(|one| text(one, "ip"));
    if let Some(first) = first.filter(|first| *first != text(status, "hostIP")) {
        errors.push(FieldError::invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"));
    }
    addresses(status, "hostIPs", errors);
    for list in STATUSES {
        for (i, one) in items(status, list).iter().enumerate() {
            user(one, text_at(object, &["spec", "os", "name"]), &format!("status.{list}[{i}].linux"), errors);
        }
    }
}

const STATUSES: [&str; 3] = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];

/// The user of a container.
fn user(status: &Value, system: &str, path: &str, errors: &mut Errors) {
    let Some(linux) = status.at(&["user", "linux"]) else { return };
    if system == "windows" {
        errors.push(FieldError::forbidden(path, "cannot be set for a windows pod"));
        return;
    }
    let groups = items(linux, "supplementalGroups").iter().enumerate();
    let groups = groups.map(|(i, group)| (format!("supplementalGroups[{i}]"), Some(group)));
    let own = ["uid", "gid"].map(|field| (field.to_owned(), linux.get(field)));
    for (field, number) in own.into_iter().chain(groups) {
        let number = number.and_then(Value::as_int).unwrap_or_default();
        if !(0..=2_147_483_647).contains(&number) {
            let why = "must be between 0 and 2147483647, inclusive";
            errors.push(FieldError::invalid(format!("{path}.{field}"), number, why));
        }
    }
}

/// The claims that were made for a Pod.
fn claims(status: &Value, spec: &Value, errors: &mut Errors) {
    let mut names = HashSet::new();
    for (i, claim) in items(status, "resourceClaimStatuses").iter().enumerate() {
        let (name, path) = (text(claim, "name"), format!("status.resourceClaimStatuses[{i}].name"));
        if search(items(spec, "resourceClaims"), |one| text(one, "name") == name).is_none() {
            let why = "must match the name of an entry in `spec.resourceClaims`";
            errors.push(FieldError::invalid(path.as_str(), name, why));
        }
        if !names.insert(name) {
            errors.push(FieldError::duplicate(path.as_str(), name));
        }
        if let Some(made) = claim.get("resourceClaimName").and_then(Value::as_str) {
            let path = format!("status.resourceClaimStatuses[{i}].resourceClaimName");
            checks::dns_subdomain(made, &path, errors);
        }
    }
    if let Some(extended) = status.get("extendedResourceClaimStatus")
        && items(extended, "requestMappings").is_empty()
    {
        let path = "status.extendedResourceClaimStatus.requestMappings";
        errors.push(FieldError::required(path, "at least one request mapping is required"));
    }
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
        let shown = BadValue::Raw(format!("[{}]", shown.join(",")));
        errors.push(FieldError::invalid(path.as_str(), shown, why));
    }
    let mut seen = HashSet::new();
    for (i, ip) in all.iter().map(|one| text(one, "ip")).enumerate() {
        if !seen.insert(ip) {
            let shown = BadValue::Raw(format!("{{\"IP\":{}}}", pleach_json::to_string(&ip.into())));
            errors.push(FieldError::new(ErrorType::Duplicate, format!("{path}[{i}]"), shown, ""));
        }
    }
}

/// Containers that do not run again stay terminated.
fn terminated(object: &Value, old: &Value, errors: &mut Errors) {
    let (Some(status), Some(was)) = (object.get("status"), old.get("status")) else { return };
    for (list, containers) in STATUSES.into_iter().zip(["containers", "initContainers", ""]) {
        let containers = old.get("spec").map(|spec| items(spec, containers)).unwrap_or_default();
        // Ephemeral containers never run again.
        let policy = match list {
            "ephemeralContainerStatuses" => "Never",
            _ => text_at(old, &["spec", "restartPolicy"]),
        };
        for (i, before) in items(was, list).iter().enumerate() {
            let Some(state) = before.at(&["state", "terminated"]) else { continue };
            let name = text(before, "name");
            let container = search(containers, |one| text(one, "name") == name);
            let code = int_at(state, &["exitCode"]);
            if may_restart(policy, container, code) {
                continue;
            }
            let now = search(items(status, list), |one| text(one, "name") == name);
            if now.is_some_and(|now| now.at(&["state", "terminated"]).is_none()) {
                errors.push(FieldError::forbidden(
                    format!("status.{list}[{i}].state"),
                    "may not be transitioned to non-terminated state",
                ));
            }
        }
    }
}

/// Whether a container runs again after it ended with a code: by its own rules and policy, or the Pod's.
fn may_restart(policy: &str, container: Option<&Value>, code: i64) -> bool {
    let rules = container.map(|one| items(one, "restartPolicyRules")).unwrap_or_default();
    let restarts = |rule: &Value| {
        let listed = rule.get("exitCodes").map(|codes| items(codes, "values")).unwrap_or_default();
        let is_listed = listed.iter().any(|value| value.as_int() == Some(code));
        match text_at(rule, &["exitCodes", "operator"]) {
            "In" => is_listed,
            "NotIn" => !is_listed,
            _ => false,
        }
    };
    let own = container.map(|one| text(one, "restartPolicy")).filter(|own| !own.is_empty());
    match own.unwrap_or(policy) {
        _ if rules.iter().any(restarts) => true,
        "Always" => true,
        "OnFailure" => code != 0,
        _ => false,
    }
}
