//! Counters of the calls to etcd, and how far the cache is behind.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use pleach_store::Revision;

/// The upper bounds of the buckets in seconds, as kube-apiserver's.
const BUCKETS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
];

/// The calls that are counted.
const CALLS: [&str; 6] = ["Range", "Txn", "Compact", "LeaseGrant", "LeaseKeepAlive", "Alarm"];

/// How long calls of one sort took.
#[derive(Debug, Default)]
struct Durations {
    /// By bucket, each without those below; the last has none.
    counts: [AtomicU64; BUCKETS.len() + 1],
    microseconds: AtomicU64,
    errors: AtomicU64,
}

/// The counters of a client.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    calls: [Durations; CALLS.len()],
    /// The highest revision that etcd has named in an answer.
    revision: AtomicU64,
    /// Whether the watch is open.
    pub(crate) following: AtomicBool,
}

impl Metrics {
    /// Counts a call by the last part of its path.
    pub(crate) fn called(&self, path: &str, took: Duration, succeeded: bool) {
        let Some(at) = CALLS.iter().position(|call| path.ends_with(&format!("/{call}"))) else { return };
        let durations = &self.calls[at];
        let bucket = BUCKETS.partition_point(|bound| *bound < took.as_secs_f64());
        durations.counts[bucket].fetch_add(1, Relaxed);
        durations.microseconds.fetch_add(took.as_micros().try_into().unwrap_or(u64::MAX), Relaxed);
        if !succeeded {
            durations.errors.fetch_add(1, Relaxed);
        }
    }

    /// Notes a revision that etcd has named.
    pub(crate) fn reached(&self, revision: i64) {
        self.revision.fetch_max(revision.try_into().unwrap_or(0), Relaxed);
    }

    /// Appends all metrics, for a cache that is at a revision.
    pub(crate) fn write(&self, cached: Revision, out: &mut String) {
        let name = "etcd_request_duration_seconds";
        let _ = writeln!(out, "# HELP {name} How long calls to etcd took.\n# TYPE {name} histogram");
        for (call, durations) in CALLS.iter().zip(&self.calls) {
            let label = format!("operation=\"{call}\"");
            let mut all = 0;
            for (bound, count) in BUCKETS.iter().zip(&durations.counts) {
                all += count.load(Relaxed);
                let _ = writeln!(out, "{name}_bucket{{{label},le=\"{bound}\"}} {all}");
            }
            all += durations.counts[BUCKETS.len()].load(Relaxed);
            let seconds = Duration::from_micros(durations.microseconds.load(Relaxed)).as_secs_f64();
            let _ = writeln!(out, "{name}_bucket{{{label},le=\"+Inf\"}} {all}");
            let _ = writeln!(out, "{name}_sum{{{label}}} {seconds}\n{name}_count{{{label}}} {all}");
        }
        let name = "etcd_request_errors_total";
        let _ = writeln!(out, "# HELP {name} Calls to etcd that failed.\n# TYPE {name} counter");
        for (call, durations) in CALLS.iter().zip(&self.calls) {
            let _ = writeln!(out, "{name}{{operation=\"{call}\"}} {}", durations.errors.load(Relaxed));
        }
        let lag = self.revision.load(Relaxed).saturating_sub(cached.0);
        let following = u64::from(self.following.load(Relaxed));
        for (name, help, value) in [
            ("lag_revisions", "Revisions of etcd that the cache does not have yet.", lag),
            ("following", "1 while the watch of etcd that fills the cache is open.", following),
        ] {
            let name = format!("pleach_store_cache_{name}");
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_duration() {
        let metrics = Metrics::default();
        metrics.called("/etcdserverpb.KV/Range", Duration::from_millis(5), true);
        metrics.called("/etcdserverpb.KV/Range", Duration::from_millis(30), false);
        metrics.called("/etcdserverpb.KV/Range", Duration::from_secs(90), true);
        metrics.called("/etcdserverpb.Unknown/Call", Duration::from_secs(1), true);
        metrics.reached(9);
        let mut out = String::new();
        metrics.write(Revision(7), &mut out);
        let has = |line: &str| assert!(out.lines().any(|found| found == line), "{line} in {out}");
        has("etcd_request_duration_seconds_bucket{operation=\"Range\",le=\"0.005\"} 1");
        has("etcd_request_duration_seconds_bucket{operation=\"Range\",le=\"0.05\"} 2");
        has("etcd_request_duration_seconds_bucket{operation=\"Range\",le=\"+Inf\"} 3");
        has("etcd_request_duration_seconds_sum{operation=\"Range\"} 90.035");
        has("etcd_request_duration_seconds_count{operation=\"Txn\"} 0");
        has("etcd_request_errors_total{operation=\"Range\"} 1");
        has("pleach_store_cache_lag_revisions 2");
        has("pleach_store_cache_following 0");
    }
}
