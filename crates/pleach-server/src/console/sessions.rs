//! Sessions of the console and the one-time codes that begin them, in memory: a restart ends them all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pleach_auth::UserInfo;
use sha2::{Digest as _, Sha256};

/// How long a session lasts.
pub(super) const SESSION_SECONDS: u64 = 12 * 60 * 60;
/// How long a code can be used.
const CODE: Duration = Duration::from_mins(10);
/// Sessions and codes at once; the oldest gives way.
const MOST: usize = 1_000;

/// The user of a session's requests.
#[derive(Clone, Debug)]
pub(super) enum Grant {
    /// This user's.
    User(Arc<UserInfo>),
    /// The user of this bearer token, as long as the token is valid.
    Token(String),
}

/// A session or a code.
struct Entry {
    grant: Grant,
    /// The host and port that the session belongs to; empty for a code.
    authority: String,
    ends: Instant,
}

/// By the hash of the secret: finding one says nothing about the others.
type Entries = HashMap<[u8; 32], Entry>;

#[derive(Default)]
pub(super) struct Sessions {
    sessions: Mutex<Entries>,
    codes: Mutex<Entries>,
}

impl Sessions {
    /// A code that begins one session.
    pub(super) fn new_code(&self, grant: Grant, now: Instant) -> String {
        add(&self.codes, Entry { grant, authority: String::new(), ends: now + CODE }, now)
    }

    /// Takes the grant of a one-time code.
    pub(super) fn take_code(&self, code: &str, now: Instant) -> Option<Grant> {
        let entry = lock(&self.codes).remove(&hash(code))?;
        (now < entry.ends).then_some(entry.grant)
    }

    /// Begins a session; the result is its secret.
    pub(super) fn begin(&self, grant: Grant, authority: &str, now: Instant) -> String {
        let ends = now + Duration::from_secs(SESSION_SECONDS);
        add(&self.sessions, Entry { grant, authority: authority.into(), ends }, now)
    }

    /// The session of a secret, if it was begun at this host and port.
    pub(super) fn find(&self, id: &str, authority: &str, now: Instant) -> Option<Grant> {
        let sessions = lock(&self.sessions);
        let entry = sessions.get(&hash(id))?;
        (entry.authority == authority && now < entry.ends).then(|| entry.grant.clone())
    }

    /// Ends a session.
    pub(super) fn end(&self, id: &str) {
        lock(&self.sessions).remove(&hash(id));
    }
}

fn lock(entries: &Mutex<Entries>) -> MutexGuard<'_, Entries> {
    entries.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

fn add(entries: &Mutex<Entries>, entry: Entry, now: Instant) -> String {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    let secret = URL_SAFE_NO_PAD.encode(bytes);
    let mut entries = lock(entries);
    if entries.len() >= MOST {
        entries.retain(|_, entry| now < entry.ends);
    }
    if entries.len() >= MOST {
        let oldest = entries.iter().min_by_key(|(_, entry)| entry.ends).map(|(key, _)| *key);
        oldest.and_then(|key| entries.remove(&key));
    }
    entries.insert(hash(&secret), entry);
    secret
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> Grant {
        Grant::Token(text.into())
    }

    #[test]
    fn a_code_is_good_once_and_for_a_while() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let code = sessions.new_code(token("t"), now);
        assert!(sessions.take_code("other", now).is_none());
        assert!(matches!(sessions.take_code(&code, now), Some(Grant::Token(text)) if text == "t"));
        assert!(sessions.take_code(&code, now).is_none(), "used");
        let code = sessions.new_code(token("t"), now);
        assert!(sessions.take_code(&code, now + CODE).is_none(), "too late");
    }

    #[test]
    fn a_session_belongs_to_an_origin_and_ends() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let id = sessions.begin(token("t"), "127.0.0.1:1", now);
        assert!(sessions.find(&id, "127.0.0.1:1", now).is_some());
        assert!(sessions.find(&id, "127.0.0.1:2", now).is_none());
        assert!(sessions.find(&id, "127.0.0.1:1", now + Duration::from_secs(SESSION_SECONDS)).is_none());
        sessions.end(&id);
        assert!(sessions.find(&id, "127.0.0.1:1", now).is_none());
    }

    #[test]
    fn sessions_are_bounded() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let first = sessions.begin(token("t"), "h", now);
        for i in 0..MOST as u64 {
            sessions.begin(token("t"), "h", now + Duration::from_secs(1 + i));
        }
        assert_eq!(lock(&sessions.sessions).len(), MOST);
        assert!(sessions.find(&first, "h", now).is_none(), "the oldest gave way");
    }
}
