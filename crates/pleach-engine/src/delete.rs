//! Delete: removes an object, or marks it for deletion if it has finalizers or a grace period.

use std::sync::Arc;

use futures_util::future::join_all;
use pleach_go::time::Timestamp;
use pleach_json::{Str, Value};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::Typed;
use pleach_pipeline::strategy::{Role, Strategy};
use pleach_store::{Commit, Expect, Key, StoreError};

use crate::admission::{AdmissionAttributes, RequestOptions};
use crate::engine::Engine;
use crate::kind::Kind;
use crate::kinds::priority_class;
use crate::list::Listing;
use crate::object::Object;
use crate::options::{Context, DeleteOptions, ListOptions, Propagation};
use crate::prepare::{mark_for_deletion, metadata_mut};
use crate::read::{check_readable, previewed};
use crate::record::Record;
use crate::rejection::{Rejection, Subject};
use crate::target::Target;
use crate::write::is_finished;

/// The finalizer of an object until its dependents no longer name it.
pub const ORPHAN: &str = "orphan";
/// The finalizer of an object until its dependents are deleted.
pub const FOREGROUND: &str = "foregroundDeletion";

const CONFLICT_RETRIES: usize = 256;
/// How many objects of a collection are deleted at once: they share writes to the disk.
pub(crate) const AT_ONCE: usize = 64;

/// The result of a deletion.
pub enum Deleted {
    /// The object was removed; its uid.
    Gone(Str),
    /// The object was removed; its last state.
    Returned(Object),
    /// It is marked and still there.
    Marked(Object),
}

/// One attempt at a deletion.
enum Step {
    Done(Deleted),
    ModifiedMeanwhile,
}

impl Engine {
    /// Deletes one object.
    pub async fn delete(
        &self,
        target: &Target,
        options: &DeleteOptions,
        context: &mut Context,
    ) -> Result<Deleted, Rejection> {
        if options.ignore_store_read_error && self.gates.unsafe_deletion {
            return Box::pin(self.delete_unreadable(target, options, context)).await;
        }
        let is_of_system = |name: &str| priority_class::SYSTEM.iter().any(|(known, _)| *known == name);
        if target.kind.strategy.role() == Role::PriorityClass && is_of_system(target.name()) {
            let why = "this is a system priority class and cannot be deleted";
            return Err(Rejection::Forbidden { subject: target.subject(), why: why.into(), cause: None });
        }
        self.delete_one(target, target.name(), options, context).await
    }

    /// Deletes an object that cannot be decoded, whatever holds it. Its dependents are not known, and
    /// watches of its kind end with an error.
    async fn delete_unreadable(
        &self,
        target: &Target,
        options: &DeleteOptions,
        context: &mut Context,
    ) -> Result<Deleted, Rejection> {
        self.check_unsafe_deletion(target, context).await?;
        let options = RequestOptions::Delete(options);
        let attributes = AdmissionAttributes::new(target, target.name(), options, context);
        let admission = self.begin_admission(&attributes).await?;
        let key = target.key_of(target.name());
        let found = self.store.get(&key, None).await.map_err(Rejection::from_store)?;
        let unreadable = found.filter(|found| {
            let record = Record::open(found.value.clone(), found.revision);
            record.and_then(|record| check_readable(&target.kind, &record)).is_err()
        });
        let Some(unreadable) = unreadable else {
            return Err(Rejection::Invalid {
                subject: target.subject(),
                errors: vec![FieldError::invalid(
                    "ignoreStoreReadErrorWithClusterBreakingPotential",
                    true,
                    "is exclusively used to delete corrupt object(s), try again by removing this option",
                )],
            });
        };
        if let Some(attributes) = admission {
            // Only the address of the object is known.
            let known = address(target);
            self.mutating_admission(attributes, None, Some(&known), context).await?;
            self.validating_admission(attributes, None, Some(&known), context).await?;
        }
        match self.store.commit(Commit::delete(key.clone(), Expect::At(unreadable.revision))).await {
            Ok(_) => {
                tracing::warn!(%key, "an object that cannot be decoded was deleted on request");
                self.committed(target, target.name()).await;
                Ok(Deleted::Gone(Str::default()))
            }
            Err(StoreError::Conflict { .. }) => Err(modified_meanwhile(target)),
            Err(error) => Err(Rejection::from_store(error)),
        }
    }

