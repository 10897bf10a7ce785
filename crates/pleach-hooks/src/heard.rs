//! The bytes received from a server since the last request, for errors about peers that do not speak HTTP.
//!
//! The HTTP library says that an answer is malformed, Go says what it looked like.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pleach_engine::webhooks::excerpt;
use pleach_go::strconv;

/// As much as is looked at.
const KEPT: usize = 4096;

/// The start of an answer, shared between a connection and the code that explains its failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<u8>>>);

impl Heard {
    /// A request goes out: what was said before belongs to another.
    pub(crate) fn forget(&self) {
        self.lock().clear();
    }

    pub(crate) fn note(&self, bytes: &[u8]) {
        let mut said = self.lock();
        let room = KEPT.saturating_sub(said.len());
        said.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// What was wrong with an answer that ended or could not be read; nothing if there was none.
    pub(crate) fn complaint(&self) -> Option<String> {
        let said = self.lock();
        if said.is_empty() {
            return None;
        }
        let text = String::from_utf8_lossy(&said);
        Some(malformed(&text).unwrap_or_else(|| "unexpected EOF".to_owned()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is shown of what was said.
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
    // A line that has no end may have lacked only its rest.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut headers = whole.lines().skip(1).take_while(|line| !line.is_empty());
    let bad = headers.find(|line| !line.contains(':'))?;
    Some(format!("malformed MIME header: missing colon: {}", quote(bad)))
}
