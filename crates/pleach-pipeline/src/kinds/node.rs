//! Nodes.

use pleach_go::quantity::Quantity;
use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;

use crate::columns::{age_text, computed, wide};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{bool_at, items, member, search, text, text_at};
use crate::kinds::pod::cells::or_none;
use crate::kinds::pod::resources;
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
        if !spec.contains_key("podCIDRs") {
            spec.insert("podCIDRs", vec![range]);
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
        match text(taint, "effect") {
            "NoSchedule" | "PreferNoSchedule" | "NoExecute" => {}
            "" => errors.push(FieldError::required(format!("{path}.effect"), "")),
            other => errors.push(FieldError::not_supported(
                format!("{path}.effect"),
                other,
                &["NoSchedule", "PreferNoSchedule", "NoExecute"],
            )),
        }
        let wrong = pleach_meta::names::check_label_value(text(taint, "value")).into_iter();
        errors
            .extend(wrong.map(|why| FieldError::invalid(format!("{path}.value"), text(taint, "value"), why)));
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
                pleach_meta::field_error::ErrorType::Duplicate,
                path,
                pleach_meta::field_error::BadValue::Raw(shown),
                "taints must be unique by key and effect pair",
            ));
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
        taints(spec, &mut errors);
        if old.is_some() {
            // An update validates them twice.
            taints(spec, &mut errors);
        }
        for (i, range) in items(spec, "podCIDRs").iter().enumerate() {
            checks::cidr(range.as_str().unwrap_or_default(), &format!("spec.podCIDRs[{i}]"), &mut errors);
        }
        if let Some(old) = old {
            let was = text_at(old, &["spec", "providerID"]);
            if !was.is_empty() && was != text(spec, "providerID") {
                errors.push(FieldError::forbidden(
                    "spec.providerID",
                    "node updates may not change providerID except from \"\" to valid",
                ));
            }
            let ranges = ["spec", "podCIDRs"];
            if old.at(&ranges).is_some() && old.at(&ranges) != object.at(&ranges) {
                errors.push(FieldError::forbidden(
                    "spec.podCIDRs",
                    "node updates may not change podCIDR except from \"\" to valid",
                ));
            }
        }
        errors
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
    or_none(&roles.join(","))
}