    /// Deletes one object; `name` is the name in its admission attributes.
    pub(crate) async fn delete_one(
        &self,
        target: &Target,
        name: &str,
        options: &DeleteOptions,
        context: &mut Context,
    ) -> Result<Deleted, Rejection> {
        let attributes = AdmissionAttributes::new(target, name, RequestOptions::Delete(options), context);
        let admission = self.begin_admission(&attributes).await?;
        let key = target.key_of(target.name());
        for _ in 0..CONFLICT_RETRIES {
            let record = self.stored(&key).await?.ok_or_else(|| Rejection::NotFound(target.subject()))?;
            if let Step::Done(deleted) =
                self.delete_record(target, &record, admission, options, context).await?
            {
                return Ok(deleted);
            }
        }
        Err(modified_meanwhile(target))
    }

    /// Deletes one object without admission.
    pub(crate) async fn delete_without_admission(
        &self,
        target: &Target,
        options: &DeleteOptions,
        context: &mut Context,
    ) -> Result<(), Rejection> {
        let key = target.key_of(target.name());
        for _ in 0..CONFLICT_RETRIES {
            let record = self.stored(&key).await?.ok_or_else(|| Rejection::NotFound(target.subject()))?;
            if let Step::Done(_) = self.delete_record(target, &record, None, options, context).await? {
                return Ok(());
            }
        }
        Err(modified_meanwhile(target))
    }

    async fn delete_record(
        &self,
        target: &Target,
        record: &Record,
        admission: Option<&AdmissionAttributes<'_>>,
        options: &DeleteOptions,
        context: &mut Context,
    ) -> Result<Step, Rejection> {
        if admission.is_none()
            && let Some(uid) = goes_at_once(target, record, options)
        {
            return self.remove_stored(target, target.key_of(target.name()), record, uid).await;
        }
        let live = self.live_value(&target.kind, target.version, record).await;
        let live = live.map_err(|rejection| rejection.about(&target.key_of(target.name())))?;
        check_preconditions(target, options, &live)?;
        if let Some(attributes) = admission {
            Box::pin(async {
                self.mutating_admission(attributes, None, Some(&live), context).await?;
                self.validating_admission(attributes, None, Some(&live), context).await
            })
            .await?;
        }
        let key = target.key_of(ObjectMeta::of(&live).name());
        let mut draft = live.clone();
        let now = self.now();
        let strategy = target.kind.strategy;
        let pending = strategy.rules().has_grace_period().then(|| pending_deletion(&live)).flatten();
        // An object that nothing holds is only there because its removal was interrupted.
        let pending = pending.filter(|_| !is_finished(&target.kind, &live));
        if let Some(pending) = &pending {
            let Some(shorter) = options.grace_period_seconds.and_then(|asked| pending.shorten(asked)) else {
                let object = self.serve(&target.kind, target.version, record.clone()).await?;
                return Ok(Step::Done(Deleted::Marked(object)));
            };
            let metadata = metadata_mut(&mut draft);
            metadata.insert("deletionGracePeriodSeconds", shorter.seconds);
            metadata.insert("deletionTimestamp", Timestamp::from_seconds(shorter.end).to_rfc3339());
            set_finalizers(&mut draft, options.propagation);
        } else if !strategy.mark_for_deletion(&mut draft, &now) {
            let orphans = options.propagation.is_none()
                && !options.explicit_not_orphan
                && strategy.orphans_dependents_by_default();
            if let Some(warning) = strategy.rules().orphan_warning().filter(|_| orphans) {
                context.warn(warning);
            }
            set_finalizers(&mut draft, if orphans { Some(Propagation::Orphan) } else { options.propagation });
            match strategy.rules().grace_period(&live, options.grace_period_seconds) {
                Some(seconds) => self.mark_with_grace(&mut draft, &now, seconds),
                None => mark_for_deletion(&mut draft, &now),
            }
        }
        let held = !is_finished(&target.kind, &draft);
        if options.dry_run {
            return Ok(Step::Done(if held {
                Deleted::Marked(Object::Value(self.through_storage(target, draft).await?))
            } else if strategy.rules().has_grace_period() {
                Deleted::Returned(Object::Value(self.through_storage(target, draft).await?))
            } else if target.kind.strategy.return_deleted_object() {
                Deleted::Returned(Object::Value(live))
            } else {
                Deleted::Gone(ObjectMeta::of(&live).uid().into())
            }));
        }
        if !held && strategy.rules().has_grace_period() {
            return self.remove_marked(target, key, record, draft).await;
        }
        if !held {
            return self.remove_stored(target, key, record, ObjectMeta::of(&live).uid().into()).await;
        }
        let bytes = self.encode_marked(target, draft).await?;
        let new = Record::open(bytes.clone(), record.revision)?;
        if new.json() == record.json() {
            let object = self.serve(&target.kind, target.version, record.clone()).await?;
            return Ok(Step::Done(Deleted::Marked(object)));
        }
        let preview = self.preview(&target.kind, target.version, &bytes, &Typed::default()).await?;
        match self.store.commit(Commit::put(key, Expect::At(record.revision), bytes)).await {
            Ok(revision) => {
                self.committed(target, target.name()).await;
                Ok(Step::Done(Deleted::Marked(previewed(new.at(revision), preview))))
            }
            Err(StoreError::Conflict { .. }) => Ok(Step::ModifiedMeanwhile),
            Err(error) => Err(Rejection::from_store(error)),
        }
    }

