//! Starting the engine: built-in kinds, system namespaces, stored CRDs and webhooks.

use std::sync::Arc;

use pleach_pipeline::Typed;

use crate::engine::Engine;
use crate::keys;
use crate::kinds::{self, namespace};
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
        self.load_hooks().await
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
