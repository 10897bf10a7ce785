//! Starting the engine: built-in kinds, system namespaces, stored CRDs and webhooks.

use std::sync::Arc;

use pleach_json::{Str, Value};
use pleach_pipeline::Typed;

use crate::engine::Engine;
use crate::keys;
use crate::kinds::{api_service, namespace, priority_class, service};
use crate::options::{Context, WriteOptions};
use crate::rejection::Rejection;
use crate::settle;
use crate::target::{Subresource, Target};

impl Engine {
    /// Makes the engine ready: built-in kinds, the system namespaces, the stored CRDs and webhooks.
    pub async fn start(&self) -> Result<(), Rejection> {
        for kind in self.served_kinds.kinds(self.gates) {
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
        self.ensure_api_services().await?;
        self.ensure_own_service().await?;
        // Before webhooks and policies: one that refuses everything must not keep the server from starting.
        self.start_flow_control().await?;
        self.load_limits().await?;
        self.load_hooks().await?;
        self.load_policies().await
    }

    /// Creates the APIService of each version of a built-in group.
    async fn ensure_api_services(&self) -> Result<(), Rejection> {
        let Some(kind) = self.catalog.get(api_service::GROUP, api_service::PLURAL) else { return Ok(()) };
        let mut versions: Vec<(Str, Str)> = Vec::new();
        for served in self.catalog.all() {
            for version in served.versions.iter().filter(|version| version.served && !served.is_custom()) {
                let version = (served.group.clone(), version.name.clone());
                if !versions.contains(&version) {
                    versions.push(version);
                }
            }
        }
        let target = Target { kind, version: 0, namespace: None, name: None, subresource: Subresource::None };
        let created = versions.iter().map(|(group, version)| {
            let target = &target;
            async move {
                let object = api_service::local(group, version);
                let name = pleach_meta::object_meta::ObjectMeta::of(&object).name().to_owned();
                if self.stored(&target.key_of(&name)).await?.is_some() {
                    return Ok(());
                }
                self.create_unless_exists(target, object).await
            }
        });
        futures_util::future::try_join_all(created).await.map(|_| ())
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
        self.create_unless_exists(&target, priority_class::new(name, value)).await
    }

    /// Creates the Service of the API server.
    async fn ensure_own_service(&self) -> Result<(), Rejection> {
        let Some(kind) = self.catalog.get(service::GROUP, service::PLURAL) else { return Ok(()) };
        let (namespace, name) = service::OF_SERVER;
        if self.object(service::GROUP, service::PLURAL, Some(namespace), name).await?.is_some() {
            return Ok(());
        }
        let namespace = Some(namespace.into());
        let target = Target { kind, version: 0, namespace, name: None, subresource: Subresource::None };
        self.create_unless_exists(&target, service::of_server(&self.service_ranges.nth(1).to_string())).await
    }

    async fn ensure_namespace(&self, name: &str) -> Result<(), Rejection> {
        if self.stored(&keys::namespace(name)).await?.is_some() {
            return Ok(());
        }
        let Some(kind) = self.catalog.get(namespace::GROUP, namespace::PLURAL) else { return Ok(()) };
        let target = Target { kind, version: 0, namespace: None, name: None, subresource: Subresource::None };
        self.create_unless_exists(&target, namespace::new(name)).await
    }

    /// Creates an object. Another server that starts on the same store at the same time may be faster.
    async fn create_unless_exists(&self, target: &Target, object: Value) -> Result<(), Rejection> {
        let (options, mut context) = (WriteOptions::default(), Context::default());
        let settled = settle::typed(object, Typed::default());
        match self.create_settled(target, settled, &options, &mut context, None).await {
            Ok(_) | Err(Rejection::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
