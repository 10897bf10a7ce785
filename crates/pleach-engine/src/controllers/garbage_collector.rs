//! The garbage collector: objects follow their owners.
//!
//! An object none of whose owners exists is deleted; if some exist, references to the missing ones are removed. An object
//! that is deleted in the foreground waits until no dependent blocks it; one that is deleted with `Orphan`
//! waits until no dependent names it. Which object names which owners is kept in memory.
//!
//! Owners and dependents are processed a little later than they change. Clients that delete an owner and
//! read its dependents at once see the same as from a kube-apiserver without controllers, and bursts are processed together.

mod graph;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use pleach_auth::UserInfo;
use pleach_json::{Str, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_store::{Key, Versioned};

use self::graph::Graph;
use super::controller::{Change, Controller, Due, Progress, Worked};
use crate::delete::{AT_ONCE, FOREGROUND, ORPHAN};
use crate::engine::Engine;
use crate::keys;
use crate::options::{Context, DeleteOptions, Propagation};
use crate::prepare::metadata_mut;
use crate::record::Record;
use crate::rejection::Rejection;

/// How long after a change owners and their dependents are processed.
const OWNERS_AFTER: Duration = Duration::from_secs(2);
/// How long an object may name owners that do not exist.
const ABSENT_AFTER: Duration = Duration::from_secs(10);
/// The number of references after which the task yields.
const YIELD_EVERY: usize = 64;

/// An item of the garbage collector's queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    /// An object that waits for its dependents.
    Owner(Key),
    /// An object whose owners may not exist any more.
    Dependent(Key),
}

/// Deletes objects with their owners.
pub(super) struct GarbageCollector {
    engine: Arc<Engine>,
    graph: Mutex<Graph>,
}

impl GarbageCollector {
    /// `gone` are the uids of owners whose removal was observed by the previous run.
    pub(super) fn new(engine: Arc<Engine>, gone: HashSet<Str>) -> Self {
        Self { engine, graph: Mutex::new(Graph::new(gone)) }
    }

    /// The uids of owners whose removal was observed and that still have dependents.
    pub(super) fn gone_owners(&self) -> HashSet<Str> {
        std::mem::take(&mut *self.graph()).into_gone()
    }

    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object that is there, with its owners and whether it is being deleted.
    fn stored(&self, key: &Key, object: Option<&Value>) -> Due<Item> {
        let mut due = Vec::new();
        let meta = object.map(ObjectMeta::of);
        let owners = meta.into_iter().flat_map(ObjectMeta::owner_references).filter_map(|reference| {
            let blocks = reference.get("blockOwnerDeletion").and_then(Value::as_bool).unwrap_or_default();
            Some((Str::from(reference.get("uid")?.as_str()?), blocks))
        });
        let owners: Vec<(Str, bool)> = owners.collect();
        if !owners.is_empty() {
            due.push((Item::Dependent(key.clone()), ABSENT_AFTER));
        }
        due.extend(unblocked(self.graph().set(key, owners)));
        let Some(meta) = meta else { return due };
        let waits = || meta.finalizers().any(|f| f == ORPHAN || f == FOREGROUND);
        // A namespace waits for the objects in it, not for dependents.
        if meta.is_terminating() && waits() && !keys::is_namespace(key) {
            due.push((Item::Owner(key.clone()), OWNERS_AFTER));
        }
        due
    }

    /// Processes the removal of an object.
    fn gone(&self, key: &Key, previous: Option<&Versioned>) -> Due<Item> {
        let mut graph = self.graph();
        let mut due: Due<Item> = unblocked(graph.set(key, Vec::new())).collect();
        if graph.is_empty() {
            return due;
        }
        let Some(previous) = previous else { return due };
        let record = Record::open(previous.value.clone(), previous.revision);
        let Ok(value) = record.and_then(|record| record.parse()) else { return due };
        let uid = ObjectMeta::of(&value).uid();
        let dependents = graph.owner_gone(uid);
        due.extend(dependents.into_iter().map(|dependent| (Item::Dependent(dependent), OWNERS_AFTER)));
        due
    }

