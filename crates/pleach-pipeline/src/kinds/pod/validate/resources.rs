//! Validation of resource requirements.

use std::collections::{HashMap, HashSet};

use pleach_go::quantity::Quantity;
use pleach_json::{Map, Value, json};
use pleach_meta::FieldError;
use pleach_meta::field_error::{BadValue, ErrorType};
use pleach_meta::names::check_qualified_name;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{COMPARED, items, text};

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
pub(crate) fn overcommits(name: &str) -> bool {
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

/// Resources that are counted.
const COUNTED: [&str; 9] = [
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// `ValidateResourceQuantityValue`: not negative, and whole if the resource is counted.
pub(crate) fn resource_quantity(name: &str, value: &Value, path: &str, errors: &mut Errors) {
    checks::non_negative_quantity(value, path, errors);
    let counted = COUNTED.contains(&name) || is_extended(name);
    if counted && checks::quantity(value).is_some_and(|quantity| quantity.milli_value() % 1000 != 0) {
        errors.push(FieldError::invalid(path, value.clone(), "must be an integer"));
    }
}

/// The resource claims of a Pod.
pub(super) fn pod_claims(claims: &[Value], path: &str, errors: &mut Errors) {
    let mut names: HashSet<&str> = HashSet::new();
    for (i, claim) in claims.iter().enumerate() {
        let (path, name) = (format!("{path}[{i}]"), text(claim, "name"));
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else if names.contains(name) {
            errors.push(FieldError::duplicate(format!("{path}.name"), name));
        } else {
            checks::dns_label(name, &format!("{path}.name"), errors);
            names.insert(name);
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
    named_requirements(resources, container_resource_name, path, errors);
    claims_of_container(resources, claims, path, errors);
}

/// The overhead of a Pod, as limits of a container.
pub(crate) fn overhead(overhead: &Value, path: &str, errors: &mut Errors) {
    named_requirements(&json!({"limits": (overhead.clone())}), container_resource_name, path, errors);
}

/// The name of a resource that a Pod as a whole may have.
fn pod_resource_name(name: &str, path: &str, errors: &mut Errors) {
    let before = errors.len();
    resource_name(name, path, errors);
    if errors.len() == before && !matches!(name, "cpu" | "memory") && !is_huge_pages(name) {
        errors.push(FieldError::not_supported(path, name, &["cpu", "hugepages-", "memory"]));
    }
}

/// The resources of a Pod as a whole, which hold those of its containers.
pub(super) fn of_pod(spec: &Value, path: &str, errors: &mut Errors) {
    let Some(own) = spec.get("resources").filter(|own| own.as_object().is_some_and(|own| !own.is_empty()))
    else {
        return;
    };
    if own.get("claims").is_some() {
        let why = "claims may not be set for Resources at pod-level";
        errors.push(FieldError::forbidden(format!("{path}.claims"), why));
    }
    named_requirements(own, pod_resource_name, path, errors);
    claims_of_container(own, items(spec, "resourceClaims"), path, errors);
    let quantities = |which: &str| crate::kinds::pod::resources::list(own.get(which));
    let (requests, limits) = (quantities("requests"), quantities("limits"));
    let zero = Quantity::from_int(0);
    for (name, sum) in crate::kinds::pod::resources::container_requests(spec) {
        if sum > requests.get(&name).copied().unwrap_or(zero) {
            let written = own.at(&["requests", &name]).and_then(Value::as_str).unwrap_or("0");
            let why = format!(
                "must be greater than or equal to aggregate container requests of {}",
                sum.canonical()
            );
            errors.push(FieldError::invalid(format!("{path}.requests[{name}]"), written, why));
        }
    }
    for (i, container) in items(spec, "containers").iter().enumerate() {
        let given = container.at(&["resources", "limits"]).and_then(Value::as_object);
        for (name, limit) in given.into_iter().flat_map(Map::iter) {
            let most = limits.get(name);
            if checks::quantity(limit).zip(most).is_some_and(|(limit, most)| limit > *most) {
                let most = own.at(&["limits", name]).and_then(Value::as_str).unwrap_or_default();
                errors.push(FieldError::invalid(
                    format!("{path}.containers[{i}][{name}].limits"),
                    limit.clone(),
                    format!("must be less than or equal to pod limits of {most}"),
                ));
            }
        }
    }
}

/// Whether huge pages of a size make up a quantity.
fn divides(name: &str, value: &Value) -> bool {
    let size = name.strip_prefix("hugepages-").and_then(|size| Quantity::parse(size).ok());
    let (Some(size), Some(value)) = (size, checks::quantity(value)) else { return false };
    size.sign() > 0 && value.value() % size.value() == 0
}

fn named_requirements(
    resources: &Value,
    check_name: fn(&str, &str, &mut Errors),
    path: &str,
    errors: &mut Errors,
) {
    let entries =
        |which: &str| resources.get(which).and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let (mut huge, mut compute) = (false, false);
    for which in ["limits", "requests"] {
        for (name, value) in entries(which) {
            let at = format!("{path}.{which}[{name}]");
            check_name(name, &at, errors);
            resource_quantity(name, value, &at, errors);
            compute |= matches!(name.as_str(), "cpu" | "memory");
            if which == "requests" {
                request(resources, (name, value), path, errors);
            }
            if is_huge_pages(name) {
                huge = true;
                if !divides(name, value) {
                    let written = value.as_str().unwrap_or_default();
                    let why = format!("{written} is not positive integer multiple of {name}");
                    errors.push(FieldError::invalid(at.as_str(), value.clone(), why));
                }
            }
        }
    }
    if huge && !compute {
        errors.push(FieldError::forbidden(path, "HugePages require cpu or memory"));
    }
}

/// A request beside its limit.
fn request(resources: &Value, (name, value): (&str, &Value), path: &str, errors: &mut Errors) {
    let Some(limit) = resources.at(&["limits", name]) else {
        if !overcommits(name) {
            let why = "Limit must be set for non overcommitable resources";
            errors.push(FieldError::required(format!("{path}.limits"), why));
        }
        return;
    };
    let written = limit.as_str().unwrap_or_default();
    let why = match checks::quantity(value).zip(checks::quantity(limit)) {
        Some((request, limit)) if request != limit && !overcommits(name) => {
            format!("must be equal to {name} limit of {written}")
        }
        Some((request, limit)) if request > limit => {
            format!("must be less than or equal to {name} limit of {written}")
        }
        _ => return,
    };
    errors.push(FieldError::invalid(format!("{path}.requests"), value.clone(), why));
}

/// The claims that a container refers to: of each as a whole or one by one its requests, and none twice.
fn claims_of_container(resources: &Value, claims: &[Value], path: &str, errors: &mut Errors) {
    if items(resources, "claims").is_empty() {
        return;
    }
    // Once per container.
    pleach_work::charge(COMPARED * claims.len() as u64);
    let mut known: Vec<&str> =
        claims.iter().map(|claim| text(claim, "name")).filter(|name| !name.is_empty()).collect();
    known.sort_unstable();
    let mut whole: HashSet<&str> = HashSet::new();
    let mut parts: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (i, claim) in items(resources, "claims").iter().enumerate() {
        let (name, request) = (text(claim, "name"), text(claim, "request"));
        let path = format!("{path}.claims[{i}]");
        if name.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        if whole.contains(name) {
            errors.push(FieldError::duplicate(path.as_str(), name));
        } else if request.is_empty() {
            for _ in 0..parts.get(name).map_or(0, HashSet::len) {
                errors.push(FieldError::duplicate(path.as_str(), name));
            }
            whole.insert(name);
        } else {
            checks::dns_label(request, &format!("{path}.request"), errors);
            if !parts.entry(name).or_default().insert(request) {
                errors.push(FieldError::duplicate(path.as_str(), format!("{name}/{request}")));
            }
        }
        if known.binary_search(&name).is_err() {
            let mut why = "must be one of the names in pod.spec.resourceClaims".to_owned();
            why.push_str(&if known.is_empty() {
                " which is empty".to_owned()
            } else {
                let known = known.join(", ");
                pleach_work::charge(known.len() as u64 / 8);
                format!(": {known}")
            });
            errors.push(FieldError::new(ErrorType::NotFound, path, name, why));
        }
    }
}
