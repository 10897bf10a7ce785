//! LimitRanges.

use pleach_go::quantity::Quantity;
use pleach_json::{Map, Value};

use crate::kinds::api_kind::Rules;
use crate::kinds::fields::{each_mut, items, member, submember, text};
use crate::kinds::pod::resources;
use crate::strategy::Effect;

/// The rules of LimitRanges.
#[derive(Debug)]
pub struct LimitRange;

impl Rules for LimitRange {
    fn after_commit(&self) -> Effect {
        Effect::LimitsChanged
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

/// The group.
pub const GROUP: &str = "";
/// The resource.
pub const PLURAL: &str = "limitranges";
/// The annotation that says what was filled in.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Fills in what the containers of a Pod do not ask for; says whether there was something.
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
                done.push(format!("{} {word} for {what} {name}", names.join(", ")));
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

/// What a container, Pod or claim takes, as it was written and as numbers.
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

/// What a LimitRange says against a Pod.
pub fn check_pod(range: &Value, pod: &Value) -> Option<String> {
    let mut errors = Vec::new();
    let Some(spec) = pod.get("spec") else { return None };
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
    together(errors)
}

/// What a LimitRange says against a claim.
pub fn check_claim(range: &Value, claim: &Value) -> Option<String> {
    let mut errors = Vec::new();
    let taken = Taken { requests: claim.at(&["spec", "resources", "requests"]), limits: None };
    for limit in limits_of(range).filter(|limit| text(limit, "type") == "PersistentVolumeClaim") {
        each(limit, "min", |name, written, bound| errors.extend(below(limit, &taken, name, written, bound)));
        each(limit, "max", |name, written, bound| {
            let what = format!("maximum {name} usage per {} is {written}", text(limit, "type"));
            match taken.request(name) {
                None => errors.push(format!("{what}.  No request is specified")),
                Some((request, quantity)) if quantity > bound => {
                    errors.push(format!("{what}, but request is {request}"));
                }
                Some(_) => {}
            }
        });
    }
    together(errors)
}

fn together(mut errors: Vec<String>) -> Option<String> {
    let mut seen = std::collections::HashSet::new();
    errors.retain(|error| seen.insert(error.clone()));
    match &errors[..] {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

fn each(limit: &Value, key: &str, mut how: impl FnMut(&str, &str, Quantity)) {
    for (name, value) in limit.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter) {
        let written = value.as_str().unwrap_or_default();
        if let Ok(quantity) = Quantity::parse(written) {
            how(name, written, quantity);
        }
    }
}

fn below(limit: &Value, taken: &Taken<'_>, name: &str, written: &str, bound: Quantity) -> Option<String> {
    let what = format!("minimum {name} usage per {} is {written}", text(limit, "type"));
    match (taken.request(name), taken.limit(name)) {
        (None, _) => Some(format!("{what}.  No request is specified")),
        (Some((request, quantity)), _) if quantity < bound => {
            Some(format!("{what}, but request is {request}"))
        }
        (_, Some((limit, quantity))) if quantity < bound => Some(format!("{what}, but limit is {limit}")),
        _ => None,
    }
}

fn check(limit: &Value, taken: &Taken<'_>, errors: &mut Vec<String>) {
    let kind = text(limit, "type");
    each(limit, "min", |name, written, bound| errors.extend(below(limit, taken, name, written, bound)));
    each(limit, "max", |name, written, bound| {
        let what = format!("maximum {name} usage per {kind} is {written}");
        match (taken.limit(name), taken.request(name)) {
            (None, _) => errors.push(format!("{what}.  No limit is specified")),
            (Some((limit, quantity)), _) if quantity > bound => {
                errors.push(format!("{what}, but limit is {limit}"));
            }
            (_, Some((request, quantity))) if quantity > bound => {
                errors.push(format!("{what}, but request is {request}"));
            }
            _ => {}
        }
    });
    each(limit, "maxLimitRequestRatio", |name, written, bound| {
        let what = format!("{name} max limit to request ratio per {kind} is {written}");
        let whole = |taken: Option<(String, Quantity)>| taken.map(|(_, q)| q).filter(|q| !q.is_zero());
        match (whole(taken.request(name)), whole(taken.limit(name))) {
            (None, _) => errors.push(format!("{what}, but no request is specified or request is 0")),
            (_, None) => errors.push(format!("{what}, but no limit is specified or limit is 0")),
            (Some(request), Some(limit)) => {
                #[expect(clippy::cast_precision_loss, reason = "a ratio")]
                let ratio = limit.milli_value() as f64 / request.milli_value() as f64;
                #[expect(clippy::cast_precision_loss, reason = "a ratio")]
                let most = bound.milli_value() as f64;
                if ratio * 1000.0 > most {
                    errors.push(format!("{what}, but provided ratio is {ratio:.6}"));
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
