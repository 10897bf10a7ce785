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
        validate(object, old)
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
        if ObjectMeta::of(object).annotation(TOPOLOGY_HINTS).is_some() {
            warnings.push(format!(
                "annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"
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

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

fn validate(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let spec = object.get("spec").unwrap_or(&Value::Null);
    // Addresses and families are looked at before anything else, when they are allocated.
    cluster_ips(spec, &mut errors);
    if errors.is_empty() {
        stacks(spec, &mut errors);
    }
    if !errors.is_empty() {
        return errors;
    }
    if let Some(old) = old {
        changes(spec, old.get("spec").unwrap_or(&Value::Null), &mut errors);
    }
    whole(object, spec, &mut errors);
    errors
}

fn is_headless(spec: &Value) -> bool {
    matches!(items(spec, "clusterIPs"), [only] if only.as_str() == Some("None"))
}

/// Changes of an update that are not allowed.
fn changes(spec: &Value, was: &Value, errors: &mut Errors) {
    let external = |spec: &Value| text(spec, "type") == "ExternalName";
    if !external(spec) && !external(was) {
        let lists = |key: &str| (items(spec, key), items(was, key));
        let ((ips, old_ips), (families, old_families)) = (lists("clusterIPs"), lists("ipFamilies"));
        let shown = |list: &[Value]| if list.is_empty() { Value::Null } else { list.to_vec().into() };
        if !(is_headless(spec) && is_headless(was)) {
            let mut refuse = |i: usize, why: &str| {
                errors.push(FieldError::invalid(format!("spec.clusterIPs[{i}]"), shown(ips), why));
            };
            if ips.len() == old_ips.len() {
                let differ = ips.iter().zip(old_ips).enumerate().filter(|(_, (new, old))| new != old);
                differ.for_each(|(i, _)| refuse(i, "may not change once set"));
            } else if ips.is_empty() {
                refuse(0, "primary clusterIP can not be unset");
            } else if !old_ips.is_empty() && ips[0] != old_ips[0] {
                refuse(0, "may not change once set");
            }
        }
        if !is_headless(spec) && !is_headless(was) && !old_families.is_empty() && !families.is_empty() {
            let at = "spec.ipFamilies[0]";
            let why = "may not change once set";
            if families.len() == old_families.len() {
                for _ in families.iter().zip(old_families).filter(|(new, old)| new != old) {
                    errors.push(FieldError::invalid(at, shown(families), why));
                }
            } else if families[0] != old_families[0] {
                errors.push(FieldError::invalid(at, shown(ips), why));
            }
        }
    }
    balancer_class(spec, Some(was), errors);
    let port = |spec: &Value| int_at(spec, &["healthCheckNodePort"]);
    if needs_health_check(spec) && needs_health_check(was) && port(spec) != port(was) {
        errors.push(FieldError::forbidden("spec.healthCheckNodePort", "field is immutable"));
    }
}

fn needs_health_check(spec: &Value) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// `validateLoadBalancerClassField`
fn balancer_class(spec: &Value, was: Option<&Value>, errors: &mut Errors) {
    let (at, class) = ("spec.loadBalancerClass", spec.get("loadBalancerClass"));
    let balances = |spec: &Value| text(spec, "type") == "LoadBalancer";
    if let Some(was) = was
        && balances(spec)
        && balances(was)
        && class != was.get("loadBalancerClass")
    {
        errors.push(FieldError::invalid(at, class.cloned().unwrap_or_default(), "may not change once set"));
    }
    match class.and_then(Value::as_str) {
        Some(class) if balances(spec) => {
            let wrong = pleach_meta::names::check_qualified_name(class).into_iter();
            errors.extend(wrong.map(|why| FieldError::invalid(at, class, why)));
        }
        Some(_) => errors.push(FieldError::forbidden(at, ONLY_BALANCERS)),
        None => {}
    }
}

const ONLY_BALANCERS: &str = "may only be used when `type` is 'LoadBalancer'";
const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// `ValidateService`
fn whole(object: &Value, spec: &Value, errors: &mut Errors) {
    let annotation = |key: &str| ObjectMeta::of(object).annotation(key);
    if let (Some(mode), Some(hints)) = (annotation(TOPOLOGY_MODE), annotation(TOPOLOGY_HINTS))
        && mode != hints
    {
        let why = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
        errors.push(FieldError::invalid(format!("metadata.annotations[{TOPOLOGY_MODE}]"), mode, why));
    }
    let (kind, ports, headless) = (text(spec, "type"), items(spec, "ports"), is_headless(spec));
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let why = format!("may not be set to 'None' for {kind} services");
            errors.push(FieldError::invalid("spec.clusterIPs[0]", "None", why));
        }
        "ExternalName" => external_name(spec, errors),
        _ => {}
    }
    self::ports(ports, errors);
    checks::labels(spec.get("selector"), "spec.selector", errors);
    affinity(spec, errors);
    cluster_ips(spec, errors);
    for (i, ip) in items(spec, "externalIPs").iter().enumerate() {
        let (ip, path) = (ip.as_str().unwrap_or_default(), format!("spec.externalIPs[{i}]"));
        let before = errors.len();
        checks::ip(ip, &path, errors);
        if errors.len() == before {
            checks::non_special_ip(ip, &path, errors);
        }
    }
    if kind.is_empty() {
        errors.push(FieldError::required("spec.type", ""));
    } else {
        checks::one_of(kind, "spec.type", &TYPES, errors);
    }
    if kind == "ClusterIP" {
        for (i, _) in ports.iter().enumerate().filter(|(_, port)| int_at(port, &["nodePort"]) != 0) {
            let why = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(format!("spec.ports[{i}].nodePort"), why));
        }
    }
    repeated(ports, needs(object).ports, errors);
    source_ranges(annotation(SOURCE_RANGES), spec, kind, errors);
    if spec.get("allocateLoadBalancerNodePorts").is_some() && kind != "LoadBalancer" {
        errors.push(FieldError::forbidden("spec.allocateLoadBalancerNodePorts", ONLY_BALANCERS));
    }
    balancer_class(spec, None, errors);
    external_policy(spec, errors);
    checks::one_of_if_set(
        spec.get("internalTrafficPolicy"),
        "spec.internalTrafficPolicy",
        &["Cluster", "Local"],
        errors,
    );
    checks::one_of_if_set(
        spec.get("trafficDistribution"),
        "spec.trafficDistribution",
        &["PreferClose", "PreferSameZone", "PreferSameNode"],
        errors,
    );
}