    /// Marks an object for deletion after some time.
    fn mark_with_grace(&self, draft: &mut Value, now: &str, seconds: i64) {
        mark_for_deletion(draft, now);
        let metadata = metadata_mut(draft);
        metadata.insert("deletionGracePeriodSeconds", seconds);
        let end = Timestamp::from_seconds(self.now_seconds() + seconds);
        metadata.insert("deletionTimestamp", end.to_rfc3339());
    }

    /// Removes an object without finalizers.
    async fn remove_stored(
        &self,
        target: &Target,
        key: Key,
        record: &Record,
        uid: Str,
    ) -> Result<Step, Rejection> {
        // Before the commit: a removal that was committed must not be reported as a failure.
        let deleted = if target.kind.strategy.return_deleted_object() {
            Deleted::Returned(self.serve(&target.kind, target.version, record.clone()).await?)
        } else {
            Deleted::Gone(uid)
        };
        match self.store.commit(Commit::delete(key, Expect::At(record.revision))).await {
            Ok(_) => {
                self.committed(target, target.name()).await;
                Ok(Step::Done(deleted))
            }
            Err(StoreError::Conflict { .. }) => Ok(Step::ModifiedMeanwhile),
            Err(error) => Err(Rejection::from_store(error)),
        }
    }

    /// Removes an object of a kind with a grace period: watchers see that it is marked, and then that it is removed.
    async fn remove_marked(
        &self,
        target: &Target,
        key: Key,
        record: &Record,
        draft: Value,
    ) -> Result<Step, Rejection> {
        let bytes = self.encode_marked(target, draft).await?;
        let preview = self.preview(&target.kind, target.version, &bytes, &Typed::default()).await?;
        let put = Commit::put(key.clone(), Expect::At(record.revision), bytes.clone());
        let revision = match self.store.commit(put).await {
            Ok(revision) => revision,
            Err(StoreError::Conflict { .. }) => return Ok(Step::ModifiedMeanwhile),
            Err(error) => return Err(Rejection::from_store(error)),
        };
        let marked = Record::open(bytes, revision)?;
        match self.store.commit(Commit::delete(key, Expect::At(revision))).await {
            Ok(_) => {
                self.committed(target, target.name()).await;
                Ok(Step::Done(Deleted::Returned(previewed(marked, preview))))
            }
            Err(StoreError::Conflict { .. }) => Ok(Step::ModifiedMeanwhile),
            Err(error) => Err(Rejection::from_store(error)),
        }
    }

