//! Background controllers: garbage collection, namespace deletion, CRD finalization, objects that each namespace has,
//! the status of admission policies, and the reconcile after commits.
//!
//! One task reads the whole store once and sees every change of it afterwards, so nothing is listed again
//! and again. Its watch is opened before it reads, and is read along: a store that is large and written fast needs
//! no longer a history for it. Each controller has a work queue of its own and works on many objects at once, with a back-off
//! for each object: one whose deletion waits for a webhook, or fails, holds up no other.
//! Memory is bounded by the number of objects that have owners.

mod controller;
mod crd_finalizer;
mod edit;
mod enabled;
mod event_expiry;
mod garbage_collector;
mod inbox;
mod namespace_controller;
mod policy_status;
mod queue;
mod reconcile;
mod root_ca_publisher;
mod service_account;
mod settled;
pub mod token_controller;
mod written;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use memchr::memmem::Finder;
use pleach_json::Str;
use pleach_store::{Event, Key, RangeQuery, Revision, StoreError, Watch, WatchItem};
use pleach_work::Constant;
use tokio::sync::watch;
use tokio::time::Instant;

use self::controller::{Change, Controller, Runner};
use self::crd_finalizer::DefinitionFinalizer;
pub use self::enabled::EnabledControllers;
use self::event_expiry::EventExpiry;
use self::garbage_collector::GarbageCollector;
pub(crate) use self::inbox::{Work, WorkQueue};
use self::namespace_controller::NamespaceController;
use self::policy_status::PolicyStatusController;
use self::reconcile::{Item, Reconciler};
use self::root_ca_publisher::RootCaPublisher;
use self::service_account::ServiceAccountController;
pub(crate) use self::settled::Settled;
use self::settled::StoppedOnDrop;
use self::token_controller::TokenController;
use crate::engine::Engine;
use crate::keys;
use crate::record::Record;
use crate::rejection::Rejection;

/// How long after a failure of the store the controllers start again.
const RESTART_AFTER: Duration = Duration::from_secs(1);
/// How many objects are read at once.
const PAGE: usize = 256;
/// About how many bytes of objects are processed before the watch is read again.
const PAGE_BYTES: usize = 1 << 20;
/// How many more items of the watch are taken in before everything else is polled.
const ITEMS_PER_POLL: usize = 64;

/// How long an entry of the event cache is kept, at least.
const EVENTS_KEPT: Duration = Duration::from_secs(30);
/// How often flow schemas and priority levels that must exist are restored.
const FLOW_CONTROL_ENSURED: Duration = Duration::from_mins(1);
/// How many times as long the write cache keeps an object that is not written any more, at least.
const OBJECTS_KEPT: usize = 9;

/// Keys that are in the bytes of every object with owners, and of every object that is being deleted.
static OWNED: Constant<Finder<'static>> = Constant::new(|| Finder::new("\"ownerReferences\":"));
static DELETING: Constant<Finder<'static>> = Constant::new(|| Finder::new("\"deletionTimestamp\":"));

impl Engine {
    /// Runs the background controllers until it is dropped.
    pub fn run_controllers(self: Arc<Self>) -> impl Future<Output = ()> + Send {
        let stopped = StoppedOnDrop(self.clone());
        async move {
            let _stopped = stopped;
            let mut controllers = Controllers::new(&self, HashSet::new());
            loop {
                match controllers.run().await {
                    Ok(Ended::Closed) => return,
                    Ok(Ended::LeadershipChanged | Ended::RootCaChanged) => {}
                    Err(error) => {
                        tracing::error!(%error, "background controllers failed, restarting");
                        tokio::time::sleep(RESTART_AFTER).await;
                    }
                }
                let gone = controllers.garbage.controller().gone_owners();
                controllers = Controllers::new(&self, gone);
            }
        }
    }
}

/// Why the controllers ended.
#[derive(Debug)]
enum Ended {
    /// The store was closed.
    Closed,
    /// Another process leads now, or this one does.
    LeadershipChanged,
    /// All namespaces and Secrets with tokens get another root CA bundle.
    RootCaChanged,
}

