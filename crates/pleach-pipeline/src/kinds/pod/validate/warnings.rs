//! Warnings about Pods and pod templates.

use std::collections::{BTreeSet, HashMap, HashSet};

use pleach_go::quantity::Quantity;
use pleach_go::strconv::quote;
use pleach_json::{Map, Value};

use crate::kinds::fields::{int_at, items, search, text};
use crate::kinds::persistent_volume;
use crate::kinds::pod::app_armor;

/// The steps that a warning is charged which may come for each pair of items.
const WARNING: u64 = 500;

/// Labels of Nodes that are not used any more.
const LABELS: [(&str, &str); 8] = [
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
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

/// The warning about a deprecated label of Nodes.
pub(crate) fn deprecated_label(key: &str) -> Option<&'static str> {
    LABELS.iter().find(|(old, _)| *old == key).map(|(_, why)| *why)
}

/// Warnings about a Pod or a template; `path` is empty for a Pod.
pub(super) fn all(holder: &Value, path: &str, warnings: &mut Vec<String>) {
    let root = if path.is_empty() { String::new() } else { format!("{path}.") };
    annotations(holder, &format!("{root}metadata.annotations"), !path.is_empty(), warnings);
    if let Some(spec) = holder.get("spec") {
        of_spec(spec, &format!("{root}spec"), warnings);
    }
}

fn annotations(holder: &Value, path: &str, is_template: bool, warnings: &mut Vec<String>) {
    const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";
    let all = holder.at(&["metadata", "annotations"]).and_then(Value::as_object);
    let spec = holder.get("spec").unwrap_or(&Value::Null);
    let of_pod = |field: &str| spec.at(&["securityContext", field]).is_some();
    // A container of that name without the field that replaces the annotation.
    let is_alone = |name: &str, field: &str| {
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        let found = lists.iter().find_map(|list| search(items(spec, list), |one| text(one, "name") == name));
        found.is_some_and(|one| one.at(&["securityContext", field]).is_none())
    };
    for (key, written) in all.into_iter().flat_map(Map::iter) {
        let why = if key == "scheduler.alpha.kubernetes.io/critical-pod" {
            "non-functional in v1.16+; use the \"priorityClassName\" field instead"
        } else if key == "security.alpha.kubernetes.io/sysctls"
            || key == "security.alpha.kubernetes.io/unsafe-sysctls"
        {
            "non-functional in v1.11+; use the \"sysctls\" field instead"
        } else if key == "seccomp.security.alpha.kubernetes.io/pod" && !of_pod("seccompProfile")
            || key.strip_prefix(SECCOMP).is_some_and(|name| is_alone(name, "seccompProfile"))
        {
            "non-functional in v1.27+; use the \"seccompProfile\" field instead"
        } else if let Some(name) = key.strip_prefix(super::annotations::APP_ARMOR)
            && (if is_template {
                !of_pod("appArmorProfile") && is_alone(name, "appArmorProfile")
            } else {
                // The annotation has set the field of the Pod already.
                app_armor::is_from_annotation(spec, name, written.as_str().unwrap_or_default())
            })
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
        if let Some(claim) = volume.at(&["ephemeral", "volumeClaimTemplate", "spec"]) {
            let path = format!("{path}.volumes[{i}].ephemeral.volumeClaimTemplate.spec");
            persistent_volume::claim_warnings(claim, &path, warnings);
        }
    }
    overlapping_paths(items(spec, "volumes"), warnings);
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
        }
        if !secrets.insert(name) {
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
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = node.get(required).map(|all| items(all, "nodeSelectorTerms")).unwrap_or_default();
    for (i, term) in terms.iter().enumerate() {
        node_selector_term(term, false, &format!("{path}.{required}.nodeSelectorTerms[{i}]"), warnings);
    }
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for (i, term) in items(node, preferred).iter().enumerate() {
        if let Some(preference) = term.get("preference") {
            node_selector_term(preference, true, &format!("{path}.{preferred}[{i}].preference"), warnings);
        }
    }
}

/// Warnings about a term; values of preferred terms are no errors.
pub(crate) fn node_selector_term(term: &Value, of_values: bool, path: &str, warnings: &mut Vec<String>) {
    for (j, requirement) in items(term, "matchExpressions").iter().enumerate() {
        let (key, path) = (text(requirement, "key"), format!("{path}.matchExpressions[{j}]"));
        if let Some(why) = deprecated_label(key) {
            warnings.push(format!("{path}.key: {key} is {why}"));
        }
        for (k, value) in items(requirement, "values").iter().enumerate().filter(|_| of_values) {
            let value = value.as_str().unwrap_or_default();
            let wrong = pleach_meta::names::check_label_value(value).into_iter();
            warnings.extend(wrong.map(|why| format!("{path}.values[{k}]: {value} is invalid, {why}")));
        }
    }
}

