//! ResourceQuotas.

pub mod usage;

use std::collections::BTreeSet;

use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::Errors;
use crate::kinds::fields::{items, text};
use crate::kinds::pod::validate::resources::{resource_name, resource_quantity};
use crate::resource::Subresource;
use crate::strategy::Effect;

/// The group.
pub const GROUP: &str = "";
/// The resource.
pub const PLURAL: &str = "resourcequotas";

/// The rules of ResourceQuotas.
#[derive(Debug)]
pub struct ResourceQuota;

fn shown(object: &Value, limits: bool) -> Value {
    let hard = object.at(&["status", "hard"]).and_then(Value::as_object);
    let used = object.at(&["status", "used"]).and_then(Value::as_object);
    let parts: Vec<String> = hard
        .into_iter()
        .flat_map(Map::iter)
        .filter(|(name, _)| name.starts_with("limits.") == limits)
        .map(|(name, hard)| {
            let used = used.and_then(|used| used.get_str(name)).unwrap_or("0");
            format!("{name}: {used}/{}", hard.as_str().unwrap_or_default())
        })
        .collect();
    parts.join(", ").into()
}

/// The name of a resource that a quota may limit.
fn quota_resource_name(name: &str, path: &str, errors: &mut Errors) {
    resource_name(name, path, errors);
    let is_huge = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
    if !name.contains('/') && !is_huge && !STANDARD.contains(&name) {
        errors.push(FieldError::invalid(path, name, "must be a standard resource for quota"));
    }
}

fn quantities(list: Option<&Value>, path: &str, errors: &mut Errors) {
    for (name, value) in list.and_then(Value::as_object).into_iter().flat_map(Map::iter) {
        let path = format!("{path}[{name}]");
        quota_resource_name(name, &path, errors);
        resource_quantity(name, value, &path, errors);
    }
}

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];
const PAIRS: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];
/// Resources of Pods that have quotas.
const OF_PODS: [&str; 7] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "pods"];

/// Whether a scope says something of a resource.
fn applies(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => OF_PODS.contains(&resource),
        _ => true,
    }
}

/// The resources that a scope of the quota says nothing of, each an error.
fn misapplied<'a>(scope: &'a str, spec: &'a Value) -> impl Iterator<Item = ()> + 'a {
    let hard = spec.get("hard").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let is_standard = |name: &str| {
        STANDARD.contains(&name) || name.starts_with("hugepages-") || name.starts_with("requests.hugepages-")
    };
    hard.filter(move |name| is_standard(name) && !applies(scope, name)).map(drop)
}

fn conflicting(scopes: &[&str], spec: &Value, errors: &mut Errors) {
    for _ in PAIRS.iter().filter(|pair| pair.iter().all(|scope| scopes.contains(scope))) {
        let shown = spec.get("scopes").cloned().unwrap_or_default();
        errors.push(FieldError::invalid("spec.scopes", shown, "conflicting scopes"));
    }
}

/// `validateResourceQuotaScopes`
fn scopes(spec: &Value, errors: &mut Errors) {
    let scopes: Vec<&str> = items(spec, "scopes").iter().filter_map(Value::as_str).collect();
    let shown = || spec.get("scopes").cloned().unwrap_or_default();
    for scope in &scopes {
        if !SCOPES.contains(scope) {
            errors.push(FieldError::invalid("spec.scopes", shown(), "unsupported scope"));
        }
        for () in misapplied(scope, spec) {
            let why = "unsupported scope applied to resource";
            errors.push(FieldError::invalid("spec.scopes", shown(), why));
        }
    }
    conflicting(&scopes, spec, errors);
}

/// A selector of scopes as Go writes the internal type as JSON.
fn selector_dump(selector: &Value) -> BadValue {
    let show = |value: Option<&Value>| pleach_json::to_string(value.unwrap_or(&Value::Null));
    let one = |one: &Value| {
        format!(
            "{{\"ScopeName\":{},\"Operator\":{},\"Values\":{}}}",
            show(one.get("scopeName")),
            show(one.get("operator")),
            show(one.get("values"))
        )
    };
    let all: Vec<String> = items(selector, "matchExpressions").iter().map(one).collect();
    BadValue::Raw(format!("{{\"MatchExpressions\":[{}]}}", all.join(",")))
}

