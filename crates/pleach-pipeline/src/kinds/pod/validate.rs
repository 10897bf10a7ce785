//! Validation of Pods and pod templates.

pub(crate) mod affinity;
pub(crate) mod annotations;
mod container;
mod env;
mod mounts;
mod probe;
pub(crate) mod resources;
mod security;
mod status;
pub(crate) mod volume;
pub(crate) mod warnings;
mod windows;

use std::collections::HashSet;

use pleach_json::{Map, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::{FieldError, Path};

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{bool_at, items, search, text, text_at};
use crate::resource::Subresource;

/// A new Pod.
pub(super) fn create(object: &Value) -> Errors {
    let mut errors = Errors::new();
    whole(object, &mut errors);
    if let Some(spec) = object.get("spec") {
        if !items(spec, "ephemeralContainers").is_empty() {
            errors.push(FieldError::forbidden("spec.ephemeralContainers", "cannot be set on create"));
        }
        if !items(spec, "schedulingGates").is_empty() && !text(spec, "nodeName").is_empty() {
            errors.push(FieldError::forbidden(
                "spec.nodeName",
                "cannot be set until all schedulingGates have been cleared",
            ));
        }
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        annotations::profiles_match(metadata, spec, "spec", &mut errors);
    }
    errors
}

/// `validatePodMetadataAndSpec`, but for the metadata that all kinds have.
fn whole(object: &Value, errors: &mut Errors) {
    let (Some(metadata), Some(spec)) = (object.get("metadata"), object.get("spec")) else { return };
    annotations::specific(metadata, spec, "metadata.annotations", errors);
    pod_spec(spec, "spec", Some(ObjectMeta::of(object).name()), errors);
    volume::tokens_without_account(spec, errors);
    for list in ["containers", "initContainers"] {
        for (i, container) in items(spec, list).iter().enumerate() {
            container::image_space(container, &format!("spec.{list}[{i}]"), errors);
        }
    }
}

/// A pod template, at a path.
pub(crate) fn template(template: &Value, path: &str, errors: &mut Errors) {
    let metadata = template.get("metadata").unwrap_or(&Value::Null);
    checks::labels(metadata.get("labels"), &format!("{path}.labels"), errors);
    let mut found = pleach_meta::FieldErrors::default();
    let root = Path::new(path);
    pleach_meta::object_meta::validate_annotations(
        metadata.get("annotations"),
        &root.child("annotations"),
        &mut found,
    );
    errors.extend(Vec::from(found));
    if let Some(spec) = template.get("spec") {
        annotations::specific(metadata, spec, &format!("{path}.annotations"), errors);
        pod_spec(spec, &format!("{path}.spec"), None, errors);
        annotations::profiles_match(metadata, spec, &format!("{path}.spec"), errors);
        if !items(spec, "ephemeralContainers").is_empty() {
            errors.push(FieldError::forbidden(
                format!("{path}.spec.ephemeralContainers"),
                "ephemeral containers not allowed in pod template",
            ));
        }
    }
}

/// The spec of a Pod with its name, or of a template without, at a path.
fn pod_spec(spec: &Value, path: &str, pod: Option<&str>, errors: &mut Errors) {
    let at = |field: &str| format!("{path}.{field}");
    let mut volumes: HashSet<&str> = HashSet::new();
    let holder = volume::Holder { pod: pod.unwrap_or_default(), is_pod: pod.is_some() };
    let is_made = |claim: &str| {
        let volume =
            pod.filter(|pod| !pod.is_empty()).and_then(|pod| claim.strip_prefix(pod)?.strip_prefix('-'));
        let is_it =
            |volume: &Value, name: &str| text(volume, "name") == name && volume.get("ephemeral").is_some();
        volume.is_some_and(|name| search(items(spec, "volumes"), |volume| is_it(volume, name)).is_some())
    };
    for (i, volume) in items(spec, "volumes").iter().enumerate() {
        let path = format!("{path}.volumes[{i}]");
        let name = text(volume, "name");
        let before = errors.len();
        volume::source(volume, &path, holder, errors);
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else {
            checks::dns_label(name, &format!("{path}.name"), errors);
            if volumes.contains(name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), name));
            }
        }
        // Only a sound volume can be mounted.
        if errors.len() == before {
            volumes.insert(name);
        }
        let claim = text_at(volume, &["persistentVolumeClaim", "claimName"]);
        if is_made(claim) {
            let why = "must not reference a PVC that gets created for an ephemeral volume";
            errors.push(FieldError::invalid(format!("{path}.persistentVolumeClaim.claimName"), claim, why));
        }
    }
    resources::pod_claims(items(spec, "resourceClaims"), &at("resourceClaims"), errors);
    let context = container::Context::new(spec, &volumes, pod.is_none());
    container::all(&context, path, errors);
    resources::of_pod(spec, &at("resources"), errors);
    container::host_network(&context, path, errors);
    checks::one_of(
        text(spec, "restartPolicy"),
        &at("restartPolicy"),
        &["Always", "OnFailure", "Never"],
        errors,
    );
    let dns = text(spec, "dnsPolicy");
    checks::one_of(
        dns,
        &at("dnsPolicy"),
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
        errors,
    );
    checks::labels(spec.get("nodeSelector"), &at("nodeSelector"), errors);
    if let Some(context) = spec.get("securityContext") {
        security::of_pod(context, spec, &at("securityContext"), errors);
    }
    if let Some(affinity) = spec.get("affinity") {
        affinity::affinity(affinity, &at("affinity"), errors);
    }
    if dns == "None" && spec.get("dnsConfig").is_none() {
        let why = "must provide `dnsConfig` when `dnsPolicy` is None";
        errors.push(FieldError::required(at("dnsConfig"), why));
    } else if dns == "None" && spec.get("dnsConfig").is_some_and(|all| items(all, "nameservers").is_empty()) {
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.push(FieldError::required(at("dnsConfig.nameservers"), why));
    } else {
        dns_config(spec, &at("dnsConfig"), errors);
    }
    for (i, gate) in items(spec, "readinessGates").iter().enumerate() {
        let kind = text(gate, "conditionType");
        let path = format!("{path}.readinessGates[{i}].conditionType");
        let wrong = pleach_meta::names::check_qualified_name(kind).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(path.as_str(), kind, why)));
    }
    let mut gates = HashSet::new();
    for (i, gate) in items(spec, "schedulingGates").iter().enumerate() {
        let (name, path) = (text(gate, "name"), format!("{path}.schedulingGates[{i}]"));
        let wrong = pleach_meta::names::check_qualified_name(name).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(path.as_str(), name, why)));
        if !gates.insert(name) {
            errors.push(FieldError::duplicate(path, name));
        }
    }
    affinity::spread(items(spec, "topologySpreadConstraints"), &at("topologySpreadConstraints"), errors);
    windows::host_process(spec, path, errors);
    host_users(spec, path, errors);
    let named = |field: &str, check: fn(&str, &str, &mut Errors), errors: &mut Errors| {
        let value = text(spec, field);
        if !value.is_empty() {
            check(value, &at(field), errors);
        }
    };
    named("serviceAccountName", checks::dns_subdomain, errors);
    named("nodeName", checks::dns_subdomain, errors);
    if let Some(seconds) = spec.get("activeDeadlineSeconds").and_then(Value::as_int)
        && !(1..=2_147_483_647).contains(&seconds)
    {
        errors.push(FieldError::invalid(
            at("activeDeadlineSeconds"),
            seconds,
            "must be between 1 and 2147483647, inclusive",
        ));
    }
    named("hostname", checks::dns_label, errors);
    named("subdomain", checks::dns_label, errors);
    host_name_override(spec, &at("hostnameOverride"), errors);
    tolerations(spec, path, errors);
    for (i, alias) in items(spec, "hostAliases").iter().enumerate() {
        checks::ip(text(alias, "ip"), &format!("{path}.hostAliases[{i}].ip"), errors);
        for (j, host) in items(alias, "hostnames").iter().enumerate() {
            let host = host.as_str().unwrap_or_default();
            checks::dns_subdomain(host, &format!("{path}.hostAliases[{i}].hostnames[{j}]"), errors);
        }
    }
    named("priorityClassName", checks::dns_subdomain, errors);
    named("runtimeClassName", checks::dns_subdomain, errors);
    let policy = spec.get("preemptionPolicy");
    if let Some(policy) = policy.and_then(Value::as_str) {
        let supported = ["Never", "PreemptLowerPriority"];
        checks::required_one_of(policy, &at("preemptionPolicy"), &supported, errors);
    }
    if let Some(overhead) = spec.get("overhead") {
        resources::overhead(overhead, &at("overhead"), errors);
    }
    if let Some(os) = spec.get("os") {
        match text(os, "name") {
            "" => errors.push(FieldError::required(at("os.name"), "cannot be empty")),
            name @ ("linux" | "windows") => windows::of_os(name, spec, path, errors),
            name => checks::one_of(name, &at("os"), &["linux", "windows"], errors),
        }
    }
}

