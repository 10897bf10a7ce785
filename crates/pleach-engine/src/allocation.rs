//! Addresses and ports of Services.
//!
//! The stored Services are the only record of allocated addresses and ports. Writes of
//! Services wait for one another between reading it and their commit, so no address is allocated twice.
//! Where other servers write to the same store, each such commit also replaces one common key, on the condition that
//! the key is as it was before the Services were read: of two servers that allocate at the same moment, one repeats.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use pleach_json::{InternedObjects, Value, json};
use pleach_meta::FieldError;
use pleach_store::{Commit, Expect, Key, Op};
use tokio::sync::MutexGuard;

use crate::engine::Engine;
use crate::kind::Kind;
use crate::kinds::service::{self, Needs};
use crate::record;
use crate::rejection::Rejection;

/// The key that commits of Services replace where several servers write to one store.
const LAST_ALLOCATION: &str = "/registry/allocations.pleach.internal/services/last";

/// Addresses and ports of other Services.
#[derive(Default)]
pub(crate) struct Allocated {
    addresses: HashSet<Ipv4Addr>,
    ports: HashSet<i64>,
}

impl Allocated {
    /// Why a port cannot be had. A dry run does not look at the range.
    fn refusal(&self, ranges: &ServiceRanges, port: i64, dry_run: bool) -> Option<String> {
        if !dry_run && !ranges.ports.contains(&port) {
            return Some(format!(
                "provided port is not in the valid range. The range of valid ports is {}",
                ranges.ports_text()
            ));
        }
        self.ports.contains(&port).then(|| "provided port is already allocated".to_owned())
    }
}

/// The port that a dry run shows: the one after those that the Service has, or two beyond the range.
fn next_shown(ranges: &ServiceRanges, numbers: &[(i64, i64)]) -> i64 {
    numbers.iter().map(|(_, number)| *number).max().unwrap_or(ranges.ports.end() + 1) + 1
}

/// The time between reading the Services and the commit.
pub(crate) struct Allocating<'a> {
    _lock: MutexGuard<'a, ()>,
    last: Option<Op>,
}

impl Allocating<'_> {
    /// The commit, which fails if another server has allocated meanwhile.
    pub(crate) fn guard(&self, mut commit: Commit) -> Commit {
        commit.ops.extend(self.last.clone());
        commit
    }
}

