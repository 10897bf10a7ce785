//! LimitRanges.

use std::collections::{BTreeSet, HashSet};

use pleach_go::quantity::Quantity;
use pleach_json::{Map, Str, Value};
use pleach_meta::FieldError;
use pleach_meta::names::check_qualified_name;

use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{each_mut, items, member, submember, text};
use crate::kinds::pod::resources;
use crate::kinds::pod::validate::resources::{container_resource_name, overcommits, resource_name};
use crate::strategy::Effect;

/// The rules of LimitRanges.
#[derive(Debug)]
pub struct LimitRange;

impl Rules for LimitRange {
    fn after_commit(&self) -> Effect {
        Effect::LimitsChanged
    }

    fn prepare_for_create(&self, object: &mut Value) {
        // One without a name gets a UUID for it.
        let metadata = member(object, "metadata");
        if metadata.get_str("name").is_none_or(str::is_empty)
            && let Some(uid) = metadata.get("uid").cloned()
        {
            metadata.insert("name", uid);
        }
    }

    fn validate(&self, object: &Value, _: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let mut seen: HashSet<&str> = HashSet::new();
        for (i, limit) in limits_of(object).enumerate() {
            let path = format!("spec.limits[{i}]");
            let kind = text(limit, "type");
            type_name(kind, &format!("{path}.type"), &mut errors);
            if !seen.insert(kind) {
                errors.push(FieldError::duplicate(format!("{path}.type"), kind));
            }
            bounds(limit, kind, &path, &mut errors);
        }
        errors
    }

    fn default(&self, object: &mut Value) {
        each_mut(member(object, "spec"), "limits", |limit| {
            if limit.get_str("type") != Some("Container") {
                return;
            }
            for (target, sources) in [("default", &["max"][..]), ("defaultRequest", &["default", "min"])] {
                for source in sources {
                    let Some(Value::Object(source)) = limit.get(source).cloned() else { continue };
                    fill(submember(limit, target), &source);
                }
            }
            for key in ["default", "defaultRequest"] {
                if limit.get(key).and_then(Value::as_object).is_some_and(Map::is_empty) {
                    limit.remove(key);
                }
            }
        });
    }
}

fn type_name(kind: &str, path: &str, errors: &mut Errors) {
    let wrong = check_qualified_name(kind);
    if wrong.is_empty()
        && !kind.contains('/')
        && !["Pod", "Container", "PersistentVolumeClaim"].contains(&kind)
    {
        errors.push(FieldError::invalid(path, kind, "must be a standard limit type or fully qualified"));
    }
    errors.extend(wrong.into_iter().map(|why| FieldError::invalid(path, kind, why)));
}

