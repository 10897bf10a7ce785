//! Endpoints and EndpointSlices.

use std::collections::HashSet;

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::names::{check_label_value, check_qualified_name};

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{default_to, each_mut, int_at, items, text};
use crate::kinds::pod::cells::or_none;
use crate::resource::Subresource;
use crate::strategy::Stamp;

/// The first three entries of a list, and the number of further ones.
pub(crate) fn three_and_count(all: &[String]) -> Value {
    shortened(all, all.len())
}

/// The same for a list of `count` entries that begins with `first`.
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
        let mut errors = Errors::new();
        for (i, subset) in items(object, "subsets").iter().enumerate() {
            let path = format!("subsets[{i}]");
            let lists = ["addresses", "notReadyAddresses"];
            if lists.iter().all(|list| items(subset, list).is_empty()) {
                let why = "must specify `addresses` or `notReadyAddresses`";
                errors.push(FieldError::required(path.as_str(), why));
            }
            for list in lists {
                for (j, address) in items(subset, list).iter().enumerate() {
                    self::address(address, &format!("{path}.{list}[{j}]"), &mut errors);
                }
            }
            let ports = items(subset, "ports");
            for (j, port) in ports.iter().enumerate() {
                self::port(port, ports.len() > 1, &format!("{path}.ports[{j}]"), &mut errors);
            }
        }
        errors
    }

    fn revalidates_metadata(&self) -> bool {
        true
    }

    fn columns(&self) -> Vec<Column> {
        fn endpoints(object: &Value, _: i64) -> Value {
            let subsets = items(object, "subsets");
            if subsets.is_empty() {
                return "<none>".into();
            }
            let (mut first, mut count): (Vec<String>, usize) = (Vec::new(), 0);
            for subset in subsets {
                let (ports, addresses) = (items(subset, "ports"), items(subset, "addresses"));
                // Each port is shown with each address, which may be many more than the object has members.
                count = count.saturating_add(ports.len().max(1).saturating_mul(addresses.len()));
                let each = ports.iter().take(3).map(Some).chain(ports.is_empty().then_some(None));
                for port in each {
                    first
                        .extend(addresses.iter().take(3).map(|address| host_port(text(address, "ip"), port)));
                }
                first.truncate(3);
            }
            if count == 0 {
                return "".into();
            }
            shortened(&first, count)
        }
        vec![computed("Endpoints", "string", endpoints), age_text()]
    }
}

/// `net.JoinHostPort`, if there is a port.
fn host_port(ip: &str, port: Option<&Value>) -> String {
    let Some(port) = port else { return ip.to_owned() };
    let number = int_at(port, &["port"]);
    if ip.contains(':') { format!("[{ip}]:{number}") } else { format!("{ip}:{number}") }
}

fn address(address: &Value, path: &str, errors: &mut Errors) {
    let (ip, host) = (text(address, "ip"), text(address, "hostname"));
    checks::ip(ip, &format!("{path}.ip"), errors);
    if !host.is_empty() {
        checks::dns_label(host, &format!("{path}.hostname"), errors);
    }
    if let Some(node) = address.get("nodeName").and_then(Value::as_str) {
        checks::dns_subdomain(node, &format!("{path}.nodeName"), errors);
    }
    checks::non_special_ip(ip, &format!("{path}.ip"), errors);
}

fn port(port: &Value, needs_name: bool, path: &str, errors: &mut Errors) {
    match text(port, "name") {
        "" if needs_name => errors.push(FieldError::required(format!("{path}.name"), "")),
        "" => {}
        name => checks::dns_label(name, &format!("{path}.name"), errors),
    }
    checks::port_number(int_at(port, &["port"]), &format!("{path}.port"), errors);
    let protocol = text(port, "protocol");
    checks::required_one_of(protocol, &format!("{path}.protocol"), &["SCTP", "TCP", "UDP"], errors);
    app_protocol(port, path, errors);
}

fn app_protocol(port: &Value, path: &str, errors: &mut Errors) {
    if let Some(protocol) = port.get("appProtocol").and_then(Value::as_str) {
        let wrong = check_qualified_name(protocol).into_iter();
        let path = format!("{path}.appProtocol");
        errors.extend(wrong.map(|why| FieldError::invalid(path.as_str(), protocol, why)));
    }
}

/// The most endpoints of a slice, addresses of an endpoint, labels of its topology, ports and hints.
const MOST_ENDPOINTS: i64 = 1000;
const MOST_ADDRESSES: i64 = 100;
const MOST_LABELS: i64 = 16;
const MOST_PORTS: i64 = 20_000;
const MOST_HINTS: i64 = 8;

