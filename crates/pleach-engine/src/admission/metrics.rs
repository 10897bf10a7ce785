//! Counts and durations of webhooks and admission policies, under upstream's names, in the Prometheus text format.
//!
//! Series are made when something is counted first, and bounded: beyond that, new names are not counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pleach_json::Str;

/// The most series of each metric.
const MOST: usize = 2_048;

/// The upper bounds of durations of webhooks, in seconds.
const OF_WEBHOOKS: [f64; 8] = [0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0];
/// The same of policies.
const OF_POLICIES: [f64; 5] = [0.000_000_5, 0.001, 0.01, 0.1, 1.0];

/// A histogram: counts up to each bound, all, and their sum in seconds.
#[derive(Clone, Debug)]
struct Histogram<const N: usize> {
    counts: [u64; N],
    count: u64,
    sum: f64,
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Self { counts: [0; N], count: 0, sum: 0.0 }
    }
}

impl<const N: usize> Histogram<N> {
    fn observe(&mut self, bounds: &[f64; N], took: Duration) {
        let seconds = took.as_secs_f64();
        for (count, bound) in self.counts.iter_mut().zip(bounds) {
            *count += u64::from(seconds <= *bound);
        }
        self.count += 1;
        self.sum += seconds;
    }

    fn write(&self, bounds: &[f64; N], name: &str, labels: &str, out: &mut String) {
        for (count, bound) in self.counts.iter().zip(bounds) {
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
        }
        let (count, sum) = (self.count, self.sum);
        let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
        let _ = writeln!(out, "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {count}");
    }
}

/// The outcome of a call to a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// The write goes on.
    Allowed,
    /// The webhook denied it, with this code.
    Denied(u16),
    /// The call failed, and so does the write.
    Failed,
    /// The call failed, which the failure policy ignores.
    FailedOpen,
}

/// The name, type (`admit` or `validating`) and operation of a webhook.
type Webhook = (Str, &'static str, &'static str);

/// Policy, binding, error type and enforcement action.
type Check = (Str, Str, &'static str, &'static str);

