//! `ServiceAccount`: new Pods run under a ServiceAccount that exists, whose token is mounted into their containers.

use std::pin::Pin;

use pleach_json::{Map, Value, json};
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::strategy::Role;

use super::{AdmissionAttributes, Mutation, Operation, Plugin, Verdict};
use crate::engine::Engine;
use crate::kinds::service_account;
use crate::target::Subresource;

pub(super) struct ServiceAccount;

/// Pods with this annotation are mirrors of static Pods, which a kubelet runs from files.
const MIRROR: &str = "kubernetes.io/config.mirror";
const DEFAULT: &str = "default";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME: &str = "kube-api-access-";
/// Letters and digits of generated names.
const NAME: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Plugin for ServiceAccount {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        attributes.operation() == Operation::Create
            && attributes.target.subresource == Subresource::None
            && attributes.target.kind.strategy.role() == Role::Pod
    }

    fn admit<'a>(&'a self, write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            if !self.handles(write.engine, write.attributes) {
                return Ok(());
            }
            let Some(object) = write.object else { return Ok(()) };
            if ObjectMeta::of(object).annotation(MIRROR).is_some() {
                return match mirror_error(object) {
                    Some(why) => Err(write.attributes.forbid(object, why)),
                    None => Ok(()),
                };
            }
            let given =
                object.at(&["spec", "serviceAccountName"]).and_then(Value::as_str).unwrap_or_default();
            let name = if given.is_empty() { DEFAULT } else { given }.to_owned();
            let namespace = write.attributes.target.namespace.as_deref().unwrap_or_default().to_owned();
            let found =
                write.engine.object(service_account::GROUP, service_account::PLURAL, Some(&namespace), &name);
            let Some(account) = found.await? else {
                let why = format!(
                    "error looking up service account {namespace}/{name}: serviceaccount {} not found",
                    pleach_go::strconv::quote(&name)
                );
                return Err(write.attributes.forbid(object, why));
            };
            let suffix: String = (0..5)
                .map(|_| char::from(NAME[write.engine.random_below(NAME.len() as u64) as usize]))
                .collect();
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                run_as(spec, &name, &account, &format!("{VOLUME}{suffix}"));
                write.state.changed = true;
            }
            Ok(())
        })
    }
}

/// The error of a mirror Pod that refers to an account or to secrets.
fn mirror_error(pod: &Value) -> Option<&'static str> {
    let spec = pod.get("spec")?;
    if spec.get("serviceAccountName").and_then(Value::as_str).is_some_and(|name| !name.is_empty()) {
        return Some("a mirror pod may not reference service accounts");
    }
    let volumes = spec.get("volumes").and_then(Value::as_array).into_iter().flat_map(|all| all.iter());
    for volume in volumes {
        if volume.get("secret").is_some() {
            return Some("a mirror pod may not reference secrets");
        }
        let mut sources = volume
            .at(&["projected", "sources"])
            .and_then(Value::as_array)
            .into_iter()
            .flat_map(|all| all.iter());
        if sources.any(|source| source.get("serviceAccountToken").is_some()) {
            return Some("a mirror pod may not use ServiceAccountToken volume projections");
        }
    }
    None
}

/// Gives a Pod its ServiceAccount, the token as a volume, and the account's image pull secrets.
fn run_as(spec: &mut Map, name: &str, account: &Value, new_volume: &str) {
    spec.insert("serviceAccountName", name);
    spec.insert("serviceAccount", name);
    let says = |value: Option<&Value>| value.and_then(Value::as_bool);
    let mounts = says(spec.get("automountServiceAccountToken"))
        .or_else(|| says(account.get("automountServiceAccountToken")))
        .unwrap_or(true);
    if mounts {
        mount_token(spec, new_volume);
    }
    let has_secrets =
        spec.get("imagePullSecrets").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    if let Some(secrets) = account.get("imagePullSecrets").filter(|_| !has_secrets) {
        spec.insert("imagePullSecrets", secrets.clone());
    }
}

