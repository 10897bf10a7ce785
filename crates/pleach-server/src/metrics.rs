//! Counters in the Prometheus text format, under the names the API server uses.

mod resources;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use foldhash::fast::RandomState;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use pleach_auth::Verb;
use pleach_engine::Engine;
use pleach_engine::catalog::Catalog;
use pleach_engine::kind::Kind;
use pleach_json::Str;
use pleach_store::Stats;
use pleach_work::Stopped;
use prometheus::{
    Encoder as _, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts,
    Registry, TextEncoder,
};

use crate::body::Body;
use crate::flow_control::FlowControl;
pub use crate::metrics::resources::Watched;
use crate::metrics::resources::{Watches, write_objects};
use crate::outcome::Outcome;
use crate::respond;

/// The labels of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels {
    /// None: not a request for a resource.
    verb: Option<Verb>,
    group: Str,
    version: Str,
    resource: Str,
    subresource: Str,
    code: u16,
}

impl Labels {
    /// Fills the labels of a request for a resource.
    pub fn set(&mut self, verb: &Verb, kind: &Kind, version: usize, subresource: &str) {
        self.verb = Some(verb.clone()).filter(|verb| *verb != Verb::NONE);
        self.group = kind.group.clone();
        self.version = kind.versions[version].name.clone();
        self.resource = kind.plural.clone();
        // A path may have any word there.
        self.subresource = if SUBRESOURCES.contains(&subresource) { subresource } else { "other" }.into();
    }
}

/// A verb as upstream's metrics have it: the HTTP method, or what is more than that.
fn verb_label(verb: &Verb) -> &str {
    match verb {
        Verb::Get => "GET",
        Verb::List => "LIST",
        Verb::Watch => "WATCH",
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch => "PATCH",
        Verb::Delete => "DELETE",
        Verb::DeleteCollection => "DELETECOLLECTION",
        Verb::Other(_) => "other",
    }
}

/// The subresources that are counted by name.
const SUBRESOURCES: [&str; 4] = ["", "status", "scale", "finalize"];

/// The number of label sets beyond which the sets of deleted kinds are removed.
const MANY: usize = 1_024;

/// The counters of a set of labels.
struct Counters {
    requests: IntCounter,
    /// Watches take as long as they are wanted, which says nothing.
    durations: Option<Histogram>,
}

/// The server's counters.
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    durations: HistogramVec,
    /// The counters that have been used: finding them here is cheaper than by all their labels.
    known: RwLock<HashMap<Labels, Counters, RandomState>>,
    objects: IntGauge,
    revision: IntGauge,
    disk: IntGauge,
    no_space: IntGauge,
    unavailable: IntGauge,
    watchers: IntGauge,
    stopped: IntCounterVec,
    panics: IntCounter,
    watches: Watches,
}

impl Metrics {
    /// All counters at zero.
    pub fn new() -> Self {
        let registry = Registry::new();
        let requests = IntCounterVec::new(
            Opts::new("apiserver_request_total", "Requests by verb, resource and response code."),
            &["verb", "group", "version", "resource", "subresource", "code"],
        )
        .expect("the labels above are valid");
        let buckets = prometheus::exponential_buckets(0.000_05, 4.0, 9).expect("nine buckets");
        let durations = HistogramVec::new(
            HistogramOpts::new("apiserver_request_duration_seconds", "How long answers took.")
                .buckets(buckets),
            &["verb", "group", "version", "resource", "subresource"],
        )
        .expect("the labels above are valid");
        let gauge = |name: &str, help: &str| IntGauge::new(name, help).expect("the name is valid");
        let metrics = Self {
            requests,
            durations,
            known: RwLock::default(),
            objects: gauge("pleach_store_keys", "Objects in the store."),
            revision: gauge("pleach_store_revision", "The latest revision."),
            disk: gauge("pleach_store_disk_bytes", "Bytes of the store on disk."),
            no_space: gauge(
                "pleach_store_no_space",
                "1 while the store takes only deletes: the disk is full, or the quota used up.",
            ),
            unavailable: gauge(
                "pleach_store_unavailable",
                "1 while the store does not answer: etcd is away, or without a quorum.",
            ),
            watchers: gauge("pleach_store_watchers", "Watches that are open."),
            stopped: IntCounterVec::new(
                Opts::new(
                    "pleach_requests_stopped_total",
                    "Requests whose computation was ended: out of budget, past the deadline, client gone.",
                ),
                &["reason"],
            )
            .expect("the labels above are valid"),
            panics: IntCounter::new("pleach_request_panics_total", "Requests that caused a panic.")
                .expect("the name is valid"),
            watches: Watches::default(),
            registry,
        };
        let collectors: [Box<dyn prometheus::core::Collector>; 10] = [
            Box::new(metrics.requests.clone()),
            Box::new(metrics.durations.clone()),
            Box::new(metrics.objects.clone()),
            Box::new(metrics.revision.clone()),
            Box::new(metrics.disk.clone()),
            Box::new(metrics.no_space.clone()),
            Box::new(metrics.unavailable.clone()),
            Box::new(metrics.watchers.clone()),
            Box::new(metrics.stopped.clone()),
            Box::new(metrics.panics.clone()),
        ];
        for collector in collectors {
            metrics.registry.register(collector).expect("each name is registered once");
        }
        metrics
    }

