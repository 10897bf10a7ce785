//! What every test with a real client needs: a server, the kubectls of this machine, patience.
//!
//! The tests themselves are under `tests/`, one file per client or subject. Nothing here knows what
//! is tested; nothing here is shipped.

mod kubectl;
mod requests;
mod server;

pub use kubectl::{Kubectl, Ran, every_kubectl};
pub use requests::{Answer, Api};
pub use server::{Running, binary, tools};

use std::time::{Duration, Instant};

/// How long something that happens "soon" may take on a busy machine.
pub const SOON: Duration = Duration::from_secs(30);

/// Asks again and again until there is an answer; panics with `what` when there is none soon.
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

/// A file under `manifests/`.
pub fn manifest(name: &str) -> String {
    format!("{}/manifests/{name}", env!("CARGO_MANIFEST_DIR"))
}
