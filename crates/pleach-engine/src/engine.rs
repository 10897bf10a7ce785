//! The engine: everything between a decoded request and the store.
//!
//! It knows no HTTP, opens no sockets and reads no clock of its own: time and identifiers are passed
//! to it. Its parts are `impl Engine` blocks beside this file: [`crate::read`], [`crate::list`],
//! [`crate::watch`], [`crate::write`], [`crate::delete`], [`crate::definitions`].

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use pleach_auth::{AlwaysAllow, Authorizer};
use pleach_json::{Str, Value};
use pleach_store::{Key, Revision, Store, StoreError, Versioned};
use tokio::sync::watch;

use crate::admission::AdmissionPlugins;
use crate::catalog::Catalog;
use crate::controllers::token_controller::SecretTokenSigner;
use crate::event_cache::EventCache;
use crate::gates::Gates;
use crate::keys;
use crate::record::Record;
use crate::rejection::Rejection;
use crate::settle;
use crate::webhooks::caller::{Caller, NoWebhooks};
use crate::write_cache::WriteCache;

/// Where the time comes from.
pub trait Clock: Send + Sync + 'static {
    /// Seconds and nanoseconds since 1970, UTC.
    fn now(&self) -> Instant;
}

/// A moment, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanoseconds: u32,
}

/// Where randomness comes from.
pub trait Randomness: Send + Sync + 'static {
    /// Fills the buffer.
    fn fill(&self, buffer: &mut [u8]);
}

thread_local! {
    /// A second and how it is written: each write asks twice, and thousands ask within one.
    static LAST_SECOND: RefCell<(i64, Str)> = const { RefCell::new((0, Str::new_static(""))) };
}

/// Everything between a decoded request and the store.
pub struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) catalog: Catalog,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Arc<dyn Randomness>,
    pub(crate) admission: AdmissionPlugins,
    pub(crate) gates: Gates,
    pub(crate) max_request_bytes: usize,
    pub(crate) controllers: crate::controllers::EnabledControllers,
    pub(crate) root_ca: Option<watch::Receiver<Str>>,
    pub(crate) secret_tokens: Option<Arc<dyn SecretTokenSigner>>,
    pub(crate) event_ttl: Option<Duration>,
    pub(crate) leadership: Option<watch::Receiver<bool>>,
    pub(crate) caller: Arc<dyn Caller>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) hooks: crate::webhooks::Registry,
    pub(crate) policies: crate::policies::Registry,
    pub(crate) events: EventCache,
    pub(crate) write_cache: WriteCache,
    /// Held while addresses and ports are allocated and committed.
    pub(crate) allocations: tokio::sync::Mutex<()>,
    pub(crate) service_ranges: crate::allocation::ServiceRanges,
    pub(crate) crds: crate::definitions::Definitions,
    pub(crate) typed_forms: crate::typed_forms::TypedForms,
    pub(crate) kind_generations: crate::generations::Generations,
    pub(crate) work: crate::controllers::WorkQueue,
    pub(crate) settled: crate::controllers::Settled,
    pub(crate) controllers_in_order: bool,
    pub(crate) rbac: crate::rbac::Rbac,
    pub(crate) flow_control: crate::flow_control::FlowControl,
    pub(crate) list_sizes: crate::list_sizes::ListSizes,
    pub(crate) admission_metrics: crate::admission::AdmissionMetrics,
    pub(crate) limited: crate::admission::LimitedNamespaces,
    pub(crate) served_kinds: crate::kinds::served::ServedKinds,
}

