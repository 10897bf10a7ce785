//! Reconciles the catalog and the registries with commits. The request that changed a CRD or a webhook configuration
//! does so too, but it ends early if its client disconnects.

use std::sync::Arc;
use std::time::Duration;

use pleach_json::Str;
use pleach_store::{Key, Revision};

use super::controller::{Change, Controller, Due, Progress, Worked};
use crate::engine::Engine;
use crate::keys;
use crate::kinds::crd::{GROUP, PLURAL};
use crate::kinds::rbac;

/// A change that may not have been applied yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    /// A CRD has changed.
    Definition(Str),
    /// A CRD waits for a name which may be free now.
    NameFreed(Str),
    /// A webhook configuration has changed, and when.
    Webhooks(Revision),
    /// A LimitRange or ResourceQuota changed.
    Limits,
    /// An admission policy or a binding of one has changed, and when.
    Policies(Revision),
    /// A FlowSchema or PriorityLevelConfiguration has changed.
    FlowControl,
    /// A role or binding has changed.
    Rbac(Str),
}

/// Applies the changes of commits once more.
pub(super) struct Reconciler {
    engine: Arc<Engine>,
}

impl Reconciler {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }
}

impl Engine {
    /// The keys of all roles and bindings that the authorizer knows.
    pub(super) fn rbac_keys(&self) -> Vec<Key> {
        let roles = self.rbac.authorizer.roles().into_iter().map(|role| match role.namespace {
            Some(namespace) => keys::object(rbac::GROUP, rbac::ROLES, Some(&namespace), &role.name),
            None => keys::object(rbac::GROUP, rbac::CLUSTER_ROLES, None, &role.name),
        });
        let bindings = self.rbac.authorizer.bindings().into_iter().map(|(namespace, name)| {
            if namespace.is_empty() {
                keys::object(rbac::GROUP, rbac::CLUSTER_ROLE_BINDINGS, None, &name)
            } else {
                keys::object(rbac::GROUP, rbac::ROLE_BINDINGS, Some(&namespace), &name)
            }
        });
        roles.chain(bindings).collect()
    }
}

impl Controller for Reconciler {
    type Item = Item;
    const NAME: &'static str = "post-commit reconciler";
    const WORKERS: usize = 8;

    fn observe(&self, change: &Change<'_>) -> Due<Item> {
        let item = match keys::split(change.key()) {
            Some((GROUP, PLURAL, name)) => Item::Definition(name.into()),
            _ if Engine::is_hook_configuration(change.key()) => Item::Webhooks(change.revision()),
            _ if Engine::is_limit(change.key()) => Item::Limits,
            _ if Engine::is_policy(change.key()) => Item::Policies(change.revision()),
            _ if Engine::is_flow_control(change.key()) => Item::FlowControl,
            _ if Engine::is_rbac(change.key()) => Item::Rbac(change.key().as_str().into()),
            _ => return Vec::new(),
        };
        vec![(item, Duration::ZERO)]
    }

    async fn work(&self, item: &Item) -> Worked<Item> {
        match item {
            Item::Definition(name) => self.engine.definition_changed(name).await?,
            Item::NameFreed(name) => self.engine.name_freed(name).await?,
            Item::Webhooks(changed) => self.engine.load_hooks_since(*changed).await?,
            Item::Limits => self.engine.load_limits().await?,
            Item::Policies(changed) => self.engine.load_policies_since(*changed).await?,
            Item::FlowControl => self.engine.flow_control_changed().await?,
            Item::Rbac(key) => self.engine.rbac_changed(&Key::new(key.as_str())).await?,
        }
        Ok(Progress::Finished)
    }
}
