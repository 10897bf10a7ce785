//! `ResourceQuota`: writes are charged to the quotas of their namespace, by the quotas' status.

use std::pin::Pin;

use pleach_json::{Str, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::strategy::Role;

use super::{AdmissionAttributes, Operation, Plugin, Validation, Verdict};
use crate::engine::Engine;
use crate::kinds::quota::{self, usage};
use crate::target::{Subresource, Target};

pub(super) struct ResourceQuota;

impl Plugin for ResourceQuota {
    fn handles(&self, engine: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        let role = attributes.target.kind.strategy.role();
        let concerned = match (role, attributes.target.subresource, attributes.operation()) {
            (Role::Event | Role::Namespace, ..) => false,
            (_, Subresource::None, Operation::Create)
            | (Role::Pod, Subresource::None | Subresource::Resize, Operation::Update)
            | (Role::Claim | Role::Service, Subresource::None, Operation::Update) => true,
            _ => false,
        };
        concerned && engine.limited.has(attributes.target.namespace.as_ref())
    }

    fn validate<'a>(&'a self, write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let (engine, attributes) = (write.engine, write.attributes);
            if !self.handles(engine, attributes) {
                return Ok(());
            }
            let Some(object) = write.object else { return Ok(()) };
            let target = attributes.target;
            let counted = usage::Counted {
                role: target.kind.strategy.role(),
                group: &target.kind.group,
                plural: &target.kind.plural,
            };
            let charge = |quota: &Value| {
                let charged = usage::charge(counted, quota, object, write.old);
                charged.map_err(|why| attributes.forbid(object, why))
            };
            let mut concerned = Vec::new();
            let quotas =
                engine.each_object(quota::GROUP, quota::PLURAL, target.namespace.as_deref(), |quota| {
                    if charge(&quota)?.is_some() {
                        concerned.push(Str::from(ObjectMeta::of(&quota).name()));
                    }
                    Ok(())
                });
            quotas.await?;
            if attributes.dry_run() {
                return Ok(());
            }
            let Some(kind) = engine.catalog.get(quota::GROUP, quota::PLURAL) else { return Ok(()) };
            for name in concerned {
                let quota = Target {
                    version: kind.storage,
                    kind: kind.clone(),
                    namespace: target.namespace.clone(),
                    name: Some(name),
                    subresource: Subresource::None,
                };
                let charged = engine.modify_quietly(&quota, false, |stored| {
                    if let (Some(status), Some(members)) = (charge(stored)?, stored.as_object_mut()) {
                        members.insert("status", status);
                    }
                    Ok(())
                });
                charged.await?;
            }
            Ok(())
        })
    }
}