fn slice_endpoint(endpoint: &Value, kind: &str, path: &str, errors: &mut Errors) {
    let addresses = items(endpoint, "addresses");
    let at = format!("{path}.addresses");
    if addresses.is_empty() {
        errors.push(FieldError::required(at.as_str(), "must contain at least 1 address"));
    } else if addresses.len() as i64 > MOST_ADDRESSES {
        errors.push(FieldError::too_many(at.as_str(), addresses.len() as i64, MOST_ADDRESSES));
    }
    for (i, address) in addresses.iter().enumerate() {
        let (address, path) = (address.as_str().unwrap_or_default(), format!("{at}[{i}]"));
        match kind {
            "IPv4" | "IPv6" => {
                let before = errors.len();
                checks::ip(address, &path, errors);
                if errors.len() > before {
                    continue;
                }
                if address.contains(':') != (kind == "IPv6") {
                    let why = format!("must be an {kind} address");
                    errors.push(FieldError::invalid(at.as_str(), address, why));
                }
                checks::non_special_ip(address, &path, errors);
            }
            "FQDN" => full_name(address, &path, errors),
            _ => {}
        }
    }
    if let Some(node) = endpoint.get("nodeName").and_then(Value::as_str) {
        checks::dns_subdomain(node, &format!("{path}.nodeName"), errors);
    }
    let labels = endpoint.get("deprecatedTopology").and_then(Value::as_object);
    let at = format!("{path}.deprecatedTopology");
    if let Some(labels) = labels {
        if labels.len() as i64 > MOST_LABELS {
            errors.push(FieldError::too_many(at.as_str(), labels.len() as i64, MOST_LABELS));
        }
        checks::labels(endpoint.get("deprecatedTopology"), &at, errors);
    }
    if let Some(host) = endpoint.get("hostname").and_then(Value::as_str) {
        checks::dns_label(host, &format!("{path}.hostname"), errors);
    }
    for (list, name) in [("forZones", "zone"), ("forNodes", "node")] {
        hints(endpoint, list, name, &format!("{path}.hints.{list}"), errors);
    }
}

fn hints(endpoint: &Value, list: &str, what: &str, path: &str, errors: &mut Errors) {
    let hints = endpoint.get("hints").map(|hints| items(hints, list)).unwrap_or_default();
    if hints.len() as i64 > MOST_HINTS {
        errors.push(FieldError::too_many(path, hints.len() as i64, MOST_HINTS));
        return;
    }
    let mut seen = HashSet::new();
    for (i, hint) in hints.iter().enumerate() {
        let (name, path) = (text(hint, "name"), format!("{path}[{i}].name"));
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(path.as_str(), name));
        }
        if what == "zone" {
            let wrong = check_label_value(name).into_iter();
            errors.extend(wrong.map(|why| FieldError::invalid(path.as_str(), name, why)));
        } else {
            checks::dns_subdomain(name, &path, errors);
        }
    }
}

/// A fully qualified name: a subdomain of at least two parts.
fn full_name(name: &str, path: &str, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let before = errors.len();
    checks::dns_subdomain(name, path, errors);
    if errors.len() == before && !name.contains('.') {
        errors.push(FieldError::invalid(
            path,
            name,
            "should be a domain with at least two segments separated by dots",
        ));
    }
}

fn slice_ports(object: &Value, errors: &mut Errors) {
    let ports = items(object, "ports");
    if ports.len() as i64 > MOST_PORTS {
        errors.push(FieldError::too_many("ports", ports.len() as i64, MOST_PORTS));
        return;
    }
    let mut names = HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        let (path, name) = (format!("ports[{i}]"), text(port, "name"));
        if !name.is_empty() {
            checks::dns_label(name, &format!("{path}.name"), errors);
        }
        if !names.insert(name) {
            errors.push(FieldError::duplicate(format!("{path}.name"), name));
        }
        let protocol = text(port, "protocol");
        checks::required_one_of(protocol, &format!("{path}.protocol"), &["SCTP", "TCP", "UDP"], errors);
        app_protocol(port, &path, errors);
    }
}

/// A field of v1beta1, which v1 shows if it was stored.
const TOPOLOGY: &str = "deprecatedTopology";

