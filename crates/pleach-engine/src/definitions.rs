//! CRD controllers: naming, establishing, structural schema and approval conditions, and the served kind.
//!
//! The upstream controllers for naming, establishing, structural schemas and approval are one
//! decision here, taken in turn for each CRD and committed once, before the request that caused it is
//! answered. A CRD change costs the same however many CRDs there are: names taken are indexed by
//! group, and only CRDs that wait for a name in the same group are looked at again.
//!
//! A client that goes away takes the rest of its request with it. So the task that sees every change
//! (`controllers.rs`) asks for the same decision once more, which does nothing where it was taken.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Arc;

use pleach_crd::{ApiVersion, Crd, GroupNames, Names};
use pleach_json::{InternedObjects, Str};
use pleach_pipeline::gates::Gates;
use pleach_store::{Commit, Expect, RangeQuery, Revision, StoreError, Versioned};
use tokio::sync::Mutex;

use crate::catalog::ServedKind;
use crate::compile;
use crate::controllers::Work;
use crate::engine::Engine;
use crate::keys;
use crate::kind::Kind;
use crate::kinds::crd::{GROUP, PLURAL, typed, typed_form, typed_or_decoded};
use crate::record::{Record, encode};
use crate::rejection::Rejection;
use crate::target::Target;

/// A thread that decodes CRDs at the start gets at least so many, so that it is worth starting.
const DECODED_BY_A_THREAD: usize = 16;

/// The state of all CRDs, which forks share until one of them changes it. One CRD is reconciled at a time, as upstream's
/// single worker does.
#[derive(Default)]
pub struct Definitions(Mutex<Arc<State>>);

#[derive(Clone, Default)]
struct State {
    groups: HashMap<Str, Group>,
    /// The accepted names of each CRD, as indexed, by the CRD's name.
    accepted: HashMap<Str, (Str, Names)>,
    /// Generation and approval of each CRD at its last reconcile. Conditions about them
    /// are decided once, and stay as other writers leave them.
    looked_at: HashMap<Str, (i64, Option<Str>)>,
    /// The revision of each CRD at its last reconcile.
    decided: HashMap<Str, Revision>,
}

/// Why a CRD is reconciled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// It may have changed.
    Changed,
    /// Another CRD gave a name back.
    NameFreed,
}

/// The result of a reconcile.
#[derive(Default)]
struct Decision {
    /// The CRD is being deleted.
    terminating: bool,
    /// The group in which it gave a name back.
    freed: Option<Str>,
}

#[derive(Clone, Default)]
struct Group {
    names: GroupNames,
    /// CRDs that did not get all the names they want.
    waiting: BTreeSet<Str>,
}

impl Definitions {
    /// A copy that changes on its own.
    pub(crate) async fn fork(&self) -> Self {
        Self(Mutex::new(self.0.lock().await.clone()))
    }
}

impl State {
    /// Indexes the accepted names of a CRD in place of its former ones.
    fn index(&mut self, name: &Str, crd: &Crd) {
        self.forget(name);
        let names = crd.status.accepted_names.clone();
        let group = self.groups.entry(crd.spec.group.clone()).or_default();
        group.names.add(&names);
        if !crd.spec.names.same_as(&names) {
            group.waiting.insert(name.clone());
        }
        self.accepted.insert(name.clone(), (crd.spec.group.clone(), names));
    }

    /// Removes the names of a CRD from the index. Returns its group if it was there.
    fn forget(&mut self, name: &Str) -> Option<Str> {
        let (group_name, names) = self.accepted.remove(name)?;
        if let Some(group) = self.groups.get_mut(&group_name) {
            group.names.remove(&names);
            group.waiting.remove(name);
            if group.names.is_empty() && group.waiting.is_empty() {
                self.groups.remove(&group_name);
            }
        }
        Some(group_name)
    }

    /// CRDs of a group that wait for a name.
    fn waiting(&self, group: &str) -> Vec<Str> {
        self.groups.get(group).map(|g| g.waiting.iter().cloned().collect()).unwrap_or_default()
    }
}

