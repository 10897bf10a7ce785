//! Forks of an engine, for tests: another engine that begins with the kinds of this one, over a store of its own.

use std::sync::Arc;

use pleach_store::Store;

use crate::controllers::Settled;
use crate::engine::{Clock, Engine, Randomness};
use crate::rejection::Rejection;

impl Engine {
    /// An engine like this one over a fork of its store. No CRD is read or compiled again. The engine authorizes
    /// every request, until [`Engine::with_rbac`] or [`Engine::with_authorizer`]; [`Engine::load_fork`] comes after.
    pub async fn fork(
        &self,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        randomness: Arc<dyn Randomness>,
    ) -> Self {
        let revision = store.revision().await;
        let mut fork = Self::new(store, clock, randomness, self.admission.clone());
        // A fork of a settled engine is settled, before its controllers have read the store.
        fork.settled = revision.map(Settled::at).unwrap_or_default();
        fork.controllers_in_order = self.controllers_in_order;
        fork.gates = self.gates;
        fork.max_request_bytes = self.max_request_bytes;
        fork.controllers = self.controllers;
        fork.event_ttl = self.event_ttl;
        fork.service_ranges = self.service_ranges.clone();
        fork.served_kinds = self.served_kinds.clone();
        fork.secret_tokens.clone_from(&self.secret_tokens);
        fork.root_ca.clone_from(&self.root_ca);
        fork.caller = self.caller.clone();
        fork.catalog = self.catalog.fork();
        fork.flow_control = self.flow_control.fork();
        fork.crds = self.crds.fork().await;
        fork.typed_forms = self.typed_forms.fork();
        fork.kind_generations = self.kind_generations.fork();
        fork
    }

    /// Reads roles, bindings, limits, webhook configurations and policies from the store, as [`Engine::start`] does.
    pub async fn load_fork(&self) -> Result<(), Rejection> {
        self.load_rbac().await?;
        self.load_limits().await?;
        self.load_hooks().await?;
        self.load_policies().await
    }
}