/// A user namespace of its own is not for a Pod that shares others with the host; the names of fields are upstream's.
fn host_users(spec: &Value, path: &str, errors: &mut Errors) {
    if spec.get("hostUsers").and_then(Value::as_bool) != Some(false) {
        return;
    }
    for (field, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if bool_at(spec, &[field]) {
            errors.push(FieldError::forbidden(format!("{path}.{shown}"), "when `hostUsers` is false"));
        }
    }
}

/// The name of the host that a Pod has instead of its own.
fn host_name_override(spec: &Value, path: &str, errors: &mut Errors) {
    const LONGEST: i64 = 64;
    let Some(name) = spec.get("hostnameOverride").and_then(Value::as_str) else { return };
    for field in ["setHostnameAsFQDN", "hostNetwork"] {
        if bool_at(spec, &[field]) {
            let why = format!("may not be specified when {field} is true");
            errors.push(FieldError::forbidden(path, why));
        }
    }
    if name.len() as i64 > LONGEST {
        errors.push(FieldError::too_long(path, LONGEST));
    }
    checks::dns_subdomain(name, path, errors);
}

/// Whether a text may be a search path of DNS: a subdomain whose parts may have underscores.
fn is_search_path(name: &str) -> bool {
    let is_edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 253
        && name.split('.').all(|part| {
            let bytes = part.strip_prefix('_').unwrap_or(part).as_bytes();
            bytes.first().is_some_and(is_edge)
                && bytes.last().is_some_and(is_edge)
                && bytes.iter().all(|byte| is_edge(byte) || matches!(byte, b'-' | b'_'))
        })
}