    /// Deletes every selected object of a collection and returns them as they were.
    pub async fn delete_collection(
        &self,
        target: &Target,
        list: &ListOptions,
        options: &DeleteOptions,
        context: &mut Context,
    ) -> Result<Listing, Rejection> {
        if options.ignore_store_read_error && self.gates.unsafe_deletion {
            let subject = Subject {
                group: "meta.k8s.io".into(),
                resource: "DeleteOptions".into(),
                name: Str::default(),
            };
            return Err(Rejection::Invalid {
                subject,
                errors: vec![FieldError::invalid(
                    "ignoreStoreReadErrorWithClusterBreakingPotential",
                    true,
                    "is not allowed with DELETECOLLECTION, try again after removing the option",
                )],
            });
        }
        let listing = self.list(target, list).await?;
        for some in listing.items.chunks(AT_ONCE) {
            let deletions = some.iter().map(|object| {
                let context = Context { warnings: Vec::new(), ..context.clone() };
                self.delete_listed(target, object, options, context)
            });
            for (deleted, warnings) in join_all(deletions).await {
                context.warnings.extend(warnings);
                match deleted {
                    Ok(_) | Err(Rejection::NotFound(_)) => {}
                    Err(rejection) => return Err(rejection),
                }
            }
        }
        Ok(listing)
    }

    /// Deletes an object of a collection. Returns the result and the warnings.
    async fn delete_listed(
        &self,
        target: &Target,
        object: &Object,
        options: &DeleteOptions,
        mut context: Context,
    ) -> (Result<Deleted, Rejection>, Vec<String>) {
        let value = match object.to_value() {
            Ok(value) => value,
            Err(rejection) => return (Err(rejection), context.warnings),
        };
        let meta = ObjectMeta::of(&value);
        let namespace = (!meta.namespace().is_empty()).then(|| Str::from(meta.namespace()));
        let one = Target {
            name: Some(meta.name().into()),
            namespace: namespace.or_else(|| target.namespace.clone()),
            ..target.clone()
        };
        let deleted = if let Some(strategy) = target.kind.strategy.in_collections() {
            self.delete_by(strategy, &one, options, &mut context).await
        } else {
            // A collection has no name.
            self.delete_one(&one, "", options, &mut context).await
        };
        (deleted, context.warnings)
    }

    /// Deletes an object by another strategy than its kind's own.
    async fn delete_by(
        &self,
        strategy: &'static dyn Strategy,
        target: &Target,
        options: &DeleteOptions,
        context: &mut Context,
    ) -> Result<Deleted, Rejection> {
        let kind = Kind { strategy, ..Kind::clone(&target.kind) };
        let other = Target { kind: Arc::new(kind.into()), ..target.clone() };
        let deleted = self.delete(&other, options, context).await?;
        self.committed(target, target.name()).await;
        Ok(deleted)
    }
}

/// An object with only type, name and namespace.
fn address(target: &Target) -> Value {
    let mut object = Value::object();
    if let Some(members) = object.as_object_mut() {
        members.insert("apiVersion", target.version().api_version.clone());
        members.insert("kind", target.kind.kind.clone());
    }
    let metadata = metadata_mut(&mut object);
    metadata.insert("name", target.name());
    if let Some(namespace) = &target.namespace {
        metadata.insert("namespace", namespace.clone());
    }
    object
}

fn modified_meanwhile(target: &Target) -> Rejection {
    Rejection::Conflict {
        subject: target.subject(),
        why: "the object has been modified; please apply your changes to the latest version and try again"
            .into(),
    }
}

