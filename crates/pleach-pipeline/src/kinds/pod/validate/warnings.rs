//! Warnings about Pods and pod templates.

use std::collections::{HashMap, HashSet};

use pleach_go::quantity::Quantity;
use pleach_json::{Map, Value};

use crate::kinds::fields::{int_at, items, text};

/// The steps that a warning is charged which may come for each pair of items.
const WARNING: u64 = 500;

/// Labels of Nodes that have new names.
const LABELS: [(&str, &str, &str); 4] = [
    ("beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"),
    ("beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"),
    ("failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"),
    ("failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"),
];

/// Volumes that are deprecated or gone.
const VOLUMES: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

fn deprecated_label(key: &str) -> Option<String> {
    let (_, since, new) = LABELS.iter().find(|(old, ..)| *old == key)?;
    Some(format!("deprecated since {since}; use \"{new}\" instead"))
}

/// Warnings about a Pod or a template; `path` is empty for a Pod.
pub(super) fn all(holder: &Value, path: &str, warnings: &mut Vec<String>) {
    let root = if path.is_empty() { String::new() } else { format!("{path}.") };
    annotations(holder, &format!("{root}metadata.annotations"), warnings);
    if let Some(spec) = holder.get("spec") {
        of_spec(spec, &format!("{root}spec"), warnings);
    }
}

fn annotations(holder: &Value, path: &str, warnings: &mut Vec<String>) {
    let all = holder.at(&["metadata", "annotations"]).and_then(Value::as_object);
    let has = |field: &str| holder.at(&["spec", "securityContext", field]).is_some();
    for key in all.into_iter().flat_map(Map::keys) {
        let why = if key == "scheduler.alpha.kubernetes.io/critical-pod" {
            "non-functional in v1.16+; use the \"priorityClassName\" field instead"
        } else if key == "security.alpha.kubernetes.io/sysctls"
            || key == "security.alpha.kubernetes.io/unsafe-sysctls"
        {
            "non-functional in v1.11+; use the \"sysctls\" field instead"
        } else if key == "seccomp.security.alpha.kubernetes.io/pod" && !has("seccompProfile")
            || key.starts_with("container.seccomp.security.alpha.kubernetes.io/")
        {
            "non-functional in v1.27+; use the \"seccompProfile\" field instead"
        } else if key.starts_with("container.apparmor.security.beta.kubernetes.io/")
            && !has("appArmorProfile")
        {
            "deprecated since v1.30; use the \"appArmorProfile\" field instead"
        } else {
            continue;
        };
        warnings.push(format!("{path}[{key}]: {why}"));
    }
}

