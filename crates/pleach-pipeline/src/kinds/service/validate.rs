//! Validation of Services.

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::field_error::{BadValue, ErrorType};
use pleach_meta::object_meta::ObjectMeta;

use super::{is_external, needs};
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{int_at, items, search, text};

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

pub(super) fn service(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let spec = object.get("spec").unwrap_or(&Value::Null);
    // Addresses and families are validated first, when they are allocated.
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
pub(super) const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
pub(super) const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
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
    // The number is looked at when it is allocated.
    if !needs_health_check(spec) {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(FieldError::invalid(at, port, why));
    }
}

/// Whether an address is one of IPv6.
pub(super) fn is_v6(ip: &Value) -> bool {
    ip.as_str().is_some_and(|ip| ip.contains(':'))
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

/// Families and policies that this server, which gives out IPv4, does not have.
fn stacks(spec: &Value, errors: &mut Errors) {
    let (families, policy) = (items(spec, "ipFamilies"), text(spec, "ipFamilyPolicy"));
    let (ips, at) = (items(spec, "clusterIPs"), "spec.ipFamilyPolicy");
    let has_selector = spec.get("selector").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    if text(spec, "type") == "ExternalName" || is_headless(spec) && !has_selector {
        return;
    }
    for (list, what) in [(ips, "cluster IPs"), (families, "IP families")] {
        if policy == "SingleStack" && list.len() > 1 {
            let why =
                format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            errors.push(FieldError::invalid(at, policy, why));
        }
    }
    for (i, _) in ips.iter().enumerate().skip(families.len()).filter(|(_, ip)| is_v6(ip)) {
        let why = "IPv6 is not configured on this cluster";
        errors.push(FieldError::invalid(format!("spec.clusterIPs[{i}]"), ips.to_vec(), why));
    }
    if !errors.is_empty() {
        return;
    }
    if policy == "RequireDualStack" {
        let why = "this cluster is not configured for dual-stack services";
        errors.push(FieldError::invalid(at, policy, why));
    }
    if let Some(i) = families.iter().position(|family| family.as_str() == Some("IPv6")) {
        let why = "not configured on this cluster";
        errors.push(FieldError::invalid(format!("spec.ipFamilies[{i}]"), "IPv6", why));
    }
}
