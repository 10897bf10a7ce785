//! Defaults of Pods and pod templates.

use pleach_go::quantity::Quantity;
use pleach_json::{Map, Value, json};

use crate::kinds::fields::{default_to, each_mut, is_unset, object_mut, submember};

/// Defaults of a pod spec, in Pods and templates alike.
pub(crate) fn pod_spec(spec: &mut Map) {
    // One field under two names; the newer one wins.
    if is_unset(spec, "serviceAccountName")
        && let Some(old) = spec.get("serviceAccount").filter(|old| old.as_str() != Some("")).cloned()
    {
        spec.insert("serviceAccountName", old);
    }
    if let Some(name) = spec.get("serviceAccountName").cloned() {
        spec.insert("serviceAccount", name);
    }
    default_to(spec, "restartPolicy", "Always");
    default_to(spec, "dnsPolicy", "ClusterFirst");
    default_to(spec, "schedulerName", "default-scheduler");
    default_to(spec, "securityContext", Value::object());
    match spec.get("terminationGracePeriodSeconds").and_then(Value::as_int) {
        None => drop(spec.insert("terminationGracePeriodSeconds", 30)),
        Some(..0) => drop(spec.insert("terminationGracePeriodSeconds", 1)),
        Some(_) => {}
    }
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        each_mut(spec, list, container);
    }
    each_mut(spec, "volumes", volume);
}

/// Defaults that only Pods have.
pub(crate) fn pod(spec: &mut Map) {
    default_to(spec, "enableServiceLinks", true);
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers"] {
        each_mut(spec, list, |container| {
            requests_from_limits(container);
            if host_network {
                host_ports(container);
            }
        });
    }
    pod_level_requests(spec);
}

/// Each limit is a request unless there is one.
fn requests_from_limits(container: &mut Map) {
    let Some(resources) = object_mut(container, "resources") else { return };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else { return };
    if limits.is_empty() {
        return;
    }
    let requests = submember(resources, "requests");
    for (name, limit) in &limits {
        if !requests.contains_key(name) {
            requests.insert(name.clone(), limit.clone());
        }
    }
}

/// On the host's network a container's port is the host's.
fn host_ports(container: &mut Map) {
    each_mut(container, "ports", |port| {
        if let Some(number) = port.get("containerPort").cloned()
            && port.get("hostPort").is_none_or(|host| *host == Value::Int(0))
        {
            port.insert("hostPort", number);
        }
    });
}

/// Requests of the whole Pod, where it has resources of its own: from its containers, else from its limits.
fn pod_level_requests(spec: &mut Map) {
    let Some(resources) = spec.get("resources").and_then(Value::as_object).filter(|all| !all.is_empty())
    else {
        return;
    };
    let limits = resources.get("limits").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut requests = resources.get("requests").and_then(Value::as_object).cloned().unwrap_or_default();
    let pod_level = |name: &str| matches!(name, "cpu" | "memory") || name.starts_with("hugepages-");
    let whole = Value::Object(spec.clone());
    for (name, sum) in super::resources::container_requests(&whole) {
        if pod_level(&name) && !requests.contains_key(&name) && limits.contains_key(&name) {
            requests.insert(name, sum.canonical());
        }
    }
    for (name, limit) in &limits {
        if pod_level(name) && !requests.contains_key(name) {
            requests.insert(name.clone(), limit.clone());
        }
    }
    if !requests.is_empty() {
        submember(spec, "resources").insert("requests", requests);
    }
}

fn container(container: &mut Map) {
    if is_unset(container, "imagePullPolicy") {
        let policy = pull_policy(container.get_str("image").unwrap_or_default());
        container.insert("imagePullPolicy", policy);
    }
    default_to(container, "terminationMessagePath", "/dev/termination-log");
    default_to(container, "terminationMessagePolicy", "File");
    each_mut(container, "ports", |port| default_to(port, "protocol", "TCP"));
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = object_mut(container, name) {
            self::probe(probe);
        }
    }
    if let Some(lifecycle) = object_mut(container, "lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = object_mut(lifecycle, name) {
                self::handler(handler);
            }
        }
    }
    each_mut(container, "env", |variable| {
        if let Some(source) = object_mut(variable, "valueFrom") {
            self::value_source(source);
        }
    });
}

fn value_source(source: &mut Map) {
    if let Some(field) = object_mut(source, "fieldRef") {
        default_to(field, "apiVersion", "v1");
    }
    if let Some(key) = object_mut(source, "fileKeyRef") {
        default_to(key, "optional", false);
    }
}

fn probe(probe: &mut Map) {
    for (key, value) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        if matches!(probe.get(key), None | Some(Value::Int(0))) {
            probe.insert(key, value);
        }
    }
    handler(probe);
}

