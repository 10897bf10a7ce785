//! Cells of tables of Pods, and of kinds with pod templates.

use pleach_go::time::parse_rfc3339;
use pleach_json::{Map, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::time::human_duration;

use crate::kinds::fields::{bool_at, int_at, items, search, text, text_at};

/// `<none>` for nothing.
pub(crate) fn or_none(text: &str) -> Value {
    if text.is_empty() { "<none>".into() } else { text.into() }
}

fn joined(names: Vec<&str>) -> Value {
    if names.is_empty() { "<none>".into() } else { names.join(",").into() }
}

/// The names of a pod spec's containers.
pub(crate) fn container_names(spec: Option<&Value>) -> Value {
    let containers = spec.map(|spec| items(spec, "containers")).unwrap_or_default();
    containers.iter().map(|c| text(c, "name")).collect::<Vec<_>>().join(",").into()
}

/// The images of a pod spec's containers.
pub(crate) fn container_images(spec: Option<&Value>) -> Value {
    let containers = spec.map(|spec| items(spec, "containers")).unwrap_or_default();
    containers.iter().map(|c| text(c, "image")).collect::<Vec<_>>().join(",").into()
}

/// `a=b,c=d`
pub(crate) fn labels(labels: Option<&Value>) -> Value {
    let entries = labels.and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let texts: Vec<String> =
        entries.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    if texts.is_empty() { "<none>".into() } else { texts.join(",").into() }
}

/// A label selector as text.
pub(crate) fn selector(selector: Option<&Value>) -> Value {
    or_none(&selector_text(selector))
}

/// A label selector as text: `app=web,tier in (a,b)`.
pub(crate) fn selector_text(selector: Option<&Value>) -> String {
    let Some(selector) = selector else { return String::new() };
    let mut parts: Vec<(String, String)> = Vec::new();
    for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flat_map(Map::iter)
    {
        parts.push((key.to_string(), format!("{key}={}", value.as_str().unwrap_or_default())));
    }
    for expression in items(selector, "matchExpressions") {
        let key = text(expression, "key");
        let mut values: Vec<&str> = items(expression, "values").iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let shown = match text(expression, "operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        parts.push((key.to_owned(), shown));
    }
    parts.sort_by(|a, b| a.0.cmp(&b.0));
    parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

fn spec(pod: &Value) -> &Value {
    pod.get("spec").unwrap_or(&Value::Null)
}

fn statuses<'a>(pod: &'a Value, list: &str) -> &'a [Value] {
    pod.get("status").map(|status| items(status, list)).unwrap_or_default()
}

fn is_sidecar(pod: &Value, name: &str) -> bool {
    let is_meant = |c: &Value| text(c, "name") == name && text(c, "restartPolicy") == "Always";
    search(items(spec(pod), "initContainers"), is_meant).is_some()
}

fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    search(statuses(pod, "conditions"), |c| text(c, "type") == kind)
}

/// The source of the cells of a Pod.
struct Summary {
    reason: String,
    ready: usize,
    total: usize,
    restarts: i64,
    last_restart: Option<i64>,
}

fn finished_at(status: &Value) -> Option<i64> {
    let text = text_at(status, &["lastState", "terminated", "finishedAt"]);
    parse_rfc3339(text).ok().map(|time| time.seconds)
}

