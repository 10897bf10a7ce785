//! The service account controller: each namespace has a ServiceAccount `default`.

use std::sync::Arc;
use std::time::Duration;

use pleach_json::{Str, json};

use super::controller::{Change, Controller, Due, Progress, Worked};
use super::written::{is_active, write};
use crate::engine::Engine;
use crate::keys;

/// The group, plural and name of the ServiceAccount.
const GROUP: &str = "";
const PLURAL: &str = "serviceaccounts";
const DEFAULT: &str = "default";
/// The user that creates it.
const USER: &str = "system:serviceaccount:kube-system:service-account-controller";

/// Creates the ServiceAccount of each namespace.
pub(super) struct ServiceAccountController {
    engine: Arc<Engine>,
}

impl ServiceAccountController {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }
}

impl Controller for ServiceAccountController {
    type Item = Str;
    const NAME: &'static str = "serviceaccount-controller";
    const WORKERS: usize = 4;

    fn observe(&self, change: &Change<'_>) -> Due<Str> {
        let Some((group, plural, rest)) = keys::split(change.key()) else { return Vec::new() };
        let namespace = match change {
            Change::Stored { .. } if keys::is_namespace(change.key()) => Some(rest),
            Change::Gone { .. } if (group, plural) == (GROUP, PLURAL) => {
                rest.split_once('/').filter(|(_, name)| *name == DEFAULT).map(|(namespace, _)| namespace)
            }
            _ => None,
        };
        namespace.map(|name| (name.into(), Duration::ZERO)).into_iter().collect()
    }

    async fn work(&self, namespace: &Str) -> Worked<Str> {
        let key = keys::object(GROUP, PLURAL, Some(namespace), DEFAULT);
        if self.engine.stored(&key).await?.is_none() && is_active(&self.engine, namespace).await? {
            let account = json!({
                "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {"name": DEFAULT, "namespace": namespace.as_str()},
            });
            write(&self.engine, &key, &account, false, USER).await?;
        }
        Ok(Progress::Finished)
    }
}