/// `validateScopedResourceSelectorRequirement`; the paths of errors have no index upstream.
fn scope_selector(selector: &Value, spec: &Value, errors: &mut Errors) {
    let path = "spec.scopeSelector.matchExpressions";
    let mut scopes = Vec::new();
    for requirement in items(selector, "matchExpressions") {
        let (scope, operator) = (text(requirement, "scopeName"), text(requirement, "operator"));
        let values = items(requirement, "values");
        if !SCOPES.contains(&scope) {
            errors.push(FieldError::invalid(format!("{path}.scopeName"), scope, "unsupported scope"));
        }
        for () in misapplied(scope, spec) {
            let why = "unsupported scope applied to resource";
            errors.push(FieldError::invalid(path, selector_dump(selector), why));
        }
        let only_exists =
            SCOPES.contains(&scope) && !["PriorityClass", "VolumeAttributesClass"].contains(&scope);
        if only_exists && operator != "Exists" {
            errors.push(FieldError::invalid(
                format!("{path}.operator"),
                operator,
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
            ));
        }
        match operator {
            "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
                format!("{path}.values"),
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::invalid(
                format!("{path}.values"),
                values.to_vec(),
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let why = "not a valid selector operator";
                errors.push(FieldError::invalid(format!("{path}.operator"), other, why));
            }
        }
        scopes.push(scope);
    }
    conflicting(&scopes, spec, errors);
}

/// Resources without a prefix that quotas know.
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
    "resourceclaims",
];

impl Rules for ResourceQuota {
    fn after_commit(&self) -> Effect {
        Effect::LimitsChanged
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let spec = object.get("spec").unwrap_or(&Value::Null);
        quantities(spec.get("hard"), "spec.hard", &mut errors);
        scopes(spec, &mut errors);
        if let Some(selector) = spec.get("scopeSelector") {
            scope_selector(selector, spec, &mut errors);
        }
        let as_set = |object: &Value| -> BTreeSet<String> {
            let scopes = object.get("spec").map(|spec| items(spec, "scopes")).unwrap_or_default();
            scopes.iter().filter_map(|scope| scope.as_str().map(str::to_owned)).collect()
        };
        if old.is_some_and(|old| as_set(object) != as_set(old)) {
            let scopes = spec.get("scopes").cloned().unwrap_or_default();
            errors.push(FieldError::invalid("spec.scopes", scopes, "field is immutable"));
        }
        errors
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        let mut errors = Errors::new();
        for list in ["hard", "used"] {
            quantities(object.at(&["status", list]), &format!("status.{list}"), &mut errors);
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Request", "string", |o, _| shown(o, false)),
            computed("Limit", "string", |o, _| shown(o, true)),
            age_text(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn scopes_fit_the_resources() {
        let quota = json!({"spec": {
            "hard": {"pods": "1", "services": "2"},
            "scopes": ["Terminating"],
            "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}, {"scopeName": "BestEffort", "operator": "DoesNotExist"}]},
        }});
        let texts: Vec<String> =
            ResourceQuota.validate(&quota, None).iter().map(ToString::to_string).collect();
        let selector = "spec.scopeSelector.matchExpressions";
        let dump = "{\"MatchExpressions\":[{\"ScopeName\":\"PriorityClass\",\"Operator\":\"In\",\"Values\":null},{\"ScopeName\":\"BestEffort\",\"Operator\":\"DoesNotExist\",\"Values\":null}]}";
        assert_eq!(
            texts,
            [
                "spec.scopes: Invalid value: [\"Terminating\"]: unsupported scope applied to resource"
                    .to_owned(),
                format!("{selector}: Invalid value: {dump}: unsupported scope applied to resource"),
                format!(
                    "{selector}.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                ),
                format!("{selector}: Invalid value: {dump}: unsupported scope applied to resource"),
                format!(
                    "{selector}.operator: Invalid value: \"DoesNotExist\": must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
                ),
            ]
        );
    }
}
