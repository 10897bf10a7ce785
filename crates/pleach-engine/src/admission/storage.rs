//! `StorageObjectInUseProtection` and `DefaultStorageClass`: finalizers of volumes and claims, and the class of claims
//! that name none.

use std::pin::Pin;

use pleach_json::Value;
use pleach_meta::object_meta::ObjectMeta;

use super::classes::Newest;
use super::{AdmissionAttributes, Mutation, Operation, Plugin, Verdict};
use crate::engine::Engine;
use crate::kinds::storage_class;
use crate::prepare::metadata_mut;
use crate::target::Subresource;

pub(super) struct StorageObjectInUseProtection;
pub(super) struct DefaultStorageClass;

fn creates(attributes: &AdmissionAttributes<'_>) -> bool {
    attributes.operation() == Operation::Create && attributes.target.subresource == Subresource::None
}

impl Plugin for StorageObjectInUseProtection {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        creates(attributes) && attributes.target.kind.strategy.rules().protection_finalizer().is_some()
    }

    fn admit<'a>(&'a self, write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let finalizer = write.attributes.target.kind.strategy.rules().protection_finalizer();
            let (Some(finalizer), Some(object)) = (finalizer, write.object) else { return Ok(()) };
            if !creates(write.attributes) || ObjectMeta::of(object).finalizers().any(|one| one == finalizer) {
                return Ok(());
            }
            let metadata = metadata_mut(object);
            if let Value::Array(list) = metadata.get_or_insert_with("finalizers", || Value::from(Vec::new()))
            {
                list.push(finalizer.into());
                write.state.changed = true;
            }
            Ok(())
        })
    }
}

impl Plugin for DefaultStorageClass {
    fn handles(&self, _: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        creates(attributes) && attributes.target.kind.strategy.rules().has_storage_class()
    }

    fn admit<'a>(&'a self, write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            if !self.handles(write.engine, write.attributes) {
                return Ok(());
            }
            let Some(object) = write.object else { return Ok(()) };
            let annotated =
                ObjectMeta::of(object).annotation("volume.beta.kubernetes.io/storage-class").is_some();
            if annotated || object.at(&["spec", "storageClassName"]).is_some() {
                return Ok(());
            }
            let mut newest = Newest::default();
            let classes =
                write.engine.each_object(storage_class::GROUP, storage_class::PLURAL, None, |class| {
                    if storage_class::is_default(&class) {
                        newest.see(&class);
                    }
                    Ok(())
                });
            classes.await?;
            if let Some(class) = newest.name()
                && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
            {
                spec.insert("storageClassName", class);
                write.state.changed = true;
            }
            Ok(())
        })
    }
}
