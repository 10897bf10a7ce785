//! Addresses and ports of Services.
//!
//! The stored Services are the only record of allocated addresses and ports. Writes of
//! Services wait for one another between reading it and their commit, so no address is allocated twice.
//! Where other servers write to the same store, each such commit also replaces one common key, on the condition that
//! the key is as it was before the Services were read: of two servers that allocate at the same moment, one repeats.

use std::collections::HashSet;
use std::net::Ipv4Addr;

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

/// Node ports.
const PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

/// The first node ports, which are allocated last.
const CHOSEN_PORTS: i64 = 86;

/// Addresses and ports of other Services.
#[derive(Default)]
pub(crate) struct Allocated {
    addresses: HashSet<Ipv4Addr>,
    ports: HashSet<i64>,
}

impl Allocated {
    /// Why a port cannot be had. A dry run does not look at the range.
    fn refusal(&self, port: i64, dry_run: bool) -> Option<&'static str> {
        if !dry_run && !PORTS.contains(&port) {
            return Some("provided port is not in the valid range. The range of valid ports is 30000-32767");
        }
        self.ports.contains(&port).then_some("provided port is already allocated")
    }
}

/// The port that a dry run shows: the one after those that the Service has, or one beyond the range.
fn next_shown(numbers: &[(i64, i64)]) -> i64 {
    const BEYOND: i64 = 32768;
    numbers.iter().map(|(_, number)| *number).max().unwrap_or(BEYOND) + 1
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
        taken.addresses.insert(nth(1));
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
                    let why = match is_in_range(given) {
                        false if dry_run => Some(format!(
                            "the provided IP ({given}) is not in the valid range. The range of valid IPs is 10.0.0.0/24"
                        )),
                        false => Some("the provided network does not match the current range".to_owned()),
                        true if dry_run || given == nth(1) && service::is_of_server(object) => None,
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
                None if dry_run => nth(0),
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
                        None if dry_run => next_shown(&numbers),
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
                            && let Some(why) = taken.refusal(given, dry_run)
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
                0 if dry_run => service::set_health_port(object, next_shown(&numbers)),
                0 => {
                    let port = self.free_port(&taken).ok_or_else(|| {
                        Rejection::internal("failed to allocate a HealthCheck NodePort : range is full")
                    })?;
                    service::set_health_port(object, port);
                }
                given if mine == Some(given) => {}
                given => {
                    if let Some(why) = taken.refusal(given, dry_run) {
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
        // The upper part of the range, as upstream prefers it; the lower is for addresses that clients choose.
        let upper: Vec<Ipv4Addr> = (17..=254).map(nth).filter(|ip| !taken.addresses.contains(ip)).collect();
        let free = if upper.is_empty() {
            (1..=16).map(nth).filter(|ip| !taken.addresses.contains(ip)).collect()
        } else {
            upper
        };
        (!free.is_empty()).then(|| free[self.random_below(free.len() as u64) as usize])
    }

    fn free_port(&self, taken: &Allocated) -> Option<i64> {
        // As with addresses, the lower part is for ports that clients choose.
        let free_of = |ports: std::ops::RangeInclusive<i64>| -> Vec<i64> {
            ports.filter(|port| !taken.ports.contains(port)).collect()
        };
        let upper = free_of(PORTS.start() + CHOSEN_PORTS..=*PORTS.end());
        let free = if upper.is_empty() { free_of(PORTS) } else { upper };
        (!free.is_empty()).then(|| free[self.random_below(free.len() as u64) as usize])
    }
}

/// An address of the range of Services, 10.0.0.0/24.
pub(crate) fn nth(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

fn is_in_range(address: Ipv4Addr) -> bool {
    address.octets()[..3] == [10, 0, 0] && !matches!(address.octets()[3], 0 | 255)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_refused_by_range_and_holder() {
        let taken = Allocated { ports: HashSet::from([30_100]), ..Allocated::default() };
        assert_eq!(taken.refusal(30_000, false), None);
        assert_eq!(taken.refusal(30_100, false), Some("provided port is already allocated"));
        assert_eq!(taken.refusal(30_100, true), Some("provided port is already allocated"));
        assert!(taken.refusal(80, false).is_some_and(|why| why.ends_with("30000-32767")));
        assert_eq!(taken.refusal(80, true), None);
    }

    #[test]
    fn dry_runs_show_the_next_port() {
        assert_eq!(next_shown(&[]), 32_769);
        assert_eq!(next_shown(&[(80, 30_500), (81, 30_100)]), 30_501);
    }

    #[test]
    fn the_first_and_the_last_address_are_never_allocated() {
        assert!(is_in_range(nth(1)) && is_in_range(nth(254)));
        assert!(!is_in_range(nth(0)) && !is_in_range(nth(255)));
        assert!(!is_in_range(Ipv4Addr::new(10, 0, 1, 5)));
    }
}