impl Engine {
    /// Takes note of all CRDs in the store.
    pub(crate) async fn load_definitions(&self) -> Result<(), Rejection> {
        let query = RangeQuery::prefix(keys::prefix(GROUP, PLURAL, None));
        let range = self.store.range(query).await.map_err(Rejection::from_store)?;
        let decoded = decode_all(&range.items, self.gates);
        let mut undecided = Vec::new();
        let mut shared = self.crds.0.lock().await;
        let state = Arc::make_mut(&mut shared);
        for (item, decoded) in range.items.into_iter().zip(decoded) {
            let (crd, kind) = match decoded {
                Ok(decoded) => decoded,
                // The other versions are served, and this one can be deleted.
                Err(error) => {
                    tracing::error!(key = %item.key, %error, "a CRD cannot be decoded and is not served");
                    continue;
                }
            };
            let name: Str = crd.meta().name().into();
            state.index(&name, &crd);
            state.decided.insert(name.clone(), item.revision);
            self.typed_forms.put(&item.key, item.revision, &typed_form(crd.clone()));
            if let Some(kind) = kind {
                self.publish(&crd, kind, 0, item.revision);
            }
            if !crd.is_established() || !crd.spec.names.same_as(&crd.status.accepted_names) {
                undecided.push(name.clone());
            }
            if crd.meta().is_terminating() {
                self.work.push(Work::Definition(name));
            }
        }
        drop(shared);
        for name in undecided {
            if let Err(error) = self.name_freed(&name).await {
                tracing::error!(crd = name.as_str(), %error, "cannot decide on a CRD");
            }
        }
        Ok(())
    }

    /// The names of all CRDs that were there when they were last looked at.
    pub(crate) async fn definition_names(&self) -> Vec<Str> {
        self.crds.0.lock().await.accepted.keys().cloned().collect()
    }

    /// The names of CRDs that wait for a name.
    pub(crate) async fn waiting_definitions(&self) -> Vec<Str> {
        let state = self.crds.0.lock().await;
        state.groups.values().flat_map(|group| group.waiting.iter().cloned()).collect()
    }

    /// Reconciles with the stored state of a CRD, which may have been committed or removed.
    pub(crate) async fn definition_changed(&self, name: &Str) -> Result<(), Rejection> {
        self.decide(name, Cause::Changed).await
    }

    /// A commit of an object which fails if the CRD of its kind is not the one that the object was admitted under.
    /// Where only this process writes, the CRD cannot have changed unnoticed.
    pub(crate) fn guarded(&self, kind: &ServedKind, commit: Commit) -> Commit {
        match &kind.crd {
            Some((name, _)) if self.store.is_shared() => {
                commit.checked(keys::object(GROUP, PLURAL, None, name), Revision(kind.crd_revision))
            }
            _ => commit,
        }
    }

    /// The same for an answer without a commit.
    pub(crate) async fn check_kind(&self, kind: &ServedKind) -> Result<(), Rejection> {
        if self.is_latest(kind).await? { Ok(()) } else { Err(Rejection::StaleKind) }
    }

    /// Whether the CRD of a kind is the one that it was made from.
    async fn is_latest(&self, kind: &ServedKind) -> Result<bool, Rejection> {
        let Some((name, _)) = kind.crd.as_ref().filter(|_| self.store.is_shared()) else { return Ok(true) };
        let stored = self.stored(&keys::object(GROUP, PLURAL, None, name)).await?;
        Ok(stored.is_some_and(|record| record.revision.0 == kind.crd_revision))
    }

    /// Whether a write is to be done again under the latest CRD ([`Self::refreshed`]): the CRD has changed since the
    /// request looked up its kind, or what was allocated was taken meanwhile. Refusals for what a schema says are looked
    /// at as well.
    pub async fn is_stale(&self, target: &Target, rejection: &Rejection) -> bool {
        match rejection {
            Rejection::StaleKind | Rejection::StaleAllocation => true,
            // An error of the store is the next request's.
            Rejection::Invalid { .. } | Rejection::BadRequest(_) => {
                matches!(self.is_latest(&target.kind).await, Ok(false))
            }
            _ => false,
        }
    }