impl Engine {
    /// An engine over a store. Required parts are arguments; the rest has defaults.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        randomness: Arc<dyn Randomness>,
        admission: AdmissionPlugins,
    ) -> Self {
        Self {
            store,
            catalog: Catalog::default(),
            clock,
            randomness,
            admission,
            gates: Gates::default(),
            max_request_bytes: crate::limits::MAX_REQUEST_BYTES,
            controllers: crate::controllers::EnabledControllers {
                service_account: false,
                ..crate::controllers::EnabledControllers::default()
            },
            root_ca: None,
            secret_tokens: None,
            event_ttl: None,
            leadership: None,
            caller: Arc::new(NoWebhooks),
            authorizer: Arc::new(AlwaysAllow),
            hooks: crate::webhooks::Registry::default(),
            policies: crate::policies::Registry::default(),
            events: EventCache::default(),
            write_cache: WriteCache::default(),
            allocations: tokio::sync::Mutex::default(),
            service_ranges: crate::allocation::ServiceRanges::default(),
            crds: crate::definitions::Definitions::default(),
            typed_forms: crate::typed_forms::TypedForms::default(),
            kind_generations: crate::generations::Generations::default(),
            work: crate::controllers::WorkQueue::default(),
            settled: crate::controllers::Settled::default(),
            controllers_in_order: false,
            rbac: crate::rbac::Rbac::default(),
            flow_control: crate::flow_control::FlowControl::default(),
            list_sizes: crate::list_sizes::ListSizes::default(),
            admission_metrics: crate::admission::AdmissionMetrics::default(),
            limited: crate::admission::LimitedNamespaces::default(),
            served_kinds: crate::kinds::served::ServedKinds::default(),
        }
    }

    /// Counts and durations of webhooks and admission policies.
    pub fn admission_metrics(&self) -> &crate::admission::AdmissionMetrics {
        &self.admission_metrics
    }

    /// Serves these built-in kinds; all otherwise.
    #[must_use]
    pub fn with_served_kinds(mut self, kinds: crate::kinds::served::ServedKinds) -> Self {
        self.served_kinds = kinds;
        self
    }

    /// Allocates addresses and ports of Services from these ranges.
    #[must_use]
    pub fn with_service_ranges(mut self, ranges: crate::allocation::ServiceRanges) -> Self {
        self.service_ranges = ranges;
        self
    }

    /// Opens gates; they are shut otherwise.
    #[must_use]
    pub fn with_gates(mut self, gates: Gates) -> Self {
        self.gates = gates;
        self
    }

    /// The gates.
    pub fn gates(&self) -> Gates {
        self.gates
    }

    /// Says how many bytes a stored object may take together with its key.
    #[must_use]
    pub fn with_max_request_bytes(mut self, bytes: usize) -> Self {
        self.max_request_bytes = bytes;
        self
    }

    /// Says which background controllers run, and the root CA bundle that is published in each namespace, which may
    /// change. Without this, no objects are made in namespaces.
    #[must_use]
    pub fn with_controllers(
        mut self,
        controllers: crate::controllers::EnabledControllers,
        root_ca: watch::Receiver<Str>,
    ) -> Self {
        self.controllers = controllers;
        self.root_ca = Some(root_ca);
        self
    }

    /// Says after how long events are deleted that are not written any more. Stores with leases need no such help.
    #[must_use]
    pub fn with_event_ttl(mut self, ttl: Option<Duration>) -> Self {
        self.event_ttl = ttl;
        self
    }

    /// Whether this process leads; none where no election is held.
    pub fn leads(&self) -> Option<bool> {
        self.leadership.as_ref().map(|leads| *leads.borrow())
    }

    /// Says whether this process leads, as it changes: of several processes on one store the leader runs the
    /// background controllers. Without this, it does.
    #[must_use]
    pub fn with_leadership(mut self, leads: watch::Receiver<bool>) -> Self {
        self.leadership = Some(leads);
        self
    }

    /// Fills Secrets of type `kubernetes.io/service-account-token` with tokens that this signs.
    #[must_use]
    pub fn with_secret_tokens(mut self, signer: Arc<dyn SecretTokenSigner>) -> Self {
        self.secret_tokens = Some(signer);
        self
    }

    /// Turns the write cache on or off; it is on otherwise. Without it every write parses, validates and tracks
    /// all of its object.
    #[must_use]
    pub fn with_write_cache(mut self, on: bool) -> Self {
        self.write_cache = if on { WriteCache::default() } else { WriteCache::off() };
        self
    }

    /// Sets the client that calls webhooks. Without it none are called, and requests that need one fail.
    #[must_use]
    pub fn with_caller(mut self, caller: Arc<dyn Caller>) -> Self {
        self.caller = caller;
        self
    }

    /// Sets the authorizer; without one everything is allowed.
    #[must_use]
    pub fn with_authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = authorizer;
        self
    }

    /// The authorizer of requests, also of rights that a request needs on its way.
    pub fn authorizer(&self) -> &dyn Authorizer {
        &*self.authorizer
    }

    /// The kinds there are.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The store below.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The time, as `creationTimestamp` and its like write it.
    pub fn now(&self) -> Str {
        let seconds = self.now_seconds();
        LAST_SECOND.with_borrow_mut(|(last, text)| {
            if *last != seconds || text.is_empty() {
                *text = pleach_go::time::Timestamp::from_seconds(seconds).to_rfc3339().into();
                *last = seconds;
            }
            text.clone()
        })
    }

    /// The time in seconds since 1970.
    pub fn now_seconds(&self) -> i64 {
        self.clock.now().seconds
    }

    /// A random number below `bound`, which is not 0.
    pub fn random_below(&self, bound: u64) -> u64 {
        let mut bytes = [0; 8];
        self.randomness.fill(&mut bytes);
        u64::from_le_bytes(bytes) % bound
    }

    /// A new object's uid.
    pub(crate) fn new_uid(&self) -> Str {
        let mut bytes = [0u8; 16];
        self.randomness.fill(&mut bytes);
        uuid_v4(bytes).into()
    }

    /// The end of a generated name.
    pub(crate) fn name_suffix(&self) -> String {
        // Upstream's alphabet: no vowels, so that no words come out.
        const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut bytes = [0u8; 5];
        self.randomness.fill(&mut bytes);
        bytes.iter().map(|b| char::from(ALPHABET[usize::from(*b) % ALPHABET.len()])).collect()
    }

    /// The stored object under a key.
    pub(crate) async fn stored(&self, key: &Key) -> Result<Option<Record>, Rejection> {
        let found = match self.store.try_get(key) {
            Some(answer) => answer,
            None => self.store.get(key, None).await,
        };
        opened(key, found)
    }

    /// The stored object under a key at a revision.
    pub(crate) async fn stored_at(&self, key: &Key, at: Revision) -> Result<Option<Record>, Rejection> {
        opened(key, self.store.get(key, Some(at)).await)
    }

    /// The fingerprint of the schema under which a stored custom resource is settled: it may be sent as it is. 0 if
    /// it is not, or if its kind is not known.
    pub fn settled_fingerprint(&self, key: &Key, object: &Value) -> u64 {
        let kind = keys::split(key).and_then(|(group, plural, _)| self.catalog.get(group, plural));
        let Some(kind) = kind.filter(|kind| kind.is_custom()) else { return 0 };
        let version = kind.storage_version();
        if object.get("apiVersion").and_then(Value::as_str) != Some(&version.api_version) {
            return 0;
        }
        let mut settled = object.clone();
        let unchanged = settle::stored(&kind, kind.storage, &mut settled).is_ok() && settled == *object;
        if unchanged { version.fingerprint() } else { 0 }
    }

    /// The stored object under a key, if the store need not wait for it.
    pub(crate) fn try_stored(&self, key: &Key) -> Option<Result<Option<Record>, Rejection>> {
        self.store.try_get(key).map(|found| opened(key, found))
    }
}

fn opened(key: &Key, found: Result<Option<Versioned>, StoreError>) -> Result<Option<Record>, Rejection> {
    match found.map_err(Rejection::from_store)? {
        Some(versioned) => Record::open(versioned.value, versioned.revision)
            .map(Some)
            .map_err(|rejection| rejection.about(key)),
        None => Ok(None),
    }
}

/// Random bytes as a version 4 UUID.
pub fn uuid_v4(mut bytes: [u8; 16]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.into_iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 0x0f)]));
    }
    text
}
