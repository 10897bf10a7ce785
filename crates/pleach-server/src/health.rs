//! Health, readiness and version.

use std::sync::Arc;

use http::Response;
use pleach_engine::rejection::Rejection;
use pleach_json::{Map, Value};

use crate::accept::{Clause, clauses};
use crate::app::{App, Call};
use crate::body::Body;
use crate::outcome::Outcome;
use crate::resource::error_format;
use crate::respond::{self, ResponseFormat};

/// The Kubernetes release whose behaviour is served, with which clients compare their version.
const KUBERNETES: (&str, &str, &str) = ("1", "36", "v1.36.4");

/// Serves `/healthz`, `/livez`, `/readyz` and single checks below them.
pub async fn serve(app: &Arc<App>, call: &Call<'_>, endpoint: &str, check: &str) -> Response<Body> {
    let checks = checks(app, endpoint).await;
    if !check.is_empty() {
        return match checks.iter().find(|(name, _)| *name == check) {
            Some((_, Ok(()))) => respond::text(Outcome::Ok, "ok"),
            Some((name, Err(_))) => respond::text(
                Outcome::Failed,
                format!("internal server error: {name} failed: reason withheld\n"),
            ),
            None => respond::page_not_found(),
        };
    }
    let excluded: Vec<&str> = call.query.all("exclude").collect();
    let mut lines = String::new();
    let mut failed = false;
    for (name, result) in &checks {
        if excluded.contains(name) {
            lines.push_str(&format!("[+]{name} excluded: ok\n"));
            continue;
        }
        match result {
            Ok(()) => lines.push_str(&format!("[+]{name} ok\n")),
            Err(why) => {
                failed = true;
                tracing::warn!(check = name, %why, "health check failed");
                lines.push_str(&format!("[-]{name} failed: reason withheld\n"));
            }
        }
    }
    let unknown: Vec<String> = excluded
        .iter()
        .filter(|name| !checks.iter().any(|(known, _)| known == *name))
        .map(|name| format!("\"{name}\""))
        .collect();
    if !unknown.is_empty() {
        lines.push_str(&format!(
            "warn: some health checks cannot be excluded: no matches for {}\n",
            unknown.join(", ")
        ));
    }
    if failed {
        lines.push_str(&format!("{endpoint} check failed\n"));
        return respond::text(Outcome::Failed, lines);
    }
    if call.query.get("verbose").is_some() {
        lines.push_str(&format!("{endpoint} check passed\n"));
        return respond::text(Outcome::Ok, lines);
    }
    respond::text(Outcome::Ok, "ok")
}

type Check = (&'static str, Result<(), String>);

async fn checks(app: &App, endpoint: &str) -> Vec<Check> {
    let mut checks: Vec<Check> = vec![("ping", Ok(())), ("log", Ok(()))];
    let storage = match app.engine.store().stats().await {
        // With little room the store still reads and deletes: that is alive, but not ready.
        Ok(stats) => {
            match stats.read_only.or(stats.unavailable).or(stats.no_space.filter(|_| endpoint == "readyz")) {
                Some(why) => Err(why.to_string()),
                None => Ok(()),
            }
        }
        Err(error) => Err(error.to_string()),
    };
    // Clients and scripts know the check of the storage by this name.
    checks.push(("etcd", storage));
    checks.push(("poststarthook/start-apiextensions-controllers", Ok(())));
    checks.push(("poststarthook/crd-informer-synced", Ok(())));
    if endpoint == "readyz" {
        let stopping = if app.is_stopping() { Err("the server is stopping".into()) } else { Ok(()) };
        checks.push(("shutdown", stopping));
    }
    checks
}

/// Serves `/version`.
pub fn version(app: &App, call: &Call<'_>) -> Response<Body> {
    let (major, minor, git) = KUBERNETES;
    let emulated = app.engine.gates().version;
    let compatible = emulated.min_compatibility().minor().to_string();
    let emulated = emulated.minor().to_string();
    let mut out = Map::new();
    for (key, value) in [
        ("major", major),
        ("minor", minor),
        ("emulationMajor", major),
        ("emulationMinor", &emulated),
        ("minCompatibilityMajor", major),
        ("minCompatibilityMinor", &compatible),
        ("gitVersion", git),
        ("gitCommit", concat!("pleach-", env!("CARGO_PKG_VERSION"))),
        ("gitTreeState", "clean"),
        ("buildDate", "1970-01-01T00:00:00Z"),
        ("goVersion", "none"),
        ("compiler", "rustc"),
        ("platform", PLATFORM),
    ] {
        out.insert(key, value);
    }
    // The one document that has neither YAML nor protobuf.
    let accept = call.accept().unwrap_or_default();
    let offered =
        |clause: &Clause<'_>| matches!((clause.main, clause.sub), ("*", "*" | "") | ("application", "json"));
    if !accept.trim().is_empty() && !clauses(&accept).iter().any(offered) {
        return respond::rejection(Rejection::NotProduced("application/json"), &error_format(call));
    }
    let format = ResponseFormat { pretty: call.pretty(), ..ResponseFormat::plain() };
    respond::value(Outcome::Ok, &Value::from(out), &format)
}

#[cfg(target_arch = "aarch64")]
const PLATFORM: &str = "linux/arm64";
#[cfg(not(target_arch = "aarch64"))]
const PLATFORM: &str = "linux/amd64";
