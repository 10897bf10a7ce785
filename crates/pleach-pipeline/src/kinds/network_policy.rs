//! NetworkPolicies, IPAddresses and ServiceCIDRs.

use std::net::IpAddr;

use pleach_go::strconv::quote;
use pleach_json::{Value, json};
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;
use pleach_meta::object_meta::{NameRule, ObjectMeta};

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{default_to, each_mut, items, member, text};
use crate::kinds::pod::cells;

/// The rules of NetworkPolicies.
#[derive(Debug)]
pub struct NetworkPolicy;

impl Rules for NetworkPolicy {
    fn default(&self, object: &mut Value) {
        let spec = member(object, "spec");
        for list in ["ingress", "egress"] {
            each_mut(spec, list, |rule| {
                each_mut(rule, "ports", |port| default_to(port, "protocol", "TCP"));
            });
        }
        let egress = spec.get("egress").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
        if !spec.contains_key("policyTypes") {
            spec.insert(
                "policyTypes",
                if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) },
            );
        }
    }

    fn validate(&self, object: &Value, _: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Some(selector) = object.at(&["spec", "podSelector"]) {
            checks::selector(selector, "spec.podSelector", &mut errors);
        }
        let spec = object.get("spec").unwrap_or(&Value::Null);
        for (list, peers) in [("ingress", "from"), ("egress", "to")] {
            for (i, rule) in items(spec, list).iter().enumerate() {
                for (j, port) in items(rule, "ports").iter().enumerate() {
                    self::port(port, &format!("spec.{list}[{i}].ports[{j}]"), &mut errors);
                }
                for (j, peer) in items(rule, peers).iter().enumerate() {
                    self::peer(peer, &format!("spec.{list}[{i}].{peers}[{j}]"), &mut errors);
                }
            }
        }
        let types = items(spec, "policyTypes");
        if types.len() > 2 {
            let why = "may not specify more than two policyTypes";
            errors.push(FieldError::invalid("spec.policyTypes", types.to_vec(), why));
        } else {
            for (i, kind) in types.iter().enumerate() {
                let kind = kind.as_str().unwrap_or_default();
                let path = format!("spec.policyTypes[{i}]");
                checks::one_of(kind, &path, &["Ingress", "Egress"], &mut errors);
            }
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Pod-Selector", "string", |o, _| cells::selector(o.at(&["spec", "podSelector"]))),
            age_text(),
        ]
    }
}

/// `ValidateNetworkPolicyPort`
fn port(port: &Value, path: &str, errors: &mut Errors) {
    checks::one_of_if_set(port.get("protocol"), &format!("{path}.protocol"), &["TCP", "UDP", "SCTP"], errors);
    let (at, end) = (format!("{path}.endPort"), port.get("endPort").and_then(Value::as_int));
    match (port.get("port"), end) {
        (Some(Value::Int(number)), end) => {
            checks::port_number(*number, &format!("{path}.port"), errors);
            let Some(end) = end else { return };
            if end < *number {
                let why = "must be greater than or equal to `port`";
                // The value that upstream shows is that of the other field.
                errors.push(FieldError::invalid(at.as_str(), *number, why));
            }
            checks::port_number(end, &at, errors);
        }
        (Some(Value::String(name)), end) => {
            if let Some(end) = end {
                let why = "may not be specified when `port` is non-numeric";
                errors.push(FieldError::invalid(at, end, why));
            }
            checks::port_name(name, &format!("{path}.port"), errors);
        }
        (_, Some(end)) => {
            errors.push(FieldError::invalid(at, end, "may not be specified when `port` is not specified"));
        }
        _ => {}
    }
}

/// `ValidateNetworkPolicyPeer`
fn peer(peer: &Value, path: &str, errors: &mut Errors) {
    let mut set = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if let Some(selector) = peer.get(field) {
            set += 1;
            checks::selector(selector, &format!("{path}.{field}"), errors);
        }
    }
    if let Some(block) = peer.get("ipBlock") {
        set += 1;
        ip_block(block, &format!("{path}.ipBlock"), errors);
    }
    if set == 0 {
        errors.push(FieldError::required(path, "must specify a peer"));
    } else if set > 1 && peer.get("ipBlock").is_some() {
        errors.push(FieldError::forbidden(path, "may not specify both ipBlock and another peer"));
    }
}

