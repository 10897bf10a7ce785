//! Quota evaluators: what an object takes from a ResourceQuota, and whether that is left.

use std::collections::{BTreeMap, BTreeSet};

use pleach_go::quantity::Quantity;
use pleach_json::{Map, Str, Value};
use pleach_meta::selector::label::LabelSelector;

use crate::kinds::fields::{bool_at, items, member, text, text_at};
use crate::kinds::pod::resources::{self, ResourceList};
use crate::strategy::Role;

/// Resources that Pods take and quotas know.
const POD_RESOURCES: [&str; 11] = [
    "count/pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];

/// Resources that every container must request or limit if a quota names them.
const REQUIRED: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

/// A kind as quotas see it.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'a> {
    /// Which evaluator.
    pub role: Role,
    /// The API group.
    pub group: &'a str,
    /// The resource.
    pub plural: &'a str,
}

impl Counted<'_> {
    /// The name of its count.
    fn count(&self) -> String {
        if self.group.is_empty() {
            format!("count/{}", self.plural)
        } else {
            format!("count/{}.{}", self.plural, self.group)
        }
    }

    /// The names under which objects are counted.
    fn counts(&self) -> Vec<String> {
        let mut names = vec![self.count()];
        let short = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];
        if self.group.is_empty() && short.contains(&self.plural) {
            names.push(self.plural.to_owned());
        }
        names
    }

    /// `MatchingResources`: which of a quota's resources objects of the kind take.
    fn takes(&self, name: &str) -> bool {
        match self.role {
            Role::Pod => {
                POD_RESOURCES.contains(&name)
                    || name.starts_with("hugepages-")
                    || name.starts_with("requests.hugepages-")
                    || name.strip_prefix("requests.").is_some_and(|rest| {
                        rest.contains('/')
                            && !rest.split('/').next().unwrap_or_default().ends_with("kubernetes.io")
                    })
            }
            Role::Service => {
                ["count/services", "services", "services.nodeports", "services.loadbalancers"].contains(&name)
            }
            Role::Claim => {
                ["count/persistentvolumeclaims", "persistentvolumeclaims", "requests.storage"].contains(&name)
                    || name.contains(".storageclass.storage.k8s.io/")
            }
            _ => self.counts().iter().any(|count| count == name),
        }
    }

    /// The resources that an object uses.
    pub fn usage(&self, object: &Value) -> ResourceList {
        let one = Quantity::from_int(1);
        let mut usage = ResourceList::new();
        let mut add = |name: String, quantity: Quantity| {
            usage.insert(Str::from(name), quantity);
        };
        match self.role {
            Role::Pod => {
                add(self.count(), one);
                if !matches!(text_at(object, &["status", "phase"]), "Succeeded" | "Failed") {
                    let spec = object.get("spec").cloned().unwrap_or_default();
                    let (requests, limits) =
                        (resources::of_pod(&spec, "requests"), resources::of_pod(&spec, "limits"));
                    usage.extend(compute(&requests, &limits));
                }
            }
            Role::Service => {
                let spec = object.get("spec").cloned().unwrap_or_default();
                let ports = items(&spec, "ports");
                let count = |n: usize| Quantity::from_int(i64::try_from(n).unwrap_or(i64::MAX));
                let kind = text(&spec, "type");
                let allocates = spec.get("allocateLoadBalancerNodePorts").is_none()
                    || bool_at(&spec, &["allocateLoadBalancerNodePorts"]);
                let node_ports = match kind {
                    "NodePort" => ports.len(),
                    "LoadBalancer" if allocates => ports.len(),
                    "LoadBalancer" => ports.iter().filter(|port| port.get("nodePort").is_some()).count(),
                    _ => 0,
                };
                add(self.count(), one);
                add("services".into(), one);
                add("services.nodeports".into(), count(node_ports));
                add("services.loadbalancers".into(), count(usize::from(kind == "LoadBalancer")));
            }
            Role::Claim => {
                add(self.count(), one);
                add("persistentvolumeclaims".into(), one);
                let class = text_at(object, &["spec", "storageClassName"]);
                let of_class = |what: &str| format!("{class}.storageclass.storage.k8s.io/{what}");
                if !class.is_empty() {
                    add(of_class("persistentvolumeclaims"), one);
                }
                let storage =
                    object.at(&["spec", "resources", "requests", "storage"]).and_then(Value::as_str);
                if let Some(storage) = storage.and_then(|text| Quantity::parse(text).ok()) {
                    add("requests.storage".into(), storage);
                    if !class.is_empty() {
                        add(of_class("requests.storage"), storage);
                    }
                }
            }
            _ => self.counts().into_iter().for_each(|name| add(name, one)),
        }
        usage
    }

    /// Whether a quota is about an object.
    fn matches(&self, quota: &Value, object: &Value) -> bool {
        let hard = resources::list(quota.at(&["status", "hard"]));
        if !hard.keys().any(|name| self.takes(name)) {
            return false;
        }
        scopes(quota).iter().all(|scope| self.role == Role::Pod && matches_scope(scope, object))
    }
}

