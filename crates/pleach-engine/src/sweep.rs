//! What happens by itself: CRDs and namespaces drain before they go, and objects follow their owners.
//!
//! One task works off a queue of things to look at; each look either finishes or comes back later.
//! It sees every change in the store, so nothing has to be listed again and again. What it keeps in
//! memory is bounded by the objects that have owners.
//!
//! What follows from a changed CRD or webhook is done by the request that changed it, and made sure of here:
//! a client that goes away takes the rest of its request with it.
//!
//! Owners are looked at a little later than they change. Clients that delete an owner and look at
//! once see what the API server alone would show them, and bursts are worked off together.

mod agenda;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use memchr::memmem::Finder;
use pleach_crd::conditions::Termination;
use pleach_crd::{ApiVersion, Crd};
use pleach_json::{Map, Phrases, Str, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_store::{Commit, Event, Expect, Key, RangeQuery, Revision, StoreError, WatchItem};
use pleach_work::Constant;
use tokio::time::{Instant, sleep_until};

use self::agenda::Agenda;
pub(crate) use self::agenda::{Work, WorkQueue};
use crate::crd::{GROUP, PLURAL, typed};
use crate::delete::{AT_ONCE, FOREGROUND, ORPHAN, mark};
use crate::engine::Engine;
use crate::keys;
use crate::kind::{Kind, Strategy};
use crate::options::{Context, DeleteOptions, Propagation};
use crate::prepare::metadata_mut;
use crate::record::{Record, encode};
use crate::rejection::Rejection;
use crate::target::{Subresource, Target};
use crate::write::is_finished;

/// How long after a change owners and dependents are looked at.
const OWNERS_AFTER: Duration = Duration::from_secs(2);
/// How long an object may name owners that do not exist.
const ABSENT_AFTER: Duration = Duration::from_secs(10);
/// How soon something that could not be finished is looked at again.
const AGAIN_AFTER: Duration = Duration::from_millis(250);

/// What the bytes of an object with owners, and of one that is being deleted, have in them.
static OWNED: Constant<Finder<'static>> = Constant::new(|| Finder::new("\"ownerReferences\":"));
static DELETING: Constant<Finder<'static>> = Constant::new(|| Finder::new("\"deletionTimestamp\":"));

/// Which objects name which owners, by uid; only objects that have owners are in it.
#[derive(Default)]
struct Owners {
    dependents: HashMap<Str, BTreeSet<Key>>,
    uids: HashMap<Key, Vec<Str>>,
    /// Owners that were seen to go and still have dependents; their kind may be gone by now.
    gone: BTreeSet<Str>,
}

impl Owners {
    fn set(&mut self, key: &Key, uids: Vec<Str>) {
        if let Some(old) = self.uids.remove(key) {
            for uid in old {
                if let Some(keys) = self.dependents.get_mut(&uid) {
                    keys.remove(key);
                    if keys.is_empty() {
                        self.dependents.remove(&uid);
                        self.gone.remove(&uid);
                    }
                }
            }
        }
        if uids.is_empty() {
            return;
        }
        for uid in &uids {
            self.dependents.entry(uid.clone()).or_default().insert(key.clone());
        }
        self.uids.insert(key.clone(), uids);
    }

    fn of(&self, uid: &str) -> Vec<Key> {
        self.dependents.get(uid).map(|keys| keys.iter().cloned().collect()).unwrap_or_default()
    }
}

/// The task's own state.
struct Sweeper {
    engine: Arc<Engine>,
    owners: Owners,
    agenda: Agenda,
}

impl Engine {
    /// Runs until it is dropped.
    pub async fn sweep(self: Arc<Self>) {
        let mut sweeper = Sweeper { engine: self, owners: Owners::default(), agenda: Agenda::default() };
        loop {
            match sweeper.run().await {
                Ok(()) => return,
                Err(error) => {
                    tracing::error!(%error, "what happens by itself stopped; starting over");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}

impl Sweeper {
    async fn run(&mut self) -> Result<(), Rejection> {
        let root = Key::new(keys::ROOT);
        let start = self.look_at_everything().await?;
        let mut watch = self.engine.store.watch(root, start).await.map_err(Rejection::from_store)?;
        loop {
            let next = self.agenda.next_at();
            let engine = self.engine.clone();
            tokio::select! {
                item = watch.next() => match item {
                    None | Some(Err(StoreError::Closed)) => return Ok(()),
                    Some(Err(error)) => return Err(Rejection::from_store(error)),
                    Some(Ok(WatchItem::Progress(_))) => {}
                    Some(Ok(WatchItem::Events(batch))) => batch.iter().for_each(|event| self.see(event)),
                },
                () = engine.work.filled() => {
                    engine.work.take().into_iter().for_each(|work| self.later(work, Duration::ZERO));
                }
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => self.work_off().await,
            }
        }
    }

    /// Reads the whole store once, for what was left undone.
    async fn look_at_everything(&mut self) -> Result<Revision, Rejection> {
        // Those that are gone are not in the store.
        for name in self.engine.definition_names().await {
            self.later(Work::Changed(name), Duration::ZERO);
        }
        let mut query = RangeQuery::prefix(keys::ROOT).limit(1000);
        loop {
            let range = self.engine.store.range(query.clone()).await.map_err(Rejection::from_store)?;
            for item in &range.items {
                self.see_value(&item.key, &item.value, item.revision);
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

    fn see(&mut self, event: &Event) {
        if let Some(now) = &event.value {
            self.see_value(&event.key, &now.value, now.revision);
        } else {
            self.see_change(&event.key, event.revision);
            self.owners.set(&event.key, Vec::new());
            let Some(gone) = &event.previous else { return };
            if self.owners.dependents.is_empty() {
                return;
            }
            let record = Record::open(gone.value.clone(), gone.revision);
            let Ok(value) = record.and_then(|record| record.parse()) else { return };
            let uid = ObjectMeta::of(&value).uid();
            for key in self.owners.of(uid) {
                self.owners.gone.insert(uid.into());
                self.later(Work::Dependent(key), OWNERS_AFTER);
            }
        }
    }

    /// Changes from which something follows that the request may not have got to.
    fn see_change(&mut self, key: &Key, revision: Revision) {
        if let Some((GROUP, PLURAL, name)) = keys::split(key) {
            self.later(Work::Changed(name.into()), Duration::ZERO);
        } else if Engine::is_hook_configuration(key) {
            self.later(Work::Webhooks(revision), Duration::ZERO);
        }
    }

    /// Takes note of an object; most are told from their bytes to be none of our business.
    fn see_value(&mut self, key: &Key, bytes: &bytes::Bytes, revision: Revision) {
        self.see_change(key, revision);
        let Ok(record) = Record::open(bytes.clone(), revision) else { return };
        let may = |finder: &Finder<'_>| !record.is_carefree() && finder.find(bytes).is_some();
        let (owned, deleting) = (may(&OWNED), may(&DELETING));
        if !owned {
            self.owners.set(key, Vec::new());
        }
        if !owned && !deleting {
            return;
        }
        let Ok(value) = record.parse() else { return };
        let meta = ObjectMeta::of(&value);
        if owned {
            let uids = meta.owner_references().filter_map(|r| r.get("uid")?.as_str()).map(Str::from);
            self.owners.set(key, uids.collect());
            self.later(Work::Dependent(key.clone()), ABSENT_AFTER);
        }
        if !meta.is_terminating() {
            return;
        }
        if key.starts_with(&keys::prefix("", "namespaces", None)) {
            self.later(Work::Namespace(meta.name().into()), Duration::ZERO);
        } else if meta.finalizers().any(|f| f == ORPHAN || f == FOREGROUND) {
            self.later(Work::Owner(key.clone()), OWNERS_AFTER);
        }
    }

    fn later(&mut self, work: Work, after: Duration) {
        self.agenda.add(work, Instant::now() + after);
    }

    async fn work_off(&mut self) {
        let now = Instant::now();
        while let Some(work) = self.agenda.take_due(now) {
            let finished = match &work {
                Work::Changed(name) => self.engine.definition_changed(name).await.map(|()| true),
                Work::NameFreed(name) => self.engine.name_freed(name).await.map(|()| true),
                Work::Webhooks(changed) => self.engine.load_hooks_since(*changed).await.map(|()| true),
                Work::Definition(name) => self.engine.drain_definition(name).await,
                Work::Namespace(name) => self.engine.drain_namespace(name).await,
                Work::Owner(key) => self.release_owner(key).await,
                Work::Dependent(key) => self.check_owners(key).await,
            };
            match finished {
                Ok(true) => {}
                Ok(false) => self.later(work, AGAIN_AFTER),
                Err(error) => {
                    tracing::warn!(?work, %error, "could not be finished, will be tried again");
                    self.later(work, Duration::from_secs(1));
                }
            }
        }
    }

    /// An object that waits for its dependents: orphan them, or wait until they are gone.
    async fn release_owner(&mut self, key: &Key) -> Result<bool, Rejection> {
        let Some(record) = self.engine.stored(key).await? else { return Ok(true) };
        let value = record.parse()?;
        let meta = ObjectMeta::of(&value);
        let uid: Str = meta.uid().into();
        let has = |name: &str| meta.finalizers().any(|f| f == name);
        if has(ORPHAN) {
            for dependent in self.owners.of(&uid) {
                self.engine.edit(&dependent, |value| drop_owners(value, std::slice::from_ref(&uid))).await?;
            }
            self.engine.edit(key, |value| drop_finalizer(value, ORPHAN)).await?;
        } else if has(FOREGROUND) {
            let mut blocked = false;
            for dependent in self.owners.of(&uid) {
                let Some(found) = self.engine.stored(&dependent).await? else { continue };
                let found = found.parse()?;
                blocked |= ObjectMeta::of(&found).owner_references().any(|reference| {
                    reference.get("uid").and_then(Value::as_str) == Some(&uid)
                        && reference.get("blockOwnerDeletion").and_then(Value::as_bool) == Some(true)
                });
                if !ObjectMeta::of(&found).is_terminating() {
                    self.engine.delete_by_key(&dependent, Propagation::Foreground).await?;
                }
            }
            if blocked {
                return Ok(false);
            }
            self.engine.edit(key, |value| drop_finalizer(value, FOREGROUND)).await?;
        }
        Ok(true)
    }

    /// An object whose owners are all gone goes too; one with some left forgets the others.
    async fn check_owners(&mut self, key: &Key) -> Result<bool, Rejection> {
        let Some(record) = self.engine.stored(key).await? else { return Ok(true) };
        let value = record.parse()?;
        let meta = ObjectMeta::of(&value);
        let (mut gone, mut left) = (Vec::new(), 0);
        for reference in meta.owner_references() {
            let uid = Str::from(reference.get("uid").and_then(Value::as_str).unwrap_or_default());
            let exists = if self.owners.gone.contains(&uid) {
                Some(false)
            } else {
                self.engine.owner_exists(reference, meta.namespace()).await?
            };
            match exists {
                Some(false) => gone.push(uid),
                Some(true) | None => left += 1,
            }
        }
        if gone.is_empty() {
            return Ok(true);
        }
        if left > 0 {
            self.engine.edit(key, |value| drop_owners(value, &gone)).await?;
        } else if !meta.is_terminating() {
            self.engine.delete_by_key(key, Propagation::Background).await?;
        }
        Ok(true)
    }
}

fn drop_owners(value: &mut Value, uids: &[Str]) -> bool {
    let metadata = metadata_mut(value);
    let Some(Value::Array(references)) = metadata.get_mut("ownerReferences") else { return false };
    let before = references.len();
    references.retain(|reference| {
        let uid = reference.get("uid").and_then(Value::as_str).unwrap_or_default();
        !uids.iter().any(|gone| gone == uid)
    });
    let (after, empty) = (references.len(), references.is_empty());
    if empty {
        metadata.remove("ownerReferences");
    }
    after != before
}

fn drop_finalizer(value: &mut Value, name: &str) -> bool {
    let metadata = metadata_mut(value);
    let Some(Value::Array(finalizers)) = metadata.get_mut("finalizers") else { return false };
    let before = finalizers.len();
    finalizers.retain(|finalizer| finalizer.as_str() != Some(name));
    let (after, empty) = (finalizers.len(), finalizers.is_empty());
    if empty {
        metadata.remove("finalizers");
    }
    after != before
}

/// Who deletes dependents, as those are told who are asked about it.
fn collector() -> Context {
    let groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"];
    Context {
        user: "system:serviceaccount:kube-system:generic-garbage-collector".into(),
        groups: groups.into_iter().map(Str::from).collect(),
        ..Context::default()
    }
}

impl Engine {
    /// The kind and identity of the object under a key.
    fn locate(&self, key: &Key) -> Option<(Arc<Kind>, Option<Str>, Str)> {
        let (group, plural, rest) = keys::split(key)?;
        let kind = self.catalog.get(group, plural)?;
        if !kind.is_namespaced() {
            return Some((kind, None, rest.into()));
        }
        let (namespace, name) = rest.split_once('/')?;
        Some((kind, Some(namespace.into()), name.into()))
    }

    fn target_of(&self, key: &Key) -> Option<Target> {
        let (kind, namespace, name) = self.locate(key)?;
        let version = kind.storage;
        Some(Target { kind, version, namespace, name: Some(name), subresource: Subresource::None })
    }

    async fn delete_by_key(&self, key: &Key, propagation: Propagation) -> Result<(), Rejection> {
        let Some(target) = self.target_of(key) else { return Ok(()) };
        let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        match self.delete(&target, &options, &mut collector()).await {
            Ok(_) | Err(Rejection::NotFound(_)) => Ok(()),
            Err(rejection) => Err(rejection),
        }
    }

    /// Changes a stored object; `how` says whether it did. An object that nothing holds any more is
    /// removed.
    async fn edit(&self, key: &Key, how: impl Fn(&mut Value) -> bool) -> Result<(), Rejection> {
        let Some(target) = self.target_of(key) else { return Ok(()) };
        loop {
            let Some(record) = self.stored(key).await? else { return Ok(()) };
            let mut value = record.parse()?;
            if !how(&mut value) {
                return Ok(());
            }
            let finished = is_finished(&value);
            let commit = if finished {
                Commit::delete(key.clone(), Expect::At(record.revision))
            } else {
                let bytes = encode(&mut value, record.fingerprint(), &Phrases::default());
                Commit::put(key.clone(), Expect::At(record.revision), bytes)
            };
            match self.store.commit(commit).await {
                Ok(_) => {
                    if finished {
                        self.committed(&target.kind, target.name()).await;
                    }
                    return Ok(());
                }
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(Rejection::from_store(error)),
            }
        }
    }

    /// Whether an owner is there; `None` if its kind is not served here.
    async fn owner_exists(&self, reference: &Value, namespace: &str) -> Result<Option<bool>, Rejection> {
        let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
        let group = text("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        let Some(kind) = self.catalog.by_kind(group, text("kind")) else { return Ok(None) };
        let namespace = kind.is_namespaced().then_some(namespace);
        let key = keys::object(&kind.storage_group, &kind.plural, namespace, text("name"));
        let Some(record) = self.stored(&key).await? else { return Ok(Some(false)) };
        Ok(Some(ObjectMeta::of(&record.parse()?).uid() == text("uid")))
    }

    /// Deletes what is left of a CRD's objects; finishes the CRD when nothing is.
    async fn drain_definition(&self, name: &Str) -> Result<bool, Rejection> {
        let key = keys::object(GROUP, PLURAL, None, name);
        let Some(record) = self.stored(&key).await? else { return Ok(true) };
        let crd = typed(&record.parse()?)?;
        let cleanup = pleach_crd::CLEANUP_FINALIZER;
        if !crd.meta().is_terminating() || !crd.meta().finalizers().any(|f| f == cleanup) {
            return Ok(true);
        }
        if !crd.is_established() {
            return self.finish_definition(&key, Termination::NeverEstablished).await;
        }
        self.edit_definition(&key, |crd, now| crd.set_termination(Termination::InProgress, now)).await?;
        let prefix = keys::prefix(&crd.spec.group, &crd.spec.names.plural, None);
        if self.delete_all_under(&prefix).await? {
            return self.finish_definition(&key, Termination::Completed).await;
        }
        Ok(false)
    }

    async fn finish_definition(&self, key: &Key, state: Termination<'static>) -> Result<bool, Rejection> {
        self.edit_definition(key, |crd, now| {
            crd.set_termination(state, now);
            crd.remove_cleanup_finalizer();
            true
        })
        .await?;
        Ok(true)
    }

    /// Changes a stored CRD; it goes when nothing holds it any more.
    async fn edit_definition(
        &self,
        key: &Key,
        how: impl Fn(&mut Crd, &str) -> bool,
    ) -> Result<(), Rejection> {
        let now = self.now();
        let change = |value: &mut Value| {
            let Ok(mut crd) = typed(value) else { return false };
            let changed = how(&mut crd, &now);
            *value = crd.encode(ApiVersion::V1);
            changed
        };
        self.edit(key, change).await
    }

    /// Deletes all objects under a prefix; says whether none is left.
    async fn delete_all_under(&self, prefix: &str) -> Result<bool, Rejection> {
        let mut query = RangeQuery::prefix(prefix).limit(500);
        let (now, mut held) = (self.now(), false);
        loop {
            let range = self.store.range(query.clone()).await.map_err(Rejection::from_store)?;
            for some in range.items.chunks(AT_ONCE) {
                for left in join_all(some.iter().map(|item| self.remove_or_mark(&item.key, &now))).await {
                    held |= left?;
                }
            }
            match range.items.last().filter(|_| range.more) {
                Some(last) => query.start = Key::new(format!("{}\0", last.key)),
                None => return Ok(!held),
            }
        }
    }

    /// Removes an object, or marks one that something holds; whether it is still there comes back.
    async fn remove_or_mark(&self, key: &Key, now: &str) -> Result<bool, Rejection> {
        // As stored: an object that cannot be converted any more goes like the others.
        self.edit(key, |value| {
            let fresh = !ObjectMeta::of(value).is_terminating();
            mark(value, now);
            fresh
        })
        .await?;
        Ok(self.stored(key).await?.is_some())
    }

    /// Deletes what is in a namespace; finishes the namespace when nothing is.
    async fn drain_namespace(&self, name: &Str) -> Result<bool, Rejection> {
        let key = keys::object("", "namespaces", None, name);
        let Some(record) = self.stored(&key).await? else { return Ok(true) };
        if !ObjectMeta::of(&record.parse()?).is_terminating() {
            return Ok(true);
        }
        let mut empty = true;
        for kind in
            self.catalog.all().iter().filter(|k| k.is_namespaced() && k.strategy != Strategy::Namespace)
        {
            let prefix = keys::prefix(&kind.storage_group, &kind.plural, Some(name));
            empty &= self.delete_all_under(&prefix).await?;
        }
        if !empty {
            return Ok(false);
        }
        self.edit(&key, |value| {
            let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) else { return true };
            spec.remove("finalizers");
            *spec = Map::from(std::mem::take(spec).into_vec());
            true
        })
        .await?;
        Ok(true)
    }
}
