//! `PodSecurity`: Pods must meet the level that the labels of their namespace enforce; Pods and templates are warned about
//! that do not meet the level of its warnings.

use std::pin::Pin;

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::strategy::Role;

use super::{AdmissionAttributes, Operation, Plugin, Validation, Verdict};
use crate::engine::Engine;
use crate::keys;
use crate::kinds::pod::security_standards::{LABEL, Policy};
use crate::rejection::Rejection;
use crate::target::Subresource;

pub(super) struct PodSecurity;

impl Plugin for PodSecurity {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        let strategy = attributes.target.kind.strategy;
        let writes = matches!(attributes.operation(), Operation::Create | Operation::Update);
        let concerned = match (strategy.role(), attributes.target.subresource) {
            (Role::Pod, Subresource::None | Subresource::EphemeralContainers)
            | (Role::Namespace, Subresource::None) => true,
            (_, Subresource::None) => strategy.rules().pod_template().is_some(),
            _ => false,
        };
        writes && concerned
    }

    fn validate<'a>(&'a self, write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let attributes = write.attributes;
            let Some(object) = write.object else { return Ok(()) };
            if !self.handles(write.engine, attributes) {
                return Ok(());
            }
            let strategy = attributes.target.kind.strategy;
            if strategy.role() == Role::Namespace {
                return check_labels(attributes, object, write.old);
            }
            let Some(namespace) = &attributes.target.namespace else { return Ok(()) };
            let Some(record) = write.engine.stored(&keys::namespace(namespace)).await? else { return Ok(()) };
            // Most namespaces have no such label and are not parsed.
            if memchr::memmem::find(record.json(), LABEL.as_bytes()).is_none() {
                return Ok(());
            }
            let namespace = record.parse()?;
            let is_pod = strategy.role() == Role::Pod;
            let shown = match strategy.rules().pod_template() {
                Some(path) => object.at(path),
                None => Some(object),
            };
            let Some(shown) = shown else { return Ok(()) };
            if is_pod && write.old.is_some_and(|old| !is_significant(object, old)) {
                return Ok(());
            }
            if is_pod {
                let policy = Policy::of_namespace(&namespace, "enforce");
                if let Some(found) = policy.violations(shown) {
                    let name = pleach_go::strconv::quote(&policy.name());
                    return Err(attributes.forbid(object, format!("violates PodSecurity {name}: {found}")));
                }
            }
            let policy = Policy::of_namespace(&namespace, "warn");
            if let Some(found) = policy.violations(shown) {
                let name = pleach_go::strconv::quote(&policy.name());
                write.warnings.push(format!("would violate PodSecurity {name}: {found}"));
            }
            Ok(())
        })
    }
}

/// Whether an update changes fields that the standards check and Pods may change: images, containers and annotations.
fn is_significant(object: &Value, old: &Value) -> bool {
    let images = |pod: &Value| -> Vec<(String, String)> {
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        let containers = lists.iter().filter_map(|list| pod.at(&["spec", list])?.as_array());
        let text =
            |one: &Value, key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        containers.flat_map(|list| list.iter()).map(|one| (text(one, "name"), text(one, "image"))).collect()
    };
    let annotations = |pod: &Value| ObjectMeta::of(pod).annotations().cloned();
    images(object) != images(old) || annotations(object) != annotations(old)
}

/// The labels of a namespace that choose levels must be such.
fn check_labels(attributes: &AdmissionAttributes<'_>, object: &Value, old: Option<&Value>) -> Verdict {
    let meta = ObjectMeta::of(object);
    let mut errors = Vec::new();
    for mode in ["enforce", "audit", "warn"] {
        let key = format!("{LABEL}{mode}");
        if let Some(level) = meta.label(&key)
            && !matches!(level, "privileged" | "baseline" | "restricted")
        {
            let why = "must be one of privileged, baseline, restricted";
            errors.push(FieldError::invalid(format!("metadata.labels[{key}]"), level, why));
        }
        let key = format!("{LABEL}{mode}-version");
        if let Some(version) = meta.label(&key)
            && version != "latest"
            && version.strip_prefix("v1.").is_none_or(|minor| minor.parse::<u32>().is_err())
        {
            let why = "must be \"latest\" or \"v1.x\"";
            errors.push(FieldError::invalid(format!("metadata.labels[{key}]"), version, why));
        }
    }
    // Violations from before do not refuse other changes.
    let same = old.is_some_and(|old| {
        let levels = |object: &Value| -> Vec<(String, Value)> {
            let labels = ObjectMeta::of(object).labels().cloned().unwrap_or_default();
            let own = labels.iter().filter(|(key, _)| key.starts_with(LABEL));
            own.map(|(key, value)| (key.to_string(), value.clone())).collect()
        };
        levels(old) == levels(object)
    });
    if errors.is_empty() || same {
        return Ok(());
    }
    Err(Rejection::Invalid { subject: attributes.target.kind.kind_subject(meta.name()), errors })
}
