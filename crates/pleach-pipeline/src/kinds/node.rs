//! Nodes.

use pleach_go::quantity::Quantity;
use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::field_error::{BadValue, ErrorType};
use pleach_meta::object_meta::ObjectMeta;

use crate::columns::{age_text, computed, wide};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{bool_at, items, member, search, text, text_at};
use crate::kinds::pod::cells::or_none;
use crate::kinds::pod::resources;
use crate::kinds::pod::validate::resources::resource_quantity;
use crate::resource::Subresource;
use crate::strategy::Role;

/// The group.
pub const GROUP: &str = "";
/// The resource.
pub const PLURAL: &str = "nodes";

/// Why a Node cannot give a Pod the resources of a resize.
pub fn resize_error(node: &Value, pod: &Value) -> Option<String> {
    let name = text_at(node, &["metadata", "name"]);
    let system = text_at(node, &["metadata", "labels", "kubernetes.io/os"]);
    if !matches!(system, "" | "linux") {
        return Some(format!("pod resize is only supported on linux nodes, node \"{name}\" is \"{system}\""));
    }
    let requests = resources::of_pod(pod.get("spec")?, "requests");
    let allocatable = resources::list(node.at(&["status", "allocatable"]));
    let zero = Quantity::from_int(0);
    let mut short = Vec::new();
    for resource in ["cpu", "memory"] {
        let of = |list: &resources::ResourceList| list.get(resource).copied().unwrap_or(zero);
        let (asked, there) = (of(&requests), of(&allocatable));
        if asked > there {
            let number = |quantity: Quantity| {
                if resource == "cpu" { quantity.milli_value() } else { quantity.value() }
            };
            short.push(format!("{resource}, requested: {}, allocatable: {}", number(asked), number(there)));
        }
    }
    let why = format!("node didn't have enough allocatable resources: {}", short.join("; "));
    (!short.is_empty()).then_some(why)
}

/// The rules of Nodes.
#[derive(Debug)]
pub struct Node;

fn default_node(object: &mut Value) {
    let status = member(object, "status");
    if let Some(capacity) = status.get("capacity").cloned()
        && !status.contains_key("allocatable")
    {
        status.insert("allocatable", capacity);
    }
    let spec = member(object, "spec");
    if let Some(range) = spec.get("podCIDR").cloned() {
        match spec.get_mut("podCIDRs") {
            Some(Value::Array(ranges)) if !ranges.is_empty() => {
                if ranges[0] != range {
                    let mut all = ranges.to_vec();
                    all[0] = range;
                    spec.insert("podCIDRs", all);
                }
            }
            _ => drop(spec.insert("podCIDRs", vec![range])),
        }
    } else if let Some(first) =
        spec.get("podCIDRs").and_then(Value::as_array).and_then(|all| all.first()).cloned()
    {
        spec.insert("podCIDR", first);
    }
    spec.remove("configSource");
}

/// The taints of a Node; the paths of errors are upstream's.
fn taints(spec: &Value, errors: &mut Errors) {
    for (i, taint) in items(spec, "taints").iter().enumerate() {
        let path = format!("metadata.taints[{i}]");
        let key = text(taint, "key");
        let wrong = pleach_meta::names::check_qualified_name(key).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(format!("{path}.key"), key, why)));
        checks::label_value(text(taint, "value"), &format!("{path}.value"), errors);
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        checks::required_one_of(text(taint, "effect"), &format!("{path}.effect"), &effects, errors);
        let same =
            |other: &Value| text(other, "key") == key && text(other, "effect") == text(taint, "effect");
        if search(&items(spec, "taints")[..i], same).is_some() {
            let show = |value: &str| pleach_json::to_string(&value.into());
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{}}}",
                show(key),
                show(text(taint, "value")),
                show(text(taint, "effect")),
                pleach_json::to_string(taint.get("timeAdded").unwrap_or(&Value::Null))
            );
            errors.push(FieldError::new(
                ErrorType::Duplicate,
                path,
                BadValue::Raw(shown),
                "taints must be unique by key and effect pair",
            ));
        }
    }
}

/// `ValidateNode`
fn whole(object: &Value, spec: &Value, errors: &mut Errors) {
    taints(spec, errors);
    quantities(object, errors);
    let ranges = items(spec, "podCIDRs");
    for (i, range) in ranges.iter().enumerate() {
        checks::cidr(range.as_str().unwrap_or_default(), &format!("spec.podCIDRs[{i}]"), errors);
    }
    if ranges.len() > 1 {
        let is_v6 = |range: &Value| range.as_str().is_some_and(|range| range.contains(':'));
        let both = ranges.iter().any(is_v6) && ranges.iter().any(|range| !is_v6(range));
        if !both || ranges.len() > 2 {
            let why = "may specify no more than one CIDR for each IP family";
            errors.push(FieldError::invalid("spec.podCIDRs", ranges.to_vec(), why));
        }
    }
    for (i, range) in ranges.iter().enumerate() {
        if search(&ranges[..i], |other| other == range).is_some() {
            errors.push(FieldError::duplicate(format!("spec.podCIDRs[{i}]"), range.clone()));
        }
    }
    features(object, errors);
}

/// `ValidateNodeResources`; the paths of errors are upstream's.
fn quantities(object: &Value, errors: &mut Errors) {
    for list in ["capacity", "allocatable"] {
        let list_of = object.at(&["status", list]).and_then(Value::as_object);
        for (name, value) in list_of.into_iter().flat_map(Map::iter) {
            resource_quantity(name, value, &format!("status.{list}.{name}"), errors);
        }
    }
}

