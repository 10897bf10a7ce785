//! `LimitRanger`: containers get the requests and limits of the namespace's LimitRanges, and stay within them.

use std::pin::Pin;

use pleach_json::Value;
use pleach_pipeline::strategy::Role;

use super::{AdmissionAttributes, Mutation, Operation, Plugin, Validation, Verdict};
use crate::engine::Engine;
use crate::kinds::limit_range;
use crate::rejection::Rejection;
use crate::target::Subresource;

pub(super) struct LimitRanger;

async fn each_range(
    engine: &Engine,
    attributes: &AdmissionAttributes<'_>,
    look: impl FnMut(Value) -> Result<(), Rejection> + Send,
) -> Result<(), Rejection> {
    let namespace = attributes.target.namespace.as_deref();
    engine.each_object(limit_range::GROUP, limit_range::PLURAL, namespace, look).await
}

impl Plugin for LimitRanger {
    fn handles(&self, engine: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        let (role, operation) = (attributes.target.kind.strategy.role(), attributes.operation());
        let concerned = matches!(
            (role, attributes.target.subresource, operation),
            (Role::Pod, Subresource::Resize, Operation::Update)
                | (Role::Pod, Subresource::None, Operation::Create)
                | (Role::Claim, Subresource::None, Operation::Create | Operation::Update)
        );
        concerned && engine.limited.has(attributes.target.namespace.as_ref())
    }

    fn admit<'a>(&'a self, write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let attributes = write.attributes;
            let fills = attributes.target.kind.strategy.role() == Role::Pod
                && attributes.operation() == Operation::Create;
            if !fills || !self.handles(write.engine, attributes) {
                return Ok(());
            }
            let Some(object) = write.object else { return Ok(()) };
            let changed = &mut write.state.changed;
            let fill = |range: Value| {
                *changed |= limit_range::fill_pod(&range, object);
                Ok(())
            };
            each_range(write.engine, attributes, fill).await
        })
    }

    fn validate<'a>(&'a self, write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async move {
            let attributes = write.attributes;
            if !self.handles(write.engine, attributes) {
                return Ok(());
            }
            let Some(object) = write.object else { return Ok(()) };
            if write.old.is_some_and(|old| old.at(&["metadata", "deletionTimestamp"]).is_some()) {
                return Ok(());
            }
            let check = |range: Value| {
                let refused = if attributes.target.kind.strategy.role() == Role::Pod {
                    limit_range::check_pod(&range, object)
                } else {
                    limit_range::check_claim(&range, object)
                };
                refused.map_or(Ok(()), |why| Err(attributes.forbid(object, why)))
            };
            each_range(write.engine, attributes, check).await
        })
    }
}