fn external_name(spec: &Value, errors: &mut Errors) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        let is_set =
            spec.get(field).is_some_and(|value| value.as_array().is_none_or(|list| !list.is_empty()));
        if is_set {
            let why = "may not be set for ExternalName services";
            errors.push(FieldError::forbidden(format!("spec.{field}"), why));
        }
    }
    let name = text(spec, "externalName");
    match name.strip_suffix('.').unwrap_or(name) {
        "" => errors.push(FieldError::required("spec.externalName", "")),
        name => checks::dns_subdomain(name, "spec.externalName", errors),
    }
}

fn ports(ports: &[Value], errors: &mut Errors) {
    let mut names = std::collections::HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{i}]");
        let name = text(port, "name");
        if name.is_empty() && ports.len() > 1 {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else if !name.is_empty() {
            checks::dns_label(name, &format!("{path}.name"), errors);
            if !names.insert(name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), name));
            }
        }
        checks::port_number(int_at(port, &["port"]), &format!("{path}.port"), errors);
        let protocol = text(port, "protocol");
        checks::required_one_of(protocol, &format!("{path}.protocol"), &["SCTP", "TCP", "UDP"], errors);
        checks::port(port.get("targetPort"), &format!("{path}.targetPort"), errors);
        if let Some(protocol) = port.get("appProtocol").and_then(Value::as_str) {
            let wrong = pleach_meta::names::check_qualified_name(protocol).into_iter();
            let path = format!("{path}.appProtocol");
            errors.extend(wrong.map(|why| FieldError::invalid(path.as_str(), protocol, why)));
        }
    }
}