fn summary(pod: &Value) -> Summary {
    let mut reason = match text_at(pod, &["status", "reason"]) {
        "" => text_at(pod, &["status", "phase"]),
        reason => reason,
    }
    .to_owned();
    if let Some(scheduled) = condition(pod, "PodScheduled")
        && text(scheduled, "reason") == "SchedulingGated"
    {
        reason = "SchedulingGated".into();
    }
    let inits = items(spec(pod), "initContainers");
    let mut total = items(spec(pod), "containers").len();
    total += inits.iter().filter(|c| text(c, "restartPolicy") == "Always").count();
    let (mut ready, mut restarts, mut sidecar_restarts) = (0, 0, 0);
    let (mut last, mut sidecar_last): (Option<i64>, Option<i64>) = (None, None);
    let mut initializing = false;
    for (i, status) in statuses(pod, "initContainerStatuses").iter().enumerate() {
        restarts += int_at(status, &["restartCount"]);
        last = last.max(finished_at(status));
        let sidecar = is_sidecar(pod, text(status, "name"));
        if sidecar {
            sidecar_restarts += int_at(status, &["restartCount"]);
            sidecar_last = sidecar_last.max(finished_at(status));
        }
        let terminated = status.at(&["state", "terminated"]);
        if terminated.is_some_and(|t| int_at(t, &["exitCode"]) == 0) {
            continue;
        }
        if sidecar && bool_at(status, &["started"]) {
            ready += usize::from(bool_at(status, &["ready"]));
            continue;
        }
        reason = match (terminated, text_at(status, &["state", "waiting", "reason"])) {
            (Some(ended), _) if !text(ended, "reason").is_empty() => {
                format!("Init:{}", text(ended, "reason"))
            }
            (Some(ended), _) if int_at(ended, &["signal"]) != 0 => {
                format!("Init:Signal:{}", int_at(ended, &["signal"]))
            }
            (Some(ended), _) => format!("Init:ExitCode:{}", int_at(ended, &["exitCode"])),
            (None, waiting) if !waiting.is_empty() && waiting != "PodInitializing" => {
                format!("Init:{waiting}")
            }
            _ => format!("Init:{i}/{}", inits.len()),
        };
        initializing = true;
        break;
    }
    let initialized = condition(pod, "Initialized").is_some_and(|c| text(c, "status") == "True");
    if !initializing || initialized {
        (restarts, last) = (sidecar_restarts, sidecar_last);
        let mut running = false;
        let mut error_reason = String::new();
        for status in statuses(pod, "containerStatuses").iter().rev() {
            restarts += int_at(status, &["restartCount"]);
            last = last.max(finished_at(status));
            let ended = status.at(&["state", "terminated"]);
            let waiting = text_at(status, &["state", "waiting", "reason"]);
            if !waiting.is_empty() {
                waiting.clone_into(&mut reason);
            } else if let Some(ended) = ended {
                reason = match (text(ended, "reason"), int_at(ended, &["signal"])) {
                    ("", 0) => format!("ExitCode:{}", int_at(ended, &["exitCode"])),
                    ("", signal) => format!("Signal:{signal}"),
                    (why, _) => why.to_owned(),
                };
                if int_at(ended, &["exitCode"]) != 0 || int_at(ended, &["signal"]) != 0 {
                    error_reason.clone_from(&reason);
                }
            } else if bool_at(status, &["ready"]) && status.at(&["state", "running"]).is_some() {
                running = true;
                ready += 1;
            }
        }
        if reason == "Completed" {
            let is_ready = condition(pod, "Ready").is_some_and(|c| text(c, "status") == "True");
            if running {
                reason = if is_ready { "Running".into() } else { "NotReady".into() };
            } else if !error_reason.is_empty() {
                reason = error_reason;
            }
        }
    }
    let phase = text_at(pod, &["status", "phase"]);
    if ObjectMeta::of(pod).is_terminating() {
        if text_at(pod, &["status", "reason"]) == "NodeLost" {
            reason = "Unknown".into();
        } else if !matches!(phase, "Succeeded" | "Failed") {
            reason = "Terminating".into();
        }
    }
    Summary { reason, ready, total, restarts, last_restart: last }
}

pub(super) fn ready(pod: &Value, _: i64) -> Value {
    let summary = summary(pod);
    format!("{}/{}", summary.ready, summary.total).into()
}

pub(super) fn status(pod: &Value, _: i64) -> Value {
    summary(pod).reason.into()
}

pub(super) fn restarts(pod: &Value, now: i64) -> Value {
    let summary = summary(pod);
    match summary.last_restart {
        Some(last) if summary.restarts != 0 => {
            format!("{} ({} ago)", summary.restarts, human_duration(now - last)).into()
        }
        _ => summary.restarts.to_string().into(),
    }
}

pub(super) fn readiness_gates(pod: &Value, _: i64) -> Value {
    let gates = items(spec(pod), "readinessGates");
    if gates.is_empty() {
        return "<none>".into();
    }
    let open = gates.iter().filter(|gate| {
        condition(pod, text(gate, "conditionType")).is_some_and(|c| text(c, "status") == "True")
    });
    format!("{}/{}", open.count(), gates.len()).into()
}

/// The texts of a list, `<none>` if it has none.
pub(crate) fn list(values: &[Value]) -> Value {
    joined(values.iter().filter_map(Value::as_str).collect())
}