    /// An object that waits for its dependents: orphans them, or waits until none blocks it.
    async fn release_owner(&self, key: &Key) -> Worked<Item> {
        let Some(record) = self.engine.stored(key).await? else { return Ok(Progress::Finished) };
        let value = record.parse()?;
        let meta = ObjectMeta::of(&value);
        let uid: Str = meta.uid().into();
        let has = |name: &str| meta.finalizers().any(|f| f == name);
        if has(ORPHAN) {
            let dependents = self.graph().dependents(&uid);
            let uids = HashSet::from([uid]);
            for some in dependents.chunks(AT_ONCE) {
                let edits = some.iter().map(|key| self.engine.edit(key, |value| drop_owners(value, &uids)));
                join_all(edits).await.into_iter().collect::<Result<(), _>>()?;
            }
            self.engine.edit(key, |value| drop_finalizer(value, ORPHAN)).await?;
        } else if has(FOREGROUND) {
            let dependents = self.graph().wait(&uid, key);
            if let Some(dependents) = dependents {
                return Ok(Progress::Waiting(dependents.into_iter().map(Item::Dependent).collect()));
            }
            self.engine.edit(key, |value| drop_finalizer(value, FOREGROUND)).await?;
        }
        Ok(Progress::Finished)
    }

    /// Deletes an object whose owners are all missing or wait for their dependents; otherwise removes references to
    /// them.
    async fn check_owners(&self, key: &Key) -> Worked<Item> {
        let Some(record) = self.engine.stored(key).await? else { return Ok(Progress::Finished) };
        let value = record.parse()?;
        let meta = ObjectMeta::of(&value);
        if meta.is_terminating() {
            return Ok(Progress::Finished);
        }
        let (mut forgotten, mut solid, mut awaited) = (HashSet::new(), false, false);
        for (count, reference) in meta.owner_references().enumerate() {
            if count % YIELD_EVERY == YIELD_EVERY - 1 {
                tokio::task::yield_now().await;
            }
            let owner = self.owner(reference, meta.namespace()).await?;
            awaited |= owner == Owner::Waiting;
            match owner {
                Owner::Solid => solid = true,
                Owner::Gone | Owner::Waiting => {
                    forgotten.insert(Str::from(text(reference, "uid")));
                }
            }
        }
        if forgotten.is_empty() {
            return Ok(Progress::Finished);
        }
        if solid {
            self.engine.edit(key, |value| drop_owners(value, &forgotten)).await?;
            return Ok(Progress::Finished);
        }
        let has = |name: &str| meta.finalizers().any(|f| f == name);
        let dependents = self.graph().dependents(meta.uid());
        let propagation = if awaited && !dependents.is_empty() {
            self.unblock_cycle(key, &dependents).await?;
            Propagation::Foreground
        } else if has(ORPHAN) {
            Propagation::Orphan
        } else if has(FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        self.delete(key, meta.uid(), propagation).await
    }

    /// Owners that own each other would wait for each other.
    async fn unblock_cycle(&self, key: &Key, dependents: &[Key]) -> Result<(), Rejection> {
        for dependent in dependents {
            let Some(record) = self.engine.stored(dependent).await? else { continue };
            if waits_for_dependents(&record.parse()?) {
                return self.engine.edit(key, drop_blocks).await;
            }
        }
        Ok(())
    }

    /// Deletes an object if it has not changed since it was read: a webhook call may have taken long.
    async fn delete(&self, key: &Key, uid: &str, propagation: Propagation) -> Worked<Item> {
        let Some(target) = self.engine.target_of(key) else { return Ok(Progress::Finished) };
        let options = DeleteOptions {
            uid: Some(uid.into()),
            propagation: Some(propagation),
            ..DeleteOptions::default()
        };
        match self.engine.delete(&target, &options, &mut collector()).await {
            Ok(_) | Err(Rejection::NotFound(_)) => Ok(Progress::Finished),
            Err(Rejection::Conflict { .. }) => Ok(Progress::Waiting(Vec::new())),
            Err(rejection) => Err(rejection),
        }
    }

    /// The state of an owner.
    async fn owner(&self, reference: &Value, namespace: &str) -> Result<Owner, Rejection> {
        let uid = text(reference, "uid");
        if self.graph().is_gone(uid) {
            return Ok(Owner::Gone);
        }
        let group = text(reference, "apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        // A kind that is not served here may be served elsewhere.
        let kind = self.engine.catalog.by_kind(group, text(reference, "kind"));
        let Some(kind) = kind else { return Ok(Owner::Solid) };
        let namespace = kind.is_namespaced().then_some(namespace);
        let key = keys::object(&kind.storage_group, &kind.plural, namespace, text(reference, "name"));
        let Some(record) = self.engine.stored(&key).await? else { return Ok(Owner::Gone) };
        let value = record.parse()?;
        if ObjectMeta::of(&value).uid() != uid {
            return Ok(Owner::Gone);
        }
        Ok(if waits_for_dependents(&value) { Owner::Waiting } else { Owner::Solid })
    }
}

impl Controller for GarbageCollector {
    type Item = Item;
    const NAME: &'static str = "garbage collector";
    /// Most wait for webhooks when there are many; how many calls there may be is the caller's to bound.
    const WORKERS: usize = 512;
    const PER_LANE: usize = 128;

    fn observe(&self, change: &Change<'_>) -> Due<Item> {
        match change {
            Change::Stored { key, object, .. } => self.stored(key, *object),
            Change::Gone { key, previous, .. } => self.gone(key, *previous),
        }
    }

    async fn work(&self, item: &Item) -> Worked<Item> {
        match item {
            Item::Owner(key) => self.release_owner(key).await,
            Item::Dependent(key) => self.check_owners(key).await,
        }
    }

    /// By kind: webhooks are slow for certain kinds.
    fn lane(item: &Item) -> Str {
        match item {
            Item::Owner(_) => Str::new_static(""),
            Item::Dependent(key) => keys::split(key)
                .map(|(group, plural, _)| keys::prefix(group, plural, None))
                .unwrap_or_default()
                .into(),
        }
    }
}

/// The state of an owner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// It does not exist.
    Gone,
    /// It is being deleted and waits for its dependents.
    Waiting,
    /// It exists, or that is not known.
    Solid,
}

fn unblocked(owners: Vec<Key>) -> impl Iterator<Item = (Item, Duration)> {
    owners.into_iter().map(|owner| (Item::Owner(owner), Duration::ZERO))
}

fn text<'a>(reference: &'a Value, key: &str) -> &'a str {
    reference.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn waits_for_dependents(value: &Value) -> bool {
    let meta = ObjectMeta::of(value);
    meta.is_terminating() && meta.finalizers().any(|f| f == FOREGROUND)
}