/// Session affinity and its time.
fn affinity(spec: &Value, errors: &mut Errors) {
    const LONGEST: i64 = 86400;
    let kind = text(spec, "sessionAffinity");
    checks::required_one_of(kind, "spec.sessionAffinity", &["ClientIP", "None"], errors);
    let config = spec.get("sessionAffinityConfig");
    let at = "spec.sessionAffinityConfig";
    match kind {
        "ClientIP" => {
            let seconds = config.map(|config| int_at(config, &["clientIP", "timeoutSeconds"]));
            if let Some(seconds) = seconds.filter(|seconds| !(1..=LONGEST).contains(seconds)) {
                let why = format!("must be greater than 0 and less than {LONGEST}");
                errors.push(FieldError::invalid(format!("{at}.clientIP.timeoutSeconds"), seconds, why));
            }
        }
        "None" if config.is_some() => {
            errors.push(FieldError::forbidden(at, "must not be set when session affinity is None"));
        }
        _ => {}
    }
}

/// Ports of the Service and of Nodes, none of which may be there twice for one protocol. If ports of Nodes are allocated, that
/// fails first.
fn repeated(ports: &[Value], allocated: bool, errors: &mut Errors) {
    let mut seen: std::collections::HashSet<(i64, &str)> = std::collections::HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        let number = int_at(port, &["nodePort"]);
        if !allocated && number != 0 && !seen.insert((number, text(port, "protocol"))) {
            errors.push(FieldError::duplicate(format!("spec.ports[{i}].nodePort"), number));
        }
    }
    seen.clear();
    for (i, port) in ports.iter().enumerate() {
        let (number, protocol) = (int_at(port, &["port"]), text(port, "protocol"));
        if !seen.insert((number, protocol)) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}",
                pleach_json::to_string(&protocol.into()),
            );
            errors.push(FieldError::new(
                ErrorType::Duplicate,
                format!("spec.ports[{i}]"),
                BadValue::Raw(shown),
                "",
            ));
        }
    }
}

/// Ranges of clients, in the field or else in the annotation that came before it.
fn source_ranges(annotation: Option<&str>, spec: &Value, kind: &str, errors: &mut Errors) {
    let ranges = items(spec, "loadBalancerSourceRanges");
    let at = match (ranges.is_empty(), annotation) {
        (false, _) => "spec.LoadBalancerSourceRanges".to_owned(),
        (true, Some(_)) => format!("metadata.annotations[{SOURCE_RANGES}]"),
        (true, None) => return,
    };
    if kind != "LoadBalancer" {
        errors.push(FieldError::forbidden(at.as_str(), ONLY_BALANCERS));
    }
    for (i, range) in ranges.iter().enumerate() {
        checks::cidr(range.as_str().unwrap_or_default().trim(), &format!("{at}[{i}]"), errors);
    }
    let written =
        annotation.filter(|_| ranges.is_empty()).map(str::trim).filter(|written| !written.is_empty());
    for range in written.into_iter().flat_map(|written| written.split(',')) {
        checks::cidr(range.trim(), &at, errors);
    }
}

/// The policy for traffic from outside and its port.
fn external_policy(spec: &Value, errors: &mut Errors) {
    let (policy, at) = (text(spec, "externalTrafficPolicy"), "spec.externalTrafficPolicy");
    if is_external(spec) {
        checks::required_one_of(policy, at, &["Cluster", "Local"], errors);
    } else if !policy.is_empty() {
        let why = "may only be set for externally-accessible services";
        errors.push(FieldError::invalid(at, policy, why));
    }
    let (port, at) = (int_at(spec, &["healthCheckNodePort"]), "spec.healthCheckNodePort");
    if port == 0 {
        return;
    }
    if needs_health_check(spec) {
        checks::port_number(port, at, errors);
    } else {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(FieldError::invalid(at, port, why));
    }
}

