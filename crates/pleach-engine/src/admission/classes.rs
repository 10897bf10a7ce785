//! `DefaultIngressClass` and `PersistentVolumeClaimResize`: the class of Ingresses that name none, and which claims may
//! grow.

use std::pin::Pin;

use pleach_go::quantity::Quantity;
use pleach_json::{Str, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::strategy::Role;

use super::{AdmissionAttributes, Mutation, Operation, Plugin, Validation, Verdict};
use crate::engine::Engine;
use crate::kinds::{ingress, storage_class};
use crate::target::Subresource;

pub(super) struct DefaultIngressClass;
pub(super) struct PersistentVolumeClaimResize;

/// The newest of some classes; of several that are equally new the first by name.
#[derive(Default)]
pub(super) struct Newest(Option<(Option<String>, Str)>);

impl Newest {
    pub(super) fn see(&mut self, class: &Value) {
        let meta = ObjectMeta::of(class);
        let (created, name) = (meta.creation_timestamp(), meta.name());
        let is_newer = self.0.as_ref().is_none_or(|(newest, known)| {
            created.cmp(&newest.as_deref()).then_with(|| known.as_str().cmp(name)).is_gt()
        });
        if is_newer {
            self.0 = Some((created.map(str::to_owned), name.into()));
        }
    }

    pub(super) fn name(self) -> Option<Str> {
        self.0.map(|(_, name)| name)
    }
}

impl Plugin for DefaultIngressClass {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        attributes.operation() == Operation::Create
            && attributes.target.subresource == Subresource::None
            && attributes.target.kind.strategy.role() == Role::Ingress
    }

    fn admit<'a>(&'a self, write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            if !self.handles(write.engine, write.attributes) {
                return Ok(());
            }
            let Some(object) = write.object else { return Ok(()) };
            if object.at(&["spec", "ingressClassName"]).is_some()
                || ObjectMeta::of(object).annotation(ingress::CLASS_ANNOTATION).is_some()
            {
                return Ok(());
            }
            let mut newest = Newest::default();
            let classes = write.engine.each_object(ingress::GROUP, ingress::CLASSES, None, |class| {
                if ObjectMeta::of(&class).annotation(ingress::DEFAULT_CLASS) == Some("true") {
                    newest.see(&class);
                }
                Ok(())
            });
            classes.await?;
            if let Some(class) = newest.name()
                && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
            {
                spec.insert("ingressClassName", class);
                write.state.changed = true;
            }
            Ok(())
        })
    }
}

impl Plugin for PersistentVolumeClaimResize {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        attributes.operation() == Operation::Update
            && attributes.target.subresource == Subresource::None
            && attributes.target.kind.strategy.role() == Role::Claim
    }

    fn validate<'a>(&'a self, write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let (Some(object), Some(old)) = (write.object, write.old) else { return Ok(()) };
            if !self.handles(write.engine, write.attributes) {
                return Ok(());
            }
            let size = |object: &Value| {
                let text = object.at(&["spec", "resources", "requests", "storage"])?.as_str()?;
                Quantity::parse(text).ok()
            };
            let (Some(new), Some(before)) = (size(object), size(old)) else { return Ok(()) };
            if new <= before {
                return Ok(());
            }
            let named = ObjectMeta::of(object).annotation("volume.beta.kubernetes.io/storage-class");
            let own = object.at(&["spec", "storageClassName"]).and_then(Value::as_str);
            let class = named.or(own).unwrap_or_default();
            let class = write.engine.object(storage_class::GROUP, storage_class::PLURAL, None, class).await?;
            let expands = class.is_some_and(|class| {
                class.get("allowVolumeExpansion").and_then(Value::as_bool).unwrap_or_default()
            });
            if expands {
                return Ok(());
            }
            let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
            Err(write.attributes.forbid(object, why))
        })
    }
}
