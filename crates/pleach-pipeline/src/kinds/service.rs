//! Services. Addresses and ports are allotted by the engine.

use std::net::Ipv4Addr;

use pleach_json::{Value, json};
use pleach_meta::FieldError;
use pleach_meta::field_error::{BadValue, ErrorType};
use pleach_meta::object_meta::{NameRule, ObjectMeta};

use crate::columns::{age_text, computed, wide};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{default_to, each_mut, int_at, items, member, search, submember, text, text_at};
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
        validate(object, old)
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        let ingress = object.at(&["status", "loadBalancer", "ingress"]).and_then(Value::as_array);
        if text_at(object, &["spec", "type"]) != "LoadBalancer"
            && ingress.is_some_and(|list| !list.is_empty())
        {
            return vec![FieldError::forbidden(
                "status.loadBalancer.ingress",
                "may only be used when `spec.type` is 'LoadBalancer'",
            )];
        }
        Vec::new()
    }

    fn warnings(&self, object: &Value, _: Option<&Value>) -> Vec<String> {
        if object.get("spec").is_some_and(|spec| !items(spec, "externalIPs").is_empty()) {
            return vec![
                "spec.externalIPs is deprecated and may no longer be implemented in some clusters".into(),
            ];
        }
        Vec::new()
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Type", "string", |o, _| text_at(o, &["spec", "type"]).into()),
            computed("Cluster-IP", "string", |o, _| cells::or_none(text_at(o, &["spec", "clusterIP"]))),
            computed("External-IP", "string", external_ip),
            computed("Port(s)", "string", ports),
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
    if kind == "ExternalName" {
        return;
    }
    if let Some(ip) = spec.get_str("clusterIP").filter(|ip| !ip.is_empty()).map(str::to_owned) {
        if items(&Value::Object(spec.clone()), "clusterIPs").is_empty() {
            spec.insert("clusterIPs", vec![Value::from(ip.as_str())]);
        }
    } else if let Some(first) =
        spec.get("clusterIPs").and_then(Value::as_array).and_then(|ips| ips.first()).cloned()
    {
        spec.insert("clusterIP", first);
    }
    if headless && !has_selector {
        default_to(spec, "ipFamilyPolicy", "RequireDualStack");
        if !spec.contains_key("ipFamilies") {
            spec.insert("ipFamilies", json!(["IPv4", "IPv6"]));
        }
    } else {
        default_to(spec, "ipFamilyPolicy", "SingleStack");
        if !spec.contains_key("ipFamilies") {
            spec.insert("ipFamilies", json!(["IPv4"]));
        }
    }
}

