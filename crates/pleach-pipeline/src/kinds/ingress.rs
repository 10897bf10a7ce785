//! Ingresses and IngressClasses.

use pleach_json::Value;
use pleach_meta::FieldError;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{default_to, int_at, items, member, object_mut, text, text_at};
use crate::kinds::pod::cells::or_none;
use crate::resource::Subresource;
use crate::strategy::Role;

/// The group.
pub const GROUP: &str = "networking.k8s.io";
/// The resource of classes.
pub const CLASSES: &str = "ingressclasses";
/// The annotation that names a class in the old way.
pub const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
/// The annotation of the class that Ingresses without one get.
pub const DEFAULT_CLASS: &str = "ingressclass.kubernetes.io/is-default-class";

/// The rules of Ingresses.
#[derive(Debug)]
pub struct Ingress;

impl Rules for Ingress {
    fn role(&self) -> Role {
        Role::Ingress
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let rules = items(spec, "rules");
        if rules.is_empty() && spec.get("defaultBackend").is_none() {
            let why = "either `defaultBackend` or `rules` must be specified";
            errors.push(FieldError::invalid("spec", Value::Null, why));
        }
        if let Some(backend) = spec.get("defaultBackend") {
            self::backend(backend, "spec.defaultBackend", &mut errors);
        }
        for (i, rule) in rules.iter().enumerate() {
            let host = text(rule, "host");
            if !host.is_empty() {
                let path = format!("spec.rules[{i}].host");
                if host.parse::<std::net::IpAddr>().is_ok() {
                    let why = "must be a DNS name, not an IP address";
                    errors.push(FieldError::invalid(path.as_str(), host, why));
                }
                host_name(host, &path, &mut errors);
            }
            let paths = rule.get("http").map(|http| items(http, "paths")).unwrap_or_default();
            if rule.get("http").is_some() && paths.is_empty() {
                errors.push(FieldError::required(format!("spec.rules[{i}].http.paths"), ""));
            }
            for (j, one) in paths.iter().enumerate() {
                let path = format!("spec.rules[{i}].http.paths[{j}]");
                let kind = text(one, "pathType");
                if kind.is_empty() {
                    let why = "pathType must be specified";
                    errors.push(FieldError::required(format!("{path}.pathType"), why));
                    continue;
                } else if !["Exact", "ImplementationSpecific", "Prefix"].contains(&kind) {
                    errors.push(FieldError::not_supported(
                        format!("{path}.pathType"),
                        kind,
                        &["Exact", "ImplementationSpecific", "Prefix"],
                    ));
                } else {
                    let target = text(one, "path");
                    let exact = kind != "ImplementationSpecific";
                    if !target.starts_with('/') && (exact || !target.is_empty()) {
                        errors.push(FieldError::invalid(
                            format!("{path}.path"),
                            target,
                            "must be an absolute path",
                        ));
                    }
                    for bad in ["//", "/./", "/../", "%2f", "%2F"] {
                        if exact && target.contains(bad) {
                            errors.push(FieldError::invalid(
                                format!("{path}.path"),
                                target,
                                format!("must not contain '{bad}'"),
                            ));
                        }
                    }
                    for bad in ["/..", "/."] {
                        if exact && target.ends_with(bad) {
                            let why = format!("cannot end with '{bad}'");
                            errors.push(FieldError::invalid(format!("{path}.path"), target, why));
                        }
                    }
                }
                if let Some(backend) = one.get("backend") {
                    self::backend(backend, &format!("{path}.backend"), &mut errors);
                }
            }
        }
        for (i, tls) in items(spec, "tls").iter().enumerate() {
            for (j, host) in items(tls, "hosts").iter().enumerate() {
                let path = format!("spec.tls[{i}].hosts[{j}]");
                host_name(host.as_str().unwrap_or_default(), &path, &mut errors);
            }
            let secret = text(tls, "secretName");
            if !secret.is_empty() {
                checks::dns_subdomain(secret, &format!("spec.tls[{i}].secretName"), &mut errors);
            }
        }
        let class = text(spec, "ingressClassName");
        if spec.get("ingressClassName").is_some() {
            checks::dns_subdomain(class, "spec.ingressClassName", &mut errors);
        }
        let annotated = text_at(object, &["metadata", "annotations", CLASS_ANNOTATION]);
        if old.is_none() && !class.is_empty() && !annotated.is_empty() && class != annotated {
            errors.push(FieldError::invalid(
                format!("annotations.{CLASS_ANNOTATION}"),
                annotated,
                "must match `ingressClassName` when both are specified",
            ));
        }
        errors
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let balancer = object.at(&["status", "loadBalancer"]).unwrap_or(&Value::Null);
        for (i, one) in items(balancer, "ingress").iter().enumerate() {
            let path = format!("status.loadBalancer.ingress[{i}]");
            let ip = text(one, "ip");
            if !ip.is_empty() {
                checks::ip(ip, &format!("{path}.ip"), &mut errors);
            }
            checks::host_of_balancer(text(one, "hostname"), &format!("{path}.hostname"), &mut errors);
        }
        errors
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let annotated = object.at(&["metadata", "annotations", CLASS_ANNOTATION]).is_some();
        if annotated && old.is_none() && text_at(object, &["spec", "ingressClassName"]).is_empty() {
            return vec![format!(
                "annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"
            )];
        }
        Vec::new()
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Class", "string", |o, _| or_none(text_at(o, &["spec", "ingressClassName"]))),
            computed("Hosts", "string", |o, _| hosts(o.get("spec").map_or(&[], |spec| items(spec, "rules")))),
            computed("Address", "string", |o, _| balancer_addresses(o).join(",").into()),
            computed("Ports", "string", |o, _| {
                let tls = o.get("spec").is_some_and(|spec| !items(spec, "tls").is_empty());
                if tls { "80, 443".into() } else { "80".into() }
            }),
            age_text(),
        ]
    }
}

