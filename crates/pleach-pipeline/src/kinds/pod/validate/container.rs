//! Validation of containers: those that run, those that run before them, and those that are added to debug them.

use std::collections::HashSet;

use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::field_error::{BadValue, ErrorType};

use super::{env, mounts, probe};
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{bool_at, int_at, items, text};

/// The Pod around containers.
pub(super) struct Context<'a> {
    pub(super) spec: &'a Value,
    /// The names of volumes that can be mounted.
    pub(super) volumes: &'a HashSet<&'a str>,
    host_users: bool,
    /// The grace period of the Pod.
    pub(super) grace: Option<i64>,
    /// A template is not checked for what only Pods must be.
    is_template: bool,
}

impl<'a> Context<'a> {
    pub(super) fn new(spec: &'a Value, volumes: &'a HashSet<&'a str>, is_template: bool) -> Self {
        Self {
            spec,
            volumes,
            host_users: spec.get("hostUsers").and_then(Value::as_bool).unwrap_or(true),
            grace: spec
                .get("terminationGracePeriodSeconds")
                .and_then(Value::as_int)
                .filter(|seconds| *seconds >= 0),
            is_template,
        }
    }
}

const OF_EPHEMERAL: &str = "cannot be set for an Ephemeral Container";

/// The containers of all lists.
pub(super) fn all(context: &Context<'_>, path: &str, errors: &mut Errors) {
    let (spec, mut names) = (context.spec, HashSet::new());
    let containers = items(spec, "containers");
    if containers.is_empty() {
        errors.push(FieldError::required(format!("{path}.containers"), ""));
    }
    for (i, container) in containers.iter().enumerate() {
        let path = format!("{path}.containers[{i}]");
        common(container, &path, context, errors);
        let name = text(container, "name");
        if !names.insert(name) {
            errors.push(FieldError::duplicate(format!("{path}.name"), name));
        }
        probe::lifecycle(container, &path, context, errors);
        probe::probes(container, &path, context, errors);
        restart_rules(container, &path, errors);
    }
    host_ports(containers, &format!("{path}.containers"), errors);
    for (i, container) in items(spec, "initContainers").iter().enumerate() {
        init(container, &format!("{path}.initContainers[{i}]"), context, &mut names, errors);
        // Init containers run one by one; the path is that of the only one in the list.
        host_ports(std::slice::from_ref(container), &format!("{path}.initContainers"), errors);
        init_lifecycle(container, &format!("{path}.initContainers[{i}]"), context, errors);
    }
    let targets = names.clone();
    for (i, container) in items(spec, "ephemeralContainers").iter().enumerate() {
        let path = format!("{path}.ephemeralContainers[{i}]");
        ephemeral(container, &path, context, (&targets, &mut names), errors);
    }
}

fn init<'a>(
    container: &'a Value,
    path: &str,
    context: &Context<'_>,
    names: &mut HashSet<&'a str>,
    errors: &mut Errors,
) {
    common(container, path, context, errors);
    restart_rules(container, path, errors);
    let name = text(container, "name");
    if names.contains(name) {
        errors.push(FieldError::duplicate(format!("{path}.name"), name));
    } else if !name.is_empty() {
        names.insert(name);
    }
}

fn init_lifecycle(container: &Value, path: &str, context: &Context<'_>, errors: &mut Errors) {
    if text(container, "restartPolicy") == "Always" {
        probe::lifecycle(container, path, context, errors);
        probe::probes(container, path, context, errors);
        return;
    }
    for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if container.get(field).is_some() {
            let why = "may not be set for init containers without restartPolicy=Always";
            errors.push(FieldError::forbidden(format!("{path}.{field}"), why));
        }
    }
    for (i, policy) in items(container, "resizePolicy").iter().enumerate() {
        if text(policy, "restartPolicy") == "RestartContainer" {
            let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            let path = format!("{path}.resizePolicy[{i}].restartPolicy");
            errors.push(FieldError::invalid(path, "RestartContainer", why));
        }
    }
}

fn ephemeral<'a>(
    container: &'a Value,
    path: &str,
    context: &Context<'_>,
    (targets, names): (&HashSet<&'a str>, &mut HashSet<&'a str>),
    errors: &mut Errors,
) {
    common(container, path, context, errors);
    image_space(container, path, errors);
    let name = text(container, "name");
    if !names.insert(name) {
        errors.push(FieldError::duplicate(format!("{path}.name"), name));
    }
    let target = text(container, "targetContainerName");
    if !target.is_empty() && !targets.contains(target) {
        errors.push(FieldError::new(ErrorType::NotFound, format!("{path}.targetContainerName"), target, ""));
    }
    for field in [
        "ports",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ] {
        let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
        if container.get(field).is_some_and(|value| field != "resources" || !is_empty(value)) {
            errors.push(FieldError::forbidden(format!("{path}.{field}"), OF_EPHEMERAL));
        }
    }
    for (i, mount) in items(container, "volumeMounts").iter().enumerate() {
        for field in ["subPath", "subPathExpr"] {
            if !text(mount, field).is_empty() {
                let path = format!("{path}.volumeMounts[{i}].{field}");
                errors.push(FieldError::forbidden(path, OF_EPHEMERAL));
            }
        }
    }
}

/// An image of a Pod has no space around it; that of a template may.
pub(super) fn image_space(container: &Value, path: &str, errors: &mut Errors) {
    let image = text(container, "image");
    if image.trim() != image {
        let why = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(format!("{path}.image"), image, why));
    }
}