/// The bounds of one limit and their order.
fn bounds(limit: &Value, kind: &str, path: &str, errors: &mut Errors) {
    let of_pods = matches!(kind, "Pod" | "Container");
    let mut names: BTreeSet<Str> = BTreeSet::new();
    for field in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        let list = limit.get(field).and_then(Value::as_object);
        if kind == "Pod" && field.starts_with("default") {
            if list.is_some_and(|list| !list.is_empty()) {
                let why = "may not be specified when `type` is 'Pod'";
                errors.push(FieldError::forbidden(format!("{path}.{field}"), why));
            }
            continue;
        }
        if field == "maxLimitRequestRatio"
            && kind == "PersistentVolumeClaim"
            && limit.at(&["min", "storage"]).or_else(|| limit.at(&["max", "storage"])).is_none()
        {
            errors.push(FieldError::required(
                format!("{path}.limits"),
                "either minimum or maximum storage value is required, but neither was provided",
            ));
        }
        for (name, _) in list.into_iter().flat_map(Map::iter) {
            let path = format!("{path}.{field}[{name}]");
            if of_pods {
                container_resource_name(name, &path, errors);
            } else {
                resource_name(name, &path, errors);
            }
            names.insert(name.clone());
        }
    }
    for name in names {
        let get = |field: &str| {
            let value =
                limit.at(&[field, &name]).filter(|_| kind != "Pod" || !field.starts_with("default"))?;
            Some((value.as_str()?.to_owned(), checks::quantity(value)?))
        };
        let (min, max) = (get("min"), get("max"));
        let (default, request) = (get("default"), get("defaultRequest"));
        let ratio = get("maxLimitRequestRatio");
        let mut above = |a: &Option<Bound>,
                         b: &Option<Bound>,
                         words: (&str, &str),
                         field: &str,
                         shown: &Option<Bound>| {
            if let (Some(a), Some(b), Some(shown)) = (a, b, shown)
                && a.1 > b.1
            {
                let why = format!("{} value {} is greater than {} value {}", words.0, a.0, words.1, b.0);
                errors.push(FieldError::invalid(format!("{path}.{field}[{name}]"), shown.0.as_str(), why));
            }
        };
        above(&min, &max, ("min", "max"), "min", &min);
        above(&min, &request, ("min", "default request"), "defaultRequest", &request);
        above(&request, &max, ("default request", "max"), "defaultRequest", &request);
        above(&request, &default, ("default request", "default limit"), "defaultRequest", &request);
        above(&min, &default, ("min", "default"), "default", &min);
        above(&default, &max, ("default", "max"), "default", &max);
        if let Some((written, ratio)) = ratio {
            let path = format!("{path}.maxLimitRequestRatio[{name}]");
            if ratio < Quantity::from_int(1) {
                errors.push(FieldError::invalid(
                    &path,
                    written.as_str(),
                    format!("ratio {written} is less than 1"),
                ));
            }
            if let (Some(min), Some(max)) = (&min, &max) {
                #[expect(clippy::cast_precision_loss, reason = "a ratio")]
                let most = max.1.milli_value() as f64 / min.1.milli_value() as f64;
                #[expect(clippy::cast_precision_loss, reason = "a ratio")]
                let asked = ratio.milli_value() as f64 / 1000.0;
                if asked > most {
                    let why = format!("ratio {written} is greater than max/min = {most:.6}");
                    errors.push(FieldError::invalid(&path, written.as_str(), why));
                }
            }
        }
        if !overcommits(&name)
            && let (Some(default), Some(request)) = (&default, &request)
            && default.1 != request.1
        {
            errors.push(FieldError::invalid(
                format!("{path}.defaultRequest[{name}]"),
                request.0.as_str(),
                format!(
                    "default value {} must equal to defaultRequest value {} in {name}",
                    default.0, request.0
                ),
            ));
        }
    }
}

/// A quantity as it was written and as a number.
type Bound = (String, Quantity);

/// The group.
pub const GROUP: &str = "";
/// The resource.
pub const PLURAL: &str = "limitranges";
/// The annotation that lists the defaults that were set.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Sets default requests and limits in the containers of a Pod. Returns whether any was missing.
pub fn fill_pod(range: &Value, pod: &mut Value) -> bool {
    let (mut requests, mut limits) = (Map::new(), Map::new());
    for limit in limits_of(range).filter(|limit| text(limit, "type") == "Container") {
        for (to, key) in [(&mut requests, "defaultRequest"), (&mut limits, "default")] {
            let given = limit.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter);
            given.for_each(|(name, value)| drop(to.insert(name.clone(), value.clone())));
        }
    }
    let mut done = Vec::new();
    for (list, what) in [("containers", "container"), ("initContainers", "init container")] {
        let Some(Value::Array(containers)) = member(pod, "spec").get_mut(list) else { continue };
        for container in containers.iter_mut().filter_map(Value::as_object_mut) {
            let name = container.get_str("name").unwrap_or_default().to_owned();
            for (key, word, defaults) in [("requests", "request", &requests), ("limits", "limit", &limits)] {
                let resources = submember(container, "resources");
                let given = resources.get(key).and_then(Value::as_object);
                let missing: Vec<_> = defaults
                    .iter()
                    .filter(|(name, _)| given.is_none_or(|given| !given.contains_key(name)))
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect();
                if missing.is_empty() {
                    continue;
                }
                let names: Vec<&str> = missing.iter().map(|(name, _)| name.as_str()).collect();
                let names = names.join(", ");
                // For each container, all of the defaults and their names.
                pleach_work::charge(100 * missing.len() as u64 + names.len() as u64);
                done.push(format!("{names} {word} for {what} {name}"));
                let target = submember(resources, key);
                missing.into_iter().for_each(|(name, value)| drop(target.insert(name, value)));
            }
        }
    }
    if done.is_empty() {
        return false;
    }
    let annotations = submember(member(pod, "metadata"), "annotations");
    annotations.insert(ANNOTATION, format!("LimitRanger plugin set: {}", done.join("; ")));
    true
}

