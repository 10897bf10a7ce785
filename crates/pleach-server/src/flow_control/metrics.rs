//! Metrics of flow control, under upstream's names, in the Prometheus text format.

use std::fmt::Write as _;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::FlowControl;
use super::level::Level;
use super::stats::{FlowStats, Histogram};

const PREFIX: &str = "apiserver_flowcontrol_";

/// A metric: name, type, help.
type Metric = (&'static str, &'static str, &'static str);

/// A number of a flow schema.
type OfFlow = fn(&FlowStats) -> f64;

const OF_FLOWS: [(Metric, OfFlow); 6] = [
    (("dispatched_requests_total", "counter", "Requests that were executed."), |flow| flow.dispatched as f64),
    (("current_inqueue_requests", "gauge", "Requests that wait in queues."), |flow| flow.waiting as f64),
    (("current_inqueue_seats", "gauge", "Seats that waiting requests will take."), |flow| {
        flow.waiting_seats as f64
    }),
    (
        ("current_executing_requests", "gauge", "Requests that are executed; watches while they begin."),
        |flow| flow.executing as f64,
    ),
    (("current_executing_seats", "gauge", "Seats of the requests that are executed."), |flow| {
        flow.executing_seats as f64
    }),
    (
        (
            "request_dispatch_no_accommodation_total",
            "counter",
            "Attempts to dispatch a request without seats for it.",
        ),
        |flow| flow.no_accommodation as f64,
    ),
];

/// A number of a level.
type OfLevel = fn(&Level) -> f64;

const OF_LEVELS: [(Metric, OfLevel); 10] = [
    (("nominal_limit_seats", "gauge", "Seats by the shares of a priority level."), |level| {
        level.state().limits.nominal as f64
    }),
    (
        (
            "lower_limit_seats",
            "gauge",
            "Seats that are left to a priority level when it has lent what it lends.",
        ),
        |level| level.state().limits.min as f64,
    ),
    (("upper_limit_seats", "gauge", "Seats of a priority level with all that it may borrow."), |level| {
        level.state().limits.max as f64
    }),
    (("current_limit_seats", "gauge", "Seats that a priority level has now."), |level| {
        level.queues().limit() as f64
    }),
    (
        ("demand_seats_high_watermark", "gauge", "The most seats that were wanted in the last period."),
        |level| level.state().demand.high_watermark,
    ),
    (("demand_seats_average", "gauge", "Seats that were wanted in the last period, on average."), |level| {
        level.state().demand.average
    }),
    (("demand_seats_stdev", "gauge", "The standard deviation of that."), |level| {
        level.state().demand.deviation
    }),
    (("demand_seats_smoothed", "gauge", "Smoothed seat demand."), |level| level.state().demand.smoothed),
    (("target_seats", "gauge", "Seats that a priority level should have."), |level| level.state().target),
    (("current_r", "gauge", "Virtual time of a priority level."), |level| level.queues().virtual_time()),
];

impl FlowControl {
    /// Appends the metrics.
    pub fn write_metrics(&self, out: &mut String) {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        let levels = &config.levels;
        for (metric, number) in &OF_LEVELS {
            head(out, metric);
            for level in levels {
                line(out, metric.0, &format!("priority_level=\"{}\"", level.name), number(level));
            }
        }
        head(out, &("seat_fair_frac", "gauge", "The fraction of its target that every priority level gets."));
        let _ = writeln!(out, "{PREFIX}seat_fair_frac {}", config.fair_fraction);
        let mut each_flow = |metric: &Metric, write: &dyn Fn(&mut String, &str, &FlowStats)| {
            head(out, metric);
            for level in levels {
                for flow in &level.queues().flows {
                    let labels = format!("flow_schema=\"{}\",priority_level=\"{}\"", flow.name, level.name);
                    write(out, &labels, flow);
                }
            }
        };
        for (metric, number) in &OF_FLOWS {
            each_flow(metric, &|out, labels, flow| line(out, metric.0, labels, number(flow)));
        }
        let refused = ("rejected_requests_total", "counter", "Requests that were refused, by reason.");
        each_flow(&refused, &|out, labels, flow| {
            for (reason, count) in flow.refusals().filter(|(_, count)| *count > 0) {
                line(out, refused.0, &format!("{labels},reason=\"{reason}\""), count as f64);
            }
        });
        let lengths = (
            "request_queue_length_after_enqueue",
            "histogram",
            "The length of its queue as a request sees it.",
        );
        each_flow(&lengths, &|out, labels, flow| histogram(out, lengths.0, labels, &flow.queue_lengths));
        let waits =
            ("request_wait_duration_seconds", "histogram", "How long requests waited in their queues.");
        each_flow(&waits, &|out, labels, flow| {
            for (execute, waits) in ["false", "true"].into_iter().zip(&flow.waits) {
                histogram(out, waits_name(), &format!("{labels},execute=\"{execute}\""), waits);
            }
        });
        let durations = (
            "request_execution_seconds",
            "histogram",
            "How long requests were executed; watches while they began.",
        );
        each_flow(&durations, &|out, labels, flow| histogram(out, durations.0, labels, &flow.durations));
        let seats = ("work_estimated_seats", "histogram", "How many seats requests were estimated to take.");
        each_flow(&seats, &|out, labels, flow| histogram(out, seats.0, labels, &flow.seats));
        let _ = writeln!(
            out,
            "# HELP apiserver_current_inflight_requests Requests that are executed, by kind.\n# TYPE apiserver_current_inflight_requests gauge"
        );
        for (kind, mutating) in [("mutating", true), ("readOnly", false)] {
            let of = |inflight: &super::Inflight| inflight.of(mutating).load(Ordering::Relaxed);
            let count = of(&self.inflight) + of(&self.exempt);
            let _ = writeln!(out, "apiserver_current_inflight_requests{{request_kind=\"{kind}\"}} {count}");
        }
    }
}

fn waits_name() -> &'static str {
    "request_wait_duration_seconds"
}

fn head(out: &mut String, (name, kind, help): &Metric) {
    let _ = writeln!(out, "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}");
}

fn line(out: &mut String, name: &str, labels: &str, value: f64) {
    let _ = writeln!(out, "{PREFIX}{name}{{{labels}}} {value}");
}

fn histogram<const N: usize>(out: &mut String, name: &str, labels: &str, histogram: &Histogram<N>) {
    if histogram.count == 0 {
        return;
    }
    for (bound, count) in histogram.buckets() {
        let _ = writeln!(out, "{PREFIX}{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
    }
    let (sum, count) = (histogram.sum, histogram.count);
    let _ = writeln!(out, "{PREFIX}{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
    let _ = writeln!(out, "{PREFIX}{name}_sum{{{labels}}} {sum}\n{PREFIX}{name}_count{{{labels}}} {count}");
}
