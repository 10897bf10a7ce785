//! Where the keys of an issuer come from: its discovery document and key set, or a file.
//!
//! Keys are fetched in the background: until it succeeds, with a back-off, and then again whenever they are old. A
//! token that no key has signed makes them be fetched at once, since an issuer may have a new key; however many such
//! tokens there are, that happens once a second.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use pleach_go::strconv::quote;
use pleach_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, sleep_until};

use crate::algorithm::Algorithm;
use crate::config::IssuerConfig;
use crate::key_set::KeySet;
use crate::token::{Header, Token};

/// The path of the discovery document, below the issuer's URL.
const WELL_KNOWN: &str = "/.well-known/openid-configuration";
/// The time between two fetches, which doubles with each failure.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How long keys are good without being fetched again: what the issuer says, within these bounds.
const SHORTEST_AGE: Duration = Duration::from_mins(1);
const LONGEST_AGE: Duration = Duration::from_hours(1);
const USUAL_AGE: Duration = Duration::from_mins(10);
/// How often a file is looked at.
const INTERVAL: Duration = Duration::from_secs(5);

/// A document from a URL.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// The body.
    pub body: Bytes,
    /// How long it may be kept, if the server says so.
    pub max_age: Option<Duration>,
}

/// A fetch under way.
pub type FetchFuture<'a> = Pin<Box<dyn Future<Output = Result<Fetched, String>> + Send + 'a>>;

/// Reads documents over HTTPS, in bounded time and space.
pub trait Fetch: Send + Sync + 'static {
    /// The document at a URL; `ca` are the certificates to trust, as PEM, those of the system if empty.
    fn get<'a>(&'a self, url: &'a str, ca: &'a [u8]) -> FetchFuture<'a>;
}

/// The keys of an issuer.
pub struct KeySource {
    origin: Origin,
    keys: RwLock<Option<Arc<Keys>>>,
}

/// Keys, and the number of the fetch that they come from.
struct Keys {
    set: KeySet,
    fetch: u64,
}

enum Origin {
    File(PathBuf),
    Remote(Box<Remote>),
}

struct Remote {
    issuer: String,
    discovery_url: String,
    ca: Vec<u8>,
    fetch: Arc<dyn Fetch>,
    /// Held while keys are fetched: requests that wait for the same keys wait here.
    state: Mutex<RemoteState>,
}

struct RemoteState {
    /// From the discovery document.
    jwks_uri: Option<String>,
    /// Before that nothing is fetched.
    next: Instant,
    wait: Duration,
    /// When the keys are to be fetched again.
    stale: Instant,
    fetches: u64,
}

impl KeySource {
    /// The source that a configuration names. Keys of a file are read now; those of an issuer are there once
    /// [`KeySource::run`] has fetched them.
    pub fn new(issuer: &IssuerConfig, fetch: Arc<dyn Fetch>) -> Result<Self, String> {
        if let Some(path) = &issuer.jwks_file {
            let keys = Keys { set: read(path)?, fetch: 0 };
            return Ok(Self { origin: Origin::File(path.clone()), keys: RwLock::new(Some(Arc::new(keys))) });
        }
        let discovery_url = match issuer.discovery_url.as_str() {
            "" => format!("{}{WELL_KNOWN}", issuer.url.strip_suffix('/').unwrap_or(&issuer.url)),
            url => url.to_owned(),
        };
        let now = Instant::now();
        let state = RemoteState { jwks_uri: None, next: now, wait: SHORTEST_WAIT, stale: now, fetches: 0 };
        let remote = Remote {
            issuer: issuer.url.clone(),
            discovery_url,
            ca: issuer.certificate_authority.clone().into_bytes(),
            fetch,
            state: Mutex::new(state),
        };
        Ok(Self { origin: Origin::Remote(Box::new(remote)), keys: RwLock::new(None) })
    }

    /// Keeps the keys up to date. Runs until it is dropped.
    pub async fn run(&self) {
        match &self.origin {
            Origin::File(path) => self.follow(path).await,
            Origin::Remote(remote) => loop {
                let until = {
                    let state = remote.state.lock().await;
                    state.stale.max(state.next)
                };
                sleep_until(until).await;
                let mut state = remote.state.lock().await;
                // A request may have fetched them meanwhile.
                if state.stale.max(state.next) <= Instant::now() {
                    self.fetch(remote, &mut state).await;
                }
            },
        }
    }

