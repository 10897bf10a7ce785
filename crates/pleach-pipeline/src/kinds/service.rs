//! Services. Addresses and ports are allotted by the engine.

mod validate;

use std::net::Ipv4Addr;

use pleach_json::{Value, json};
use pleach_meta::FieldError;
use pleach_meta::object_meta::{NameRule, ObjectMeta};

use crate::columns::{age_text, computed, wide};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{default_to, each_mut, int_at, items, member, search, submember, text, text_at};
use crate::kinds::ingress::balancer_addresses;
use crate::kinds::pod::cells;
use crate::resource::Subresource;
use crate::strategy::Role;

/// The API group.
pub const GROUP: &str = "";
/// The resource.
pub const PLURAL: &str = "services";
/// Namespace and name of the Service of the API server.
pub const OF_SERVER: (&str, &str) = ("default", "kubernetes");

/// The Service of the API server.
pub fn of_server(address: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "namespace": (OF_SERVER.0), "name": (OF_SERVER.1),
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP", "clusterIP": address, "clusterIPs": [address], "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "sessionAffinity": "None",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
        "status": {"loadBalancer": {}},
    })
}

/// Whether a Service is that of the API server.
pub fn is_of_server(object: &Value) -> bool {
    let meta = ObjectMeta::of(object);
    (meta.namespace(), meta.name()) == OF_SERVER
}

/// The rules of Services.
#[derive(Debug)]
pub struct Service;

fn is_external(spec: &Value) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
        || (text(spec, "type") == "ClusterIP" && !items(spec, "externalIPs").is_empty())
}

impl Rules for Service {
    fn role(&self) -> Role {
        Role::Service
    }

    fn default(&self, object: &mut Value) {
        let spec = member(object, "spec");
        default_to(spec, "sessionAffinity", "None");
        if spec.get_str("sessionAffinity") == Some("None") {
            spec.remove("sessionAffinityConfig");
        } else if spec.get_str("sessionAffinity") == Some("ClientIP") {
            let config = submember(submember(spec, "sessionAffinityConfig"), "clientIP");
            default_to(config, "timeoutSeconds", 10800);
        }
        default_to(spec, "type", "ClusterIP");
        each_mut(spec, "ports", |port| {
            default_to(port, "protocol", "TCP");
            let target = port.get("targetPort");
            if matches!(target, None | Some(Value::Null | Value::Int(0)))
                || target.and_then(Value::as_str) == Some("")
            {
                let number = port.get("port").cloned().unwrap_or_default();
                port.insert("targetPort", number);
            }
        });
        let kind = spec.get_str("type").unwrap_or_default().to_owned();
        let whole = Value::Object(spec.clone());
        if is_external(&whole) {
            default_to(spec, "externalTrafficPolicy", "Cluster");
        }
        if kind != "ExternalName" {
            default_to(spec, "internalTrafficPolicy", "Cluster");
        }
        if kind == "LoadBalancer" {
            default_to(spec, "allocateLoadBalancerNodePorts", true);
        }
        if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
            each_mut(submember(status, "loadBalancer"), "ingress", |ingress| {
                if ingress.contains_key("ip") {
                    default_to(ingress, "ipMode", "VIP");
                }
            });
        }
    }

    fn prepare_for_create(&self, object: &mut Value) {
        addresses(object);
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        take_over(object, old);
        addresses(object);
    }

    fn allocates(&self) -> bool {
        true
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Dns1123Label
    }

    fn revalidates_metadata(&self) -> bool {
        true
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::service(object, old)
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let balancer = object.at(&["status", "loadBalancer"]).unwrap_or(&Value::Null);
        let ingress = items(balancer, "ingress");
        let path = "status.loadBalancer.ingress";
        if text_at(object, &["spec", "type"]) != "LoadBalancer" && !ingress.is_empty() {
            let why = "may only be used when `spec.type` is 'LoadBalancer'";
            errors.push(FieldError::forbidden(path, why));
            return errors;
        }
        for (i, one) in ingress.iter().enumerate() {
            let path = format!("{path}[{i}]");
            let (ip, mode) = (text(one, "ip"), one.get("ipMode").and_then(Value::as_str));
            if !ip.is_empty() {
                checks::ip(ip, &format!("{path}.ip"), &mut errors);
            }
            let at = format!("{path}.ipMode");
            match mode {
                None if !ip.is_empty() => {
                    errors.push(FieldError::required(at, "must be specified when `ip` is set"));
                }
                Some(_) if ip.is_empty() => {
                    errors.push(FieldError::forbidden(at, "may not be specified when `ip` is not set"));
                }
                Some(mode) => checks::one_of(mode, &at, &["Proxy", "VIP"], &mut errors),
                None => {}
            }
            checks::host_of_balancer(text(one, "hostname"), &format!("{path}.hostname"), &mut errors);
        }
        errors
    }

    fn warnings(&self, object: &Value, _: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let kind = text(spec, "type");
        let external = items(spec, "externalIPs");
        if ObjectMeta::of(object).annotation(validate::TOPOLOGY_HINTS).is_some() {
            warnings.push(format!(
                "annotation {} is deprecated, please use {} instead",
                validate::TOPOLOGY_HINTS,
                validate::TOPOLOGY_MODE
            ));
        }
        if kind == "ClusterIP" && text(spec, "clusterIP") == "None" {
            for (field, is_set) in [
                ("loadBalancerIP", !text(spec, "loadBalancerIP").is_empty()),
                ("externalIPs", !external.is_empty()),
                ("SessionAffinity", text(spec, "sessionAffinity") != "None"),
            ] {
                if is_set {
                    warnings.push(format!("spec.{field} is ignored for headless services"));
                }
            }
        }
        if !external.is_empty() {
            warnings.push(
                "spec.externalIPs is deprecated and may no longer be implemented in some clusters".into(),
            );
        }
        for (i, ip) in external.iter().enumerate() {
            let ip = ip.as_str().unwrap_or_default();
            warnings.extend(checks::ip_warning(ip, &format!("spec.externalIPs[{i}]")));
        }
        let ip = text(spec, "loadBalancerIP");
        warnings.extend(checks::ip_warning(ip, "spec.loadBalancerIP"));
        if kind == "ExternalName" && !external.is_empty() {
            warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".into());
        }
        if kind != "ExternalName" && !text(spec, "externalName").is_empty() {
            warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".into());
        }
        if text(spec, "trafficDistribution") == "PreferClose" {
            warnings.push(
                "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".into(),
            );
        }
        warnings
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Type", "string", |o, _| text_at(o, &["spec", "type"]).into()),
            computed("Cluster-IP", "string", |o, _| cells::or_none(text_at(o, &["spec", "clusterIP"]))),
            computed("External-IP", "string", external_ip),
            computed("Port(s)", "string", ports_text),
            age_text(),
            wide(computed("Selector", "string", |o, _| cells::labels(o.at(&["spec", "selector"])))),
        ]
    }
}