fn dns_config(spec: &Value, path: &str, errors: &mut Errors) {
    let Some(config) = spec.get("dnsConfig") else { return };
    let servers = items(config, "nameservers");
    if servers.len() > 3 {
        let why = "must not have more than 3 nameservers";
        errors.push(FieldError::invalid(format!("{path}.nameservers"), servers.to_vec(), why));
    }
    for (i, server) in servers.iter().enumerate() {
        checks::ip(server.as_str().unwrap_or_default(), &format!("{path}.nameservers[{i}]"), errors);
    }
    let searches = items(config, "searches");
    if searches.len() > 32 {
        let why = "must not have more than 32 search paths";
        errors.push(FieldError::invalid(format!("{path}.searches"), searches.to_vec(), why));
    }
    let length: usize = searches.iter().filter_map(Value::as_str).map(|search| search.len() + 1).sum();
    if length > 2048 + 1 {
        let why = "must not have more than 2048 characters (including spaces) in the search list";
        errors.push(FieldError::invalid(format!("{path}.searches"), searches.to_vec(), why));
    }
    for (i, search) in searches.iter().enumerate() {
        let search = search.as_str().unwrap_or_default();
        // A trailing dot makes a name absolute.
        let name = search.strip_suffix('.').unwrap_or(search);
        if search != "." && !is_search_path(name) {
            errors.push(FieldError::invalid(
                format!("{path}.searches[{i}]"),
                name,
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
            ));
        }
    }
    for (i, option) in items(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            errors.push(FieldError::required(format!("{path}.options[{i}]"), "must not be empty"));
        }
    }
}

fn tolerations(spec: &Value, path: &str, errors: &mut Errors) {
    for (i, one) in items(spec, "tolerations").iter().enumerate() {
        toleration(one, &format!("{path}.tolerations[{i}]"), errors);
    }
}