/// Files of a volume in one another's place.
fn overlapping_paths(volumes: &[Value], warnings: &mut Vec<String>) {
    fn paths(source: &Value) -> Option<Vec<&str>> {
        let items = source.get("items")?.as_array()?;
        Some(items.iter().map(|item| text(item, "path")).collect())
    }
    for volume in volumes {
        let named =
            |what: String| format!("volume {} ({what}): overlapping paths", quote(text(volume, "name")));
        for (kind, what, name) in [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ] {
            let Some(source) = volume.get(kind) else { continue };
            let what =
                if name.is_empty() { what.into() } else { format!("{what} {}", quote(text(source, name))) };
            overlaps(&paths(source).unwrap_or_default(), &named(what), warnings);
        }
        let mut before: BTreeSet<&str> = BTreeSet::new();
        for source in volume.get("projected").map(|all| items(all, "sources")).unwrap_or_default() {
            if source.as_object().is_none_or(Map::is_empty) {
                let name = quote(text(volume, "name"));
                warnings.push(format!("volume {name} (Projected) has no sources provided"));
                continue;
            }
            let of = |kind: &str, what: &str| {
                let one = source.get(kind)?;
                let what = match what {
                    "DownwardAPI" => format!("Projected {what}"),
                    what => format!("Projected {what} {}", quote(text(one, "name"))),
                };
                Some((paths(one)?, what))
            };
            let token = || {
                let token = source.get("serviceAccountToken")?;
                Some((vec![text(token, "path")], "Projected ServiceAccountToken".to_owned()))
            };
            let found = of("configMap", "ConfigMap").or_else(|| of("secret", "Secret"));
            let found = found.or_else(|| of("downwardAPI", "DownwardAPI")).or_else(token);
            let Some((paths, what)) = found else { continue };
            overlaps(&paths, &named(what.clone()), warnings);
            let own: BTreeSet<&str> = paths.into_iter().collect();
            let mut all: Vec<&str> = own.iter().chain(&before).copied().collect();
            all.sort_unstable();
            overlaps(&all, &named(what), warnings);
            before.extend(own);
        }
    }
}

fn overlaps(paths: &[&str], what: &str, warnings: &mut Vec<String>) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for path in paths.iter().map(|path| path.trim_end_matches('/')) {
        let is_below =
            |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
        pleach_work::charge(seen.len() as u64);
        let other = seen.iter().find(|other| {
            !path.is_empty()
                && !other.is_empty()
                && (**other == path || is_below(other, path) || is_below(path, other))
        });
        if let Some(other) = other {
            warnings.push(format!("{what}: {} with {}", quote(path), quote(other)));
        }
        seen.insert(path);
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
        let (value, own) = (text(variable, "value"), format!("$({name})"));
        if !seen.insert(name) && (!value.contains(&own) || value == own) {
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
                if !text(port, "hostIP").is_empty() && int_at(port, &["hostPort"]) == 0 {
                    warnings.push(format!(
                        "{at}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{}}}",
                        text(port, "name"),
                        int_at(port, &["containerPort"]),
                        text(port, "protocol"),
                        text(port, "hostIP")
                    ));
                }
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

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn volumes_and_ports() {
        let spec = json!({
            "containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "UDP", "hostIP": "10.0.0.1"}]}],
            "volumes": [
                {"name": "a", "configMap": {"name": "c", "items": [{"key": "k", "path": "a/b"}, {"key": "l", "path": "a/"}]}},
                {"name": "p", "projected": {"sources": [
                    {}, {"secret": {"name": "s", "items": [{"key": "k", "path": "t"}]}}, {"serviceAccountToken": {"path": "t"}},
                ]}},
            ],
        });
        let mut warnings = Vec::new();
        of_spec(&spec, "spec", &mut warnings);
        assert_eq!(
            warnings,
            [
                "volume \"a\" (ConfigMap \"c\"): overlapping paths: \"a\" with \"a/b\"",
                "volume \"p\" (Projected) has no sources provided",
                "volume \"p\" (Projected ServiceAccountToken): overlapping paths: \"t\" with \"t\"",
                "spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:UDP HostIP:10.0.0.1}",
            ]
        );
    }
}