/// The defaults by the type and the addresses.
fn addresses(object: &mut Value) {
    let kind = text_at(object, &["spec", "type"]).to_owned();
    let headless = text_at(object, &["spec", "clusterIP"]) == "None";
    let has_selector =
        object.at(&["spec", "selector"]).and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    let spec = member(object, "spec");
    // The list follows the single address; not the other way round, which is an error.
    if let Some(ip) = spec.get_str("clusterIP").filter(|ip| !ip.is_empty()).map(str::to_owned)
        && spec.get("clusterIPs").and_then(Value::as_array).is_none_or(|ips| ips.is_empty())
    {
        spec.insert("clusterIPs", vec![Value::from(ip.as_str())]);
    }
    if kind == "ExternalName" {
        return;
    }
    let families = spec.get("ipFamilies").and_then(Value::as_array);
    let families = families.map(|all| all.to_vec()).unwrap_or_default();
    if headless && !has_selector {
        let families = match &families[..] {
            [] => vec!["IPv4".into()],
            _ => families,
        };
        let other = if families[0].as_str() == Some("IPv4") { "IPv6" } else { "IPv4" };
        let single = spec.get_str("ipFamilyPolicy") == Some("SingleStack");
        let other = (families.len() < 2 && !single).then(|| other.into());
        spec.insert("ipFamilies", families.into_iter().chain(other).collect::<Vec<Value>>());
        default_to(spec, "ipFamilyPolicy", "RequireDualStack");
    } else {
        default_to(spec, "ipFamilyPolicy", "SingleStack");
        // An IPv6 address is refused as such, not by the family of the cluster.
        let ips = spec.get("clusterIPs").and_then(Value::as_array);
        let has_v6 = ips.is_some_and(|ips| ips.iter().any(validate::is_v6));
        if families.is_empty() && !has_v6 {
            spec.insert("ipFamilies", json!(["IPv4"]));
        }
    }
}