    /// Counts an answer.
    ///
    /// The counters of kinds that are not served any more go when there are many.
    pub fn request(&self, mut labels: Labels, code: u16, took: Duration, catalog: &Catalog) {
        if labels.verb.is_none() {
            return;
        }
        labels.code = code;
        if let Some(counters) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&labels) {
            return counters.count(took);
        }
        let counters = self.counters(&labels);
        counters.count(took);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(labels, counters);
        // Looked for again when there are twice as many, so that it costs little for each.
        if known.len() >= MANY && known.len().is_power_of_two() {
            known.retain(|labels, _| {
                let is_served = catalog.get(&labels.group, &labels.resource).is_some();
                if !is_served {
                    self.remove(labels);
                }
                is_served
            });
            known.shrink_to_fit();
        }
    }

    fn remove(&self, labels: &Labels) {
        let verb = labels.verb.as_ref().map_or("", verb_label);
        let resource = [verb, &labels.group, &labels.version, &labels.resource, &labels.subresource];
        let [verb, group, version, kind, sub] = resource;
        let code = labels.code.to_string();
        // Removal of the series of another code may have removed the durations before.
        let _ = self.requests.remove_label_values(&[verb, group, version, kind, sub, &code]);
        let _ = self.durations.remove_label_values(&resource);
    }

    /// Counts a request whose computation was ended.
    pub fn stopped(&self, stopped: Stopped) {
        let reason = match stopped {
            Stopped::Budget => "budget",
            Stopped::Deadline => "deadline",
            Stopped::Disconnected => "disconnected",
            Stopped::Shutdown => "shutdown",
        };
        self.stopped.with_label_values(&[reason]).inc();
    }

    /// Counts a watch that begins.
    pub fn watch_began(&self, watched: &Watched) {
        self.watches.began(watched);
    }

    /// Counts a watch that has ended.
    pub fn watch_ended(&self, watched: &Watched) {
        self.watches.ended(watched);
    }

    /// Counts a request that caused a panic.
    pub fn panicked(&self) {
        self.panics.inc();
    }

    fn counters(&self, labels: &Labels) -> Counters {
        let verb = labels.verb.as_ref().map_or("", verb_label);
        let resource = [verb, &labels.group, &labels.version, &labels.resource, &labels.subresource];
        let [verb, group, version, kind, sub] = resource;
        let code = labels.code.to_string();
        Counters {
            requests: self.requests.with_label_values(&[verb, group, version, kind, sub, &code]),
            durations: (labels.verb != Some(Verb::Watch))
                .then(|| self.durations.with_label_values(&resource)),
        }
    }

    /// Serves `/metrics`.
    pub async fn serve(&self, engine: &Engine, flow_control: &FlowControl) -> Response<Body> {
        let stats = engine.store().stats().await;
        if let Ok(stats) = &stats {
            self.objects.set(stats.keys as i64);
            self.revision.set(stats.revision.0 as i64);
            self.disk.set(stats.disk_bytes as i64);
            self.no_space.set(i64::from(stats.no_space.is_some()));
            self.unavailable.set(i64::from(stats.unavailable.is_some()));
            self.watchers.set(stats.watchers as i64);
        }
        let mut out = Vec::new();
        if TextEncoder::new().encode(&self.registry.gather(), &mut out).is_err() {
            return respond::text(Outcome::Failed, "metrics cannot be encoded\n");
        }
        let mut more = String::new();
        if let Ok(stats) = &stats {
            write_history(stats, &mut more);
            write_objects(engine, stats.revision, &mut more).await;
        }
        write_leadership(engine, &mut more);
        engine.store().write_metrics(&mut more);
        self.watches.write(&mut more);
        engine.admission_metrics().write(&mut more);
        flow_control.write_metrics(&mut more);
        out.extend_from_slice(more.as_bytes());
        let mut response = respond::text(Outcome::Ok, out);
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
        response
    }
}