    /// The target with its kind as the latest CRD makes it, after [`Rejection::StaleKind`].
    pub async fn refreshed(&self, target: &Target) -> Result<Target, Rejection> {
        let Some((name, _)) = &target.kind.crd else { return Ok(target.clone()) };
        self.definition_changed(name).await?;
        let kind = self.catalog.get(&target.kind.group, &target.kind.plural);
        let served = kind.and_then(|kind| {
            let version = kind.version(&target.version().name)?;
            kind.versions[version].served.then(|| Target { kind, version, ..target.clone() })
        });
        served.ok_or_else(|| Rejection::NotFound(target.subject()))
    }

    /// A name that a CRD waits for may be free.
    pub(crate) async fn name_freed(&self, name: &Str) -> Result<(), Rejection> {
        self.decide(name, Cause::NameFreed).await
    }

    /// Decides on a CRD's names and conditions, commits them, and serves its kind.
    async fn decide(&self, name: &Str, cause: Cause) -> Result<(), Rejection> {
        let mut state = self.crds.0.lock().await;
        let Decision { terminating, freed } = self.decide_locked(&mut state, name, cause).await?;
        let mut others = freed.map(|group| state.waiting(&group)).unwrap_or_default();
        drop(state);
        if terminating {
            self.work.push(Work::Definition(name.clone()));
        }
        others.retain(|other| other != name);
        // Noted before any of them is waited for: this may be the last that is heard of the request.
        others.iter().for_each(|other| self.work.push(Work::NameFreed(other.clone())));
        for other in others {
            Box::pin(self.name_freed(&other)).await?;
        }
        Ok(())
    }

    async fn decide_locked(
        &self,
        shared: &mut Arc<State>,
        name: &Str,
        cause: Cause,
    ) -> Result<Decision, Rejection> {
        let key = keys::object(GROUP, PLURAL, None, name);
        loop {
            let Some(record) = self.stored(&key).await? else {
                return Ok(self.withdraw(Arc::make_mut(shared), name));
            };
            if cause == Cause::Changed && shared.decided.get(name) == Some(&record.revision) {
                return Ok(Decision::default());
            }
            let state = Arc::make_mut(shared);
            let known = self.typed_forms.get(&key, record.revision);
            let stored = typed_or_decoded(&record.parse()?, &known)?;
            let had = state.accepted.get(name).map(|(_, names)| names.clone());
            // The index holds the accepted names; the object may be newer than the index.
            state.index(name, &stored);
            let mut crd = stored.clone();
            let now = self.now();
            if let Some(group) = state.groups.get(&crd.spec.group)
                && let Some(outcome) = group.names.decide(&crd)
            {
                crd.apply_names(outcome, &now);
            }
            let looked_at =
                (crd.meta().generation(), crd.meta().annotation("api-approved.kubernetes.io").map(Str::from));
            let last = state.looked_at.get(name);
            if last.is_none_or(|last| last.0 != looked_at.0) {
                crd.update_structural_condition(&now);
            }
            if last.is_none_or(|last| last.1 != looked_at.1) {
                crd.update_approval_condition(&now);
            }
            crd.establish(&now);
            let mut revision = record.revision;
            if crd.status != stored.status {
                let mut value = crd.encode(ApiVersion::V1);
                crate::managed::track_own_status(self, &stored, &crd, &mut value);
                let fingerprint = self.definition_fingerprint();
                let bytes = encode(&mut value, fingerprint, &InternedObjects::default());
                let commit = Commit::put(key.clone(), Expect::At(record.revision), bytes);
                match self.store.commit(commit).await {
                    Ok(committed) => revision = committed,
                    Err(StoreError::Conflict { .. }) => continue,
                    Err(error) => return Err(Rejection::from_store(error)),
                }
            }
            state.index(name, &crd);
            state.looked_at.insert(name.clone(), looked_at);
            state.decided.insert(name.clone(), revision);
            self.typed_forms.put(&key, revision, &typed_form(crd.clone()));
            if let Some(kind) = served(&crd, self.gates) {
                self.publish(&crd, kind, revision.0, revision);
            }
            let freed = had.is_some_and(|had| !had.same_as(&crd.status.accepted_names));
            return Ok(Decision {
                terminating: crd.meta().is_terminating(),
                freed: freed.then_some(crd.spec.group),
            });
        }
    }