fn drop_topology(slice: &mut Value) {
    if items(slice, "endpoints").iter().any(|endpoint| endpoint.get(TOPOLOGY).is_some())
        && let Some(Value::Array(endpoints)) = slice.get_mut("endpoints")
    {
        let endpoints = endpoints.iter_mut().filter_map(Value::as_object_mut);
        endpoints.for_each(|endpoint| drop(endpoint.remove(TOPOLOGY)));
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

    // Not before: what is dropped raises the generation.
    fn stamp(&self, object: &mut Value, old: Option<&Value>, _: Subresource, _: &Stamp<'_>) {
        let has = |slice: &Value| items(slice, "endpoints").iter().any(|one| one.get(TOPOLOGY).is_some());
        if !old.is_some_and(has) {
            drop_topology(object);
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        let kind = text(object, "addressType");
        checks::required_one_of(kind, "addressType", &["FQDN", "IPv4", "IPv6"], &mut errors);
        let endpoints = items(object, "endpoints");
        if endpoints.len() as i64 > MOST_ENDPOINTS {
            errors.push(FieldError::too_many("endpoints", endpoints.len() as i64, MOST_ENDPOINTS));
        } else {
            for (i, endpoint) in endpoints.iter().enumerate() {
                slice_endpoint(endpoint, kind, &format!("endpoints[{i}]"), &mut errors);
            }
        }
        slice_ports(object, &mut errors);
        if let Some(old) = old {
            checks::immutable(object.get("addressType"), old.get("addressType"), "addressType", &mut errors);
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("AddressType", "string", |o, _| text(o, "addressType").into()),
            computed("Ports", "string", |o, _| {
                let shown: Vec<String> = items(o, "ports")
                    .iter()
                    .map(|port| match port.get("port").and_then(Value::as_int) {
                        Some(number) => number.to_string(),
                        None => text(port, "name").to_owned(),
                    })
                    .collect();
                // One port with neither number nor name is as none.
                if shown.iter().all(String::is_empty) && shown.len() < 2 {
                    "<unset>".into()
                } else {
                    three_and_count(&shown)
                }
            }),
            computed("Endpoints", "string", |o, _| {
                let all: Vec<String> = items(o, "endpoints")
                    .iter()
                    .flat_map(|endpoint| items(endpoint, "addresses"))
                    .filter_map(|address| address.as_str().map(str::to_owned))
                    .collect();
                if all.is_empty() { or_none("<unset>") } else { three_and_count(&all) }
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
    fn addresses_and_ports() {
        let texts = |errors: Errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
        let endpoints = json!({"subsets": [{}, {"addresses": [{"ip": "0.0.0.0"}], "ports": [{"port": 1, "protocol": "TCP"}, {"name": "b", "port": 2, "protocol": "x"}]}]});
        assert_eq!(
            texts(Endpoints.validate(&endpoints, None)),
            [
                "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
                "subsets[1].addresses[0].ip: Invalid value: \"0.0.0.0\": may not be unspecified (0.0.0.0)",
                "subsets[1].ports[0].name: Required value",
                "subsets[1].ports[1].protocol: Unsupported value: \"x\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
            ]
        );
        let slice = json!({
            "addressType": "FQDN",
            "endpoints": [{"addresses": ["a"], "hints": {"forZones": [{"name": "z"}, {"name": "z"}]}}],
            "ports": [{"name": "", "protocol": "TCP"}, {"name": "", "protocol": "TCP"}],
        });
        assert_eq!(
            texts(EndpointSlice.validate(&slice, None)),
            [
                "endpoints[0].addresses[0]: Invalid value: \"a\": should be a domain with at least two segments separated by dots",
                "endpoints[0].hints.forZones[1].name: Duplicate value: \"z\"",
                "ports[1].name: Duplicate value: \"\"",
            ]
        );
    }

    #[test]
    fn cells() {
        let cell = |columns: Vec<Column>, name: &str, object: &Value| {
            let column = columns.into_iter().find(|column| column.name == name).expect("the column");
            match column.cell {
                crate::kind::Cell::Computed(of) => of(object, 0),
                _ => panic!("{name} is computed"),
            }
        };
        let endpoints =
            |subsets: Value| cell(Endpoints.columns(), "Endpoints", &json!({"subsets": (subsets)}));
        assert_eq!(endpoints(json!([])), Value::from("<none>"));
        assert_eq!(
            endpoints(json!([{"notReadyAddresses": [{"ip": "1.1.1.1"}], "ports": [{"port": 1}]}])),
            Value::from("")
        );
        let two =
            json!([{"addresses": [{"ip": "1.1.1.1"}, {"ip": "::1"}], "ports": [{"port": 80}, {"port": 81}]}]);
        assert_eq!(endpoints(two), Value::from("1.1.1.1:80,[::1]:80,1.1.1.1:81 + 1 more..."));
        let ports = |ports: Value| cell(EndpointSlice.columns(), "Ports", &json!({"ports": (ports)}));
        assert_eq!(ports(json!([{"name": ""}])), Value::from("<unset>"));
        assert_eq!(ports(json!([{"name": "a"}, {"name": "b", "port": 80}])), Value::from("a,80"));
    }
}
