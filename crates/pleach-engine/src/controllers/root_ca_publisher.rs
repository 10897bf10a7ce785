//! The publisher of the root CA certificate: each namespace has a ConfigMap `kube-root-ca.crt` with the CA by which
//! clients verify the server.

use std::sync::Arc;
use std::time::Duration;

use pleach_json::{Map, Str, Value, json};

use super::controller::{Change, Controller, Due, Progress, Worked};
use super::written::{is_active, write};
use crate::engine::Engine;
use crate::keys;

/// The group, plural and name of the ConfigMap.
const GROUP: &str = "";
const PLURAL: &str = "configmaps";
const NAME: &str = "kube-root-ca.crt";
/// The user that writes it.
const USER: &str = "system:serviceaccount:kube-system:root-ca-cert-publisher";
const ANNOTATION: &str = "kubernetes.io/description";
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// Writes the ConfigMap of each namespace, and restores it when it was changed.
pub(super) struct RootCaPublisher {
    engine: Arc<Engine>,
    certificate: Str,
}

impl RootCaPublisher {
    /// `certificate` is the CA's, as PEM.
    pub(super) fn new(engine: Arc<Engine>, certificate: Str) -> Self {
        Self { engine, certificate }
    }
}

impl Controller for RootCaPublisher {
    type Item = Str;
    const NAME: &'static str = "root-ca-certificate-publisher-controller";
    const WORKERS: usize = 4;

    fn observe(&self, change: &Change<'_>) -> Due<Str> {
        let Some((group, plural, rest)) = keys::split(change.key()) else { return Vec::new() };
        let namespace = if (group, plural) == (GROUP, PLURAL) {
            rest.split_once('/').filter(|(_, name)| *name == NAME).map(|(namespace, _)| namespace)
        } else if matches!(change, Change::Stored { .. }) && keys::is_namespace(change.key()) {
            Some(rest)
        } else {
            None
        };
        namespace.map(|name| (name.into(), Duration::ZERO)).into_iter().collect()
    }

    async fn work(&self, namespace: &Str) -> Worked<Str> {
        let key = keys::object(GROUP, PLURAL, Some(namespace), NAME);
        let data = json!({"ca.crt": self.certificate.as_str()});
        let stored = match self.engine.stored(&key).await? {
            Some(record) => Some(record.parse()?),
            None => None,
        };
        let is_there = stored.is_some();
        let map = match stored {
            Some(map) if is_current(&map, &data) => return Ok(Progress::Finished),
            Some(mut map) => {
                restore(&mut map, data);
                map
            }
            None => json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {
                    "name": NAME, "namespace": namespace.as_str(), "annotations": {ANNOTATION: DESCRIPTION},
                },
                "data": data,
            }),
        };
        if is_active(&self.engine, namespace).await? {
            write(&self.engine, &key, &map, is_there, USER).await?;
        }
        Ok(Progress::Finished)
    }
}

/// Whether a ConfigMap is as it was written.
fn is_current(map: &Value, data: &Value) -> bool {
    let described = map.at(&["metadata", "annotations", ANNOTATION]).and_then(Value::as_str);
    map.get("data") == Some(data) && described.is_some_and(|text| !text.is_empty())
}

/// Puts the data and the description back.
fn restore(map: &mut Value, data: Value) {
    let Some(map) = map.as_object_mut() else { return };
    map.insert("data", data);
    let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    if metadata.get("annotations").is_none_or(|annotations| annotations.as_object().is_none()) {
        metadata.insert("annotations", Map::new());
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.insert(ANNOTATION, DESCRIPTION);
    }
}