/// Takes over what an update leaves out and the new type still has; removes what it no longer has.
fn take_over(object: &mut Value, old: &Value) {
    let new_type = text_at(object, &["spec", "type"]).to_owned();
    let old_type = text_at(old, &["spec", "type"]).to_owned();
    let was = old.get("spec").cloned().unwrap_or_default();
    let same = |object: &Value, key: &str| object.at(&["spec", key]) == was.get(key);
    if new_type == "ExternalName" && old_type != "ExternalName" {
        for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
            if same(object, key) {
                member(object, "spec").remove(key);
            }
        }
    } else if new_type != "ExternalName" {
        let whole = object.get("spec").cloned().unwrap_or_default();
        let spec = member(object, "spec");
        if text(&whole, "clusterIP").is_empty() && items(&whole, "clusterIPs").is_empty() {
            for key in ["clusterIP", "clusterIPs"] {
                if let Some(value) = was.get(key) {
                    spec.insert(key, value.clone());
                }
            }
        } else if text(&whole, "clusterIP") != text(&was, "clusterIP")
            && whole.get("clusterIPs") == was.get("clusterIPs")
        {
            // Changing the first address alone carries the list along.
            spec.remove("clusterIPs");
        }
        for key in ["ipFamilies", "ipFamilyPolicy"] {
            if let Some(value) = was.get(key)
                && !spec.contains_key(key)
            {
                spec.insert(key, value.clone());
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

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

fn validate(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let kind = text(spec, "type");
    let ports = items(spec, "ports");
    let headless = text(spec, "clusterIP") == "None";
    if let Some(old) = old
        && kind != "ExternalName"
        && text_at(old, &["spec", "type"]) != "ExternalName"
    {
        let (new, was) = (spec.get("clusterIPs"), old.at(&["spec", "clusterIPs"]));
        let had = was.and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        if had && new != was {
            errors.push(FieldError::invalid(
                "spec.clusterIPs[0]",
                new.cloned().unwrap_or_default(),
                "may not change once set",
            ));
        }
    }
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    if kind == "ExternalName" {
        let name = text(spec, "externalName");
        if name.is_empty() {
            errors.push(FieldError::required("spec.externalName", ""));
        } else {
            checks::dns_subdomain(name.trim_end_matches('.'), "spec.externalName", &mut errors);
        }
    }
    let mut names = std::collections::HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{i}]");
        let name = text(port, "name");
        if name.is_empty() && ports.len() > 1 {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else if !name.is_empty() {
            checks::dns_label(name, &format!("{path}.name"), &mut errors);
            if !names.insert(name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), name));
            }
        }
        checks::port_number(int_at(port, &["port"]), &format!("{path}.port"), &mut errors);
        checks::one_of(
            text(port, "protocol"),
            &format!("{path}.protocol"),
            &["SCTP", "TCP", "UDP"],
            &mut errors,
        );
        checks::port(port.get("targetPort"), &format!("{path}.targetPort"), &mut errors);
        if let Some(protocol) = port.get("appProtocol").and_then(Value::as_str) {
            let wrong = pleach_meta::names::check_qualified_name(protocol).into_iter();
            let path = format!("{path}.appProtocol");
            errors.extend(wrong.map(|why| FieldError::invalid(path.as_str(), protocol, why)));
        }
        if kind == "ClusterIP" && int_at(port, &["nodePort"]) != 0 {
            errors.push(FieldError::forbidden(
                format!("{path}.nodePort"),
                "may not be used when `type` is 'ClusterIP'",
            ));
        }
    }
    checks::labels(spec.get("selector"), "spec.selector", &mut errors);
    let supported = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    checks::one_of_if_set(
        spec.get("trafficDistribution"),
        "spec.trafficDistribution",
        &supported,
        &mut errors,
    );
    checks::one_of(text(spec, "sessionAffinity"), "spec.sessionAffinity", &["ClientIP", "None"], &mut errors);
    for (i, ip) in items(spec, "externalIPs").iter().enumerate() {
        let text = ip.as_str().unwrap_or_default();
        checks::ip(text, &format!("spec.externalIPs[{i}]"), &mut errors);
    }
    if kind.is_empty() {
        errors.push(FieldError::required("spec.type", ""));
    } else {
        checks::one_of(kind, "spec.type", &TYPES, &mut errors);
    }
    let mut seen: Vec<(&Value, &str)> = Vec::new();
    for (i, port) in ports.iter().enumerate() {
        let key = (port.get("port").unwrap_or(&Value::Null), text(port, "protocol"));
        if search(&seen, |other| *other == key).is_some() {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                pleach_json::to_string(&key.1.into()),
                pleach_json::to_string(key.0)
            );
            errors.push(FieldError::new(
                ErrorType::Duplicate,
                format!("spec.ports[{i}]"),
                BadValue::Raw(shown),
                "",
            ));
        }
        seen.push(key);
    }
    families(spec, kind, headless, &mut errors);
    let policy = spec.get("externalTrafficPolicy");
    if let Some(policy) = policy.and_then(Value::as_str) {
        if is_external(spec) {
            checks::one_of(policy, "spec.externalTrafficPolicy", &["Cluster", "Local"], &mut errors);
        } else {
            errors.push(FieldError::invalid(
                "spec.externalTrafficPolicy",
                policy,
                "may only be set for externally-accessible services",
            ));
        }
    }
    balancer(spec, kind, &mut errors);
    checks::one_of_if_set(
        spec.get("internalTrafficPolicy"),
        "spec.internalTrafficPolicy",
        &["Cluster", "Local"],
        &mut errors,
    );
    if let Some(old) = old
        && kind == "LoadBalancer"
        && text_at(old, &["spec", "type"]) == "LoadBalancer"
        && spec.get("loadBalancerClass") != old.at(&["spec", "loadBalancerClass"])
    {
        errors.push(FieldError::invalid(
            "spec.loadBalancerClass",
            spec.get("loadBalancerClass").cloned().unwrap_or_default(),
            "may not change once set",
        ));
    }
    errors
}

