//! Changes and deletions of stored objects by background controllers, in their stored form: an object that can no longer be
//! converted or validated can be deleted, too.
//!
//! The CRD finalizer deletes without admission, as upstream's does. The namespace controller deletes through admission,
//! where a plugin handles the deletion: upstream's is a client of the API.

use futures_util::future::join_all;
use pleach_json::{InternedObjects, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_store::{Commit, Expect, Key, RangeQuery, StoreError};

use crate::admission::{AdmissionAttributes, RequestOptions};
use crate::delete::{AT_ONCE, Deleted};
use crate::engine::Engine;
use crate::keys;
use crate::options::{Context, DeleteOptions};
use crate::prepare::mark_for_deletion;
use crate::record::{Record, encode};
use crate::rejection::Rejection;
use crate::target::{Subresource, Target};
use crate::write::is_finished;

impl Engine {
    /// The object under a key, in the version it is stored in; `None` if its kind is not served.
    pub(super) fn target_of(&self, key: &Key) -> Option<Target> {
        let (group, plural, rest) = keys::split(key)?;
        let kind = self.catalog.get(group, plural)?;
        let (namespace, name) = if kind.is_namespaced() {
            let (namespace, name) = rest.split_once('/')?;
            (Some(namespace.into()), name)
        } else {
            (None, rest)
        };
        let version = kind.storage;
        Some(Target { kind, version, namespace, name: Some(name.into()), subresource: Subresource::None })
    }

    /// Changes a stored object; `how` returns whether it did. An object without finalizers that is being deleted is
    /// removed.
    pub(crate) async fn edit(&self, key: &Key, how: impl Fn(&mut Value) -> bool) -> Result<(), Rejection> {
        let Some(target) = self.target_of(key) else { return Ok(()) };
        loop {
            let Some(record) = self.stored(key).await? else { return Ok(()) };
            let mut value = record.parse()?;
            if !how(&mut value) {
                return Ok(());
            }
            let finished = is_finished(&target.kind, &value);
            let commit = commit(key, &record, &mut value, finished);
            match self.store.commit(commit).await {
                Ok(_) => {
                    if finished {
                        self.committed(&target, target.name()).await;
                    }
                    return Ok(());
                }
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(Rejection::from_store(error)),
            }
        }
    }

    /// Deletes all objects under a prefix, through admission for the user of `context` if one is given; says whether
    /// none is left. An object that cannot be deleted does not hold up the rest: the first error is returned at the end.
    pub(super) async fn delete_all_under(
        &self,
        prefix: &str,
        context: Option<&Context>,
    ) -> Result<bool, Rejection> {
        let mut query = RangeQuery::prefix(prefix).limit(500);
        let (now, mut held, mut failed) = (self.now(), false, None);
        loop {
            let range = self.store.range(query.clone()).await.map_err(Rejection::from_store)?;
            for some in range.items.chunks(AT_ONCE) {
                for left in
                    join_all(some.iter().map(|item| self.remove_or_mark(&item.key, &now, context))).await
                {
                    match left {
                        Ok(left) => held |= left,
                        Err(error) => {
                            failed.get_or_insert(error);
                        }
                    }
                }
            }
            match (range.items.last().filter(|_| range.more), failed) {
                (Some(last), still) => {
                    query.start = Key::new(format!("{}\0", last.key));
                    failed = still;
                }
                (None, Some(error)) => return Err(error),
                (None, None) => return Ok(!held),
            }
        }
    }

    /// Removes an object, or marks it for deletion if it has finalizers; returns whether it is still there.
    async fn remove_or_mark(
        &self,
        key: &Key,
        now: &str,
        context: Option<&Context>,
    ) -> Result<bool, Rejection> {
        if let (Some(context), Some(target)) = (context, self.target_of(key)) {
            let options = DeleteOptions::default();
            let attributes = AdmissionAttributes::new(&target, "", RequestOptions::Delete(&options), context);
            if self.begin_admission(&attributes).await?.is_some() {
                let mut context = context.clone();
                return match self.delete_one(&target, "", &options, &mut context).await {
                    Ok(deleted) => Ok(matches!(deleted, Deleted::Marked(_))),
                    Err(Rejection::NotFound(_)) => Ok(false),
                    Err(rejection) => Err(rejection),
                };
            }
        }
        self.edit(key, |value| {
            let fresh = !ObjectMeta::of(value).is_terminating();
            mark_for_deletion(value, now);
            fresh
        })
        .await?;
        Ok(self.stored(key).await?.is_some())
    }
}

fn commit(key: &Key, record: &Record, value: &mut Value, finished: bool) -> Commit {
    let expect = Expect::At(record.revision);
    if finished {
        Commit::delete(key.clone(), expect)
    } else {
        Commit::put(key.clone(), expect, encode(value, record.fingerprint(), &InternedObjects::default()))
    }
}