/// Scopes and scope selectors.
fn scopes(quota: &Value) -> Vec<Value> {
    let spec = quota.get("spec").cloned().unwrap_or_default();
    let mut all: Vec<Value> = items(&spec, "scopes")
        .iter()
        .map(|scope| pleach_json::json!({"scopeName": (scope.clone()), "operator": "Exists"}))
        .collect();
    all.extend(
        spec.get("scopeSelector")
            .map(|selector| items(selector, "matchExpressions").to_vec())
            .unwrap_or_default(),
    );
    all
}

/// The steps of looking at a scope.
const SCOPE: u64 = 100;
/// The steps of looking at a term of an affinity, or at a value of a scope.
const TERM: u64 = 10;

fn matches_scope(scope: &Value, pod: &Value) -> bool {
    pleach_work::charge(SCOPE);
    let spec = pod.get("spec").cloned().unwrap_or_default();
    let terminating =
        spec.get("activeDeadlineSeconds").and_then(Value::as_int).is_some_and(|seconds| seconds >= 0);
    match text(scope, "scopeName") {
        "Terminating" => terminating,
        "NotTerminating" => !terminating,
        "BestEffort" => resources::qos_class(&spec) == "BestEffort",
        "NotBestEffort" => resources::qos_class(&spec) != "BestEffort",
        "PriorityClass" => {
            let class = text(&spec, "priorityClassName");
            if text(scope, "operator") == "Exists" {
                return !class.is_empty();
            }
            let selector = pleach_json::json!({"matchExpressions": [{
                "key": "PriorityClass", "operator": (text(scope, "operator")),
                "values": (scope.get("values").cloned().unwrap_or_default()),
            }]});
            pleach_work::charge(TERM * items(scope, "values").len() as u64);
            let mut labels = Map::new();
            if !class.is_empty() {
                labels.insert("PriorityClass", class);
            }
            LabelSelector::from_object(Some(&selector)).is_ok_and(|selector| selector.matches(Some(&labels)))
        }
        "CrossNamespacePodAffinity" => ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
            let terms = spec.at(&["affinity", kind]).cloned().unwrap_or_default();
            let crosses = |term: &Value| {
                pleach_work::charge(TERM);
                !items(term, "namespaces").is_empty() || term.get("namespaceSelector").is_some()
            };
            items(&terms, "requiredDuringSchedulingIgnoredDuringExecution").iter().any(crosses)
                || items(&terms, "preferredDuringSchedulingIgnoredDuringExecution")
                    .iter()
                    .any(|weighted| weighted.get("podAffinityTerm").is_some_and(crosses))
        }),
        _ => false,
    }
}

/// `podComputeUsageHelper`
fn compute(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut usage = ResourceList::new();
    usage.insert("pods".into(), Quantity::from_int(1));
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(request) = requests.get(name) {
            usage.insert(name.into(), *request);
            usage.insert(format!("requests.{name}").into(), *request);
        }
        if let Some(limit) = limits.get(name) {
            usage.insert(format!("limits.{name}").into(), *limit);
        }
    }
    for (name, request) in requests {
        if name.starts_with("hugepages-") {
            usage.insert(name.clone(), *request);
        }
        if name.starts_with("hugepages-") || name.contains('/') {
            usage.insert(format!("requests.{name}").into(), *request);
        }
    }
    usage
}