/// Fields that only load balancers have.
fn balancer(spec: &Value, kind: &str, errors: &mut Errors) {
    const ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
    let ranges = items(spec, "loadBalancerSourceRanges");
    if kind != "LoadBalancer" && !ranges.is_empty() {
        errors.push(FieldError::forbidden("spec.LoadBalancerSourceRanges", ONLY));
    }
    for (i, range) in ranges.iter().enumerate() {
        let range = range.as_str().unwrap_or_default();
        checks::cidr(range.trim(), &format!("spec.LoadBalancerSourceRanges[{i}]"), errors);
    }
    if kind != "LoadBalancer" {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if spec.get(field).is_some() {
                errors.push(FieldError::forbidden(format!("spec.{field}"), ONLY));
            }
        }
    }
    let port = int_at(spec, &["healthCheckNodePort"]);
    let needed = kind == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local";
    if port != 0 && !needed {
        errors.push(FieldError::invalid(
            "spec.healthCheckNodePort",
            port,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        ));
    }
}

/// Families of addresses: this server gives out IPv4.
fn families(spec: &Value, kind: &str, headless: bool, errors: &mut Errors) {
    let (families, policy) = (items(spec, "ipFamilies"), text(spec, "ipFamilyPolicy"));
    if kind == "ExternalName" {
        for (field, set) in [("ipFamilies", !families.is_empty()), ("ipFamilyPolicy", !policy.is_empty())] {
            if set {
                let why = "may not be set for ExternalName services";
                errors.push(FieldError::forbidden(format!("spec.{field}"), why));
            }
        }
        return;
    }
    let before = errors.len();
    for (i, family) in families.iter().enumerate() {
        let (family, path) = (family.as_str().unwrap_or_default(), format!("spec.ipFamilies[{i}]"));
        checks::one_of(family, &path, &["IPv4", "IPv6"], errors);
        if search(&families[..i], |other| other.as_str() == Some(family)).is_some() {
            errors.push(FieldError::duplicate(path, family));
        }
    }
    if !policy.is_empty() {
        let known = ["PreferDualStack", "RequireDualStack", "SingleStack"];
        checks::one_of(policy, "spec.ipFamilyPolicy", &known, errors);
    }
    let has_selector = spec.get("selector").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    if errors.len() != before || headless && !has_selector {
        return;
    }
    if families.len() > 1 && policy == "SingleStack" {
        errors.push(FieldError::invalid(
            "spec.ipFamilyPolicy",
            policy,
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
        ));
    } else if policy == "RequireDualStack" {
        let why = "this cluster is not configured for dual-stack services";
        errors.push(FieldError::invalid("spec.ipFamilyPolicy", policy, why));
    } else if let Some(i) = families.iter().position(|family| family.as_str() == Some("IPv6")) {
        let why = "not configured on this cluster";
        errors.push(FieldError::invalid(format!("spec.ipFamilies[{i}]"), "IPv6", why));
    }
}

fn external_ip(object: &Value, _: i64) -> Value {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let mut ips: Vec<&str> = Vec::new();
    match text(spec, "type") {
        "ExternalName" => return text(spec, "externalName").into(),
        "LoadBalancer" => {
            let ingress = object.at(&["status", "loadBalancer"]).map(|all| items(all, "ingress"));
            for one in ingress.unwrap_or_default() {
                ips.push(if text(one, "ip").is_empty() { text(one, "hostname") } else { text(one, "ip") });
            }
            ips.extend(items(spec, "externalIPs").iter().filter_map(Value::as_str));
            if ips.is_empty() {
                return "<pending>".into();
            }
        }
        _ => ips.extend(items(spec, "externalIPs").iter().filter_map(Value::as_str)),
    }
    cells::or_none(&ips.join(","))
}

fn ports(object: &Value, _: i64) -> Value {
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
    /// A port for health checks, which it does not have yet.
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
        health: kind == "LoadBalancer"
            && text(spec, "externalTrafficPolicy") == "Local"
            && int_at(spec, &["healthCheckNodePort"]) == 0,
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

/// Sets the port for health checks.
pub fn set_health_port(object: &mut Value, port: i64) {
    member(object, "spec").insert("healthCheckNodePort", port);
}