    /// Whether one of the keys has signed a token. The error is why that is not known.
    pub(crate) async fn verify(
        &self,
        token: &Token<'_>,
        header: &Header,
        algorithm: Algorithm,
    ) -> Result<(), String> {
        const REFUSED: &str = "failed to verify signature: failed to verify id token signature";
        let verifies = |keys: &Keys| keys.set.verifies(token, header, algorithm);
        let known = self.current();
        if known.as_deref().is_some_and(verifies) {
            return Ok(());
        }
        let Origin::Remote(remote) = &self.origin else { return Err(REFUSED.into()) };
        let mut state = remote.state.lock().await;
        let is_tried = |keys: &Keys| known.as_ref().is_some_and(|known| known.fetch == keys.fetch);
        if self.current().as_deref().is_none_or(is_tried) && state.next <= Instant::now() {
            self.fetch(remote, &mut state).await;
        }
        drop(state);
        match self.current().filter(|keys| !is_tried(keys)) {
            Some(keys) if verifies(&keys) => Ok(()),
            _ => Err(REFUSED.into()),
        }
    }

    /// Whether there are keys.
    pub(crate) fn is_ready(&self) -> bool {
        self.current().is_some()
    }

    fn current(&self) -> Option<Arc<Keys>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, keys: Keys) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(keys));
    }

    /// Fetches the keys; the ones that are there stay if that fails.
    async fn fetch(&self, remote: &Remote, state: &mut RemoteState) {
        // Also if this request ends while it waits.
        state.next = Instant::now() + state.wait;
        let fetched = remote.keys(state).await;
        let now = Instant::now();
        match fetched {
            Ok((set, age)) => {
                state.wait = SHORTEST_WAIT;
                state.next = now + SHORTEST_WAIT;
                state.stale = now + age;
                state.fetches += 1;
                self.set(Keys { set, fetch: state.fetches });
                tracing::debug!(issuer = remote.issuer, "keys of the issuer fetched");
            }
            Err(error) => {
                state.next = now + state.wait;
                state.wait = (state.wait * 2).min(LONGEST_WAIT);
                // Where they are may have changed.
                state.jwks_uri = None;
                tracing::error!(issuer = remote.issuer, error, "cannot fetch the keys of the issuer");
            }
        }
    }

    async fn follow(&self, path: &Path) {
        let changed = || std::fs::metadata(path).and_then(|found| found.modified()).ok();
        let mut seen: Option<SystemTime> = changed();
        loop {
            sleep(INTERVAL).await;
            let now = changed();
            if now == seen {
                continue;
            }
            seen = now;
            match read(path) {
                Ok(set) => self.set(Keys { set, fetch: 0 }),
                // The keys that are in use stay in use.
                Err(error) => tracing::error!(error, "cannot read the keys of an issuer again"),
            }
        }
    }
}

impl std::fmt::Debug for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.origin {
            Origin::File(path) => f.debug_tuple("KeySource").field(path).finish(),
            Origin::Remote(remote) => f.debug_tuple("KeySource").field(&remote.issuer).finish(),
        }
    }
}

impl Remote {
    /// The keys, and for how long they are good.
    async fn keys(&self, state: &mut RemoteState) -> Result<(KeySet, Duration), String> {
        let uri = match state.jwks_uri.clone() {
            Some(uri) => uri,
            None => {
                let uri = self.discover().await?;
                state.jwks_uri = Some(uri.clone());
                uri
            }
        };
        let Fetched { body, max_age } = self
            .fetch
            .get(&uri, &self.ca)
            .await
            .map_err(|error| format!("oidc: get keys failed: {error}"))?;
        let set = KeySet::parse(&body).map_err(|error| format!("oidc: failed to decode keys: {error}"))?;
        Ok((set, max_age.unwrap_or(USUAL_AGE).clamp(SHORTEST_AGE, LONGEST_AGE)))
    }

    /// Where the keys are, by the discovery document.
    async fn discover(&self) -> Result<String, String> {
        let Fetched { body, .. } = self.fetch.get(&self.discovery_url, &self.ca).await?;
        let document = pleach_json::parse(&body)
            .map_err(|error| format!("oidc: failed to decode provider discovery object: {error}"))?;
        let text = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("issuer") != self.issuer {
            return Err(format!(
                "oidc: issuer did not match the issuer returned by provider, expected {} got {}",
                quote(&self.issuer),
                quote(text("issuer"))
            ));
        }
        let uri = text("jwks_uri");
        if !uri.starts_with("https://") {
            return Err(format!("oidc: the jwks_uri {} is no https URL", quote(uri)));
        }
        Ok(uri.to_owned())
    }
}

fn read(path: &Path) -> Result<KeySet, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    KeySet::of_file(&text).map_err(|error| format!("{}: {error}", path.display()))
}