/// A range of addresses: the address as bits from the left, and how many of them count.
fn range(written: &str) -> Option<(bool, u128, u32)> {
    let (address, bits) = written.split_once('/')?;
    let bits: u32 = bits.parse().ok()?;
    Some(match address.parse().ok()? {
        IpAddr::V4(address) => (true, u128::from(u32::from(address)) << 96, bits),
        IpAddr::V6(address) => (false, u128::from(address), bits),
    })
}

/// `ValidateIPBlock`
fn ip_block(block: &Value, path: &str, errors: &mut Errors) {
    let (whole, at) = (text(block, "cidr"), format!("{path}.cidr"));
    if whole.is_empty() {
        errors.push(FieldError::required(at, ""));
        return;
    }
    let before = errors.len();
    checks::cidr(whole, &at, errors);
    if errors.len() > before {
        return;
    }
    let whole = range(whole);
    for (i, except) in items(block, "except").iter().enumerate() {
        let (except, path) = (except.as_str().unwrap_or_default(), format!("{path}.except[{i}]"));
        let before = errors.len();
        checks::cidr(except, &path, errors);
        if errors.len() > before {
            continue;
        }
        let is_inside =
            whole.zip(range(except)).is_some_and(|((v4, net, bits), (is_v4, address, longer))| {
                let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
                v4 == is_v4 && net & mask == address & mask && bits < longer
            });
        if !is_inside {
            errors.push(FieldError::invalid(path, except, "must be a strict subset of `cidr`"));
        }
    }
}

/// The rules of IPAddresses.
#[derive(Debug)]
pub struct IpAddress;

impl Rules for IpAddress {
    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let (parent, path) = (object.at(&["spec", "parentRef"]), "spec.parentRef");
        if let Some(old) = old {
            if parent != old.at(&["spec", "parentRef"]) {
                let show = |field: &str| {
                    let text = parent.map(|parent| text(parent, field)).unwrap_or_default();
                    pleach_json::to_string(&text.into())
                };
                let shown = format!(
                    "{{\"Group\":{},\"Resource\":{},\"Namespace\":{},\"Name\":{}}}",
                    show("group"),
                    show("resource"),
                    show("namespace"),
                    show("name")
                );
                errors.push(FieldError::invalid(path, BadValue::Raw(shown), "field is immutable"));
            }
            return errors;
        }
        let name = ObjectMeta::of(object).name();
        let before = errors.len();
        checks::ip(name, "metadata.name", &mut errors);
        let usual = name.parse::<IpAddr>().map(|ip| ip.to_string()).unwrap_or_default();
        if errors.len() == before && usual != name {
            let why = format!("must be in canonical form ({})", quote(&usual));
            errors.push(FieldError::invalid("metadata.name", name, why));
        }
        let Some(parent) = parent else {
            errors.push(FieldError::required(path, ""));
            return errors;
        };
        let group = text(parent, "group");
        if !group.is_empty() {
            checks::dns_subdomain(group, &format!("{path}.group"), &mut errors);
        }
        for (field, required) in [("resource", true), ("name", true), ("namespace", false)] {
            let (value, path) = (text(parent, field), format!("{path}.{field}"));
            if value.is_empty() {
                errors.extend(required.then(|| FieldError::required(path, "")));
                continue;
            }
            let wrong = pleach_meta::names::check_path_segment_name(value).into_iter();
            errors.extend(wrong.map(|why| FieldError::invalid(path.as_str(), value, why)));
        }
        errors
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("ParentRef", "string", |o, _| {
                let parent = o.at(&["spec", "parentRef"]).unwrap_or(&Value::Null);
                let group = text(parent, "group");
                let resource = text(parent, "resource");
                let kind = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
                format!("{kind}/{}/{}", text(parent, "namespace"), text(parent, "name")).into()
            }),
            age_text(),
        ]
    }
}