/// Keeps allocated fields that an update leaves out if the new type still has them, and removes those it has not.
fn take_over(object: &mut Value, old: &Value) {
    let new_type = text_at(object, &["spec", "type"]).to_owned();
    let old_type = text_at(old, &["spec", "type"]).to_owned();
    let was = old.get("spec").cloned().unwrap_or_default();
    let same = |object: &Value, key: &str| object.at(&["spec", key]) == was.get(key);
    if new_type != "ExternalName" && old_type != "ExternalName" {
        let spec = member(object, "spec");
        for key in ["clusterIP", "ipFamilies", "ipFamilyPolicy"] {
            if let Some(value) = was.get(key)
                && crate::kinds::fields::is_unset(spec, key)
            {
                spec.insert(key, value.clone());
            }
        }
    }
    let whole = object.get("spec").cloned().unwrap_or_default();
    let spec = member(object, "spec");
    let same_address = text(&whole, "clusterIP") == text(&was, "clusterIP");
    if same_address && items(&whole, "clusterIPs").is_empty() {
        if let Some(ips) = was.get("clusterIPs") {
            spec.insert("clusterIPs", ips.clone());
        }
    } else if !same_address && items(&whole, "clusterIPs") == items(&was, "clusterIPs") {
        // Changing the first address alone carries the list along, or clears it.
        spec.remove("clusterIPs");
    }
    if new_type == "ExternalName" && old_type != "ExternalName" {
        if same(object, "clusterIPs") {
            for key in ["clusterIP", "clusterIPs"] {
                member(object, "spec").remove(key);
            }
        }
        for key in ["ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
            if same(object, key) {
                member(object, "spec").remove(key);
            }
        }
    }
    let has_node_ports = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    if has_node_ports(&new_type) && has_node_ports(&old_type) {
        let ports = items(&was, "ports").to_vec();
        each_mut(member(object, "spec"), "ports", |port| {
            if port.get("nodePort").is_none_or(|port| *port == Value::Int(0)) {
                let same = search(&ports, |was| {
                    was.get("port") == port.get("port") && was.get("protocol") == port.get("protocol")
                });
                if let Some(number) = same.and_then(|was| was.get("nodePort")) {
                    port.insert("nodePort", number.clone());
                }
            }
        });
    } else if has_node_ports(&old_type) && !has_node_ports(&new_type) {
        let before: Vec<Value> = items(&was, "ports").to_vec();
        each_mut(member(object, "spec"), "ports", |port| {
            if search(&before, |was| was.get("nodePort") == port.get("nodePort")).is_some() {
                port.remove("nodePort");
            }
        });
        if same(object, "externalTrafficPolicy") && !is_external(object.get("spec").unwrap_or(&Value::Null)) {
            member(object, "spec").remove("externalTrafficPolicy");
        }
    }
    if old_type == "LoadBalancer" && new_type != "LoadBalancer" {
        for key in ["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"] {
            if same(object, key) {
                member(object, "spec").remove(key);
            }
        }
        member(object, "status").insert("loadBalancer", Value::object());
    } else if new_type == "LoadBalancer" && text_at(object, &["spec", "externalTrafficPolicy"]) != "Local" {
        if same(object, "healthCheckNodePort") {
            member(object, "spec").remove("healthCheckNodePort");
        }
    } else if new_type == "LoadBalancer"
        && let Some(port) = was.get("healthCheckNodePort")
    {
        default_to(member(object, "spec"), "healthCheckNodePort", port.clone());
    }
}

fn external_ip(object: &Value, _: i64) -> Value {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let mut ips: Vec<&str> = Vec::new();
    match text(spec, "type") {
        "ExternalName" => return text(spec, "externalName").into(),
        "LoadBalancer" => {
            ips.extend(balancer_addresses(object));
            ips.extend(items(spec, "externalIPs").iter().filter_map(Value::as_str));
            if ips.is_empty() {
                return "<pending>".into();
            }
        }
        _ => ips.extend(items(spec, "externalIPs").iter().filter_map(Value::as_str)),
    }
    cells::or_none(&ips.join(","))
}

fn ports_text(object: &Value, _: i64) -> Value {
    let ports = object.get("spec").map(|spec| items(spec, "ports")).unwrap_or_default();
    let shown: Vec<String> = ports
        .iter()
        .map(|port| {
            let (number, node) = (int_at(port, &["port"]), int_at(port, &["nodePort"]));
            let node = if node == 0 { String::new() } else { format!(":{node}") };
            format!("{number}{node}/{}", text(port, "protocol"))
        })
        .collect();
    cells::or_none(&shown.join(","))
}

/// The addresses and ports that a Service needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// An address.
    pub address: bool,
    /// Node ports.
    pub ports: bool,
    /// A port for health checks.
    pub health: bool,
}