/// Appends the numbers about the history of the store, and its checkpoints.
fn write_history(stats: &Stats, out: &mut String) {
    let checkpoint = stats.checkpoint.map_or(0, |revision| revision.0);
    for (name, kind, help, value) in [
        ("oldest_revision", "gauge", "The oldest revision that can be read or watched from.", stats.oldest.0),
        ("value_bytes", "gauge", "Bytes of the current values.", stats.value_bytes),
        ("history_events", "gauge", "Events in the history.", stats.history),
        ("history_bytes", "gauge", "Approximate memory of the history.", stats.history_bytes),
        ("compactions_total", "counter", "Compactions since the start.", stats.compactions),
        ("checkpoints_total", "counter", "Checkpoints since the start.", stats.checkpoints),
        ("checkpoint_revision", "gauge", "The revision of the last checkpoint; 0 without one.", checkpoint),
        (
            "maintenance_failed",
            "gauge",
            "1 while the last checkpoint, or removal of old files, has failed.",
            u64::from(stats.maintenance_error.is_some()),
        ),
    ] {
        let _ = writeln!(out, "# HELP pleach_store_{name} {help}\n# TYPE pleach_store_{name} {kind}");
        let _ = writeln!(out, "pleach_store_{name} {value}");
    }
}

/// Appends whether this server runs the background controllers, where one of several does.
fn write_leadership(engine: &Engine, out: &mut String) {
    if let Some(leads) = engine.leads() {
        let name = "pleach_leader";
        let _ = writeln!(out, "# HELP {name} 1 while this server runs the background controllers.");
        let _ = writeln!(out, "# TYPE {name} gauge\n{name} {}", u64::from(leads));
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Counters {
    fn count(&self, took: Duration) {
        self.requests.inc();
        if let Some(durations) = &self.durations {
            durations.observe(took.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_all_their_labels() {
        let metrics = Metrics::new();
        let labels = |verb| Labels {
            verb: Some(Verb::of(verb)).filter(|verb| *verb != Verb::NONE),
            resource: "foos".into(),
            ..Labels::default()
        };
        for (verb, code) in [("get", 200), ("get", 200), ("get", 404), ("watch", 200), ("", 200)] {
            metrics.request(labels(verb), code, Duration::from_millis(1), &Catalog::default());
        }
        let requests =
            |verb, code: &str| metrics.requests.with_label_values(&[verb, "", "", "foos", "", code]);
        let durations = |verb| metrics.durations.with_label_values(&[verb, "", "", "foos", ""]);
        assert_eq!(requests("GET", "200").get(), 2);
        assert_eq!(requests("GET", "404").get(), 1);
        assert_eq!(requests("WATCH", "200").get(), 1);
        assert_eq!(requests("", "200").get(), 0, "not a request for objects");
        assert_eq!(durations("GET").get_sample_count(), 3, "whatever the code");
        assert_eq!(durations("WATCH").get_sample_count(), 0, "watches are not timed");
    }

    #[test]
    fn counters_of_kinds_that_are_gone_are_bounded() {
        let metrics = Metrics::new();
        for n in 0..10_000 {
            let labels =
                Labels { verb: Some(Verb::Get), resource: format!("foos{n}").into(), ..Labels::default() };
            metrics.request(labels, 200, Duration::from_millis(1), &Catalog::default());
        }
        assert!(metrics.known.read().unwrap().len() <= MANY);
        let series: usize = metrics.registry.gather().iter().map(|family| family.get_metric().len()).sum();
        assert!(series <= 2 * MANY + 16, "{series}");
    }
}
