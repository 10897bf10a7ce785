//! Endpoints and EndpointSlices.

use pleach_json::Value;
use pleach_meta::FieldError;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks;
use crate::kinds::fields::{default_to, each_mut, int_at, items, text};
use crate::kinds::pod::cells::or_none;

/// Three of a list, and how many there are more.
pub(crate) fn three(all: &[String]) -> Value {
    shortened(all, all.len())
}

/// Three of a list that begins so, and how many there are more of all.
fn shortened(first: &[String], count: usize) -> Value {
    if count == 0 {
        return "<none>".into();
    }
    let shown = first.iter().take(3).cloned().collect::<Vec<_>>().join(",");
    if count > 3 { format!("{shown} + {} more...", count - 3).into() } else { shown.into() }
}

/// The rules of Endpoints.
#[derive(Debug)]
pub struct Endpoints;

impl Rules for Endpoints {
    fn default(&self, object: &mut Value) {
        if let Some(members) = object.as_object_mut() {
            each_mut(members, "subsets", |subset| {
                each_mut(subset, "ports", |port| default_to(port, "protocol", "TCP"));
            });
        }
    }

    fn validate(&self, object: &Value, _: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (i, subset) in items(object, "subsets").iter().enumerate() {
            for list in ["addresses", "notReadyAddresses"] {
                for (j, address) in items(subset, list).iter().enumerate() {
                    checks::ip(text(address, "ip"), &format!("subsets[{i}].{list}[{j}].ip"), &mut errors);
                }
            }
            for (j, port) in items(subset, "ports").iter().enumerate() {
                checks::port_number(
                    int_at(port, &["port"]),
                    &format!("subsets[{i}].ports[{j}].port"),
                    &mut errors,
                );
            }
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        fn endpoints(object: &Value, _: i64) -> Value {
            let (mut first, mut count): (Vec<String>, usize) = (Vec::new(), 0);
            for subset in items(object, "subsets") {
                let ports = items(subset, "ports");
                for address in items(subset, "addresses") {
                    // Each address is shown with each port, which may be many more than the object has members.
                    let room = 3_usize.saturating_sub(first.len());
                    let ip = text(address, "ip");
                    if ports.is_empty() && room > 0 {
                        first.push(ip.to_owned());
                    }
                    let shown = ports.iter().take(room);
                    first.extend(shown.map(|port| format!("{ip}:{}", int_at(port, &["port"]))));
                    count = count.saturating_add(ports.len().max(1));
                }
            }
            shortened(&first, count)
        }
        vec![computed("Endpoints", "string", endpoints), age_text()]
    }
}

/// The rules of EndpointSlices.
#[derive(Debug)]
pub struct EndpointSlice;

impl Rules for EndpointSlice {
    fn default(&self, object: &mut Value) {
        if let Some(members) = object.as_object_mut() {
            each_mut(members, "ports", |port| {
                if !port.contains_key("name") {
                    port.insert("name", "");
                }
                default_to(port, "protocol", "TCP");
            });
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let kind = text(object, "addressType");
        if kind.is_empty() {
            errors.push(FieldError::required("addressType", ""));
        } else {
            checks::one_of(kind, "addressType", &["FQDN", "IPv4", "IPv6"], &mut errors);
        }
        for (i, endpoint) in items(object, "endpoints").iter().enumerate() {
            let addresses = items(endpoint, "addresses");
            if addresses.is_empty() {
                errors.push(FieldError::required(
                    format!("endpoints[{i}].addresses"),
                    "must contain at least 1 address",
                ));
            }
            if kind != "FQDN" {
                for (j, address) in addresses.iter().enumerate() {
                    let path = format!("endpoints[{i}].addresses[{j}]");
                    checks::ip(address.as_str().unwrap_or_default(), &path, &mut errors);
                }
            }
        }
        if let Some(old) = old {
            checks::immutable(object.get("addressType"), old.get("addressType"), "addressType", &mut errors);
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("AddressType", "string", |o, _| text(o, "addressType").into()),
            computed("Ports", "string", |o, _| {
                let ports = items(o, "ports");
                if ports.is_empty() {
                    return "<unset>".into();
                }
                three(
                    &ports
                        .iter()
                        .map(|port| port.get("port").map_or("*".into(), pleach_json::to_string))
                        .collect::<Vec<_>>(),
                )
            }),
            computed("Endpoints", "string", |o, _| {
                let all: Vec<String> = items(o, "endpoints")
                    .iter()
                    .flat_map(|endpoint| items(endpoint, "addresses"))
                    .filter_map(|address| address.as_str().map(str::to_owned))
                    .collect();
                if all.is_empty() { or_none("<unset>") } else { three(&all) }
            }),
            age_text(),
        ]
    }
}