impl Engine {
    /// Begins an allocation: before the Services are read.
    pub(crate) async fn begin_allocation(&self) -> Result<Allocating<'_>, Rejection> {
        let lock = self.allocations.lock().await;
        if !self.store.is_shared() {
            return Ok(Allocating { _lock: lock, last: None });
        }
        let key = Key::from(LAST_ALLOCATION);
        let found = self.store.get(&key, None).await.map_err(Rejection::from_store)?;
        let expect = found.map_or(Expect::Absent, |found| Expect::At(found.revision));
        let value = record::encode(&mut json!({"metadata": {}}), 0, &InternedObjects::default());
        Ok(Allocating { _lock: lock, last: Some(Op::put(key, expect, value)) })
    }

    /// Reads the addresses and ports of Services other than this one.
    pub(crate) async fn taken(&self, kind: &Kind, own_uid: &str) -> Result<Allocated, Rejection> {
        let mut taken = Allocated::default();
        // The first address is that of the API server.
        taken.addresses.insert(self.service_ranges.nth(1));
        let services = self.each_object(&kind.group, &kind.plural, None, |other| {
            if pleach_meta::object_meta::ObjectMeta::of(&other).uid() != own_uid {
                taken.addresses.extend(service::addresses_of(&other));
                taken.ports.extend(service::node_ports_of(&other));
            }
            Ok(())
        });
        services.await?;
        Ok(taken)
    }

    /// Allocates missing addresses and ports. A dry run shows addresses and allocates none.
    pub(crate) fn allocate(
        &self,
        kind: &Kind,
        object: &mut Value,
        old: Option<&Value>,
        mut taken: Allocated,
        dry_run: bool,
    ) -> Result<(), Rejection> {
        let Needs { address, ports, health } = service::needs(object);
        let invalid = |object: &Value, error: FieldError| Rejection::Invalid {
            subject: kind.own_subject(object),
            errors: vec![error],
        };
        let own: Vec<Ipv4Addr> = old.map(|old| service::addresses_of(old).collect()).unwrap_or_default();
        if address {
            let given = service::addresses_of(object).next();
            let found = match given {
                Some(given) if own.contains(&given) => given,
                Some(given) => {
                    let ranges = &self.service_ranges;
                    let why = match ranges.has(given) {
                        false if dry_run => Some(format!(
                            "the provided IP ({given}) is not in the valid range. The range of valid IPs is {}",
                            ranges.addresses_text()
                        )),
                        false => Some("the provided network does not match the current range".to_owned()),
                        true if dry_run || given == ranges.nth(1) && service::is_of_server(object) => None,
                        true => taken
                            .addresses
                            .contains(&given)
                            .then(|| "provided IP is already allocated".to_owned()),
                    };
                    if let Some(why) = why {
                        let value = object.at(&["spec", "clusterIPs"]).cloned().unwrap_or_default();
                        return Err(invalid(
                            object,
                            FieldError::invalid(
                                "spec.clusterIPs",
                                value,
                                format!("failed to allocate IP {given}: {why}"),
                            ),
                        ));
                    }
                    given
                }
                None if dry_run => self.service_ranges.nth(0),
                None => self
                    .free_address(&taken)
                    .ok_or_else(|| Rejection::internal("failed to allocate a serviceIP: range is full"))?,
            };
            service::set_address(object, &found.to_string());
        }
        let mut numbers: Vec<(i64, i64)> = Vec::new();
        if ports {
            let had: Vec<i64> = old.map(|old| service::node_ports_of(old).collect()).unwrap_or_default();
            for (i, (port, given)) in service::ports_of(object).into_iter().enumerate() {
                pleach_work::charge(1 + (numbers.len() + had.len()) as u64 / 4);
                let number = match given {
                    0 => match numbers.iter().find(|(known, _)| *known == port) {
                        Some((_, number)) => *number,
                        None if dry_run => next_shown(&self.service_ranges, &numbers),
                        None => self.free_port(&taken).ok_or_else(|| {
                            Rejection::internal("failed to allocate a nodePort: range is full")
                        })?,
                    },
                    given => {
                        // One number serves one port in several protocols.
                        let shared = numbers.iter().any(|(known, number)| *known == port && *number == given);
                        let mine =
                            had.contains(&given) && !numbers.iter().any(|(_, number)| *number == given);
                        if !mine
                            && !shared
                            && let Some(why) = taken.refusal(&self.service_ranges, given, dry_run)
                        {
                            let path = format!("spec.ports[{i}].nodePort");
                            return Err(invalid(object, FieldError::invalid(path, given, why)));
                        }
                        given
                    }
                };
                taken.ports.insert(number);
                numbers.push((port, number));
            }
            service::set_node_ports(object, &numbers.iter().map(|(_, number)| *number).collect::<Vec<_>>());
        }
        if health {
            let mine = old.filter(|old| service::needs(old).health).map(service::health_port_of);
            match service::health_port_of(object) {
                0 if dry_run => service::set_health_port(object, next_shown(&self.service_ranges, &numbers)),
                0 => {
                    let port = self.free_port(&taken).ok_or_else(|| {
                        Rejection::internal("failed to allocate a HealthCheck NodePort : range is full")
                    })?;
                    service::set_health_port(object, port);
                }
                given if mine == Some(given) => {}
                given => {
                    if let Some(why) = taken.refusal(&self.service_ranges, given, dry_run) {
                        return Err(Rejection::internal(format!(
                            "failed to allocate requested HealthCheck NodePort {given}: {why}"
                        )));
                    }
                    if !(1..=65535).contains(&given) {
                        let why = "must be between 1 and 65535, inclusive";
                        let error = FieldError::invalid("spec.healthCheckNodePort", given, why);
                        return Err(invalid(object, error));
                    }
                }
            }
        }
        Ok(())
    }

    fn free_address(&self, taken: &Allocated) -> Option<Ipv4Addr> {
        let (range, last) = (&self.service_ranges, self.service_ranges.size() - 2);
        // The upper part of the range, as upstream prefers it; the lower is for addresses that clients choose.
        let lower = range.chosen_by_clients().min(last);
        let is_free = |n: &u32| !taken.addresses.contains(&range.nth(*n));
        let n = self.any_of(lower + 1..=last, is_free).or_else(|| self.any_of(1..=lower, is_free))?;
        Some(range.nth(n))
    }

    fn free_port(&self, taken: &Allocated) -> Option<i64> {
        let ranges = &self.service_ranges;
        let (first, last) = (*ranges.ports.start() as u32, *ranges.ports.end() as u32);
        // As with addresses, the lower part is for ports that clients choose.
        let lower = first + ranges.ports_chosen_by_clients();
        let is_free = |port: &u32| !taken.ports.contains(&i64::from(*port));
        self.any_of(lower..=last, is_free).or_else(|| self.any_of(first..=last, is_free)).map(i64::from)
    }

    /// The first number that is free, from a random one on.
    fn any_of(&self, numbers: RangeInclusive<u32>, is_free: impl Fn(&u32) -> bool) -> Option<u32> {
        if numbers.is_empty() {
            return None;
        }
        let (first, last) = (*numbers.start(), *numbers.end());
        let from = first + self.random_below(u64::from(last - first) + 1) as u32;
        let mut tried = 0;
        let found = (from..=last).chain(first..from).inspect(|_| tried += 1).find(is_free);
        pleach_work::charge(1 + tried / 8);
        found
    }
}

