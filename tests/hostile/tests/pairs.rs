//! Two long lists in one object: they take the work of each alone, and not the product of their lengths.
//!
//! All pairs of lists and maps that are beside each other in the built-in kinds are filled with the same items. Pairs whose
//! items are compared one by one are named here: their comparisons are charged, so that the steps of a request end them.
//! Each item may be an error because of the other list, so a pair may take more than both alone, if it grows with their
//! length.
//! Objects that others look at, such as LimitRanges, are charged for the product.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "hostile/filled.rs"]
mod filled;
#[path = "hostile/places.rs"]
mod places;

use pleach_json::{Map, Value, json};
use pleach_pipeline::kind::Kind;
use pleach_pipeline::kinds::{limit_range, pod, quota};
use pleach_pipeline::strategy::Role;
use pleach_pipeline::types::TypeExpr;
use pleach_work::measure;

use filled::{filled, item};
use places::{Place, places, written};

/// How long the lists are, in bytes.
const LENGTH: usize = 8 * 1024;
/// How many times shorter ones are, to see how work grows.
const TIMES: usize = 4;
/// Pairs whose items are compared one by one, and charged. The list may only get shorter.
const COMPARED: &[&str] = &[
    "Pod.spec.initContainers[].volumeMounts and .spec.initContainers[].volumeDevices",
    "Pod.spec.ephemeralContainers[].volumeMounts and .spec.ephemeralContainers[].volumeDevices",
];

#[test]
fn two_lists_take_the_work_of_each() {
    let is_list = |ty: &TypeExpr| matches!(ty, TypeExpr::List(_) | TypeExpr::Map(_));
    let all = places(is_list);
    let list = |place: &Place, length: usize| {
        let (TypeExpr::List(of) | TypeExpr::Map(of)) = place.ty else { unreachable!("a list") };
        filled(place.ty, length, |n| item(of, Some(n)))
    };
    let steps = |kind: &Kind, version: usize, object: &Value| {
        let body = pleach_json::to_vec(object);
        measure(|| written(kind, version, &body)).1
    };
    let alone: Vec<u64> = all
        .iter()
        .map(|(kind, version, place)| steps(kind, *version, &place.with(kind, *version, list(place, LENGTH))))
        .collect();
    let mut wrong = Vec::new();
    for (i, (kind, version, place)) in all.iter().enumerate() {
        let others = all.iter().enumerate().skip(i + 1);
        let same = others.take_while(|(_, (other, at, _))| is_same(kind, other) && at == version);
        for (j, (.., other)) in same.filter(|(_, (.., other))| place.is_beside(other)) {
            let both = |length: usize| {
                let lists = [place, other].map(|place| list(place, length));
                steps(kind, *version, &place.with_both(other, kind, *version, lists))
            };
            let (many, each) = (both(LENGTH), alone[i] + alone[j]);
            let name = format!("{}{} and {}", kind.kind, place.name(), other.name());
            if many <= each + each / 2 || COMPARED.contains(&name.as_str()) {
                continue;
            }
            let few = both(LENGTH / TIMES);
            if many > (TIMES as u64 + 1) * few {
                wrong.push(format!(
                    "{name}: {} and {} steps alone, {few} to {many} together",
                    alone[i], alone[j]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn is_same(a: &Kind, b: &Kind) -> bool {
    a.group == b.group && a.kind == b.kind
}

/// A Pod with so many containers, each with a resource of its own.
fn pod_of(containers: usize, list: &str) -> Value {
    let container = |n: usize| {
        let requests: Map = [(format!("x/r{n}").into(), Value::from("1"))].into_iter().collect();
        json!({"name": (format!("a{n}").as_str()), "restartPolicy": "Always", "resources": {"requests": requests}})
    };
    let containers: Vec<Value> = (0..containers).map(container).collect();
    let spec: Map = [(list.into(), containers.into())].into_iter().collect();
    json!({"spec": spec})
}

#[test]
fn sidecars_take_linear_work() {
    let steps = |n: usize| {
        let pod = pod_of(n, "initContainers");
        measure(|| pod::resources::of_pod(pod.get("spec").unwrap(), "requests")).1
    };
    let (few, many) = (steps(500), steps(500 * TIMES));
    assert!(few >= 500 && many <= (TIMES as u64 + 1) * few, "{few} and {many} steps");
}

#[test]
fn bounds_of_a_limit_range_are_charged_for_every_container() {
    let steps = |n: usize| {
        let max: Map = (0..n).map(|n| (format!("x/r{n}").into(), Value::from("1"))).collect();
        let range = json!({"spec": {"limits": [{"type": "Container", "max": max}]}});
        let pod = pod_of(n, "containers");
        measure(|| limit_range::check_pod(&range, &pod)).1
    };
    let steps = steps(300);
    assert!(steps >= 300 * 300 * 10, "{steps} steps");
}

#[test]
fn scopes_of_a_quota_are_charged_for_every_container() {
    let scopes = vec![Value::from("BestEffort"); 300];
    let quota = json!({"metadata": {"name": "q"}, "spec": {"scopes": scopes},
        "status": {"hard": {"pods": "9"}, "used": {"pods": "0"}}});
    let pod = pod_of(300, "containers");
    let counted = quota::usage::Counted { role: Role::Pod, group: "", plural: "pods" };
    let (charged, steps) = measure(|| quota::usage::charge(counted, &quota, &pod, None));
    assert!(charged.is_ok() && steps >= 300 * 300 * 10, "{charged:?} in {steps} steps");
}
