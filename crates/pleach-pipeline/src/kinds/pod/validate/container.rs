//! Validation of containers.

use std::collections::HashSet;

use pleach_json::Value;
use pleach_meta::FieldError;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{bool_at, int_at, items, text};

/// The Pod around containers.
pub(super) struct Context<'a> {
    volumes: &'a HashSet<&'a str>,
    host_network: bool,
    host_users: bool,
    /// The resource claims of the Pod.
    claims: &'a [Value],
}

impl<'a> Context<'a> {
    pub(super) fn new(spec: &'a Value, volumes: &'a HashSet<&'a str>) -> Self {
        Self {
            volumes,
            host_network: bool_at(spec, &["hostNetwork"]),
            host_users: spec.get("hostUsers").and_then(Value::as_bool).unwrap_or(true),
            claims: items(spec, "resourceClaims"),
        }
    }
}

/// A container of a list.
pub(super) fn validate<'a>(
    container: &'a Value,
    list: &str,
    path: &str,
    context: &Context<'_>,
    names: &mut HashSet<&'a str>,
    errors: &mut Errors,
) {
    let name = text(container, "name");
    if name.is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    } else {
        checks::dns_label(name, &format!("{path}.name"), errors);
        if !names.insert(name) {
            errors.push(FieldError::duplicate(format!("{path}.name"), name));
        }
    }
    let image = text(container, "image");
    if image.is_empty() {
        errors.push(FieldError::required(format!("{path}.image"), ""));
    } else if image.trim() != image && !path.contains("template") {
        let why = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(format!("{path}.image"), image, why));
    }
    if list == "ephemeralContainers" {
        for field in ["ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy"]
        {
            if container.get(field).is_some() {
                errors.push(FieldError::forbidden(
                    format!("{path}.{field}"),
                    "cannot be set for an Ephemeral Container",
                ));
            }
        }
        if container.get("resources").and_then(Value::as_object).is_some_and(|all| !all.is_empty()) {
            errors.push(FieldError::forbidden(
                format!("{path}.resources"),
                "cannot be set for an Ephemeral Container",
            ));
        }
    }
    probes(container, list, path, errors);
    checks::one_of(
        text(container, "terminationMessagePolicy"),
        &format!("{path}.terminationMessagePolicy"),
        &["File", "FallbackToLogsOnError"],
        errors,
    );
    ports(container, path, context, errors);
    env(container, path, errors);
    mounts(container, path, context, errors);
    checks::one_of(
        text(container, "imagePullPolicy"),
        &format!("{path}.imagePullPolicy"),
        &["Always", "IfNotPresent", "Never"],
        errors,
    );
    for policy in items(container, "resizePolicy") {
        let path = format!("{path}.resizePolicy");
        checks::one_of(text(policy, "resourceName"), &path, &["cpu", "memory"], errors);
        checks::one_of(text(policy, "restartPolicy"), &path, &["NotRequired", "RestartContainer"], errors);
    }
    if let Some(resources) = container.get("resources") {
        super::resources::requirements(resources, context.claims, &format!("{path}.resources"), errors);
    }
    if let Some(security) = container.get("securityContext") {
        super::security::of_container(
            security,
            context.host_users,
            &format!("{path}.securityContext"),
            errors,
        );
    }
}

fn probes(container: &Value, list: &str, path: &str, errors: &mut Errors) {
    let sidecar = text(container, "restartPolicy") == "Always";
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.get(name) else { continue };
        let path = format!("{path}.{name}");
        if list == "initContainers" && !sidecar {
            errors.push(FieldError::forbidden(
                path,
                "may not be set for init containers without restartPolicy=Always",
            ));
            continue;
        }
        if list == "ephemeralContainers" {
            continue;
        }
        handler(probe, &path, errors);
        for field in
            ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
        {
            checks::non_negative(probe.get(field), &format!("{path}.{field}"), errors);
        }
        let threshold = int_at(probe, &["successThreshold"]);
        if name != "readinessProbe" && threshold != 1 {
            errors.push(FieldError::invalid(format!("{path}.successThreshold"), threshold, "must be 1"));
        }
    }
    if let Some(lifecycle) = container.get("lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(found) = lifecycle.get(name) {
                handler(found, &format!("{path}.lifecycle.{name}"), errors);
            }
        }
    }
}