#[derive(Default)]
struct Counts {
    webhooks: BTreeMap<(Webhook, bool), Histogram<8>>,
    /// By error type and code.
    rejections: BTreeMap<(Webhook, &'static str, u16), u64>,
    failed_open: BTreeMap<(Str, &'static str), u64>,
    /// By whether the policy validates.
    checks: [BTreeMap<Check, Histogram<5>>; 2],
}

/// The counters of an engine.
#[derive(Default)]
pub struct AdmissionMetrics(Mutex<Counts>);

/// The entry of a key, unless there are too many.
fn entry<K: Ord, V: Default>(map: &mut BTreeMap<K, V>, key: K) -> Option<&mut V> {
    (map.len() < MOST || map.contains_key(&key)).then(|| map.entry(key).or_default())
}

impl AdmissionMetrics {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call to a webhook.
    pub(crate) fn called(
        &self,
        name: &Str,
        mutating: bool,
        operation: &'static str,
        outcome: CallOutcome,
        took: Duration,
    ) {
        let kind = if mutating { "admit" } else { "validating" };
        let webhook = (name.clone(), kind, operation);
        let mut counts = self.counts();
        match outcome {
            CallOutcome::Allowed => {}
            CallOutcome::FailedOpen => {
                if let Some(count) = entry(&mut counts.failed_open, (name.clone(), kind)) {
                    *count += 1;
                }
            }
            CallOutcome::Denied(_) | CallOutcome::Failed => {
                let (error, code) = match outcome {
                    CallOutcome::Denied(code) => ("no_error", code),
                    _ => ("calling_webhook_error", 0),
                };
                if let Some(count) = entry(&mut counts.rejections, (webhook.clone(), error, code)) {
                    *count += 1;
                }
            }
        }
        let rejected = !matches!(outcome, CallOutcome::Allowed | CallOutcome::FailedOpen);
        if let Some(histogram) = entry(&mut counts.webhooks, (webhook, rejected)) {
            histogram.observe(&OF_WEBHOOKS, took);
        }
    }

    /// Counts an evaluation of a policy with a binding.
    pub(crate) fn checked(
        &self,
        validating: bool,
        (policy, binding): (&Str, &Str),
        (error_type, action): (&'static str, &'static str),
        took: Duration,
    ) {
        let check = (policy.clone(), binding.clone(), error_type, action);
        let mut counts = self.counts();
        if let Some(histogram) = entry(&mut counts.checks[usize::from(validating)], check) {
            histogram.observe(&OF_POLICIES, took);
        }
    }

    /// Appends the metrics.
    pub fn write(&self, out: &mut String) {
        let counts = self.counts();
        let name = "apiserver_admission_webhook_admission_duration_seconds";
        head(out, name, "histogram", "How long calls to admission webhooks took.");
        for (((hook, kind, operation), rejected), histogram) in &counts.webhooks {
            let labels =
                format!("name=\"{hook}\",operation=\"{operation}\",rejected=\"{rejected}\",type=\"{kind}\"");
            histogram.write(&OF_WEBHOOKS, name, &labels, out);
        }
        let name = "apiserver_admission_webhook_rejection_count";
        head(out, name, "counter", "Writes that admission webhooks rejected, or failed.");
        for (((hook, kind, operation), error, code), count) in &counts.rejections {
            let _ = writeln!(
                out,
                "{name}{{error_type=\"{error}\",name=\"{hook}\",operation=\"{operation}\",rejection_code=\"{code}\",type=\"{kind}\"}} {count}"
            );
        }
        let name = "apiserver_admission_webhook_fail_open_count";
        head(out, name, "counter", "Calls to admission webhooks that failed and were ignored.");
        for ((hook, kind), count) in &counts.failed_open {
            let _ = writeln!(out, "{name}{{name=\"{hook}\",type=\"{kind}\"}} {count}");
        }
        for (kind, checks) in ["mutating", "validating"].into_iter().zip(&counts.checks) {
            let name = format!("apiserver_{kind}_admission_policy_check_total");
            head(out, &name, "counter", "Evaluations of admission policies, by their outcome.");
            let labels = |(policy, binding, error, action): &Check| {
                let action = if kind == "validating" {
                    format!("enforcement_action=\"{action}\",")
                } else {
                    String::new()
                };
                format!("{action}error_type=\"{error}\",policy=\"{policy}\",policy_binding=\"{binding}\"")
            };
            for (check, histogram) in checks {
                let _ = writeln!(out, "{name}{{{}}} {}", labels(check), histogram.count);
            }
            let name = format!("apiserver_{kind}_admission_policy_check_duration_seconds");
            head(out, &name, "histogram", "How long evaluations of admission policies took.");
            for (check, histogram) in checks {
                histogram.write(&OF_POLICIES, &name, &labels(check), out);
            }
        }
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_checks_are_counted_by_their_outcome() {
        let metrics = AdmissionMetrics::default();
        let hook = Str::from("h.example.com");
        let took = Duration::from_millis(20);
        for outcome in
            [CallOutcome::Allowed, CallOutcome::Denied(403), CallOutcome::Failed, CallOutcome::FailedOpen]
        {
            metrics.called(&hook, false, "CREATE", outcome, took);
        }
        let names = (&Str::from("p"), &Str::from("b"));
        metrics.checked(true, names, ("no_error", "deny"), took);
        metrics.checked(false, names, ("no_error", ""), took);
        let mut out = String::new();
        metrics.write(&mut out);
        for line in [
            "apiserver_admission_webhook_admission_duration_seconds_bucket{name=\"h.example.com\",operation=\"CREATE\",rejected=\"false\",type=\"validating\",le=\"0.005\"} 0",
            "apiserver_admission_webhook_admission_duration_seconds_bucket{name=\"h.example.com\",operation=\"CREATE\",rejected=\"true\",type=\"validating\",le=\"0.025\"} 2",
            "apiserver_admission_webhook_rejection_count{error_type=\"no_error\",name=\"h.example.com\",operation=\"CREATE\",rejection_code=\"403\",type=\"validating\"} 1",
            "apiserver_admission_webhook_rejection_count{error_type=\"calling_webhook_error\",name=\"h.example.com\",operation=\"CREATE\",rejection_code=\"0\",type=\"validating\"} 1",
            "apiserver_admission_webhook_fail_open_count{name=\"h.example.com\",type=\"validating\"} 1",
            "apiserver_validating_admission_policy_check_total{enforcement_action=\"deny\",error_type=\"no_error\",policy=\"p\",policy_binding=\"b\"} 1",
            "apiserver_mutating_admission_policy_check_total{error_type=\"no_error\",policy=\"p\",policy_binding=\"b\"} 1",
        ] {
            assert!(out.lines().any(|found| found == line), "{line}\n{out}");
        }
    }

    #[test]
    fn series_are_bounded() {
        let metrics = AdmissionMetrics::default();
        for n in 0..2 * MOST {
            metrics.called(&Str::from(format!("h{n}")), true, "UPDATE", CallOutcome::Allowed, Duration::ZERO);
        }
        assert_eq!(metrics.counts().webhooks.len(), MOST);
    }
}