/// The needs of a Service, by its type.
pub fn needs(object: &Value) -> Needs {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let kind = text(spec, "type");
    let declined = spec.get("allocateLoadBalancerNodePorts") == Some(&Value::Bool(false));
    Needs {
        address: kind != "ExternalName" && text(spec, "clusterIP") != "None",
        ports: kind == "NodePort" || (kind == "LoadBalancer" && !declined),
        health: kind == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local",
    }
}

/// The addresses that a Service has.
pub fn addresses_of(object: &Value) -> impl Iterator<Item = Ipv4Addr> + '_ {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let listed = items(spec, "clusterIPs").iter().filter_map(Value::as_str);
    std::iter::once(text(spec, "clusterIP")).chain(listed).filter_map(|ip| ip.parse().ok())
}

/// The node ports that a Service has, that for health checks included.
pub fn node_ports_of(object: &Value) -> impl Iterator<Item = i64> + '_ {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let ports = items(spec, "ports").iter().map(|port| int_at(port, &["nodePort"]));
    ports.chain(std::iter::once(int_at(spec, &["healthCheckNodePort"]))).filter(|port| *port != 0)
}

/// The ports of a Service with their node ports, 0 for none.
pub fn ports_of(object: &Value) -> Vec<(i64, i64)> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    items(spec, "ports").iter().map(|port| (int_at(port, &["port"]), int_at(port, &["nodePort"]))).collect()
}

/// Sets the address.
pub fn set_address(object: &mut Value, address: &str) {
    let spec = member(object, "spec");
    spec.insert("clusterIP", address);
    spec.insert("clusterIPs", vec![Value::from(address)]);
}

/// Sets the node ports, in the order of the ports; 0 sets none.
pub fn set_node_ports(object: &mut Value, numbers: &[i64]) {
    let mut numbers = numbers.iter();
    each_mut(member(object, "spec"), "ports", |port| {
        if let Some(number) = numbers.next().filter(|number| **number != 0) {
            port.insert("nodePort", *number);
        }
    });
}

/// The port for health checks, or 0.
pub fn health_port_of(object: &Value) -> i64 {
    int_at(object, &["spec", "healthCheckNodePort"])
}

/// Sets the port for health checks.
pub fn set_health_port(object: &mut Value, port: i64) {
    member(object, "spec").insert("healthCheckNodePort", port);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(spec: Value) -> Vec<String> {
        let mut object = json!({"metadata": {"name": "s"}, "spec": (spec)});
        Service.default(&mut object);
        Service.prepare_for_create(&mut object);
        validate::service(&object, None).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn addresses_are_looked_at_first_and_alone() {
        for (spec, want) in [
            (
                json!({"clusterIPs": ["10.0.0.5"], "ports": []}),
                "spec.clusterIPs: Invalid value: [\"10.0.0.5\"]: must be empty when `clusterIP` is not specified",
            ),
            (
                json!({"clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.6"], "ports": []}),
                "spec.clusterIPs: Invalid value: [\"10.0.0.6\"]: first value must match `clusterIP`",
            ),
            (
                json!({"clusterIP": "None", "clusterIPs": ["None", "10.0.0.6"], "ports": []}),
                "spec.clusterIPs: Invalid value: [\"None\",\"10.0.0.6\"]: 'None' must be the first and only value",
            ),
            (json!({"type": "NodePort", "clusterIP": "None", "ports": [{"port": 80}]}), {
                "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"
            }),
            (
                json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}, "ports": [{"port": 80}]}),
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400",
            ),
            (
                json!({"externalIPs": ["169.254.1.1"], "ports": [{"port": 80}]}),
                "spec.externalIPs[0]: Invalid value: \"169.254.1.1\": may not be in the link-local range (169.254.0.0/16, fe80::/10)",
            ),
        ] {
            assert_eq!(texts(spec), [want]);
        }
    }

    #[test]
    fn an_update_without_an_address_keeps_it() {
        let mut old = json!({"spec": {"clusterIP": "10.0.0.5", "ports": [{"port": 80}]}});
        Service.default(&mut old);
        Service.prepare_for_create(&mut old);
        for spec in [json!({}), json!({"clusterIPs": ["10.0.0.5"]}), json!({"clusterIP": "10.0.0.5"})] {
            let mut object = json!({"spec": (spec)});
            Service.default(&mut object);
            Service.prepare_for_update(&mut object, &old);
            let spec = object.get("spec").unwrap();
            assert_eq!(text(spec, "clusterIP"), "10.0.0.5");
            assert_eq!(spec.get("clusterIPs"), Some(&json!(["10.0.0.5"])));
        }
    }
}
