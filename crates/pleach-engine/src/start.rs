//! Starting the engine: built-in kinds, system namespaces, stored CRDs and webhooks.

use std::sync::Arc;

use pleach_pipeline::Typed;

use crate::engine::Engine;
use crate::keys;
use crate::kinds::{self, namespace, priority_class};
use crate::options::{Context, WriteOptions};
use crate::rejection::Rejection;
use crate::settle;
use crate::target::{Subresource, Target};

impl Engine {
    /// Makes the engine ready: built-in kinds, the system namespaces, the stored CRDs and webhooks.
    pub async fn start(&self) -> Result<(), Rejection> {
        for kind in kinds::all(self.gates) {
            self.catalog.put(Arc::new(kind.into()));
        }
        for name in namespace::SYSTEM {
            self.ensure_namespace(name).await?;
        }
        self.load_rbac().await?;
        self.load_definitions().await?;
        for (name, value) in priority_class::SYSTEM {
            self.ensure_priority_class(name, value).await?;
        }
        self.load_limits().await?;
        self.load_hooks().await
    }

    /// Creates a class that Pods of the system may name.
    async fn ensure_priority_class(&self, name: &str, value: i64) -> Result<(), Rejection> {
        let Some(kind) = self.catalog.get(priority_class::GROUP, priority_class::PLURAL) else {
            return Ok(());
        };
        if self.object(priority_class::GROUP, priority_class::PLURAL, None, name).await?.is_some() {
            return Ok(());
        }
        let target = Target { kind, version: 0, namespace: None, name: None, subresource: Subresource::None };
        let (options, mut context) = (WriteOptions::default(), Context::default());
        let settled = settle::typed(priority_class::new(name, value), Typed::default());
        self.create_settled(&target, settled, &options, &mut context, None).await.map(|_| ())
    }

    async fn ensure_namespace(&self, name: &str) -> Result<(), Rejection> {
        if self.stored(&keys::namespace(name)).await?.is_some() {
            return Ok(());
        }
        let Some(kind) = self.catalog.get(namespace::GROUP, namespace::PLURAL) else { return Ok(()) };
        let target = Target { kind, version: 0, namespace: None, name: None, subresource: Subresource::None };
        let (options, mut context) = (WriteOptions::default(), Context::default());
        let settled = settle::typed(namespace::new(name), Typed::default());
        self.create_settled(&target, settled, &options, &mut context, None).await.map(|_| ())
    }
}
