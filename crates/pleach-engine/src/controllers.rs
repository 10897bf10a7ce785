//! Background controllers: garbage collection, namespace deletion, CRD finalization, and a second look at
//! what follows from commits.
//!
//! One task reads the whole store once and sees every change of it afterwards, so nothing is listed again
//! and again. Each controller has a work queue of its own and works on many objects at once, with a back-off
//! for each object: one whose deletion waits for a webhook, or fails, holds up no other.
//! What is kept in memory is bounded by the objects that have owners.

mod controller;
mod crd_finalizer;
mod edit;
mod garbage_collector;
mod inbox;
mod namespace_controller;
mod queue;
mod reconcile;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use memchr::memmem::Finder;
use pleach_json::Str;
use pleach_store::{Event, Key, RangeQuery, Revision, StoreError, WatchItem};
use pleach_work::Constant;

use self::controller::{Change, Runner};
use self::crd_finalizer::DefinitionFinalizer;
use self::garbage_collector::GarbageCollector;
pub(crate) use self::inbox::{Work, WorkQueue};
use self::namespace_controller::NamespaceController;
use self::reconcile::{Item, Reconciler};
use crate::engine::Engine;
use crate::keys;
use crate::record::Record;
use crate::rejection::Rejection;

/// How long after a failure of the store the controllers start again.
const RESTART_AFTER: Duration = Duration::from_secs(1);
/// How many objects are read at once.
const PAGE: usize = 1000;
/// How many items of the watch are taken in before everything else is polled.
const ITEMS_PER_POLL: usize = 64;

/// How long what watchers worked out about an event is kept, at least.
const EVENTS_KEPT: Duration = Duration::from_secs(30);

/// What the bytes of an object with owners, and of one that is being deleted, have in them.
static OWNED: Constant<Finder<'static>> = Constant::new(|| Finder::new("\"ownerReferences\":"));
static DELETING: Constant<Finder<'static>> = Constant::new(|| Finder::new("\"deletionTimestamp\":"));

impl Engine {
    /// Runs the background controllers until it is dropped.
    pub async fn run_controllers(self: Arc<Self>) {
        let mut controllers = Controllers::new(&self, HashSet::new());
        while let Err(error) = controllers.run().await {
            tracing::error!(%error, "background controllers failed, restarting");
            tokio::time::sleep(RESTART_AFTER).await;
            let gone = controllers.garbage.controller().gone_owners();
            controllers = Controllers::new(&self, gone);
        }
    }
}

/// The controllers, which share one watch of the store.
struct Controllers {
    engine: Arc<Engine>,
    reconciler: Runner<Reconciler>,
    definitions: Runner<DefinitionFinalizer>,
    namespaces: Runner<NamespaceController>,
    garbage: Runner<GarbageCollector>,
    /// The revision of the last event.
    seen: Revision,
}

impl Controllers {
    /// `gone` are the uids of owners that were seen to go before.
    fn new(engine: &Arc<Engine>, gone: HashSet<Str>) -> Self {
        Self {
            engine: engine.clone(),
            reconciler: Runner::new(Reconciler::new(engine.clone())),
            definitions: Runner::new(DefinitionFinalizer::new(engine.clone())),
            namespaces: Runner::new(NamespaceController::new(engine.clone())),
            garbage: Runner::new(GarbageCollector::new(engine.clone(), gone)),
            seen: Revision(0),
        }
    }

    async fn run(&mut self) -> Result<(), Rejection> {
        let start = self.read_everything().await?;
        let root = Key::new(keys::ROOT);
        let mut watch = self.engine.store.watch(root, start).await.map_err(Rejection::from_store)?;
        let engine = self.engine.clone();
        let mut expiry = tokio::time::interval(EVENTS_KEPT);
        let mut old = Revision(0);
        loop {
            tokio::select! {
                item = watch.next() => {
                    let (mut next, mut left) = (Some(item), ITEMS_PER_POLL);
                    while let Some(item) = next {
                        match item {
                            None | Some(Err(StoreError::Closed)) => return Ok(()),
                            Some(Err(error)) => return Err(Rejection::from_store(error)),
                            Some(Ok(WatchItem::Progress(_))) => {}
                            Some(Ok(WatchItem::Events(batch))) => {
                                batch.iter().for_each(|event| self.observe_event(event));
                            }
                        }
                        left -= 1;
                        // Items that are there already: everything else is polled once for all of them.
                        next = if left > 0 { watch.next().now_or_never() } else { None };
                    }
                }
                _ = expiry.tick() => engine.events.forget(std::mem::replace(&mut old, self.seen)),
                () = engine.work.filled() => engine.work.take().into_iter().for_each(|work| self.add(work)),
                () = self.reconciler.turn() => {}
                () = self.definitions.turn() => {}
                () = self.namespaces.turn() => {}
                () = self.garbage.turn() => {}
            }
        }
    }

    /// What a request handed over.
    fn add(&mut self, work: Work) {
        match work {
            Work::NameFreed(name) => self.reconciler.add(Item::NameFreed(name), Duration::ZERO),
            Work::Definition(name) => self.definitions.add(name, Duration::ZERO),
        }
    }

    /// Reads the whole store once, for what was left undone.
    async fn read_everything(&mut self) -> Result<Revision, Rejection> {
        // CRDs that are gone are not in the store.
        for name in self.engine.definition_names().await {
            self.reconciler.add(Item::Definition(name), Duration::ZERO);
        }
        let mut query = RangeQuery::prefix(keys::ROOT).limit(PAGE);
        loop {
            let range = self.engine.store.range(query.clone()).await.map_err(Rejection::from_store)?;
            for item in &range.items {
                self.observe_stored(&item.key, &item.value, item.revision);
            }
            match range.items.last().filter(|_| range.more) {
                Some(last) => {
                    query.start = Key::new(format!("{}\0", last.key));
                    query.at = Some(range.revision);
                }
                None => return Ok(range.revision),
            }
            tokio::task::yield_now().await;
        }
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
        self.definitions.observe(change);
        self.namespaces.observe(change);
        self.garbage.observe(change);
    }
}

#[cfg(test)]
mod tests;
