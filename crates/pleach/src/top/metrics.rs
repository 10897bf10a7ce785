//! Metrics in Prometheus' text format, by resource.

use std::collections::BTreeMap;
use std::time::Duration;

/// The figures of an API server's resources.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// By name.
    pub(super) resources: Vec<Resource>,
}

/// A resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Resource {
    /// Plural and group, as kubectl takes them.
    pub(super) name: String,
    pub(super) objects: f64,
    /// An estimate.
    pub(super) bytes: f64,
    pub(super) watches: f64,
    pub(super) reads: f64,
    pub(super) writes: f64,
}

impl Usage {
    /// The sum of all resources.
    pub(super) fn total(&self) -> Resource {
        let mut total = Resource { name: "total".to_owned(), ..Resource::default() };
        for resource in &self.resources {
            total.objects += resource.objects;
            total.bytes += resource.bytes;
            total.watches += resource.watches;
            total.reads += resource.reads;
            total.writes += resource.writes;
        }
        total
    }

    /// Makes requests since the server's start requests per second since an earlier reading. A server that was
    /// started in between counts from its start.
    pub(super) fn requests_per_second(&mut self, earlier: &Self, over: Duration) {
        for resource in &mut self.resources {
            let before = earlier.resources.iter().find(|before| before.name == resource.name);
            let (reads, writes) = before.map_or((0.0, 0.0), |before| (before.reads, before.writes));
            let rate = |now: f64, before: f64| {
                let since = if now < before { now } else { now - before };
                since / over.as_secs_f64()
            };
            resource.reads = rate(resource.reads, reads);
            resource.writes = rate(resource.writes, writes);
        }
    }
}

/// Reads the metrics of a server. Lines that are not understood are left out.
pub(super) fn read(text: &str) -> Usage {
    let mut resources: BTreeMap<String, Resource> = BTreeMap::new();
    for line in text.lines() {
        let Some(Sample { name, labels, value }) = Sample::parse(line) else { continue };
        let label = |key: &str| labels.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| value);
        let (group, resource, verb) = (label("group"), label("resource"), label("verb"));
        if resource.is_empty() {
            continue;
        }
        let add: fn(&mut Resource) -> &mut f64 = match (name, verb) {
            ("apiserver_resource_objects", _) => |resource| &mut resource.objects,
            ("apiserver_resource_size_estimate_bytes", _) => |resource| &mut resource.bytes,
            ("apiserver_longrunning_requests", "WATCH") => |resource| &mut resource.watches,
            ("apiserver_request_total", "GET" | "LIST" | "WATCH") => |resource| &mut resource.reads,
            ("apiserver_request_total", _) => |resource| &mut resource.writes,
            _ => continue,
        };
        let name = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
        let entry = resources.entry(name).or_default();
        *add(entry) += value;
    }
    let resources = resources.into_iter().map(|(name, resource)| Resource { name, ..resource });
    // Reviews and the like have requests and no objects.
    Usage { resources: resources.collect() }
}

/// A line of the format. No label that is read here has escapes in it.
struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, &'a str)>,
    value: f64,
}

impl<'a> Sample<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (name, rest) = line.split_once('{')?;
        let (labels, value) = rest.rsplit_once('}')?;
        let value = value.trim().split(' ').next()?.parse().ok()?;
        let labels = labels.split("\",").filter_map(|pair| {
            let (key, value) = pair.split_once("=\"")?;
            Some((key.trim(), value.trim_end_matches('"')))
        });
        Some(Self { name, labels: labels.collect(), value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_added_up_by_resource() {
        let usage = read(
            "# HELP apiserver_request_total Requests.\n\
             apiserver_request_total{code=\"200\",group=\"\",resource=\"pods\",verb=\"LIST\",version=\"v1\"} 2\n\
             apiserver_request_total{code=\"404\",group=\"\",resource=\"pods\",verb=\"GET\",version=\"v1\"} 1\n\
             apiserver_request_total{code=\"201\",group=\"apps\",resource=\"deployments\",verb=\"POST\",version=\"v1\"} 4\n\
             apiserver_request_total{code=\"200\",group=\"\",resource=\"\",verb=\"GET\",version=\"\"} 9\n\
             apiserver_resource_objects{group=\"apps\",resource=\"deployments\"} 1e+03\n\
             process_cpu_seconds_total 1.5\n\
             nonsense{resource=\"x\"\n",
        );
        let pods = Resource { name: "pods".into(), reads: 3.0, ..Resource::default() };
        let deployments =
            Resource { name: "deployments.apps".into(), objects: 1000.0, writes: 4.0, ..Resource::default() };
        assert_eq!(usage.resources, [deployments, pods]);
        assert_eq!(usage.total().reads, 3.0);
    }

    #[test]
    fn requests_are_counted_between_two_readings() {
        let at = |reads: u32| {
            read(&format!("apiserver_request_total{{group=\"\",resource=\"pods\",verb=\"GET\"}} {reads}"))
        };
        for (before, after, want) in [(10, 30, 10.0), (30, 6, 3.0), (5, 5, 0.0)] {
            let mut now = at(after);
            now.requests_per_second(&at(before), Duration::from_secs(2));
            assert_eq!(now.resources[0].reads, want, "{before} to {after}");
        }
    }
}