fn handler(handler: &Value, path: &str, errors: &mut Errors) {
    let mut count = 0;
    for kind in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let Some(action) = handler.get(kind) else { continue };
        count += 1;
        if count > 1 {
            errors.push(FieldError::forbidden(
                format!("{path}.{kind}"),
                "may not specify more than 1 handler type",
            ));
            continue;
        }
        let path = format!("{path}.{kind}");
        match kind {
            "exec" if items(action, "command").is_empty() => {
                errors.push(FieldError::required(format!("{path}.command"), ""));
            }
            "httpGet" => {
                if text(action, "path").is_empty() {
                    errors.push(FieldError::required(format!("{path}.path"), ""));
                }
                checks::port(action.get("port"), &format!("{path}.port"), errors);
                checks::one_of(text(action, "scheme"), &format!("{path}.scheme"), &["HTTP", "HTTPS"], errors);
            }
            "tcpSocket" | "grpc" => checks::port(action.get("port"), &format!("{path}.port"), errors),
            _ => {}
        }
    }
    if count == 0 {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
}

fn ports(container: &Value, path: &str, context: &Context<'_>, errors: &mut Errors) {
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
        if context.host_network && host != 0 && host != number {
            errors.push(FieldError::invalid(
                format!("{path}.hostPort"),
                host,
                "must match `containerPort` when `hostNetwork` is true",
            ));
        }
        let protocol = text(port, "protocol");
        if protocol.is_empty() {
            errors.push(FieldError::required(format!("{path}.protocol"), ""));
        } else {
            checks::one_of(protocol, &format!("{path}.protocol"), &["SCTP", "TCP", "UDP"], errors);
        }
    }
}

/// No port of a host is taken twice.
pub(super) fn host_ports(spec: &Value, list: &str, path: &str, errors: &mut Errors) {
    let mut taken = HashSet::new();
    for (i, container) in items(spec, list).iter().enumerate() {
        for (j, port) in items(container, "ports").iter().enumerate() {
            let host = int_at(port, &["hostPort"]);
            if host == 0 {
                continue;
            }
            let key = format!("{}/{}/{host}", text(port, "protocol"), text(port, "hostIP"));
            if !taken.insert(key.clone()) {
                let path = format!("{path}.{list}[{i}].ports[{j}].hostPort");
                errors.push(FieldError::duplicate(path, key));
            }
        }
    }
}

fn env(container: &Value, path: &str, errors: &mut Errors) {
    for (i, variable) in items(container, "env").iter().enumerate() {
        let path = format!("{path}.env[{i}]");
        let name = text(variable, "name");
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else if !name.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=') {
            errors.push(FieldError::invalid(
                format!("{path}.name"),
                name,
                "a valid environment variable name must consist only of printable ASCII characters other than '='",
            ));
        }
        let Some(source) = variable.get("valueFrom") else { continue };
        let path = format!("{path}.valueFrom");
        let kinds = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
        let count = kinds.iter().filter(|kind| source.get(kind).is_some()).count();
        if count == 0 {
            errors.push(FieldError::invalid(
                path.as_str(),
                "",
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
            ));
        } else if !text(variable, "value").is_empty() {
            errors.push(FieldError::invalid(
                path.as_str(),
                "",
                "may not be specified when `value` is not empty",
            ));
        } else if count > 1 {
            errors.push(FieldError::invalid(
                path.as_str(),
                "",
                "may not have more than one field specified at a time",
            ));
        }
        for kind in ["configMapKeyRef", "secretKeyRef"] {
            if let Some(reference) = source.get(kind)
                && text(reference, "key").is_empty()
            {
                errors.push(FieldError::required(format!("{path}.{kind}.key"), ""));
            }
        }
    }
}

fn mounts(container: &Value, path: &str, context: &Context<'_>, errors: &mut Errors) {
    let mut paths = HashSet::new();
    let list = format!("{path}.volumeMounts");
    for (i, mount) in items(container, "volumeMounts").iter().enumerate() {
        let path = format!("{path}.volumeMounts[{i}]");
        let name = text(mount, "name");
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        }
        if !context.volumes.contains(name) {
            errors.push(FieldError::new(
                pleach_meta::field_error::ErrorType::NotFound,
                format!("{path}.name"),
                name,
                "",
            ));
        }
        let at = text(mount, "mountPath");
        if at.is_empty() {
            errors.push(FieldError::required(format!("{path}.mountPath"), ""));
        }
        if !paths.insert(at) {
            errors.push(FieldError::invalid(format!("{path}.mountPath"), at, "must be unique"));
        }
        // The paths of these errors have no index upstream.
        for field in ["subPath", "subPathExpr"] {
            let target = text(mount, field);
            if field == "subPathExpr" && !target.is_empty() && !text(mount, "subPath").is_empty() {
                let why = "subPathExpr and subPath are mutually exclusive";
                errors.push(FieldError::invalid(format!("{path}.subPathExpr"), target, why));
            }
            super::volume::descending(target, &format!("{list}.{field}"), errors);
        }
        checks::one_of_if_set(
            mount.get("mountPropagation"),
            &format!("{list}.mountPropagation"),
            &["Bidirectional", "HostToContainer", "None"],
            errors,
        );
    }
}
