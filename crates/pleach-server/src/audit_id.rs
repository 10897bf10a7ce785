//! The `Audit-ID` of a request: the one it came with, or a new one.
//!
//! A new id looks like any random UUID, but only its first half is random, once per process; the
//! second half counts. That is enough: an id need not be secret, only never seen twice.

use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

/// The header's name.
pub const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// Makes ids.
pub struct AuditIds {
    /// An id with zeros in the place of the count.
    pattern: [u8; 36],
    next: AtomicU64,
}

impl AuditIds {
    /// Ids of this process.
    pub fn new() -> Self {
        let mut bytes = [0; 16];
        // A failure leaves zeros, and ids that are distinct within this process.
        let _ = getrandom::fill(&mut bytes[..8]);
        let pattern =
            pleach_engine::uuid_v4(bytes).into_bytes().try_into().expect("a uuid has 36 characters");
        Self { pattern, next: AtomicU64::new(0) }
    }

    /// The id of a request with these headers.
    pub fn of(&self, headers: &HeaderMap) -> HeaderValue {
        match headers.get(AUDIT_ID) {
            Some(given) if given.len() <= 64 && !given.is_empty() => given.clone(),
            _ => self.fresh(),
        }
    }

    fn fresh(&self) -> HeaderValue {
        let mut count = self.next.fetch_add(1, Ordering::Relaxed);
        let mut text = self.pattern;
        // The digit before these holds the variant.
        for place in text[20..].iter_mut().rev().filter(|place| **place != b'-') {
            *place = b"0123456789abcdef"[(count & 0x0f) as usize];
            count >>= 4;
        }
        let mut id = HeaderValue::from_bytes(&text).expect("a uuid is a header value");
        // Not secret, but never seen twice: HTTP/2 must not fill its table of known headers with it.
        id.set_sensitive(true);
        id
    }
}

impl Default for AuditIds {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_are_uuids_that_count() {
        let ids = AuditIds::new();
        let made: Vec<String> =
            (0..300).map(|_| ids.of(&HeaderMap::new()).to_str().unwrap().to_owned()).collect();
        for (count, id) in made.iter().enumerate() {
            assert_eq!(id[..20], made[0][..20], "the first half stays");
            assert_eq!(id[14..15], *"4", "the version");
            assert_eq!(id[19..20], *"8", "the variant");
            assert_eq!(id[20..].replace('-', ""), format!("{count:015x}"));
        }
    }

    #[test]
    fn an_id_that_came_along_is_kept() {
        let ids = AuditIds::new();
        for (given, kept, why) in [
            ("mine".to_owned(), true, "given"),
            (String::new(), false, "empty"),
            ("x".repeat(64), true, "as long as may be"),
            ("x".repeat(65), false, "too long"),
        ] {
            let headers = HeaderMap::from_iter([(AUDIT_ID, HeaderValue::from_str(&given).unwrap())]);
            assert_eq!(ids.of(&headers) == given, kept, "{why}");
        }
    }
}