fn limits_of(range: &Value) -> impl Iterator<Item = &Value> {
    range.get("spec").map(|spec| items(spec, "limits")).unwrap_or_default().iter()
}

/// The resources of a container, Pod or claim, as texts and as numbers.
struct Taken<'a> {
    requests: Option<&'a Value>,
    limits: Option<&'a Value>,
}

impl Taken<'_> {
    fn get(list: Option<&Value>, name: &str) -> Option<(String, Quantity)> {
        let written = list?.get(name)?.as_str()?;
        Some((written.to_owned(), Quantity::parse(written).ok()?))
    }

    fn request(&self, name: &str) -> Option<(String, Quantity)> {
        Self::get(self.requests, name)
    }

    fn limit(&self, name: &str) -> Option<(String, Quantity)> {
        Self::get(self.limits, name)
    }
}

/// The violations of a LimitRange by a Pod.
pub fn check_pod(range: &Value, pod: &Value) -> Option<String> {
    let mut errors = Violations::default();
    let spec = pod.get("spec")?;
    for limit in limits_of(range) {
        match text(limit, "type") {
            "Container" => {
                for container in items(spec, "containers").iter().chain(items(spec, "initContainers")) {
                    let taken = Taken {
                        requests: container.at(&["resources", "requests"]),
                        limits: container.at(&["resources", "limits"]),
                    };
                    check(limit, &taken, &mut errors);
                }
            }
            "Pod" => {
                let sum = |which: &str| -> Value {
                    let mut sum = resources::of_containers(spec, which);
                    sum.extend(resources::list(spec.at(&["resources", which])));
                    let sum = sum.into_iter().map(|(name, quantity)| (name, quantity.canonical().into()));
                    Value::Object(Map::from_sorted(sum.collect()))
                };
                let (requests, limits) = (sum("requests"), sum("limits"));
                check(limit, &Taken { requests: Some(&requests), limits: Some(&limits) }, &mut errors);
            }
            _ => {}
        }
    }
    errors.together()
}

/// The violations of a LimitRange by a claim.
pub fn check_claim(range: &Value, claim: &Value) -> Option<String> {
    let mut errors = Violations::default();
    let taken = Taken { requests: claim.at(&["spec", "resources", "requests"]), limits: None };
    for limit in limits_of(range).filter(|limit| text(limit, "type") == "PersistentVolumeClaim") {
        each(limit, "min", |name, written, bound| below(limit, &taken, (name, written, bound), &mut errors));
        each(limit, "max", |name, written, bound| {
            let what = || format!("maximum {name} usage per {} is {written}", text(limit, "type"));
            match taken.request(name) {
                None => errors.push(format!("{}.  No request is specified", what())),
                Some((request, quantity)) if quantity > bound => {
                    errors.push(format!("{}, but request is {request}", what()));
                }
                Some(_) => {}
            }
        });
    }
    errors.together()
}

/// The steps of comparing a resource of a container with a bound.
const COMPARED: u64 = 30;
/// The steps of a violation, by the memory that it takes.
const VIOLATION: u64 = 100;
/// The most text of violations: there are none after it.
const MOST_TEXT: usize = 1 << 20;

/// The violations by an object, each once. Containers without a request are all wrong in the same way.
#[derive(Default)]
struct Violations {
    list: Vec<String>,
    seen: HashSet<String>,
    length: usize,
}

impl Violations {
    fn push(&mut self, violation: String) {
        pleach_work::charge(VIOLATION + violation.len() as u64);
        if self.length < MOST_TEXT && !self.seen.contains(&violation) {
            self.length += violation.len();
            self.seen.insert(violation.clone());
            self.list.push(violation);
        }
    }

    fn together(self) -> Option<String> {
        match &self.list[..] {
            [] => None,
            [only] => Some(only.clone()),
            several => Some(format!("[{}]", several.join(", "))),
        }
    }
}