/// `Constraints`: the error about containers without requests or limits for resources that a quota limits.
fn missing(limited: &BTreeSet<Str>, pod: &Value) -> Option<String> {
    let spec = pod.get("spec")?;
    if spec.get("resources").and_then(Value::as_object).is_some_and(|own| !own.is_empty()) {
        return None;
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in items(spec, "containers").iter().chain(items(spec, "initContainers")) {
        pleach_work::charge(resources::CONTAINER);
        let of = |which: &str| resources::list(container.at(&["resources", which]));
        let usage = compute(&of("requests"), &of("limits"));
        for name in REQUIRED.iter().filter(|name| limited.contains(**name) && !usage.contains_key(**name)) {
            missing.entry(name).or_default().insert(text(container, "name"));
        }
    }
    let parts = missing.iter().map(|(name, containers)| {
        format!("{name} for: {}", containers.iter().copied().collect::<Vec<_>>().join(","))
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("must specify {}", parts.join("; ")))
}

/// `CheckRequest` for one quota: the resources that are used after the write, or why it is refused. None if the quota is
/// not concerned.
pub fn charge(
    counted: Counted<'_>,
    quota: &Value,
    object: &Value,
    old: Option<&Value>,
) -> Result<Option<Value>, String> {
    if !counted.matches(quota, object) {
        return Ok(None);
    }
    let name = text_at(quota, &["metadata", "name"]);
    let hard = resources::list(quota.at(&["status", "hard"]));
    let used = resources::list(quota.at(&["status", "used"]));
    let limited: BTreeSet<Str> = hard.keys().filter(|name| counted.takes(name)).cloned().collect();
    if counted.role == Role::Pod
        && let Some(why) = missing(&limited, object)
    {
        return Err(format!("failed quota: {name}: {why}"));
    }
    if limited.iter().any(|name| !used.contains_key(name)) {
        let names: Vec<&str> = limited.iter().map(Str::as_str).collect();
        return Err(format!("status unknown for quota: {name}, resources: {}", names.join(",")));
    }
    let mut delta = counted.usage(object);
    let negative: Vec<&str> =
        delta.iter().filter(|(_, q)| q.sign() < 0).map(|(name, _)| name.as_str()).collect();
    if !negative.is_empty() {
        return Err(format!("quota usage is negative for resource(s): {}", negative.join(",")));
    }
    if let Some(old) = old.filter(|old| counted.matches(quota, old)) {
        let before = counted.usage(old);
        for (name, quantity) in &mut delta {
            if let Some(before) = before.get(name) {
                *quantity = if quantity.minus(*before).sign() < 0 {
                    Quantity::from_int(0)
                } else {
                    quantity.minus(*before)
                };
            }
        }
    }
    delta.retain(|name, quantity| !quantity.is_zero() && hard.contains_key(name));
    if delta.is_empty() {
        return Ok(None);
    }
    let after = |name: &Str, more: Quantity| used.get(name).map_or(more, |used| used.plus(more));
    let exceeded: Vec<&Str> =
        delta.iter().filter(|(name, more)| after(name, **more) > hard[*name]).map(|(name, _)| name).collect();
    if !exceeded.is_empty() {
        let shown = |list: &ResourceList| {
            let some =
                exceeded.iter().filter_map(|name| Some(format!("{name}={}", list.get(*name)?.canonical())));
            some.collect::<Vec<_>>().join(",")
        };
        return Err(format!(
            "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
            shown(&delta),
            shown(&used),
            shown(&hard)
        ));
    }
    let mut status = quota.get("status").cloned().unwrap_or_default();
    let written = member(&mut status, "used");
    for (name, more) in &delta {
        written.insert(name.clone(), after(name, *more).canonical());
    }
    Ok(Some(status))
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    const PODS: Counted<'_> = Counted { role: Role::Pod, group: "", plural: "pods" };

    fn quota(hard: Value, used: Value) -> Value {
        json!({"metadata": {"name": "q"}, "spec": {}, "status": {"hard": (hard), "used": (used)}})
    }

    #[test]
    fn scopes_of_a_quota_are_charged_by_what_they_look_at() {
        let steps = |scopes: usize, containers: usize| {
            let mut quota = quota(json!({"pods": "2"}), json!({"pods": "1"}));
            let spec = member(&mut quota, "spec");
            spec.insert("scopes", vec![Value::from("BestEffort"); scopes]);
            let pod = json!({"spec": {"containers": (vec![json!({}); containers])}});
            pleach_work::measure(|| charge(PODS, &quota, &pod, None)).1
        };
        let (few, many) = (steps(10, 100), steps(1_000, 1_000));
        assert!(many >= 500 * few, "{few} {many}");
        assert!(many >= 1_000 * 1_000 * resources::CONTAINER, "{many}");
    }

    #[test]
    fn pods_are_charged() {
        let pod =
            json!({"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "500m"}}}]}});
        for (hard, used, want) in [
            (json!({"pods": "2"}), json!({"pods": "1"}), Ok(Some(json!({"pods": "2"})))),
            (
                json!({"pods": "1"}),
                json!({"pods": "1"}),
                Err("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"),
            ),
            (
                json!({"requests.cpu": "1"}),
                json!({"requests.cpu": "0"}),
                Ok(Some(json!({"requests.cpu": "500m"}))),
            ),
            (
                json!({"limits.cpu": "1"}),
                json!({"limits.cpu": "0"}),
                Err("failed quota: q: must specify limits.cpu for: a"),
            ),
            (json!({"pods": "1"}), json!({}), Err("status unknown for quota: q, resources: pods")),
            (json!({"services": "1"}), json!({"services": "0"}), Ok(None)),
        ] {
            let found = charge(PODS, &quota(hard, used), &pod, None);
            let found = found.map(|status| status.map(|status| status.get("used").cloned().unwrap()));
            assert_eq!(found, want.map_err(str::to_owned));
        }
    }
}