pub(crate) fn check_preconditions(
    target: &Target,
    options: &DeleteOptions,
    live: &Value,
) -> Result<(), Rejection> {
    let meta = ObjectMeta::of(live);
    let refuse = |why: String| {
        let subject = if target.kind.strategy.names_resource_in_precondition_errors() {
            target.subject()
        } else {
            target.kind.kind_subject(target.name())
        };
        Err(Rejection::Conflict { subject, why })
    };
    let like_the_store = target.kind.strategy.checks_preconditions_like_the_store(live);
    if let Some(uid) = &options.uid
        && uid != meta.uid()
    {
        return refuse(if like_the_store {
            format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", meta.uid())
        } else {
            format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
                meta.uid()
            )
        });
    }
    if let Some(version) = &options.resource_version
        && version != meta.resource_version()
    {
        return refuse(if like_the_store {
            format!(
                "Precondition failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta: {}",
                meta.resource_version()
            )
        } else {
            format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have been modified",
                meta.resource_version()
            )
        });
    }
    Ok(())
}

/// The uid of an object that can be removed at once: without finalizers, options and preconditions. Most can,
/// and are recognized by their bytes.
fn goes_at_once(target: &Target, record: &Record, options: &DeleteOptions) -> Option<Str> {
    let strategy = target.kind.strategy;
    let plain = strategy.is_deleted_at_once()
        && !strategy.orphans_dependents_by_default()
        && !strategy.rules().has_grace_period()
        && matches!(options.propagation, None | Some(Propagation::Background))
        && options.uid.is_none()
        && options.resource_version.is_none()
        && !options.dry_run;
    if !plain || target.name.is_none() || !record.is_sendable(target.version().fingerprint()) {
        return None;
    }
    let metadata = pleach_json::member(record.json(), "metadata")?;
    let has = |key: &str| pleach_json::member(metadata, key).is_some();
    if has("finalizers") || has("deletionTimestamp") || has("deletionGracePeriodSeconds") {
        return None;
    }
    let uid = pleach_json::member(metadata, "uid")?;
    let uid = std::str::from_utf8(uid).ok()?.strip_prefix('"')?.strip_suffix('"')?;
    Some(uid.into())
}

/// A grace period and its end in seconds of Unix time.
struct GracePeriod {
    seconds: i64,
    end: i64,
}

impl GracePeriod {
    /// The period as a later request asks for it, unless it is not shorter.
    fn shorten(&self, asked: i64) -> Option<GracePeriod> {
        let seconds = if asked < 0 { 1 } else { asked };
        (seconds < self.seconds).then(|| GracePeriod { seconds, end: self.end - self.seconds + seconds })
    }
}

/// The grace period of an object that is marked for deletion already.
fn pending_deletion(live: &Value) -> Option<GracePeriod> {
    let meta = ObjectMeta::of(live);
    let end = pleach_go::time::parse_rfc3339(meta.deletion_timestamp()?).ok()?;
    Some(GracePeriod { seconds: meta.deletion_grace_period_seconds()?, end: end.seconds })
}

/// Sets the finalizers that stand for a propagation policy.
fn set_finalizers(draft: &mut Value, propagation: Option<Propagation>) {
    let Some(propagation) = propagation else { return };
    let metadata = metadata_mut(draft);
    let mut finalizers: Vec<Value> = match metadata.remove("finalizers") {
        Some(Value::Array(list)) => list.into_vec(),
        _ => Vec::new(),
    };
    finalizers.retain(|f| !matches!(f.as_str(), Some(ORPHAN | FOREGROUND)));
    match propagation {
        Propagation::Orphan => finalizers.push(ORPHAN.into()),
        Propagation::Foreground => finalizers.push(FOREGROUND.into()),
        Propagation::Background => {}
    }
    if !finalizers.is_empty() {
        metadata.insert("finalizers", finalizers);
    }
}

#[cfg(test)]
mod tests;