fn each(limit: &Value, key: &str, mut how: impl FnMut(&str, &str, Quantity)) {
    for (name, value) in limit.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter) {
        let written = value.as_str().unwrap_or_default();
        pleach_work::charge(COMPARED);
        if let Ok(quantity) = Quantity::parse(written) {
            how(name, written, quantity);
        }
    }
}

fn below(
    limit: &Value,
    taken: &Taken<'_>,
    (name, written, bound): (&str, &str, Quantity),
    errors: &mut Violations,
) {
    let what = || format!("minimum {name} usage per {} is {written}", text(limit, "type"));
    match (taken.request(name), taken.limit(name)) {
        (None, _) => errors.push(format!("{}.  No request is specified", what())),
        (Some((request, quantity)), _) if quantity < bound => {
            errors.push(format!("{}, but request is {request}", what()));
        }
        (_, Some((limit, quantity))) if quantity < bound => {
            errors.push(format!("{}, but limit is {limit}", what()));
        }
        _ => {}
    }
}

fn check(limit: &Value, taken: &Taken<'_>, errors: &mut Violations) {
    let kind = text(limit, "type");
    each(limit, "min", |name, written, bound| below(limit, taken, (name, written, bound), errors));
    each(limit, "max", |name, written, bound| {
        let what = || format!("maximum {name} usage per {kind} is {written}");
        match (taken.limit(name), taken.request(name)) {
            (None, _) => errors.push(format!("{}.  No limit is specified", what())),
            (Some((limit, quantity)), _) if quantity > bound => {
                errors.push(format!("{}, but limit is {limit}", what()));
            }
            (_, Some((request, quantity))) if quantity > bound => {
                errors.push(format!("{}, but request is {request}", what()));
            }
            _ => {}
        }
    });
    each(limit, "maxLimitRequestRatio", |name, written, bound| {
        let what = || format!("{name} max limit to request ratio per {kind} is {written}");
        let whole = |taken: Option<(String, Quantity)>| taken.map(|(_, q)| q).filter(|q| !q.is_zero());
        match (whole(taken.request(name)), whole(taken.limit(name))) {
            (None, _) => errors.push(format!("{}, but no request is specified or request is 0", what())),
            (_, None) => errors.push(format!("{}, but no limit is specified or limit is 0", what())),
            (Some(request), Some(limit)) => {
                #[expect(clippy::cast_precision_loss, reason = "a ratio")]
                let ratio = limit.milli_value() as f64 / request.milli_value() as f64;
                #[expect(clippy::cast_precision_loss, reason = "a ratio")]
                let most = bound.milli_value() as f64;
                if ratio * 1000.0 > most {
                    errors.push(format!("{}, but provided ratio is {ratio:.6}", what()));
                }
            }
        }
    });
}

fn fill(target: &mut Map, source: &Map) {
    for (key, value) in source {
        if !target.contains_key(key) {
            target.insert(key.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn violations_are_told_once() {
        let range =
            json!({"spec": {"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "4"}}]}});
        let of = |cpu: &str| json!({"resources": {"requests": {"cpu": (cpu)}, "limits": {"cpu": "3"}}});
        let pod = json!({"spec": {"containers": (vec![of("1"), of("1"), of("3"), json!({})])}});
        let want = "[minimum cpu usage per Container is 2, but request is 1, \
                    minimum cpu usage per Container is 2.  No request is specified, \
                    maximum cpu usage per Container is 4.  No limit is specified]";
        assert_eq!(check_pod(&range, &pod).as_deref(), Some(want));
    }

    #[test]
    fn every_comparison_with_a_bound_is_charged() {
        let steps = |bounds: usize, containers: usize| {
            let max: Map = (0..bounds).map(|i| (format!("x/r{i}").into(), Value::from("1"))).collect();
            let range = json!({"spec": {"limits": [{"type": "Container", "max": max}]}});
            let pod = json!({"spec": {"containers": (vec![json!({}); containers])}});
            let (wrong, steps) = pleach_work::measure(|| check_pod(&range, &pod));
            assert!(wrong.is_some_and(|wrong| wrong.len() <= 2 * MOST_TEXT));
            steps
        };
        let few = steps(100, 100);
        assert!(few >= 100 * 100 * (COMPARED + VIOLATION), "{few}");
        let many = steps(1_000, 1_000);
        assert!(many >= 90 * few, "{few} {many}");
    }
}