fn drop_owners(value: &mut Value, uids: &HashSet<Str>) -> bool {
    retain(value, "ownerReferences", |reference| !uids.contains(text(reference, "uid")))
}

fn drop_finalizer(value: &mut Value, name: &str) -> bool {
    retain(value, "finalizers", |finalizer| finalizer.as_str() != Some(name))
}

/// Keeps some of a list in the metadata, and no empty one; whether it changed.
fn retain(value: &mut Value, key: &str, keep: impl Fn(&Value) -> bool) -> bool {
    let metadata = metadata_mut(value);
    let Some(Value::Array(list)) = metadata.get_mut(key) else { return false };
    let before = list.len();
    list.retain(|item| keep(item));
    let (after, empty) = (list.len(), list.is_empty());
    if empty {
        metadata.remove(key);
    }
    after != before
}

/// No reference keeps its owner from being deleted any more.
fn drop_blocks(value: &mut Value) -> bool {
    let Some(Value::Array(references)) = metadata_mut(value).get_mut("ownerReferences") else { return false };
    let mut changed = false;
    for reference in references.iter_mut().filter_map(Value::as_object_mut) {
        if reference.get("blockOwnerDeletion").and_then(Value::as_bool) == Some(true) {
            reference.insert("blockOwnerDeletion", false);
            changed = true;
        }
    }
    changed
}

/// The user that deletes dependents, for admission.
fn collector() -> Context {
    Context { user: UserInfo::controller("generic-garbage-collector"), ..Context::default() }
}