/// No address is there twice.
fn addresses(object: &Value, errors: &mut Errors) {
    let all = object.get("status").map(|status| items(status, "addresses")).unwrap_or_default();
    for (i, address) in all.iter().enumerate() {
        if search(&all[..i], |other| other == address).is_some() {
            let show = |key: &str| pleach_json::to_string(&text(address, key).into());
            let shown = format!("{{\"Type\":{},\"Address\":{}}}", show("type"), show("address"));
            let path = format!("status.addresses[{i}]");
            errors.push(FieldError::new(ErrorType::Duplicate, path, BadValue::Raw(shown), ""));
        }
    }
}

/// Features that a Node declares: sorted, and named as `MyFeature/mySubFeature`.
fn features(object: &Value, errors: &mut Errors) {
    let all = object.get("status").map(|status| items(status, "declaredFeatures")).unwrap_or_default();
    let mut before: Option<&str> = None;
    for (i, feature) in all.iter().enumerate() {
        let (name, path) = (feature.as_str().unwrap_or_default(), format!("status.declaredFeatures[{i}]"));
        match before.map(|before| before.cmp(name)) {
            Some(std::cmp::Ordering::Equal) => errors.push(FieldError::duplicate(path.as_str(), name)),
            Some(std::cmp::Ordering::Greater) => {
                errors.push(FieldError::invalid(path.as_str(), name, "list must be sorted alphabetically"));
            }
            _ => {}
        }
        before = Some(name);
        let is_word = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !name.starts_with(|first: char| first.is_ascii_uppercase()) || !name.split('/').all(is_word) {
            let why = format!(
                "invalid feature name {}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes",
                pleach_go::strconv::quote(name)
            );
            errors.push(FieldError::invalid(path, name, why));
        }
    }
}

impl Rules for Node {
    fn role(&self) -> Role {
        Role::Node
    }

    fn default(&self, object: &mut Value) {
        default_node(object);
    }

    fn keeps_status_on_create(&self) -> bool {
        true
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let spec = object.get("spec").unwrap_or(&Value::Null);
        whole(object, spec, &mut errors);
        let Some(old) = old else { return errors };
        quantities(object, &mut errors);
        addresses(object, &mut errors);
        let ranges =
            |node: &Value| node.get("spec").map(|spec| items(spec, "podCIDRs").to_vec()).unwrap_or_default();
        let (new, was) = (ranges(object), ranges(old));
        let changed = if new.len() == was.len() {
            new.iter().zip(&was).filter(|(new, was)| new != was).count()
        } else {
            usize::from(!was.is_empty())
        };
        for _ in 0..changed {
            errors.push(FieldError::forbidden(
                "spec.podCIDRs",
                "node updates may not change podCIDR except from \"\" to valid",
            ));
        }
        let was = text_at(old, &["spec", "providerID"]);
        if !was.is_empty() && was != text(spec, "providerID") {
            errors.push(FieldError::forbidden(
                "spec.providerID",
                "node updates may not change providerID except from \"\" to valid",
            ));
        }
        // An update validates them twice.
        taints(spec, &mut errors);
        let id = ["spec", "externalID"];
        if object.at(&id) != old.at(&id) {
            errors.push(FieldError::forbidden("spec.externalID", "may not be updated"));
        }
        errors
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        let mut errors = Errors::new();
        quantities(object, &mut errors);
        addresses(object, &mut errors);
        features(object, &mut errors);
        errors
    }

    fn warnings(&self, object: &Value, _: Option<&Value>) -> Vec<String> {
        let has_id = !text_at(object, &["spec", "externalID"]).is_empty();
        let deprecated = "spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned();
        has_id.then_some(deprecated).into_iter().collect()
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Status", "string", status),
            computed("Roles", "string", roles),
            age_text(),
            computed("Version", "string", |o, _| info(o, "kubeletVersion").into()),
            wide(computed("Internal-IP", "string", |o, _| address(o, "InternalIP"))),
            wide(computed("External-IP", "string", |o, _| address(o, "ExternalIP"))),
            wide(computed("OS-Image", "string", |o, _| or_unknown(info(o, "osImage")))),
            wide(computed("Kernel-Version", "string", |o, _| {
                match (info(o, "kernelVersion"), info(o, "architecture")) {
                    ("", _) => "<unknown>".into(),
                    (kernel, "") => kernel.into(),
                    (kernel, architecture) => format!("{kernel} ({architecture})").into(),
                }
            })),
            wide(computed("Container-Runtime", "string", |o, _| {
                or_unknown(info(o, "containerRuntimeVersion"))
            })),
        ]
    }
}

fn info<'a>(object: &'a Value, field: &str) -> &'a str {
    text_at(object, &["status", "nodeInfo", field])
}

fn or_unknown(text: &str) -> Value {
    if text.is_empty() { "<unknown>".into() } else { text.into() }
}

fn address(object: &Value, kind: &str) -> Value {
    let all = object.get("status").map(|status| items(status, "addresses")).unwrap_or_default();
    or_none(all.iter().find(|one| text(one, "type") == kind).map_or("", |one| text(one, "address")))
}

fn status(object: &Value, _: i64) -> Value {
    let conditions = object.get("status").map(|status| items(status, "conditions")).unwrap_or_default();
    let mut shown = match conditions.iter().find(|c| text(c, "type") == "Ready").map(|c| text(c, "status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if bool_at(object, &["spec", "unschedulable"]) {
        shown.push_str(",SchedulingDisabled");
    }
    shown.into()
}

fn roles(object: &Value, _: i64) -> Value {
    let labels = ObjectMeta::of(object).labels().into_iter().flat_map(Map::iter);
    let mut roles: Vec<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    or_none(&roles.join(","))
}