fn handler(handler: &mut Map) {
    if let Some(get) = object_mut(handler, "httpGet") {
        default_to(get, "path", "/");
        default_to(get, "scheme", "HTTP");
    }
    if let Some(grpc) = object_mut(handler, "grpc")
        && matches!(grpc.get("service"), None | Some(Value::Null))
    {
        grpc.insert("service", "");
    }
}

/// `Always` for images whose content may change: those tagged `latest`, or neither tagged nor with a digest.
pub(crate) fn pull_policy(image: &str) -> &'static str {
    let (named, digest) =
        image.split_once('@').map_or((image, None), |(named, digest)| (named, Some(digest)));
    let slash = named.rfind('/').map_or(0, |at| at + 1);
    let (repository, tag) = match named[slash..].split_once(':') {
        Some((last, tag)) => (&named[..slash + last.len()], Some(tag)),
        None => (named, None),
    };
    // A text that is no reference has no tag.
    if !is_repository(repository) {
        return "IfNotPresent";
    }
    match (tag, digest) {
        (Some("latest"), _) | (None, None) => "Always",
        _ => "IfNotPresent",
    }
}

/// Whether a text names a repository: a domain, if there is one, and lower-case parts.
fn is_repository(name: &str) -> bool {
    let mut parts: Vec<&str> = name.split('/').collect();
    let is_domain = |part: &str| {
        part.contains(['.', ':']) || part == "localhost" || part.bytes().any(|b| b.is_ascii_uppercase())
    };
    if parts.len() > 1 && is_domain(parts[0]) {
        parts.remove(0);
    }
    let is_edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    parts.iter().all(|part| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(is_edge)
            && bytes.last().is_some_and(is_edge)
            && bytes.iter().all(|byte| is_edge(byte) || matches!(byte, b'.' | b'_' | b'-'))
    })
}

/// Defaults of a volume.
pub(crate) fn volume(volume: &mut Map) {
    if !volume.keys().any(|key| key != "name") {
        volume.insert("emptyDir", Value::object());
    }
    volume_source(volume);
}

/// Defaults of where a volume comes from, in Pods and in persistent volumes.
pub(crate) fn volume_source(volume: &mut Map) {
    for name in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = object_mut(volume, name) {
            default_to(source, "defaultMode", 420);
        }
    }
    if let Some(source) = object_mut(volume, "downwardAPI") {
        each_mut(source, "items", value_source);
    }
    if let Some(source) = object_mut(volume, "projected") {
        each_mut(source, "sources", |source| {
            if let Some(token) = object_mut(source, "serviceAccountToken") {
                default_to(token, "expirationSeconds", 3600);
            }
            if let Some(downward) = object_mut(source, "downwardAPI") {
                each_mut(downward, "items", value_source);
            }
        });
    }
    if let Some(source) = object_mut(volume, "hostPath")
        && matches!(source.get("type"), None | Some(Value::Null))
    {
        source.insert("type", "");
    }
    if let Some(source) = object_mut(volume, "image")
        && is_unset(source, "pullPolicy")
    {
        let policy = pull_policy(source.get_str("reference").unwrap_or_default());
        source.insert("pullPolicy", policy);
    }
    if let Some(template) = object_mut(volume, "ephemeral").and_then(|e| object_mut(e, "volumeClaimTemplate"))
        && let Some(spec) = object_mut(template, "spec")
    {
        default_to(spec, "volumeMode", "Filesystem");
    }
    for (name, defaults) in [
        ("iscsi", json!({"iscsiInterface": "default"})),
        ("rbd", json!({"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"})),
        (
            "azureDisk",
            json!({"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": false, "kind": "Shared"}),
        ),
        ("scaleIO", json!({"storageMode": "ThinProvisioned", "fsType": "xfs"})),
    ] {
        if let Some(source) = object_mut(volume, name) {
            for (key, value) in defaults.as_object().into_iter().flat_map(Map::iter) {
                default_to(source, key, value.clone());
            }
        }
    }
}

/// Defaults of a pod template.
pub(crate) fn template(holder: &mut Map) {
    if let Some(spec) = object_mut(holder, "template").and_then(|template| object_mut(template, "spec")) {
        pod_spec(spec);
    }
}

/// Whether a text is a quantity above zero.
pub(crate) fn is_positive(value: &Value) -> bool {
    value.as_str().and_then(|text| Quantity::parse(text).ok()).is_some_and(|quantity| quantity.sign() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pull_policies() {
        for (image, want) in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1", "IfNotPresent"),
            ("host:5000/nginx", "Always"),
            ("host:5000/nginx:1", "IfNotPresent"),
            ("nginx@sha256:0", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), want, "{image}");
        }
    }
}