impl Engine {
    /// Waits until leadership is not `leads`. Without leader election that never happens.
    async fn leadership_other_than(&self, leads: bool) {
        match self.leadership.clone() {
            Some(mut leadership) => {
                if leadership.wait_for(|now| *now != leads).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            None => std::future::pending().await,
        }
    }
}

/// The controllers, which share one watch of the store.
struct Controllers {
    engine: Arc<Engine>,
    /// Whether this process is the leader: other processes only update their catalogs and registries.
    leads: bool,
    reconciler: Runner<Reconciler>,
    definitions: Runner<DefinitionFinalizer>,
    namespaces: Runner<NamespaceController>,
    garbage: Runner<GarbageCollector>,
    service_accounts: Option<Runner<ServiceAccountController>>,
    root_ca: Option<Runner<RootCaPublisher>>,
    root_ca_changes: Option<watch::Receiver<Str>>,
    tokens: Option<Runner<TokenController>>,
    event_expiry: Option<Runner<EventExpiry>>,
    policy_status: Option<Runner<PolicyStatusController>>,
    /// The revision of the last event.
    seen: Revision,
}

impl Controllers {
    /// `gone` are the uids of owners whose removal was observed by the previous run.
    fn new(engine: &Arc<Engine>, gone: HashSet<Str>) -> Self {
        let enabled = engine.controllers;
        let service_accounts =
            enabled.service_account.then(|| Runner::new(ServiceAccountController::new(engine.clone())));
        let signer = engine.secret_tokens.clone().filter(|_| enabled.service_account_token);
        let mut root_ca_changes = engine.root_ca.clone();
        let bundle = root_ca_changes.as_mut().map(|bundle| bundle.borrow_and_update().clone());
        let tokens = signer.zip(bundle.clone());
        let tokens = tokens.map(|(signer, ca)| Runner::new(TokenController::new(engine.clone(), signer, ca)));
        let root_ca = bundle.filter(|_| enabled.root_ca_publisher);
        let root_ca = root_ca.map(|ca| Runner::new(RootCaPublisher::new(engine.clone(), ca)));
        let event_expiry = engine.event_ttl.map(|ttl| Runner::new(EventExpiry::new(engine.clone(), ttl)));
        let policy_status =
            enabled.policy_status.then(|| Runner::new(PolicyStatusController::new(engine.clone())));
        let leads = engine.leadership.as_ref().is_none_or(|leads| *leads.borrow());
        Self {
            service_accounts,
            root_ca,
            root_ca_changes,
            tokens,
            event_expiry,
            policy_status,
            leads,
            engine: engine.clone(),
            reconciler: Runner::new(Reconciler::new(engine.clone())),
            definitions: Runner::new(DefinitionFinalizer::new(engine.clone())),
            namespaces: Runner::new(NamespaceController::new(engine.clone())),
            garbage: Runner::new(GarbageCollector::new(engine.clone(), gone)),
            seen: Revision(0),
        }
    }