/// `ValidateServiceClusterIPsRelatedFields`
fn cluster_ips(spec: &Value, errors: &mut Errors) {
    if text(spec, "type") == "ExternalName" {
        return;
    }
    let (first, ips, at) = (text(spec, "clusterIP"), items(spec, "clusterIPs"), "spec.clusterIPs");
    let shown = || Value::from(ips.to_vec());
    if first.is_empty() {
        if !ips.is_empty() {
            let why = "must be empty when `clusterIP` is not specified";
            errors.push(FieldError::invalid(at, shown(), why));
        }
    } else if ips.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else if ips[0].as_str() != Some(first) {
        errors.push(FieldError::invalid(at, shown(), "first value must match `clusterIP`"));
    }
    let families = items(spec, "ipFamilies");
    for (i, family) in families.iter().enumerate() {
        let (family, path) = (family.as_str().unwrap_or_default(), format!("spec.ipFamilies[{i}]"));
        checks::one_of(family, &path, &["IPv4", "IPv6"], errors);
        if search(&families[..i], |other| other.as_str() == Some(family)).is_some() {
            errors.push(FieldError::duplicate(path, family));
        }
    }
    checks::one_of_if_set(
        spec.get("ipFamilyPolicy"),
        "spec.ipFamilyPolicy",
        &["PreferDualStack", "RequireDualStack", "SingleStack"],
        errors,
    );
    let mut invalid = false;
    for (i, ip) in ips.iter().enumerate() {
        let ip = ip.as_str().unwrap_or_default();
        if i == 0 && ip == "None" {
            if ips.len() > 1 {
                invalid = true;
                errors.push(FieldError::invalid(at, shown(), "'None' must be the first and only value"));
            }
            continue;
        }
        let before = errors.len();
        checks::ip(ip, &format!("{at}[{i}]"), errors);
        invalid |= errors.len() > before;
    }
    if ips.len() > 2 {
        errors.push(FieldError::invalid(at, shown(), "may only hold up to 2 values"));
    }
    if invalid {
        return;
    }
    let is_v6 = |ip: &Value| ip.as_str().is_some_and(|ip| ip.contains(':'));
    if ips.len() > 1 && !(ips.iter().any(is_v6) && ips.iter().any(|ip| !is_v6(ip))) {
        let why = "may specify no more than one IP for each IP family";
        errors.push(FieldError::invalid(at, shown(), why));
    }
    if is_headless(spec) {
        return;
    }
    for (i, (ip, family)) in ips.iter().zip(families).enumerate() {
        let family = family.as_str().unwrap_or_default();
        if matches!((family, is_v6(ip)), ("IPv4", true) | ("IPv6", false)) {
            let why = format!("expected an {family} value as indicated by `ipFamilies[{i}]`");
            errors.push(FieldError::invalid(format!("{at}[{i}]"), ip.clone(), why));
        }
    }
}

/// What this server, which gives out IPv4, cannot give.
fn stacks(spec: &Value, errors: &mut Errors) {
    let (families, policy) = (items(spec, "ipFamilies"), text(spec, "ipFamilyPolicy"));
    let has_selector = spec.get("selector").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    if text(spec, "type") == "ExternalName" || is_headless(spec) && !has_selector {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(spec: Value) -> Vec<String> {
        let mut object = json!({"metadata": {"name": "s"}, "spec": (spec)});
        Service.default(&mut object);
        Service.prepare_for_create(&mut object);
        validate(&object, None).iter().map(ToString::to_string).collect()
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