/// Three hosts of rules, and how many rules there are beyond three as soon as one follows the third host.
fn hosts(rules: &[Value]) -> Value {
    let named = |(i, rule): (usize, _)| Some((i, text(rule, "host"))).filter(|(_, host)| !host.is_empty());
    let shown: Vec<(usize, &str)> = rules.iter().enumerate().filter_map(named).take(3).collect();
    let list = shown.iter().map(|(_, host)| *host).collect::<Vec<_>>().join(",");
    match shown.last() {
        None => "*".into(),
        Some((last, _)) if shown.len() == 3 && last + 1 < rules.len() => {
            format!("{list} + {} more...", rules.len() - 3).into()
        }
        Some(_) => list.into(),
    }
}

/// Addresses and names in the status of a load balancer, sorted, each once.
pub(super) fn balancer_addresses(object: &Value) -> Vec<&str> {
    let all = object.at(&["status", "loadBalancer"]).map(|all| items(all, "ingress")).unwrap_or_default();
    let shown = all.iter().map(|one| match text(one, "ip") {
        "" => text(one, "hostname"),
        ip => ip,
    });
    let mut shown: Vec<&str> = shown.filter(|text| !text.is_empty()).collect();
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// The name of a host, perhaps with a wildcard.
fn host_name(host: &str, path: &str, errors: &mut Errors) {
    if host.contains('*') {
        checks::wildcard_subdomain(host, path, errors);
    } else {
        checks::dns_subdomain(host, path, errors);
    }
}

fn backend(backend: &Value, path: &str, errors: &mut Errors) {
    let resource = backend.get("resource");
    let service = match (backend.get("service"), resource) {
        (Some(_), Some(_)) => {
            errors.push(FieldError::invalid(path, "", "cannot set both resource and service backends"));
            return;
        }
        (None, Some(resource)) => {
            reference(resource, &format!("{path}.resource"), errors);
            return;
        }
        (None, None) => {
            errors.push(FieldError::invalid(path, "", "resource or service backend is required"));
            return;
        }
        (Some(service), None) => service,
    };
    match text(service, "name") {
        "" => errors.push(FieldError::required(format!("{path}.service.name"), "")),
        name => checks::dns_label(name, &format!("{path}.service.name"), errors),
    }
    let (name, number) = (text_at(service, &["port", "name"]), int_at(service, &["port", "number"]));
    match (name, number) {
        ("", 0) => errors.push(FieldError::required(path, "port name or number is required")),
        ("", number) => checks::port_number(number, &format!("{path}.service.port.number"), errors),
        (_, 0) => checks::port_name(name, &format!("{path}.service.port.name"), errors),
        _ => {
            let why = "cannot set both port name & port number";
            errors.push(FieldError::invalid(path, "", why));
        }
    }
}

/// The group, kind and name of another object.
fn reference(target: &Value, path: &str, errors: &mut Errors) {
    if let Some(group) = target.get("apiGroup").and_then(Value::as_str) {
        checks::dns_subdomain(group, &format!("{path}.apiGroup"), errors);
    }
    for field in ["kind", "name"] {
        let (value, path) = (text(target, field), format!("{path}.{field}"));
        if value.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let wrong = pleach_meta::names::check_path_segment_name(value).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(path.as_str(), value, why)));
    }
}