/// The addresses of Services and their node ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRanges {
    network: Ipv4Addr,
    bits: u32,
    ports: RangeInclusive<i64>,
}

impl Default for ServiceRanges {
    /// The ranges of kube-apiserver: 10.0.0.0/24 and 30000 to 32767.
    fn default() -> Self {
        Self { network: Ipv4Addr::new(10, 0, 0, 0), bits: 24, ports: 30000..=32767 }
    }
}

/// The largest range of addresses, as of kube-apiserver.
const FEWEST_BITS: u32 = 12;

/// The smallest range of addresses, as of kube-apiserver.
const FEWEST_ADDRESSES: u32 = 8;

impl ServiceRanges {
    /// Reads the flags `--service-cluster-ip-range` (`10.0.0.0/24`; a second range, of IPv6, is ignored) and
    /// `--service-node-port-range` (`30000-32767`, `30000+2767` or `30000`). An empty text is the default.
    pub fn parse(addresses: &str, ports: &str) -> Result<Self, String> {
        let mut ranges = Self::default();
        if let Some(first) = addresses.split(',').map(str::trim).find(|range| !range.is_empty()) {
            let invalid = || format!("--service-cluster-ip-range {first}: not a range of IPv4 addresses");
            let (address, bits) = first.split_once('/').ok_or_else(invalid)?;
            let address: Ipv4Addr = address.parse().map_err(|_| invalid())?;
            let bits: u32 = bits.parse().ok().filter(|bits| *bits <= 32).ok_or_else(invalid)?;
            if bits < FEWEST_BITS {
                return Err(format!(
                    "specified --service-cluster-ip-range is too large; for 32-bit addresses, the mask must be >= \
                     {FEWEST_BITS}"
                ));
            }
            if bits > 32 - FEWEST_ADDRESSES.ilog2() {
                return Err(format!(
                    "the service cluster IP range must be at least {FEWEST_ADDRESSES} IP addresses"
                ));
            }
            (ranges.network, ranges.bits) =
                (Ipv4Addr::from(u32::from(address) & (u32::MAX << (32 - bits))), bits);
        }
        if !ports.is_empty() {
            let invalid = || format!("--service-node-port-range {ports}: not a range of ports");
            let port = |text: &str| text.trim().parse::<u16>().map(i64::from).map_err(|_| invalid());
            let (first, last) = match (ports.split_once('-'), ports.split_once('+')) {
                (Some((first, last)), _) => (port(first)?, port(last)?),
                (None, Some((first, more))) => (port(first)?, port(first)? + port(more)?),
                (None, None) => (port(ports)?, port(ports)?),
            };
            if first == 0 || first > last || last > i64::from(u16::MAX) {
                return Err(invalid());
            }
            ranges.ports = first..=last;
        }
        Ok(ranges)
    }

