//! Helpers for tests with real clients: servers, kubectls, raw requests, waiting.
//!
//! The tests are under `tests/`, one file per client or subject.

pub mod certificates;
pub mod history;
mod kubectl;
pub mod proxy;
mod requests;
pub mod sandbox;
mod server;

pub use kubectl::{Kubectl, Ran, every_kubectl, oldest_and_newest_kubectl};
pub use requests::{Answer, Api};
pub use server::{Running, binary, tools};

use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The timeout of [`eventually`].
pub const SOON: Duration = Duration::from_secs(30);

/// Polls until there is a value; panics with `what` at the timeout.
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + SOON;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "not within {SOON:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A namespaced CRD of the group `example.com` with one version, `v1`.
pub fn definition(plural: &str, kind: &str, properties: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {
                "plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List"),
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
            }],
        },
    })
}

/// A file under `manifests/`.
pub fn manifest(name: &str) -> String {
    format!("{}/manifests/{name}", env!("CARGO_MANIFEST_DIR"))
}
