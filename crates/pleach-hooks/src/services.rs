//! Where services are: addresses to connect to instead of the names of services.
//!
//! There are no Services here. Without an entry the name of a service is resolved by DNS.

use std::collections::HashMap;
use std::str::FromStr;

/// Addresses by the name and port of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceMap {
    /// By `name.namespace.svc`, and the port if the entry is for one.
    addresses: HashMap<(String, Option<u16>), (String, u16)>,
}

impl ServiceMap {
    /// Adds the entry of a flag.
    pub fn add(&mut self, entry: ServiceAddress) {
        let ServiceAddress { service, address } = entry;
        self.addresses.insert(service, address);
    }

    /// Where to connect to for a host and port.
    pub(crate) fn get(&self, host: &str, port: u16) -> Option<(&str, u16)> {
        if self.addresses.is_empty() {
            return None;
        }
        let find = |port| self.addresses.get(&(host.to_owned(), port));
        find(Some(port)).or_else(|| find(None)).map(|(host, port)| (host.as_str(), *port))
    }
}

/// An entry of the map: `NAMESPACE/NAME[:PORT]=HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAddress {
    service: (String, Option<u16>),
    address: (String, u16),
}

impl FromStr for ServiceAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || format!("{text:?} is not NAMESPACE/NAME[:PORT]=HOST:PORT");
        let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(malformed);
        let (service, address) = text.split_once('=').ok_or_else(malformed)?;
        let (namespace, name) = service.split_once('/').ok_or_else(malformed)?;
        let (name, own) = match name.split_once(':') {
            Some((name, own)) => (name, Some(port(own)?)),
            None => (name, None),
        };
        let (host, at) = address.rsplit_once(':').ok_or_else(malformed)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if [namespace, name, host].iter().any(|part| part.is_empty()) {
            return Err(malformed());
        }
        Ok(Self { service: (format!("{name}.{namespace}.svc"), own), address: (host.to_owned(), port(at)?) })
    }
}

impl FromIterator<ServiceAddress> for ServiceMap {
    fn from_iter<I: IntoIterator<Item = ServiceAddress>>(entries: I) -> Self {
        let mut map = Self::default();
        entries.into_iter().for_each(|entry| map.add(entry));
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_have_addresses() {
        let texts = ["ns/a=127.0.0.1:9443", "ns/a:8443=[::1]:9444", "ns/b:443=localhost:9445"];
        let map: ServiceMap = texts.iter().map(|text| text.parse::<ServiceAddress>().unwrap()).collect();
        assert_eq!(map.get("a.ns.svc", 443), Some(("127.0.0.1", 9443)));
        assert_eq!(map.get("a.ns.svc", 8443), Some(("::1", 9444)));
        assert_eq!(map.get("b.ns.svc", 443), Some(("localhost", 9445)));
        assert_eq!(map.get("b.ns.svc", 8443), None);
        for text in ["a=b:1", "ns/a=b", "ns/a:0=b:1", "ns/a=b:x", "/a=b:1", "ns/a=:1", "ns/a:x=b:1"] {
            assert!(text.parse::<ServiceAddress>().is_err(), "{text}");
        }
    }
}