    /// The node ports as upstream's messages show them.
    fn ports_text(&self) -> String {
        format!("{}-{}", self.ports.start(), self.ports.end())
    }

    /// The addresses as upstream's messages show them.
    fn addresses_text(&self) -> String {
        format!("{}/{}", self.network, self.bits)
    }

    /// How many of the first node ports are given out last.
    fn ports_chosen_by_clients(&self) -> u32 {
        let size = (self.ports.end() - self.ports.start() + 1) as u32;
        match size / 32 {
            _ if size < 16 => 0,
            share => share.clamp(16, 128),
        }
    }

    /// How many addresses there are.
    fn size(&self) -> u32 {
        1 << (32 - self.bits)
    }

    /// How many of the first addresses are given out last.
    fn chosen_by_clients(&self) -> u32 {
        (self.size() / 16).clamp(16, 256)
    }

    /// An address by its number.
    pub(crate) fn nth(&self, n: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.network) + n)
    }

    /// Whether a Service can have an address: all but the first and the last.
    fn has(&self, address: Ipv4Addr) -> bool {
        let n = u32::from(address).checked_sub(u32::from(self.network));
        n.is_some_and(|n| (1..self.size() - 1).contains(&n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_flags() {
        let default = ServiceRanges::default();
        assert_eq!(ServiceRanges::parse("", ""), Ok(default.clone()));
        assert_eq!(ServiceRanges::parse("10.0.0.0/24,fd00::/108", "30000-32767"), Ok(default));
        let ranges = ServiceRanges::parse("10.96.3.0/12", "30000+9").unwrap();
        assert_eq!((ranges.nth(1).to_string().as_str(), &ranges.ports), ("10.96.0.1", &(30000..=30009)));
        for (address, has) in [
            ("10.96.0.0", false),
            ("10.96.0.1", true),
            ("10.111.255.254", true),
            ("10.111.255.255", false),
            ("10.112.0.1", false),
            ("10.95.255.255", false),
        ] {
            assert_eq!(ranges.has(address.parse().unwrap()), has, "{address}");
        }
        assert_eq!(ServiceRanges::parse("", "30000").unwrap().ports, 30000..=30000);
        for (addresses, ports) in [
            ("10.0.0.0", ""),
            ("10.0.0.0/33", ""),
            ("10.0.0.0/11", ""),
            ("10.0.0.0/30", ""),
            ("fd00::/108", ""),
            ("", "a"),
            ("", "2-1"),
            ("", "65000+1000"),
        ] {
            assert!(ServiceRanges::parse(addresses, ports).is_err(), "{addresses} {ports}");
        }
    }

    #[test]
    fn ports_are_refused_by_range_and_holder() {
        let (ranges, taken) =
            (ServiceRanges::default(), Allocated { ports: HashSet::from([30_100]), ..Allocated::default() });
        let refusal = |port, dry_run| taken.refusal(&ranges, port, dry_run);
        assert_eq!(refusal(30_000, false), None);
        assert_eq!(refusal(30_100, false).as_deref(), Some("provided port is already allocated"));
        assert_eq!(refusal(30_100, true).as_deref(), Some("provided port is already allocated"));
        assert!(refusal(80, false).is_some_and(|why| why.ends_with("30000-32767")));
        assert_eq!(refusal(80, true), None);
    }

    #[test]
    fn dry_runs_show_the_next_port() {
        let ranges = ServiceRanges::default();
        assert_eq!(next_shown(&ranges, &[]), 32_769);
        assert_eq!(next_shown(&ranges, &[(80, 30_500), (81, 30_100)]), 30_501);
    }

    #[test]
    fn the_first_ports_are_for_clients() {
        assert_eq!(ServiceRanges::default().ports_chosen_by_clients(), 86);
        assert_eq!(ServiceRanges::parse("", "30000+9").unwrap().ports_chosen_by_clients(), 0);
    }

    #[test]
    fn the_first_and_the_last_address_are_never_allocated() {
        let ranges = ServiceRanges::default();
        assert!(ranges.has(ranges.nth(1)) && ranges.has(ranges.nth(254)));
        assert!(!ranges.has(ranges.nth(0)) && !ranges.has(ranges.nth(255)));
        assert!(!ranges.has(Ipv4Addr::new(10, 0, 1, 5)));
    }
}
