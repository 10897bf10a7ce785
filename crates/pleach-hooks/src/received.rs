//! The bytes received from a server since the last request, for errors about peers that do not speak HTTP.
//!
//! The HTTP library only says that a response is malformed; Go quotes it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_engine::webhooks::excerpt;
use pleach_go::strconv;

/// How many bytes are kept.
const KEPT: usize = 4096;

/// The start of a response, shared between a connection and the code that explains its failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received(Arc<Mutex<Vec<u8>>>);

impl Received {
    /// Called when a request is sent: bytes from before belong to another response.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// Adds bytes that were read.
    pub(crate) fn record(&self, bytes: &[u8]) {
        let mut kept = self.lock();
        let room = KEPT.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Go's error about a response that ended early or is malformed; `None` if nothing was received.
    pub(crate) fn error(&self) -> Option<String> {
        let kept = self.lock();
        if kept.is_empty() {
            return None;
        }
        let text = String::from_utf8_lossy(&kept);
        Some(malformed(&text).unwrap_or_else(|| "unexpected EOF".to_owned()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The start of a text, quoted.
fn quote(text: &str) -> String {
    strconv::quote(&excerpt(text))
}

fn malformed(text: &str) -> Option<String> {
    let first = text.lines().next().unwrap_or_default();
    let Some((version, rest)) = first.split_once(' ') else {
        return Some(format!("malformed HTTP response {}", quote(first)));
    };
    let code = rest.trim_start_matches(' ').split(' ').next().unwrap_or_default();
    if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!("malformed HTTP status code {}", quote(code)));
    }
    if !version.starts_with("HTTP/") {
        return Some(format!("malformed HTTP version {}", quote(version)));
    }
    // The last line may be incomplete.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut headers = whole.lines().skip(1).take_while(|line| !line.is_empty());
    let bad = headers.find(|line| !line.contains(':'))?;
    Some(format!("malformed MIME header: missing colon: {}", quote(bad)))
}
