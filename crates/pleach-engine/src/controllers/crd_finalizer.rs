//! The CRD finalizer: deletes the objects of a CRD that is being deleted, and then the CRD.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pleach_crd::conditions::Termination;
use pleach_crd::{ApiVersion, Crd};
use pleach_json::{Str, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_store::Key;

use super::controller::{Change, Controller, Due, Progress, Worked};
use crate::engine::Engine;
use crate::keys;
use crate::kinds::crd::{GROUP, PLURAL, typed};
use crate::rejection::Rejection;

/// How long after the removal of an object its CRD is reconciled: objects are removed in bursts.
const SETTLE: Duration = Duration::from_millis(20);
/// The delay after which a deleted CRD is reconciled in any case. The request that deletes it enqueues it once
/// no object can be created any more, and may be cancelled before that.
const FALLBACK_DELAY: Duration = Duration::from_secs(1);

/// Deletes CRDs.
pub(super) struct DefinitionFinalizer {
    engine: Arc<Engine>,
    /// CRDs that still have objects: the prefix of the objects' keys, and the CRD's name.
    waiting: Mutex<HashMap<String, Str>>,
}

impl DefinitionFinalizer {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, waiting: Mutex::default() }
    }

    async fn finish(&self, key: &Key, state: Termination<'static>) -> Worked<Str> {
        self.edit(key, |crd, now| {
            crd.set_termination(state, now);
            crd.remove_cleanup_finalizer();
            true
        })
        .await?;
        Ok(Progress::Finished)
    }

    /// Changes a stored CRD; it is removed once it has no finalizers.
    async fn edit(&self, key: &Key, how: impl Fn(&mut Crd, &str) -> bool) -> Result<(), Rejection> {
        let now = self.engine.now();
        let change = |value: &mut Value| {
            let Ok(mut crd) = typed(value) else { return false };
            let changed = how(&mut crd, &now);
            *value = crd.encode(ApiVersion::V1);
            changed
        };
        self.engine.edit(key, change).await
    }
}

impl Controller for DefinitionFinalizer {
    type Item = Str;
    const NAME: &'static str = "CRD finalizer";
    const WORKERS: usize = 8;

    fn observe(&self, change: &Change<'_>) -> Due<Str> {
        let key = match change {
            Change::Stored { key, object: Some(object), .. } => {
                return match keys::split(key) {
                    Some((GROUP, PLURAL, name)) if ObjectMeta::of(object).is_terminating() => {
                        vec![(name.into(), FALLBACK_DELAY)]
                    }
                    _ => Vec::new(),
                };
            }
            Change::Stored { .. } => return Vec::new(),
            Change::Gone { key, .. } => key,
        };
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.is_empty() {
            return Vec::new();
        }
        let of = keys::split(key).map(|(group, plural, _)| keys::prefix(group, plural, None));
        of.and_then(|prefix| waiting.get(&prefix)).map(|name| (name.clone(), SETTLE)).into_iter().collect()
    }

    async fn work(&self, name: &Str) -> Worked<Str> {
        let key = keys::object(GROUP, PLURAL, None, name);
        let waiting = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting().retain(|_, waits| waits != name);
        let Some(record) = self.engine.stored(&key).await? else { return Ok(Progress::Finished) };
        let crd = typed(&record.parse()?)?;
        let cleanup = pleach_crd::CLEANUP_FINALIZER;
        if !crd.meta().is_terminating() || !crd.meta().finalizers().any(|f| f == cleanup) {
            return Ok(Progress::Finished);
        }
        if !crd.is_established() {
            return self.finish(&key, Termination::NeverEstablished).await;
        }
        self.edit(&key, |crd, now| crd.set_termination(Termination::InProgress, now)).await?;
        let prefix = keys::prefix(&crd.spec.group, &crd.spec.names.plural, None);
        // Before they are listed: a removal in between is noticed.
        waiting().insert(prefix.clone(), name.clone());
        if !self.engine.delete_all_under(&prefix, None).await? {
            return Ok(Progress::Waiting(Vec::new()));
        }
        let finished = self.finish(&key, Termination::Completed).await?;
        waiting().remove(&prefix);
        Ok(finished)
    }
}