fn of_spec(spec: &Value, path: &str, warnings: &mut Vec<String>) {
    for (key, _) in spec.get("nodeSelector").and_then(Value::as_object).into_iter().flat_map(Map::iter) {
        if let Some(why) = deprecated_label(key) {
            warnings.push(format!("{path}.nodeSelector[{key}]: {why}"));
        }
    }
    node_affinity(spec, path, warnings);
    for (i, constraint) in items(spec, "topologySpreadConstraints").iter().enumerate() {
        let path = format!("{path}.topologySpreadConstraints[{i}]");
        let key = text(constraint, "topologyKey");
        if let Some(why) = deprecated_label(key) {
            warnings.push(format!("{path}.topologyKey: {key} is {why}"));
        }
        if constraint.get("labelSelector").is_none() {
            warnings.push(format!("{path}.labelSelector: a null labelSelector results in matching no pod"));
        }
    }
    for (i, volume) in items(spec, "volumes").iter().enumerate() {
        for (source, why) in VOLUMES {
            if volume.get(source).is_some() {
                let source = if source == "storageos" { "storageOS" } else { source };
                warnings.push(format!("{path}.volumes[{i}].{source}: {why}"));
            }
        }
    }
    let mut addresses = HashSet::new();
    for (i, alias) in items(spec, "hostAliases").iter().enumerate() {
        let ip = text(alias, "ip");
        if !addresses.insert(ip) {
            warnings.push(format!("{path}.hostAliases[{i}].ip: duplicate ip \"{ip}\""));
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
    fractions(spec.get("overhead"), &format!("{path}.overhead"), warnings);
    for list in ["initContainers", "containers"] {
        for (i, container) in items(spec, list).iter().enumerate() {
            let path = format!("{path}.{list}[{i}]");
            for which in ["limits", "requests"] {
                let listed = container.at(&["resources", which]);
                fractions(listed, &format!("{path}.resources.{which}"), warnings);
            }
            hidden_variables(container, &path, warnings);
        }
    }
    ports(spec, path, warnings);
    for kind in ["podAffinity", "podAntiAffinity"] {
        let terms = spec.at(&["affinity", kind]).cloned().unwrap_or_default();
        let why = "a null labelSelector results in matching no pod";
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        for (i, term) in items(&terms, required).iter().enumerate() {
            if term.get("labelSelector").is_none() {
                warnings.push(format!("{path}.affinity.{kind}.{required}[{i}].labelSelector: {why}"));
            }
        }
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        for (i, term) in items(&terms, preferred).iter().enumerate() {
            if term.at(&["podAffinityTerm", "labelSelector"]).is_none() {
                warnings.push(format!(
                    "{path}.affinity.{kind}.{preferred}[{i}].podAffinityTerm.labelSelector: {why}"
                ));
            }
        }
    }
}

fn node_affinity(spec: &Value, path: &str, warnings: &mut Vec<String>) {
    let Some(node) = spec.at(&["affinity", "nodeAffinity"]) else { return };
    let path = format!("{path}.affinity.nodeAffinity");
    let mut of_term = |term: &Value, path: String| {
        for (j, requirement) in items(term, "matchExpressions").iter().enumerate() {
            let key = text(requirement, "key");
            if let Some(why) = deprecated_label(key) {
                warnings.push(format!("{path}.matchExpressions[{j}].key: {key} is {why}"));
            }
        }
    };
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = node.get(required).map(|all| items(all, "nodeSelectorTerms")).unwrap_or_default();
    for (i, term) in terms.iter().enumerate() {
        of_term(term, format!("{path}.{required}.nodeSelectorTerms[{i}]"));
    }
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for (i, term) in items(node, preferred).iter().enumerate() {
        if let Some(preference) = term.get("preference") {
            of_term(preference, format!("{path}.{preferred}[{i}].preference"));
        }
    }
}

/// Bytes are whole.
fn fractions(list: Option<&Value>, path: &str, warnings: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        let Some(written) = list.and_then(|list| list.get(name)).and_then(Value::as_str) else { continue };
        if Quantity::parse(written).is_ok_and(|quantity| !quantity.is_whole()) {
            warnings.push(format!(
                "{path}[{name}]: fractional byte value \"{written}\" is invalid, must be an integer"
            ));
        }
    }
}

fn hidden_variables(container: &Value, path: &str, warnings: &mut Vec<String>) {
    let mut seen: HashSet<&str> = HashSet::new();
    for (j, variable) in items(container, "env").iter().enumerate() {
        let name = text(variable, "name");
        if !seen.insert(name) && !text(variable, "value").contains(&format!("$({name})")) {
            warnings.push(format!(
                "{path}.env[{j}]: hides previous definition of \"{name}\", which may be dropped when using apply"
            ));
        }
    }
}

/// Ports that several containers have.
fn ports(spec: &Value, path: &str, warnings: &mut Vec<String>) {
    type Numbers<'a> = (i64, &'a str);
    let mut seen: HashMap<Numbers<'_>, Vec<(&Value, String)>> = HashMap::new();
    for list in ["initContainers", "containers"] {
        for (i, container) in items(spec, list).iter().enumerate() {
            if list == "initContainers" && text(container, "restartPolicy") != "Always" {
                continue;
            }
            for (j, port) in items(container, "ports").iter().enumerate() {
                let at = format!("{path}.{list}[{i}].ports[{j}]");
                let same =
                    seen.entry((int_at(port, &["containerPort"]), text(port, "protocol"))).or_default();
                for (other, where_) in &*same {
                    // Each port is compared with each.
                    pleach_work::charge(WARNING);
                    let host = |port: &Value| (int_at(port, &["hostPort"]), text(port, "hostIP").to_owned());
                    if host(port) == host(other) {
                        warnings.push(format!("{at}: duplicate port definition with {where_}"));
                    } else if host(port).0 == 0 || host(other).0 == 0 {
                        warnings.push(format!("{at}: overlapping port definition with {where_}"));
                    } else if host(port).0 == host(other).0
                        && (host(port).1.is_empty() || host(other).1.is_empty())
                    {
                        warnings.push(format!("{at}: dangerously ambiguous port definition with {where_}"));
                    }
                }
                same.push((port, at));
            }
        }
    }
}
