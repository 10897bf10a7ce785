//! Validation of containers.

use std::collections::HashSet;

use pleach_json::{Map, Value};
use pleach_meta::FieldError;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{bool_at, int_at, items, text};

/// What the containers of a Pod have around them.
pub(super) struct Context<'a> {
    volumes: &'a HashSet<&'a str>,
    host_network: bool,
}

impl<'a> Context<'a> {
    pub(super) fn new(spec: &Value, volumes: &'a HashSet<&'a str>) -> Self {
        Self { volumes, host_network: bool_at(spec, &["hostNetwork"]) }
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
    } else if image.trim() != image {
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
    if let Some(resources) = container.get("resources") {
        self::resources(resources, &format!("{path}.resources"), errors);
    }
    if let Some(context) = container.get("securityContext") {
        super::seccomp(context, &format!("{path}.securityContext"), errors);
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
        if context.host_network && host != number {
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
    for (i, mount) in items(container, "volumeMounts").iter().enumerate() {
        let path = format!("{path}.volumeMounts[{i}]");
        let name = text(mount, "name");
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else if !context.volumes.contains(name) {
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
    }
}

const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// The requests and limits of a container.
pub(crate) fn resources(resources: &Value, path: &str, errors: &mut Errors) {
    let entries =
        |which: &str| resources.get(which).and_then(Value::as_object).into_iter().flat_map(Map::iter);
    for which in ["limits", "requests"] {
        for (name, value) in entries(which) {
            let path = format!("{path}.{which}[{name}]");
            if !STANDARD.contains(&name.as_str()) && !name.starts_with("hugepages-") && !name.contains('/') {
                let standard = "must be a standard resource for containers";
                errors.push(FieldError::invalid(
                    path.as_str(),
                    name.as_str(),
                    "must be a standard resource type or fully qualified",
                ));
                errors.push(FieldError::invalid(path.as_str(), name.as_str(), standard));
            }
            checks::non_negative_quantity(value, &path, errors);
            if name.contains('/') && checks::quantity(value).is_some_and(|q| !q.is_whole()) {
                errors.push(FieldError::invalid(path.as_str(), value.clone(), "must be an integer"));
            }
            if which == "requests" {
                let limit = resources.at(&["limits", name]);
                let above = limit
                    .and_then(checks::quantity)
                    .zip(checks::quantity(value))
                    .is_some_and(|(limit, request)| request > limit);
                if let Some(limit) = limit.and_then(Value::as_str)
                    && above
                {
                    errors.push(FieldError::invalid(
                        format!("{}.requests", path.trim_end_matches(&format!(".requests[{name}]"))),
                        value.clone(),
                        format!("must be less than or equal to {name} limit of {limit}"),
                    ));
                }
            }
        }
    }
}

/// Warnings about containers and what is around them.
pub(super) fn warnings(spec: &Value, path: &str, warnings: &mut Vec<String>) {
    for (key, _) in spec.get("nodeSelector").and_then(Value::as_object).into_iter().flat_map(Map::iter) {
        for (old, since, new) in [
            ("beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"),
            ("beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"),
            ("failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"),
            ("failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"),
        ] {
            if key == old {
                warnings.push(format!(
                    "{path}.nodeSelector[{old}]: deprecated since {since}; use \"{new}\" instead"
                ));
            }
        }
    }
    for list in ["initContainers", "containers"] {
        for (i, container) in items(spec, list).iter().enumerate() {
            let mut seen: HashSet<&str> = HashSet::new();
            for (j, variable) in items(container, "env").iter().enumerate() {
                let name = text(variable, "name");
                if !seen.insert(name) && !text(variable, "value").contains(&format!("$({name})")) {
                    warnings.push(format!(
                        "{path}.{list}[{i}].env[{j}]: hides previous definition of \"{name}\", which may be dropped when using apply"
                    ));
                }
            }
        }
    }
    let mut secrets = HashSet::new();
    for (i, secret) in items(spec, "imagePullSecrets").iter().enumerate() {
        let name = text(secret, "name");
        if name.is_empty() {
            warnings.push(format!("{path}.imagePullSecrets[{i}].name: invalid empty name \"\""));
        } else if !secrets.insert(name) {
            warnings.push(format!("{path}.imagePullSecrets[{i}].name: duplicate name \"{name}\""));
        }
    }
    let mut addresses = HashSet::new();
    for (i, alias) in items(spec, "hostAliases").iter().enumerate() {
        let ip = text(alias, "ip");
        if !addresses.insert(ip) {
            warnings.push(format!("{path}.hostAliases[{i}].ip: duplicate ip \"{ip}\""));
        }
    }
}