fn mount_token(spec: &mut Map, new_volume: &str) {
    let volumes = spec.get("volumes").and_then(Value::as_array).map_or(&[][..], |all| &all[..]);
    let known = volumes
        .iter()
        .filter_map(|volume| volume.get("name").and_then(Value::as_str))
        .find(|name| name.starts_with(VOLUME))
        .map(str::to_owned);
    let volume = known.clone().unwrap_or_else(|| new_volume.to_owned());
    let mut is_used = false;
    for list in ["initContainers", "containers"] {
        let Some(Value::Array(containers)) = spec.get_mut(list) else { continue };
        for container in containers.iter_mut().filter_map(Value::as_object_mut) {
            let Value::Array(mounts) =
                container.get_or_insert_with("volumeMounts", || Value::from(Vec::new()))
            else {
                continue;
            };
            let at_path = |mount: &Value| mount.get("mountPath").and_then(Value::as_str) == Some(MOUNT_PATH);
            if !mounts.iter().any(at_path) {
                mounts.push(json!({"name": (volume.as_str()), "readOnly": true, "mountPath": MOUNT_PATH}));
                is_used = true;
            }
        }
    }
    if known.is_some() || !is_used {
        return;
    }
    let source = json!({"name": volume, "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]}});
    if let Value::Array(volumes) = spec.get_or_insert_with("volumes", || Value::from(Vec::new())) {
        volumes.push(source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(spec: Value) -> Map {
        spec.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn the_token_is_mounted_unless_the_pod_or_its_account_says_no() {
        let account = json!({"imagePullSecrets": [{"name": "pull"}]});
        let quiet = json!({"automountServiceAccountToken": false});
        for (spec, account, mounted, why) in [
            (json!({"containers": [{"name": "a"}]}), &account, true, "nobody says anything"),
            (json!({"containers": [{"name": "a"}]}), &quiet, false, "the account says no"),
            (
                json!({"containers": [{"name": "a"}], "automountServiceAccountToken": true}),
                &quiet,
                true,
                "the Pod counts more",
            ),
            (
                json!({"containers": [{"name": "a"}], "automountServiceAccountToken": false}),
                &account,
                false,
                "the Pod says no",
            ),
        ] {
            let mut spec = pod(spec);
            run_as(&mut spec, "default", account, "kube-api-access-x");
            assert_eq!(spec.contains_key("volumes"), mounted, "{why}");
            let containers = spec.get("containers").and_then(Value::as_array).unwrap();
            let mounts = containers[0].get("volumeMounts");
            assert_eq!(mounts.is_some(), mounted, "{why}");
            assert_eq!(spec.get_str("serviceAccountName"), Some("default"));
        }
    }

    #[test]
    fn a_mount_of_its_own_and_a_volume_that_is_there_are_kept() {
        let own = json!({"containers": [{"name": "a", "volumeMounts": [{"name": "mine", "mountPath": MOUNT_PATH}]}]});
        let mut spec = pod(own.clone());
        mount_token(&mut spec, "kube-api-access-x");
        assert_eq!(Value::from(spec), own, "nothing needs the volume");
        let mut spec =
            pod(json!({"volumes": [{"name": "kube-api-access-y"}], "containers": [{"name": "a"}]}));
        mount_token(&mut spec, "kube-api-access-x");
        assert_eq!(spec.get("volumes").and_then(Value::as_array).map(|all| all.len()), Some(1));
        let containers = spec.get("containers").and_then(Value::as_array).unwrap();
        let mounts = containers[0].get("volumeMounts").and_then(Value::as_array).unwrap();
        assert_eq!(mounts[0].get("name").and_then(Value::as_str), Some("kube-api-access-y"));
    }

    #[test]
    fn mirror_pods_have_no_account_and_no_secrets() {
        for (spec, want) in [
            (json!({"serviceAccountName": "a"}), Some("a mirror pod may not reference service accounts")),
            (
                json!({"volumes": [{"name": "v", "secret": {}}]}),
                Some("a mirror pod may not reference secrets"),
            ),
            (json!({"volumes": [{"name": "v", "emptyDir": {}}]}), None),
        ] {
            assert_eq!(mirror_error(&json!({"spec": spec})), want);
        }
    }
}
