//! Resources of Pods: sums over containers, and the quality of service that follows.

use std::collections::BTreeMap;

use pleach_go::quantity::Quantity;
use pleach_json::{Map, Str, Value};

use crate::kinds::fields::{items, text};

/// Resources by name.
pub type ResourceList = BTreeMap<Str, Quantity>;

/// The steps of reading a quantity.
const PARSED: u64 = 10;
/// The steps of looking at a container.
pub(crate) const CONTAINER: u64 = 10;

/// A list of resources, zeros included.
pub(crate) fn list(value: Option<&Value>) -> ResourceList {
    let entries = value.and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let parsed = entries.filter_map(|(name, value)| {
        pleach_work::charge(PARSED);
        Some((name.clone(), Quantity::parse(value.as_str()?).ok()?))
    });
    parsed.collect()
}

fn add(to: &mut ResourceList, more: &ResourceList) {
    for (name, quantity) in more {
        to.entry(name.clone()).and_modify(|sum| *sum = sum.plus(*quantity)).or_insert(*quantity);
    }
}

fn raise(to: &mut ResourceList, name: &Str, quantity: Quantity) {
    to.entry(name.clone()).and_modify(|most| *most = (*most).max(quantity)).or_insert(quantity);
}

/// The sum of the resources of a pod spec's containers; `which` is `requests` or `limits`.
pub(crate) fn of_containers(spec: &Value, which: &str) -> ResourceList {
    let of = |container: &Value| list(container.at(&["resources", which]));
    let mut sum = ResourceList::new();
    for container in items(spec, "containers") {
        pleach_work::charge(CONTAINER);
        add(&mut sum, &of(container));
    }
    // Init containers run one after the other, sidecars beside all that come after them.
    let (mut sidecars, mut most) = (ResourceList::new(), ResourceList::new());
    for container in items(spec, "initContainers") {
        pleach_work::charge(CONTAINER);
        let own = of(container);
        let is_sidecar = text(container, "restartPolicy") == "Always";
        if is_sidecar {
            add(&mut sum, &own);
            add(&mut sidecars, &own);
        }
        // What the sidecars take of other resources was counted when it became more.
        for (name, quantity) in &own {
            let beside = sidecars.get(name).copied();
            let together = match beside {
                Some(beside) if is_sidecar => beside,
                Some(beside) => beside.plus(*quantity),
                None => *quantity,
            };
            raise(&mut most, name, together);
        }
    }
    for (name, quantity) in most {
        raise(&mut sum, &name, quantity);
    }
    sum
}

/// The sum of the requests of containers.
pub(crate) fn container_requests(spec: &Value) -> ResourceList {
    of_containers(spec, "requests")
}

/// The resources of a Pod: of its containers, its own resources in their place, and its overhead.
pub fn of_pod(spec: &Value, which: &str) -> ResourceList {
    let mut sum = of_containers(spec, which);
    for (name, quantity) in list(spec.at(&["resources", which])) {
        sum.insert(name, quantity);
    }
    let overhead = list(spec.get("overhead"));
    for (name, quantity) in &overhead {
        match sum.get_mut(name) {
            Some(sum) => *sum = sum.plus(*quantity),
            None if which == "requests" => drop(sum.insert(name.clone(), *quantity)),
            None => {}
        }
    }
    sum
}

/// The quality of service class.
pub(crate) fn qos_class(spec: &Value) -> &'static str {
    let is_compute = |name: &Str| name == "cpu" || name == "memory";
    let counted = |value: Option<&Value>| -> ResourceList {
        list(value).into_iter().filter(|(name, quantity)| is_compute(name) && quantity.sign() > 0).collect()
    };
    let own = spec.get("resources").filter(|own| own.as_object().is_some_and(|own| !own.is_empty()));
    pleach_work::charge(
        CONTAINER * (items(spec, "containers").len() + items(spec, "initContainers").len()) as u64,
    );
    let holders: Vec<(ResourceList, ResourceList)> = match own {
        Some(own) => vec![(counted(own.get("requests")), counted(own.get("limits")))],
        None => items(spec, "containers")
            .iter()
            .chain(items(spec, "initContainers"))
            .map(|c| (counted(c.at(&["resources", "requests"])), counted(c.at(&["resources", "limits"]))))
            .collect(),
    };
    if holders.iter().all(|(requests, limits)| requests.is_empty() && limits.is_empty()) {
        return "BestEffort";
    }
    let guaranteed = holders.iter().all(|(requests, limits)| limits.len() == 2 && requests == limits);
    if guaranteed { "Guaranteed" } else { "Burstable" }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn classes() {
        let spec = |requests: Value, limits: Value| json!({"containers": [{"resources": {"requests": (requests), "limits": (limits)}}]});
        for (requests, limits, want) in [
            (json!({}), json!({}), "BestEffort"),
            (json!({"cpu": "1"}), json!({}), "Burstable"),
            (json!({"cpu": "1", "memory": "1Gi"}), json!({"cpu": "1000m", "memory": "1Gi"}), "Guaranteed"),
        ] {
            assert_eq!(qos_class(&spec(requests, limits)), want);
        }
    }

    #[test]
    fn sidecars_run_beside_the_containers_after_them() {
        let of = |name: &str, cpu: &str, more: &str, policy: &str| {
            let mut requests = Map::new();
            requests.insert("cpu", cpu);
            if !more.is_empty() {
                requests.insert(more, "1");
            }
            let mut container = Map::new();
            container.insert("name", name);
            container.insert("resources", json!({"requests": requests}));
            if !policy.is_empty() {
                container.insert("restartPolicy", policy);
            }
            Value::from(container)
        };
        let init = vec![
            of("a", "5", "x/a", ""),
            of("b", "1", "x/b", "Always"),
            of("c", "5", "x/b", ""),
            of("d", "2", "", "Always"),
        ];
        let spec = json!({"containers": (vec![of("m", "1", "x/a", "")]), "initContainers": init});
        let sum = of_containers(&spec, "requests");
        let sum: Vec<String> = sum.iter().map(|(name, sum)| format!("{name}={}", sum.canonical())).collect();
        assert_eq!(sum, ["cpu=6", "x/a=1", "x/b=2"]);
    }

    #[test]
    fn many_sidecars_take_linear_work() {
        let steps = |n: usize| {
            let sidecar = |i: usize| {
                let name = format!("x/r{i}");
                let mut requests = Map::new();
                requests.insert(name.as_str(), "1");
                json!({"restartPolicy": "Always", "resources": {"requests": requests}})
            };
            let spec = json!({"initContainers": ((0..n).map(sidecar).collect::<Vec<_>>())});
            let (sum, steps) = pleach_work::measure(|| of_containers(&spec, "requests"));
            assert_eq!(sum.len(), n);
            steps
        };
        let (few, many) = (steps(1_000), steps(10_000));
        assert!(many <= 12 * few, "{few} {many}");
    }

    #[test]
    fn sums() {
        let spec = json!({
            "containers": [{"resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "500m"}}}],
            "initContainers": [{"resources": {"requests": {"cpu": "2"}}}],
            "overhead": {"cpu": "100m"},
        });
        assert_eq!(of_pod(&spec, "requests")["cpu"].canonical(), "2100m");
    }
}