    async fn run(&mut self) -> Result<Ended, Rejection> {
        let store = &self.engine.store;
        let start = store.revision().await.map_err(Rejection::from_store)?;
        let mut watch = store.watch(Key::new(keys::ROOT), start).await.map_err(Rejection::from_store)?;
        self.reconcile_known(start).await;
        if !self.read_everything(&mut watch).await? {
            return Ok(Ended::Closed);
        }
        let engine = self.engine.clone();
        let mut expiry = tokio::time::interval(EVENTS_KEPT);
        let mut flow_control = tokio::time::interval(FLOW_CONTROL_ENSURED);
        // The revisions at the last ticks.
        let mut ticks = VecDeque::from([Revision(0); OBJECTS_KEPT]);
        let mut flow_control_ensured = !self.leads;
        macro_rules! turn {
            ($($order:tt)*) => {
                tokio::select! {
                    $($order)*
                    item = watch.next() => {
                        if !self.take_in(item)? || !self.take_in_arrived(&mut watch, ITEMS_PER_POLL)? {
                            return Ok(Ended::Closed);
                        }
                    }
                    _ = expiry.tick() => {
                        ticks.back().iter().for_each(|last| engine.events.forget(**last));
                        ticks.pop_front().iter().for_each(|old| engine.write_cache.forget(*old));
                        ticks.push_back(self.seen);
                    }
                    _ = flow_control.tick(), if self.leads => {
                        if let Err(error) = Box::pin(engine.ensure_flow_control()).await {
                            tracing::error!(%error, "cannot restore flow schemas and priority levels, will retry");
                        }
                        flow_control_ensured = true;
                    }
                    () = engine.work.filled() => {
                        engine.settled.publish(None);
                        engine.work.take().into_iter().for_each(|work| self.add(work));
                    }
                    () = self.reconciler.turn() => {}
                    () = self.definitions.turn() => {}
                    () = self.namespaces.turn() => {}
                    () = self.garbage.turn() => {}
                    () = turn(&mut self.service_accounts) => {}
                    () = turn(&mut self.root_ca) => {}
                    () = turn(&mut self.tokens) => {}
                    () = turn(&mut self.event_expiry) => {}
                    () = turn(&mut self.policy_status) => {}
                    () = engine.leadership_other_than(self.leads) => return Ok(Ended::LeadershipChanged),
                    () = changed(&mut self.root_ca_changes) => return Ok(Ended::RootCaChanged),
                }
            };
        }
        loop {
            if engine.controllers_in_order {
                let is_idle = flow_control_ensured && self.is_idle(Instant::now());
                engine.settled.publish(is_idle.then(|| self.seen.max(start)));
                turn!(biased;);
            } else {
                turn!();
            }
        }
    }

    /// Whether no controller works on an item, or will shortly.
    fn is_idle(&self, now: Instant) -> bool {
        fn idle<C: Controller>(runner: Option<&Runner<C>>, now: Instant) -> bool {
            runner.is_none_or(|runner| runner.is_idle(now))
        }
        self.reconciler.is_idle(now)
            && self.definitions.is_idle(now)
            && self.namespaces.is_idle(now)
            && self.garbage.is_idle(now)
            && idle(self.service_accounts.as_ref(), now)
            && idle(self.root_ca.as_ref(), now)
            && idle(self.tokens.as_ref(), now)
            && idle(self.event_expiry.as_ref(), now)
            && idle(self.policy_status.as_ref(), now)
    }

    /// Items that requests enqueued.
    fn add(&mut self, work: Work) {
        match work {
            Work::NameFreed(name) => self.reconciler.add(Item::NameFreed(name), Duration::ZERO),
            // The leader finds it in the store.
            Work::Definition(_) if !self.leads => {}
            Work::Definition(name) => self.definitions.add(name, Duration::ZERO),
        }
    }

    /// Enqueues what the catalog and the registries know: objects that were deleted before the watch began are
    /// neither in the store nor in the watch, and items of an earlier run were dropped.
    async fn reconcile_known(&mut self, start: Revision) {
        let engine = &self.engine;
        let mut items = vec![Item::FlowControl];
        items.extend(engine.hooks.get().map(|_| Item::Webhooks(start)));
        items.extend(engine.policies.knows_any().await.then_some(Item::Policies(start)));
        items.extend(engine.limited.any().then_some(Item::Limits));
        items.extend(engine.definition_names().await.into_iter().map(Item::Definition));
        items.extend(engine.waiting_definitions().await.into_iter().map(Item::NameFreed));
        items.extend(engine.rbac_keys().iter().map(|key| Item::Rbac(key.as_str().into())));
        for item in items {
            self.reconciler.add(item, Duration::ZERO);
        }
    }