/// Fields of containers of all lists.
fn common(container: &Value, path: &str, context: &Context<'_>, errors: &mut Errors) {
    let name = text(container, "name");
    if name.is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    } else {
        checks::dns_label(name, &format!("{path}.name"), errors);
    }
    if text(container, "image").is_empty() {
        errors.push(FieldError::required(format!("{path}.image"), ""));
    }
    let policy = text(container, "terminationMessagePolicy");
    let supported = ["File", "FallbackToLogsOnError"];
    checks::required_one_of(policy, &format!("{path}.terminationMessagePolicy"), &supported, errors);
    ports(container, path, errors);
    env::env(container, context.volumes, path, errors);
    env::env_from(container, path, errors);
    mounts::mounts(container, path, context, errors);
    mounts::devices(container, path, context, errors);
    let policy = text(container, "imagePullPolicy");
    let supported = ["Always", "IfNotPresent", "Never"];
    checks::required_one_of(policy, &format!("{path}.imagePullPolicy"), &supported, errors);
    if let Some(resources) = container.get("resources") {
        let claims = items(context.spec, "resourceClaims");
        super::resources::requirements(resources, claims, &format!("{path}.resources"), errors);
    }
    resize_policy(container, path, context, errors);
    if let Some(security) = container.get("securityContext") {
        let path = format!("{path}.securityContext");
        super::security::of_container(security, context.host_users, &path, errors);
    }
}

fn resize_policy(container: &Value, path: &str, context: &Context<'_>, errors: &mut Errors) {
    let path = format!("{path}.resizePolicy");
    let mut seen = HashSet::new();
    for (i, policy) in items(container, "resizePolicy").iter().enumerate() {
        let (resource, restart) = (text(policy, "resourceName"), text(policy, "restartPolicy"));
        if !seen.insert(resource) {
            errors.push(FieldError::duplicate(format!("{path}[{i}]"), resource));
        }
        checks::required_one_of(resource, &path, &["cpu", "memory"], errors);
        checks::required_one_of(restart, &path, &["NotRequired", "RestartContainer"], errors);
        if text(context.spec, "restartPolicy") == "Never" && restart != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(FieldError::invalid(path.as_str(), restart, why));
        }
    }
}

/// `restartPolicy` and `restartPolicyRules` of a container.
fn restart_rules(container: &Value, path: &str, errors: &mut Errors) {
    let rules = items(container, "restartPolicyRules");
    let at = format!("{path}.restartPolicy");
    match container.get("restartPolicy").and_then(Value::as_str) {
        None if rules.is_empty() => return,
        None => {
            errors.push(FieldError::required(at, "must specify restartPolicy when restart rules are used"));
        }
        Some(policy) => checks::one_of(policy, &at, &["Always", "Never", "OnFailure"], errors),
    }
    for (i, rule) in rules.iter().enumerate() {
        let path = format!("{path}.restartPolicyRules[{i}]");
        let supported = ["Restart", "RestartAllContainers"];
        checks::one_of(text(rule, "action"), &format!("{path}.action"), &supported, errors);
        match rule.get("exitCodes") {
            Some(codes) => {
                let path = format!("{path}.exitCodes.operator");
                checks::one_of(text(codes, "operator"), &path, &["In", "NotIn"], errors);
            }
            None => errors.push(FieldError::required(format!("{path}.exitCodes"), "must be specified")),
        }
    }
}

fn ports(container: &Value, path: &str, errors: &mut Errors) {
    let mut names = HashSet::new();
    for (i, port) in items(container, "ports").iter().enumerate() {
        let path = format!("{path}.ports[{i}]");
        let name = text(port, "name");
        if !name.is_empty() {
            let before = errors.len();
            checks::port_name(name, &format!("{path}.name"), errors);
            if errors.len() == before && !names.insert(name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), name));
            }
        }
        let number = int_at(port, &["containerPort"]);
        if number == 0 {
            errors.push(FieldError::required(format!("{path}.containerPort"), ""));
        } else {
            checks::port_number(number, &format!("{path}.containerPort"), errors);
        }
        let host = int_at(port, &["hostPort"]);
        if host != 0 {
            checks::port_number(host, &format!("{path}.hostPort"), errors);
        }
        let protocol = text(port, "protocol");
        checks::required_one_of(protocol, &format!("{path}.protocol"), &["SCTP", "TCP", "UDP"], errors);
    }
}

/// No port of a host is taken twice.
fn host_ports(containers: &[Value], path: &str, errors: &mut Errors) {
    let mut taken = HashSet::new();
    for (i, container) in containers.iter().enumerate() {
        for (j, port) in items(container, "ports").iter().enumerate() {
            let host = int_at(port, &["hostPort"]);
            if host == 0 {
                continue;
            }
            let key = format!("{}/{}/{host}", text(port, "protocol"), text(port, "hostIP"));
            if !taken.insert(key.clone()) {
                let value = BadValue::Value(key.into());
                let path = format!("{path}[{i}].ports[{j}].hostPort");
                errors.push(FieldError::new(ErrorType::Duplicate, path, value, ""));
            }
        }
    }
}

/// In the network of the host a port is that of the host.
pub(super) fn host_network(context: &Context<'_>, path: &str, errors: &mut Errors) {
    if !bool_at(context.spec, &["hostNetwork"]) {
        return;
    }
    for (i, container) in items(context.spec, "containers").iter().enumerate() {
        for (j, port) in items(container, "ports").iter().enumerate() {
            let (host, number) = (int_at(port, &["hostPort"]), int_at(port, &["containerPort"]));
            if (!context.is_template || host != 0) && host != number {
                let why = "must match `containerPort` when `hostNetwork` is true";
                let path = format!("{path}.containers[{i}].ports[{j}].hostPort");
                errors.push(FieldError::invalid(path, host, why));
            }
        }
    }
}
