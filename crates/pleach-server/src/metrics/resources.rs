//! Metrics of each resource: objects, an estimate of their size, open watches.
//!
//! Objects are counted when the metrics are read: by the index of the store, without a look at the objects.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;
use pleach_engine::target::Target;
use pleach_engine::{Engine, keys};
use pleach_json::Str;
use pleach_store::{RangeQuery, Revision};

/// The sizes of so many objects of a resource stand for the others.
const SAMPLE: usize = 16;

/// The resource and version of a watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watched {
    group: Str,
    version: Str,
    resource: Str,
}

impl Watched {
    /// The resource of a target.
    pub fn of(target: &Target) -> Self {
        let kind = &target.kind;
        Self {
            group: kind.group.clone(),
            version: kind.versions[target.version].name.clone(),
            resource: kind.plural.clone(),
        }
    }
}

/// Open watches by resource; those of none are not kept.
#[derive(Default)]
pub(super) struct Watches(Mutex<HashMap<Watched, u64, RandomState>>);

impl Watches {
    pub(super) fn began(&self, watched: &Watched) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *open.entry(watched.clone()).or_default() += 1;
    }

    pub(super) fn ended(&self, watched: &Watched) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(watched) {
            *count -= 1;
            if *count == 0 {
                open.remove(watched);
            }
        }
    }

    /// Appends the metric.
    pub(super) fn write(&self, out: &mut String) {
        let open: Vec<_> = {
            let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut open: Vec<_> = open.iter().map(|(watched, count)| (watched.clone(), *count)).collect();
            open.sort_by(|(a, _), (b, _)| {
                (&a.group, &a.resource, &a.version).cmp(&(&b.group, &b.resource, &b.version))
            });
            open
        };
        let name = "apiserver_longrunning_requests";
        let _ = writeln!(out, "# HELP {name} Open watches by resource.\n# TYPE {name} gauge");
        for (Watched { group, version, resource }, count) in open {
            let _ = writeln!(
                out,
                "{name}{{group=\"{group}\",resource=\"{resource}\",verb=\"WATCH\",version=\"{version}\"}} {count}"
            );
        }
    }
}

/// Appends the numbers of objects and estimates of their bytes, at a revision.
pub(super) async fn write_objects(engine: &Engine, at: Revision, out: &mut String) {
    let mut kinds = engine.catalog().all();
    kinds.sort_by(|a, b| (&a.group, &a.plural).cmp(&(&b.group, &b.plural)));
    let (objects, bytes) = ("apiserver_resource_objects", "apiserver_resource_size_estimate_bytes");
    let mut sizes =
        format!("# HELP {bytes} Estimated size of the stored objects of a resource.\n# TYPE {bytes} gauge\n");
    let storage = "apiserver_storage_objects";
    let mut stored = format!(
        "# HELP {storage} Stored objects by resource, under the older name.\n# TYPE {storage} gauge\n"
    );
    let _ = writeln!(out, "# HELP {objects} Stored objects by resource.\n# TYPE {objects} gauge");
    for kind in kinds {
        let query = RangeQuery::prefix(keys::prefix(&kind.group, &kind.plural, None)).limit(SAMPLE).at(at);
        let Ok(found) = engine.store().range(query).await else { continue };
        let sampled = found.items.len() as u64;
        let count = sampled + found.remaining;
        let size: u64 = found.items.iter().map(|item| item.value.len() as u64).sum();
        let estimate = (size * count).checked_div(sampled).unwrap_or_default();
        // Built-in kinds without objects, such as reviews, would only make the response longer.
        if count == 0 && !kind.is_custom() {
            continue;
        }
        let labels = format!("{{group=\"{}\",resource=\"{}\"}}", kind.group, kind.plural);
        let _ = writeln!(out, "{objects}{labels} {count}");
        let _ = writeln!(sizes, "{bytes}{labels} {estimate}");
        let dot = if kind.group.is_empty() { "" } else { "." };
        let _ = writeln!(stored, "{storage}{{resource=\"{}{dot}{}\"}} {count}", kind.plural, kind.group);
    }
    out.push_str(&sizes);
    out.push_str(&stored);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_open_watches_are_counted() {
        let watched = |resource: &str| Watched {
            group: "example.com".into(),
            version: "v1".into(),
            resource: resource.into(),
        };
        let watches = Watches::default();
        for resource in ["foos", "bars", "foos"] {
            watches.began(&watched(resource));
        }
        watches.ended(&watched("bars"));
        watches.ended(&watched("foos"));
        watches.ended(&watched("never-begun"));
        let mut out = String::new();
        watches.write(&mut out);
        let lines: Vec<&str> = out.lines().filter(|line| !line.starts_with('#')).collect();
        let foos = "apiserver_longrunning_requests{group=\"example.com\",resource=\"foos\",verb=\"WATCH\",version=\"v1\"} 1";
        assert_eq!(lines, [foos]);
    }
}