/// The parameters of a class, which may be in a namespace.
fn parameters(parameters: &Value, path: &str, errors: &mut Errors) {
    reference(parameters, path, errors);
    let at = format!("{path}.namespace");
    let namespace = parameters.get("namespace").and_then(Value::as_str);
    match (text(parameters, "scope"), namespace) {
        ("Namespace", None) => {
            errors.push(FieldError::required(at, "`parameters.scope` is set to 'Namespace'"));
        }
        ("Namespace", Some(namespace)) => checks::dns_label(namespace, &at, errors),
        ("Cluster", Some(_)) => {
            errors.push(FieldError::forbidden(at, "`parameters.scope` is set to 'Cluster'"));
        }
        ("Cluster", None) => {}
        (other, _) => checks::one_of(other, &format!("{path}.scope"), &["Cluster", "Namespace"], errors),
    }
}

/// The rules of IngressClasses.
#[derive(Debug)]
pub struct IngressClass;

impl Rules for IngressClass {
    fn revalidates_metadata(&self) -> bool {
        true
    }

    fn default(&self, object: &mut Value) {
        if let Some(parameters) = object_mut(member(object, "spec"), "parameters") {
            default_to(parameters, "scope", "Cluster");
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        if let Some(old) = old {
            let path = ["spec", "controller"];
            checks::immutable(object.at(&path), old.at(&path), "spec.controller", &mut errors);
        }
        let controller = text_at(object, &["spec", "controller"]);
        if controller.len() > 250 {
            errors.push(FieldError::too_long("spec.controller", 250));
        }
        checks::domain_prefixed_path(controller, "spec.controller", &mut errors);
        if let Some(parameters) = object.at(&["spec", "parameters"]) {
            self::parameters(parameters, "spec.parameters", &mut errors);
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Controller", "string", |o, _| text_at(o, &["spec", "controller"]).into()),
            computed("Parameters", "string", |o, _| match o.at(&["spec", "parameters"]) {
                None => "<none>".into(),
                Some(p) => {
                    let group = text(p, "apiGroup");
                    let group = if group.is_empty() { String::new() } else { format!(".{group}") };
                    format!("{}{group}/{}", text(p, "kind"), text(p, "name")).into()
                }
            }),
            age_text(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn cells() {
        let of =
            |names: &[&str]| hosts(&names.iter().map(|name| json!({"host": (*name)})).collect::<Vec<_>>());
        assert_eq!(of(&[""]), Value::from("*"));
        assert_eq!(of(&["a", "", "b", "c"]), Value::from("a,b,c"));
        assert_eq!(of(&["a", "b", "c", ""]), Value::from("a,b,c + 1 more..."));
        let balancer = json!({"status": {"loadBalancer": {"ingress": [{"ip": "2.2.2.2"}, {"hostname": "a.b"}, {"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}]}}});
        assert_eq!(balancer_addresses(&balancer), ["1.1.1.1", "2.2.2.2", "a.b"]);
    }
}