/// One range of each family at most, written as usual.
fn service_ranges(ranges: &[Value], errors: &mut Errors) {
    let path = "spec.cidrs";
    if ranges.is_empty() {
        errors.push(FieldError::required(path, "at least one CIDR required"));
        return;
    }
    if ranges.len() > 2 {
        let shown = format!("{{\"CIDRs\":{}}}", pleach_json::to_string(&ranges.to_vec().into()));
        errors.push(FieldError::invalid(path, BadValue::Raw(shown), "may only hold up to 2 values"));
        return;
    }
    for (i, written) in ranges.iter().filter_map(Value::as_str).enumerate() {
        let (path, before) = (format!("{path}[{i}]"), errors.len());
        checks::cidr(written, &path, errors);
        let (address, bits) = written.split_once('/').unwrap_or_default();
        let usual = address.parse::<IpAddr>().map(|ip| format!("{ip}/{bits}")).unwrap_or_default();
        if errors.len() == before && usual != written {
            let why = format!("must be in canonical form ({})", quote(&usual));
            errors.push(FieldError::invalid(path, written, why));
        }
    }
    let families: Vec<bool> =
        ranges.iter().filter_map(|one| range(one.as_str()?)).map(|(is_v4, ..)| is_v4).collect();
    if matches!(families[..], [one, other] if one == other) {
        let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.push(FieldError::invalid(path, ranges.to_vec(), why));
    }
}

/// The rules of ServiceCIDRs.
#[derive(Debug)]
pub struct ServiceCidr;

impl Rules for ServiceCidr {
    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let ranges = |object: &Value| object.get("spec").map(|spec| items(spec, "cidrs").to_vec());
        let new = ranges(object).unwrap_or_default();
        let Some(old) = old.and_then(ranges) else {
            service_ranges(&new, &mut errors);
            return errors;
        };
        let why = "field is immutable";
        let grows = old.len() == 1 && new.len() == 2;
        if old.len() != new.len() && !grows {
            errors.push(FieldError::invalid("spec.cidrs", new, why));
            return errors;
        }
        for (i, (range, _)) in new.iter().zip(&old).enumerate().filter(|(_, (new, old))| new != old) {
            errors.push(FieldError::invalid(format!("spec.cidrs[{i}]"), range.clone(), why));
        }
        if grows {
            service_ranges(&new, &mut errors);
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("CIDRs", "string", |o, _| {
                cells::list(o.get("spec").map(|s| items(s, "cidrs")).unwrap_or_default())
            }),
            age_text(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_services() {
        let ranges = |all: Value| json!({"spec": {"cidrs": (all)}});
        let texts = |new: Value, old: Option<Value>| {
            let errors = ServiceCidr.validate(&ranges(new), old.map(ranges).as_ref());
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let both = json!(["10.0.0.0/24", "2001:db8::/64"]);
        assert_eq!(texts(both.clone(), None), [""; 0]);
        assert_eq!(texts(both, Some(json!(["10.0.0.0/24"]))), [""; 0]);
        assert_eq!(
            texts(json!(["10.0.0.0/24", "10.1.0.0/24"]), None),
            [
                "spec.cidrs: Invalid value: [\"10.0.0.0/24\",\"10.1.0.0/24\"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
            ]
        );
        assert_eq!(
            texts(json!(["10.1.0.0/24"]), Some(json!(["10.0.0.0/24"]))),
            ["spec.cidrs[0]: Invalid value: \"10.1.0.0/24\": field is immutable"]
        );
    }

    #[test]
    fn ports_and_peers() {
        let policy = json!({"spec": {"podSelector": {}, "ingress": [{
            "ports": [{"protocol": "tcp", "port": 80, "endPort": 70}, {"port": "http", "endPort": 90}, {"endPort": 1}],
            "from": [
                {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16", "11.0.0.0/16", "10.0.0.0/8", "x"]}, "podSelector": {}},
                {"ipBlock": {}},
            ],
        }]}});
        let errors = NetworkPolicy.validate(&policy, None);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "spec.ingress[0].ports[0].protocol: Unsupported value: \"tcp\": supported values: \"TCP\", \"UDP\", \"SCTP\"",
                "spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
                "spec.ingress[0].ports[1].endPort: Invalid value: 90: may not be specified when `port` is non-numeric",
                "spec.ingress[0].ports[2].endPort: Invalid value: 1: may not be specified when `port` is not specified",
                "spec.ingress[0].from[0].ipBlock.except[1]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`",
                "spec.ingress[0].from[0].ipBlock.except[2]: Invalid value: \"10.0.0.0/8\": must be a strict subset of `cidr`",
                "spec.ingress[0].from[0].ipBlock.except[3]: Invalid value: \"x\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
                "spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer",
                "spec.ingress[0].from[1].ipBlock.cidr: Required value",
            ]
        );
    }
}