/// A toleration.
pub(crate) fn toleration(toleration: &Value, path: &str, errors: &mut Errors) {
    let (key, operator, effect) =
        (text(toleration, "key"), text(toleration, "operator"), text(toleration, "effect"));
    if !key.is_empty() {
        let wrong = pleach_meta::names::check_qualified_name(key).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(format!("{path}.key"), key, why)));
    }
    if key.is_empty() && operator != "Exists" {
        errors.push(FieldError::invalid(
            format!("{path}.operator"),
            operator,
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
        ));
    }
    if toleration.get("tolerationSeconds").is_some() && effect != "NoExecute" {
        errors.push(FieldError::invalid(
            format!("{path}.effect"),
            effect,
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
        ));
    }
    match operator {
        "" | "Equal" => {
            checks::label_value(text(toleration, "value"), &format!("{path}.operator"), errors);
        }
        "Exists" => {
            if !text(toleration, "value").is_empty() {
                errors.push(FieldError::invalid(
                    format!("{path}.operator"),
                    text(toleration, "value"),
                    "value must be empty when `operator` is 'Exists'",
                ));
            }
        }
        other => {
            // The operators of a feature gate that is off are named where one of them is used.
            let known = if matches!(other, "Lt" | "Gt") { 4 } else { 2 };
            let supported = &["Equal", "Exists", "Lt", "Gt"][..known];
            errors.push(FieldError::not_supported(format!("{path}.operator"), other, supported));
        }
    }
    if !effect.is_empty() {
        checks::one_of(
            effect,
            &format!("{path}.effect"),
            &["NoSchedule", "PreferNoSchedule", "NoExecute"],
            errors,
        );
    }
}

const MAY_CHANGE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// A Pod that replaces another.
pub(super) fn update(object: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    let (Some(spec), Some(was)) = (object.get("spec"), old.get("spec")) else { return errors };
    whole(object, &mut errors);
    annotations::changes(object, old, &mut errors);
    for list in ["containers", "initContainers"] {
        let containers = items(spec, list);
        if containers.len() != items(was, list).len() {
            errors.push(FieldError::forbidden(
                format!("spec.{list}"),
                "pod updates may not add or remove containers",
            ));
            return errors;
        }
        for (i, container) in containers.iter().enumerate() {
            let path = format!("spec.{list}[{i}]");
            if text(container, "image").is_empty() {
                errors.push(FieldError::required(format!("{path}.image"), ""));
            }
            container::image_space(container, &path, &mut errors);
        }
    }
    let seconds = |spec: &Value| spec.get("activeDeadlineSeconds").and_then(Value::as_int);
    let at = "spec.activeDeadlineSeconds";
    match (seconds(spec), seconds(was)) {
        (Some(new), _) if !(0..=2_147_483_647).contains(&new) => {
            errors.push(FieldError::invalid(at, new, "must be between 0 and 2147483647, inclusive"));
            return errors;
        }
        (Some(new), Some(before)) if new > before => {
            errors.push(FieldError::invalid(at, new, "must be less than or equal to previous value"));
            return errors;
        }
        (None, Some(_)) => {
            let why = "must not update from a positive integer to nil value";
            errors.push(FieldError::invalid(at, Value::Null, why));
        }
        _ => {}
    }
    match changed_toleration(items(spec, "tolerations"), items(was, "tolerations")) {
        Some(error) => errors.push(error),
        None => tolerations(spec, "spec", &mut errors),
    }
    let gates = |spec: &Value| -> Vec<String> {
        items(spec, "schedulingGates").iter().map(|gate| text(gate, "name").to_owned()).collect()
    };
    let (new_gates, old_gates) = (gates(spec), gates(was));
    let known: HashSet<&String> = old_gates.iter().collect();
    for (i, gate) in new_gates.iter().enumerate().filter(|(_, gate)| !known.contains(gate)) {
        errors.push(FieldError::forbidden(
            format!("spec.schedulingGates[{i}].name"),
            format!("only deletion is allowed, but found new scheduling gate '{gate}'"),
        ));
    }
    let mut comparable = spec.clone();
    if let Some(members) = comparable.as_object_mut() {
        for list in ["containers", "initContainers"] {
            let before: Vec<Value> = items(was, list).to_vec();
            if let Some(Value::Array(containers)) = members.get_mut(list) {
                for (container, before) in containers.iter_mut().zip(&before) {
                    if let (Some(container), Some(image)) = (container.as_object_mut(), before.get("image")) {
                        container.insert("image", image.clone());
                    }
                }
            }
        }
        put_back(members, was, "activeDeadlineSeconds");
        put_back(members, was, "schedulingGates");
        put_back(members, was, "tolerations");
        if !old_gates.is_empty() {
            let selector = |spec: &Value| spec.get("nodeSelector").cloned();
            if !checks::has_labels(selector(spec).as_ref(), selector(was).as_ref()) {
                errors.push(FieldError::invalid(
                    "spec.nodeSelector",
                    selector(spec).unwrap_or_default(),
                    "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
                ));
            }
            put_back(members, was, "nodeSelector");
            affinity::narrowed(spec, was, &mut errors);
            put_back_node_affinity(members, was);
        }
    }
    if comparable != *was {
        errors.push(FieldError::forbidden("spec", format!("{MAY_CHANGE}\n")));
    }
    errors
}

