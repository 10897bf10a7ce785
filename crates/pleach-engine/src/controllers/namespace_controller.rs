//! The namespace controller: deletes the objects of a namespace that is being deleted, and then the namespace.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pleach_auth::UserInfo;
use pleach_json::{Map, Str, Value};
use pleach_meta::object_meta::ObjectMeta;

use super::controller::{Change, Controller, Due, Progress, Worked};
use crate::engine::Engine;
use crate::keys;
use crate::options::Context;

/// How long after the removal of an object its namespace is reconciled: objects are removed in bursts.
const SETTLE: Duration = Duration::from_millis(20);

/// Deletes namespaces.
pub(super) struct NamespaceController {
    engine: Arc<Engine>,
    /// Namespaces that are being deleted and are not empty.
    waiting: Mutex<HashSet<Str>>,
}

impl NamespaceController {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, waiting: Mutex::default() }
    }

    fn wait(&self, name: &Str, waits: bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waits {
            waiting.insert(name.clone())
        } else {
            waiting.remove(name)
        };
    }
}

impl Controller for NamespaceController {
    type Item = Str;
    const NAME: &'static str = "namespace";
    const WORKERS: usize = 16;

    fn observe(&self, change: &Change<'_>) -> Due<Str> {
        let Some((_, _, rest)) = keys::split(change.key()) else { return Vec::new() };
        match change {
            Change::Stored { object: Some(object), .. } if keys::is_namespace(change.key()) => {
                let terminating = ObjectMeta::of(object).is_terminating();
                terminating.then(|| (rest.into(), Duration::ZERO)).into_iter().collect()
            }
            Change::Stored { .. } => Vec::new(),
            Change::Gone { .. } => {
                let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let namespace = rest.split_once('/').map(|(namespace, _)| namespace);
                let namespace = namespace.filter(|_| !waiting.is_empty()).and_then(|name| waiting.get(name));
                namespace.map(|name| (name.clone(), SETTLE)).into_iter().collect()
            }
        }
    }

    async fn work(&self, name: &Str) -> Worked<Str> {
        let key = keys::namespace(name);
        let engine = &self.engine;
        let terminating = match engine.stored(&key).await? {
            Some(record) => ObjectMeta::of(&record.parse()?).is_terminating(),
            None => false,
        };
        if !terminating {
            self.wait(name, false);
            return Ok(Progress::Finished);
        }
        // Before they are listed: a removal in between is noticed.
        self.wait(name, true);
        let context = Context { user: UserInfo::controller("namespace-controller"), ..Context::default() };
        let (mut empty, mut failed) = (true, None);
        for kind in engine.catalog.all() {
            if !kind.is_namespaced() {
                continue;
            }
            let prefix = keys::prefix(&kind.storage_group, &kind.plural, Some(name));
            match engine.delete_all_under(&prefix, Some(&context)).await {
                Ok(none_left) => empty &= none_left,
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if !empty {
            return Ok(Progress::Waiting(Vec::new()));
        }
        engine
            .edit(&key, |value| {
                let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) else { return true };
                spec.remove("finalizers");
                *spec = Map::from(std::mem::take(spec).into_vec());
                true
            })
            .await?;
        self.wait(name, false);
        Ok(Progress::Finished)
    }
}