    /// Withdraws the kind of a deleted CRD.
    fn withdraw(&self, state: &mut State, name: &Str) -> Decision {
        state.looked_at.remove(name);
        state.decided.remove(name);
        self.typed_forms.remove(&keys::object(GROUP, PLURAL, None, name));
        let Some(group) = state.forget(name) else { return Decision::default() };
        // A CRD is named after both.
        let plural = name.strip_suffix(group.as_str()).and_then(|rest| rest.strip_suffix('.'));
        if let Some(kind) = plural.and_then(|plural| self.catalog.remove(&group, plural)) {
            self.kind_generations.forget(&kind);
            kind.retired.retire();
        }
        Decision { terminating: false, freed: Some(group) }
    }

    /// The fingerprint under which stored CRDs are sent as they are.
    pub(crate) fn definition_fingerprint(&self) -> u64 {
        self.catalog.get(GROUP, PLURAL).map_or(0, |kind| kind.storage_version().fingerprint())
    }

    /// Puts the kind of a CRD into the catalog. Watches end when the kind itself changed, and go on
    /// when only the CRD's state did.
    fn publish(&self, crd: &Crd, kind: Kind, since: u64, revision: Revision) {
        let mut new = ServedKind::from(kind);
        new.crd_revision = revision.0;
        let old = self.catalog.get(&new.group, &new.plural);
        new.since = old.as_ref().map_or(since, |old| old.since);
        let unchanged = old.as_ref().filter(|old| {
            let generation = self.kind_generations.same(&new, crd.meta().generation());
            generation && is_same(old, &new)
        });
        if let Some(old) = unchanged {
            new.versions = old.versions.clone();
            new.retired = old.retired.clone();
            self.catalog.put(Arc::new(new));
        } else {
            self.kind_generations.set(&new, crd.meta().generation());
            self.catalog.put(Arc::new(new));
            if let Some(old) = old {
                old.retired.retire();
            }
        }
    }
}

/// The kind of a CRD, if it is served.
fn served(crd: &Crd, gates: Gates) -> Option<Kind> {
    crd.is_served().then(|| compile::kind_gated(crd, gates))
}

/// A stored CRD and its kind.
type Decoded = Result<(Crd, Option<Kind>), Rejection>;

/// Decodes stored CRDs on as many threads as there are processors; the results are in the order of the CRDs.
fn decode_all(items: &[Versioned], gates: Gates) -> Vec<Decoded> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    decode_on(processors.min(items.len() / DECODED_BY_A_THREAD), items, gates)
}

fn decode_on(threads: usize, items: &[Versioned], gates: Gates) -> Vec<Decoded> {
    let decode = |item: &Versioned| {
        let read = || {
            let record = Record::open(item.value.clone(), item.revision)?;
            let crd = typed(&record.parse()?)?;
            let kind = served(&crd, gates);
            Ok((crd, kind))
        };
        read().map_err(|rejection: Rejection| rejection.about(&item.key))
    };
    if threads <= 1 {
        return items.iter().map(decode).collect();
    }
    std::thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(threads));
        let parts: Vec<_> =
            parts.map(|part| scope.spawn(|| part.iter().map(decode).collect::<Vec<_>>())).collect();
        let done = parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done.flatten().collect()
    })
}

/// Whether two kinds of one CRD differ in nothing that requests depend on but their state.
fn is_same(old: &Kind, new: &Kind) -> bool {
    old.crd == new.crd
        && old.singular == new.singular
        && old.kind == new.kind
        && old.list_kind == new.list_kind
        && old.short_names == new.short_names
        && old.categories == new.categories
}

#[cfg(test)]
mod tests;
