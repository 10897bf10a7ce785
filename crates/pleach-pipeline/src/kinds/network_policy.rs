//! NetworkPolicies, IPAddresses and ServiceCIDRs.

use pleach_json::{Value, json};
use pleach_meta::FieldError;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks;
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
                    let path = format!("spec.{list}[{i}].ports[{j}]");
                    let protocols = ["SCTP", "TCP", "UDP"];
                    checks::one_of(
                        text(port, "protocol"),
                        &format!("{path}.protocol"),
                        &protocols,
                        &mut errors,
                    );
                    checks::port(port.get("port"), &format!("{path}.port"), &mut errors);
                }
                for (j, peer) in items(rule, peers).iter().enumerate() {
                    let path = format!("spec.{list}[{i}].{peers}[{j}]");
                    if let Some(block) = peer.get("ipBlock") {
                        checks::cidr(text(block, "cidr"), &format!("{path}.ipBlock.cidr"), &mut errors);
                        for (k, except) in items(block, "except").iter().enumerate() {
                            let path = format!("{path}.ipBlock.except[{k}]");
                            checks::cidr(except.as_str().unwrap_or_default(), &path, &mut errors);
                        }
                    }
                    for field in ["podSelector", "namespaceSelector"] {
                        if let Some(selector) = peer.get(field) {
                            checks::selector(selector, &format!("{path}.{field}"), &mut errors);
                        }
                    }
                    let set = peer.as_object().map_or(0, pleach_json::Map::len);
                    if set == 0 {
                        errors.push(FieldError::required(path, "must specify a peer"));
                    } else if set > 1 && peer.get("ipBlock").is_some() {
                        let why = "may not specify both ipBlock and another peer";
                        errors.push(FieldError::forbidden(path, why));
                    }
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

/// The rules of IPAddresses.
#[derive(Debug)]
pub struct IpAddress;

impl Rules for IpAddress {
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

/// The rules of ServiceCIDRs.
#[derive(Debug)]
pub struct ServiceCidr;

impl Rules for ServiceCidr {
    fn validate(&self, object: &Value, _: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (i, range) in object.get("spec").map(|s| items(s, "cidrs")).unwrap_or_default().iter().enumerate()
        {
            checks::cidr(range.as_str().unwrap_or_default(), &format!("spec.cidrs[{i}]"), &mut errors);
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