/// Tolerations stay, but for how long they tolerate; others may be added.
fn changed_toleration(new: &[Value], old: &[Value]) -> Option<FieldError> {
    let same = |one: &Value, other: &Value| {
        ["key", "operator", "value", "effect"].iter().all(|field| text(one, field) == text(other, field))
    };
    let is_kept = |one: &Value| search(new, |other| same(one, other)).is_some();
    (!old.iter().all(is_kept)).then(|| {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        FieldError::forbidden("spec.tolerations", why)
    })
}

/// The node affinity, of which the change was judged; the other affinities must stay.
fn put_back_node_affinity(members: &mut Map, was: &Value) {
    let before = was.at(&["affinity", "nodeAffinity"]);
    if let Some(affinity) = members.get_mut("affinity").and_then(Value::as_object_mut) {
        match before {
            Some(before) => affinity.insert("nodeAffinity", before.clone()),
            None => affinity.remove("nodeAffinity"),
        };
        if affinity.is_empty() && was.get("affinity").is_none() {
            members.remove("affinity");
        }
    } else if let Some(before) = before {
        let mut affinity = Map::new();
        affinity.insert("nodeAffinity", before.clone());
        members.insert("affinity", affinity);
    }
}

fn put_back(members: &mut Map, was: &Value, key: &str) {
    match was.get(key) {
        Some(value) => members.insert(key, value.clone()),
        None => members.remove(key),
    };
}

/// Whether a Pod is the image of one that a kubelet has from a file.
fn is_mirror(pod: &Value) -> bool {
    ObjectMeta::of(pod).annotation(annotations::MIRROR).is_some()
}

/// An update of a subresource.
pub(super) fn subresource(object: &Value, old: &Value, subresource: Subresource) -> Errors {
    let mut errors = Errors::new();
    match subresource {
        Subresource::Status => status::status(object, old, &mut errors),
        Subresource::EphemeralContainers => {
            whole(object, &mut errors);
            annotations::changes(object, old, &mut errors);
            if is_mirror(old) {
                return vec![FieldError::forbidden("[]", "static pods do not support ephemeral containers")];
            }
            if let Some(spec) = object.get("spec") {
                let new = items(spec, "ephemeralContainers");
                for before in old.get("spec").map(|s| items(s, "ephemeralContainers")).unwrap_or_default() {
                    let name = text(before, "name");
                    match search(new, |one| text(one, "name") == name) {
                        None => errors.push(FieldError::forbidden(
                            "spec.ephemeralContainers",
                            format!("existing ephemeral containers \"{name}\" may not be removed\n"),
                        )),
                        Some(one) if one != before => errors.push(FieldError::forbidden(
                            "spec.ephemeralContainers",
                            format!("existing ephemeral containers \"{name}\" may not be changed\n"),
                        )),
                        _ => {}
                    }
                }
            }
        }
        Subresource::Resize => status::resize(object, old, &mut errors),
        _ => {}
    }
    errors
}

/// The warning about a name that is used in host names.
pub(crate) fn name_warning(name: &str, used_in: &str) -> Option<String> {
    let problems = pleach_meta::names::check_dns1123_label(name);
    if problems.is_empty() {
        return None;
    }
    let mut short: Vec<String> = Vec::new();
    if name.len() > 63 {
        short.push("must be no more than 63 characters".into());
    }
    if name.contains('.') {
        short.push("must not contain dots".into());
    }
    Some(format!(
        "metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS label is recommended: [{}]",
        short.join(" ")
    ))
}

/// Warnings about a new Pod.
pub(super) fn warnings(object: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings.extend(name_warning(ObjectMeta::of(object).name(), "the Pod's hostname"));
    warnings::all(object, "", &mut warnings);
    warnings
}

/// Warnings about a pod template.
pub(crate) fn template_warnings(template: &Value, path: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings::all(template, path, &mut warnings);
    warnings
}
