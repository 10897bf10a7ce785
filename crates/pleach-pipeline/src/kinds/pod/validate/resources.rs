//! Validation of resource requirements.

use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::field_error::{BadValue, ErrorType};
use pleach_meta::names::check_qualified_name;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{items, text};

/// Resources of containers that have no prefix.
const CONTAINER: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Resources without a prefix that upstream knows anywhere.
const STANDARD: [&str; 24] = [
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
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
    "count/pods",
    "count/services",
    "count/secrets",
    "count/configmaps",
];

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether a name has no prefix, or one of Kubernetes.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether more of a resource may be allowed than requested.
fn overcommits(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// `IsExtendedResourceName`
fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && check_qualified_name(&format!("requests.{name}")).is_empty()
}

/// The name of a resource.
pub(crate) fn resource_name(name: &str, path: &str, errors: &mut Errors) {
    let wrong = check_qualified_name(name);
    if !wrong.is_empty() {
        errors.extend(wrong.into_iter().map(|why| FieldError::invalid(path, name, why)));
        return;
    }
    if !name.contains('/')
        && !STANDARD.contains(&name)
        && !is_huge_pages(name)
        && !name.starts_with("requests.hugepages-")
    {
        let why = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid(path, name, why));
    }
}

/// The name of a resource of a container.
pub(crate) fn container_resource_name(name: &str, path: &str, errors: &mut Errors) {
    resource_name(name, path, errors);
    if !name.contains('/') {
        if !CONTAINER.contains(&name) && !is_huge_pages(name) {
            errors.push(FieldError::invalid(path, name, "must be a standard resource for containers"));
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.push(FieldError::invalid(path, name, "doesn't follow extended resource name standard"));
    }
}

/// The resource claims of a Pod.
pub(super) fn pod_claims(claims: &[Value], path: &str, errors: &mut Errors) {
    let mut names: Vec<&str> = Vec::new();
    for (i, claim) in claims.iter().enumerate() {
        let (path, name) = (format!("{path}[{i}]"), text(claim, "name"));
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else if names.contains(&name) {
            errors.push(FieldError::duplicate(format!("{path}.name"), name));
        } else {
            checks::dns_label(name, &format!("{path}.name"), errors);
            names.push(name);
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        let why = match sources.map(|source| claim.get(source).is_some()) {
            [true, true] => {
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            }
            [false, false] => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            _ => "",
        };
        if !why.is_empty() {
            let show = |key: &str| pleach_json::to_string(claim.get(key).unwrap_or(&Value::Null));
            let dump = format!(
                "{{\"Name\":{},\"ResourceClaimName\":{},\"ResourceClaimTemplateName\":{}}}",
                pleach_json::to_string(&name.into()),
                show("resourceClaimName"),
                show("resourceClaimTemplateName")
            );
            errors.push(FieldError::invalid(path.as_str(), BadValue::Raw(dump), why));
        }
        for source in sources {
            if let Some(name) = claim.get(source).and_then(Value::as_str) {
                checks::dns_subdomain(name, &format!("{path}.{source}"), errors);
            }
        }
    }
}

/// The requests, limits and claims of a container.
pub(crate) fn requirements(resources: &Value, claims: &[Value], path: &str, errors: &mut Errors) {
    let entries =
        |which: &str| resources.get(which).and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let (mut huge, mut compute) = (false, false);
    for which in ["limits", "requests"] {
        for (name, value) in entries(which) {
            let at = format!("{path}.{which}[{name}]");
            container_resource_name(name, &at, errors);
            checks::non_negative_quantity(value, &at, errors);
            let counted = is_extended(name);
            if counted && checks::quantity(value).is_some_and(|quantity| !quantity.is_whole()) {
                errors.push(FieldError::invalid(at.as_str(), value.clone(), "must be an integer"));
            }
            huge |= is_huge_pages(name);
            compute |= matches!(name.as_str(), "cpu" | "memory");
            if which == "limits" {
                continue;
            }
            let Some(limit) = resources.at(&["limits", name]) else {
                if !overcommits(name) {
                    let why = "Limit must be set for non overcommitable resources";
                    errors.push(FieldError::required(format!("{path}.limits"), why));
                }
                continue;
            };
            let written = limit.as_str().unwrap_or_default();
            let both = checks::quantity(value).zip(checks::quantity(limit));
            let why = match both {
                Some((request, limit)) if request != limit && !overcommits(name) => {
                    format!("must be equal to {name} limit of {written}")
                }
                Some((request, limit)) if request > limit => {
                    format!("must be less than or equal to {name} limit of {written}")
                }
                _ => continue,
            };
            errors.push(FieldError::invalid(format!("{path}.requests"), value.clone(), why));
        }
    }
    if huge && !compute {
        errors.push(FieldError::forbidden(path, "HugePages require cpu or memory"));
    }
    let known: Vec<&str> = claims.iter().map(|claim| text(claim, "name")).collect();
    for (i, claim) in items(resources, "claims").iter().enumerate() {
        let (name, path) = (text(claim, "name"), format!("{path}.claims[{i}]"));
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else if !known.contains(&name) {
            let mut why = "must be one of the names in pod.spec.resourceClaims".to_owned();
            why.push_str(&if known.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {}", known.join(", "))
            });
            errors.push(FieldError::new(ErrorType::NotFound, path, name, why));
        }
    }
}