    /// Reads the whole store once, for work that was left undone; `false` if the store was closed meanwhile.
    ///
    /// Every page is of the latest revision, and what changed since the watch began comes from the watch: nothing
    /// has to stay readable for as long as it takes. An event may be older than what a page said of its key; those
    /// after it follow. A page must not be older than an event before it, so the watch is read between pages only.
    async fn read_everything(&mut self, watch: &mut Watch) -> Result<bool, Rejection> {
        let mut query = RangeQuery::prefix(keys::ROOT).limit(PAGE);
        loop {
            let range = self.engine.store.range(query.clone()).await.map_err(Rejection::from_store)?;
            let (mut left, mut last) = (range.items.len(), None);
            let mut bytes = 0;
            for item in range.items {
                self.observe_stored(&item.key, &item.value, item.revision);
                bytes += item.value.len();
                left -= 1;
                last = Some(item.key);
                if bytes >= PAGE_BYTES {
                    break;
                }
            }
            if !self.take_in_arrived(watch, usize::MAX)? {
                return Ok(false);
            }
            match last.filter(|_| range.more || left > 0) {
                Some(last) => query = query.after(&last),
                None => return Ok(true),
            }
            // Changes by other processes count before everything is read.
            tokio::select! {
                biased;
                () = self.reconciler.turn() => {}
                () = tokio::task::yield_now() => {}
            }
            if !self.take_in_arrived(watch, usize::MAX)? {
                return Ok(false);
            }
        }
    }

    /// Takes in items of the watch that are there already, at most so many; `false` if the store was closed.
    fn take_in_arrived(&mut self, watch: &mut Watch, most: usize) -> Result<bool, Rejection> {
        for _ in 0..most {
            let Some(item) = watch.next().now_or_never() else { break };
            if !self.take_in(item)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes in an item of the watch; `false` if the store was closed.
    fn take_in(&mut self, item: Option<Result<WatchItem, StoreError>>) -> Result<bool, Rejection> {
        match item {
            None | Some(Err(StoreError::Closed)) => return Ok(false),
            Some(Err(error)) => return Err(Rejection::from_store(error)),
            Some(Ok(WatchItem::Progress(_))) => {}
            Some(Ok(WatchItem::Events(batch))) => batch.iter().for_each(|event| self.observe_event(event)),
        }
        Ok(true)
    }

    fn observe_event(&mut self, event: &Event) {
        self.seen = event.revision;
        match &event.value {
            Some(now) => self.observe_stored(&event.key, &now.value, now.revision),
            None => {
                self.engine.write_cache.remove(&event.key, event.revision);
                let previous = event.previous.as_ref();
                self.observe(&Change::Gone { key: &event.key, revision: event.revision, previous });
            }
        }
    }

    /// Most objects can be told from their bytes to have no owners and not to be deleted: they are not
    /// parsed.
    fn observe_stored(&mut self, key: &Key, bytes: &bytes::Bytes, revision: Revision) {
        let record = Record::open(bytes.clone(), revision).ok();
        let record = record.filter(|record| !record.has_no_owners_and_is_not_deleting());
        let record = record.filter(|_| OWNED.find(bytes).is_some() || DELETING.find(bytes).is_some());
        let object = record.and_then(|record| record.parse().ok());
        self.observe(&Change::Stored { key, revision, object: object.as_ref() });
    }

    fn observe(&mut self, change: &Change<'_>) {
        self.reconciler.observe(change);
        if !self.leads {
            return;
        }
        self.definitions.observe(change);
        if self.engine.controllers.namespace {
            self.namespaces.observe(change);
        }
        if self.engine.controllers.garbage_collector {
            self.garbage.observe(change);
        }
        if let Some(service_accounts) = &mut self.service_accounts {
            service_accounts.observe(change);
        }
        if let Some(root_ca) = &mut self.root_ca {
            root_ca.observe(change);
        }
        if let Some(tokens) = &mut self.tokens {
            tokens.observe(change);
        }
        if let Some(event_expiry) = &mut self.event_expiry {
            event_expiry.observe(change);
        }
        if let Some(policy_status) = &mut self.policy_status {
            policy_status.observe(change);
        }
    }
}

/// Waits for another value; for ever where there will be none.
async fn changed(values: &mut Option<watch::Receiver<Str>>) {
    let has_changed = match values {
        Some(values) => values.changed().await.is_ok(),
        None => false,
    };
    if !has_changed {
        std::future::pending::<()>().await;
    }
}

/// Waits as [`Runner::turn`]; for ever where the controller does not run.
async fn turn<C: Controller>(runner: &mut Option<Runner<C>>) {
    match runner {
        Some(runner) => runner.turn().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
