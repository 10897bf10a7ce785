//! Role-based access control in the engine: the authorizer follows every write of a role or binding before the write
//! is answered, and ClusterRoles with an aggregation rule get the rules of the roles they select.
//!
//! A client that goes away takes the rest of its request with it. So the task that sees every change
//! (`controllers.rs`) does the same once more, which changes nothing where it was done.

mod bootstrap;
mod escalation;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use pleach_auth::rbac::{PrivilegedGroup, RbacAuthorizer, RoleKey};
use pleach_auth::user::MASTERS;
use pleach_auth::{AuthorizerUnion, UserInfo};
use pleach_json::{Map, Str, Value, json};
use pleach_meta::selector::LabelSelector;
use pleach_store::{Key, RangeQuery};
use tokio::sync::Mutex;

use crate::engine::Engine;
use crate::keys;
use crate::kinds::rbac::{self, CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP, ROLE_BINDINGS, ROLES};
use crate::options::{Body, Context, Format, WriteOptions};
use crate::record::Record;
use crate::rejection::Rejection;
use crate::target::{Subresource, Target};

/// The field manager of rules that were collected from other roles.
const AGGREGATION: &str = "clusterrole-aggregation-controller";

/// The RBAC authorizer, and the ClusterRoles for aggregation.
#[derive(Default)]
pub(crate) struct Rbac {
    pub(crate) authorizer: Arc<RbacAuthorizer>,
    /// Locked while an object is read and passed to the authorizer, so that an older state never replaces a newer one.
    cluster_roles: Mutex<BTreeMap<Str, ClusterRole>>,
    /// ClusterRoles whose rules are to be collected anew.
    due: std::sync::Mutex<BTreeSet<Str>>,
    /// Held by the one that collects rules. It works through a list: roles may select each other in long chains, and a
    /// call for each would need a stack as deep as the chain.
    collecting: Mutex<()>,
}

/// The parts of a ClusterRole that aggregation reads.
struct ClusterRole {
    labels: Map,
    rules: Value,
    /// The roles that it collects rules from; none if it has rules of its own.
    selectors: Option<Vec<LabelSelector>>,
}

impl ClusterRole {
    fn read(object: &Value) -> Self {
        Self {
            labels: rbac::labels(object).cloned().unwrap_or_default(),
            rules: object.get("rules").cloned().unwrap_or_default(),
            selectors: rbac::selectors(object),
        }
    }

    fn selects(&self, other: Option<&Self>) -> bool {
        let selectors = self.selectors.iter().flatten();
        other.is_some_and(|other| selectors.into_iter().any(|selector| selector.matches(Some(&other.labels))))
    }
}

/// The user of writes that the server makes for itself.
pub(crate) fn own_context() -> Context {
    let user = UserInfo::authenticated("system:apiserver", [Str::new_static(MASTERS)]);
    Context { user, ..Context::default() }
}

impl Engine {
    /// Has requests decided by role-based access control, after members of `system:masters`.
    #[must_use]
    pub fn with_rbac(self) -> Self {
        let rbac = self.rbac.authorizer.clone();
        self.with_authorizer(Arc::new(AuthorizerUnion(vec![Box::new(PrivilegedGroup), Box::new(rbac)])))
    }

    /// Whether a key is that of a role or binding.
    pub(crate) fn is_rbac(key: &Key) -> bool {
        matches!(
            keys::split(key),
            Some((GROUP, ROLES | CLUSTER_ROLES | ROLE_BINDINGS | CLUSTER_ROLE_BINDINGS, _))
        )
    }

    /// Tells the authorizer of all stored roles and bindings.
    pub(crate) async fn load_rbac(&self) -> Result<(), Rejection> {
        let mut cluster_roles = self.rbac.cluster_roles.lock().await;
        for plural in [ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS] {
            let query = RangeQuery::prefix(keys::prefix(GROUP, plural, None));
            let range = self.store.range(query).await.map_err(Rejection::from_store)?;
            for item in range.items {
                match Record::open(item.value, item.revision).and_then(|record| record.parse()) {
                    Ok(object) => self.rbac.set(&item.key, Some(&object), &mut cluster_roles),
                    // It grants nothing, and can be deleted.
                    Err(error) => tracing::error!(key = %item.key, %error, "cannot decode a role or binding"),
                }
            }
        }
        Ok(())
    }

    /// A role or binding may have been committed or removed: the authorizer and aggregated roles follow.
    pub(crate) async fn rbac_changed(&self, key: &Key) -> Result<(), Rejection> {
        let mut cluster_roles = self.rbac.cluster_roles.lock().await;
        let stored = self.stored(key).await?;
        let object = stored.map(|record| record.parse()).transpose()?;
        let Some((_, CLUSTER_ROLES, name)) = keys::split(key) else {
            self.rbac.set(key, object.as_ref(), &mut cluster_roles);
            return Ok(());
        };
        let before = cluster_roles.remove(name);
        self.rbac.set(key, object.as_ref(), &mut cluster_roles);
        let now = cluster_roles.get(name);
        let follows = |(other, role): &(&Str, &ClusterRole)| {
            role.selectors.is_some()
                && (other.as_str() == name || role.selects(before.as_ref()) || role.selects(now))
        };
        let following: Vec<Str> =
            cluster_roles.iter().filter(follows).map(|(name, _)| name.clone()).collect();
        drop(cluster_roles);
        self.rbac.due().extend(following);
        self.aggregate_due().await
    }

    /// Collects rules for all ClusterRoles that are due, unless another task does: that one takes them along, and a
    /// write of its own that comes back here only adds to the list.
    async fn aggregate_due(&self) -> Result<(), Rejection> {
        while !self.rbac.due().is_empty() {
            let Ok(_collecting) = self.rbac.collecting.try_lock() else { return Ok(()) };
            // Not as a condition of the loop: the list is free while a role is worked on.
            while let Some(name) = { self.rbac.due().pop_first() } {
                Box::pin(self.aggregate(&name)).await?;
            }
        }
        Ok(())
    }

    /// Gives a ClusterRole the rules of the roles it selects, by server-side apply.
    async fn aggregate(&self, name: &Str) -> Result<(), Rejection> {
        let cluster_roles = self.rbac.cluster_roles.lock().await;
        let Some(role) = cluster_roles.get(name) else { return Ok(()) };
        let Some(selectors) = &role.selectors else { return Ok(()) };
        let mut rules: Vec<Value> = Vec::new();
        let (mut known, mut size) = (HashSet::new(), 0);
        for selector in selectors {
            for (other, selected) in cluster_roles.iter() {
                pleach_work::charge(1);
                if other == name || !selector.matches(Some(&selected.labels)) {
                    continue;
                }
                for rule in selected.rules.as_array().into_iter().flatten() {
                    let text = pleach_json::to_vec(rule);
                    pleach_work::charge(1 + text.len() as u64 / 16);
                    let length = text.len();
                    if known.insert(text) {
                        rules.push(rule.clone());
                        size += length;
                    }
                }
                if size > self.max_request_bytes {
                    // Nothing changes before one of the roles does.
                    let name = name.as_str();
                    tracing::error!(name, "a ClusterRole selects more rules than an object may hold");
                    return Ok(());
                }
            }
        }
        let had = role.rules.as_array().map(|rules| rules.iter()).into_iter().flatten();
        if had.eq(rules.iter()) {
            return Ok(());
        }
        drop(cluster_roles);
        let Some(target) = self.rbac_target(CLUSTER_ROLES, None, name) else { return Ok(()) };
        let applied = json!({
            "apiVersion": (target.version().api_version.clone()), "kind": (target.kind.kind.clone()),
            "metadata": {"name": (name.clone())}, "rules": (rules),
        });
        let body = Body { bytes: Bytes::from(pleach_json::to_vec(&applied)), format: Format::Json };
        let options =
            WriteOptions { field_manager: AGGREGATION.into(), force: true, ..WriteOptions::default() };
        Box::pin(self.apply(&target, &body, &options, &mut own_context())).await.map(|_| ())
    }

    /// The address of a role or binding.
    fn rbac_target(&self, plural: &str, namespace: Option<&str>, name: &str) -> Option<Target> {
        let kind = self.catalog.get(GROUP, plural)?;
        let version = kind.storage;
        let namespace = namespace.map(Str::from);
        Some(Target { kind, version, namespace, name: Some(name.into()), subresource: Subresource::None })
    }
}

impl Rbac {
    fn due(&self) -> std::sync::MutexGuard<'_, BTreeSet<Str>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the authorizer with an object; none if it was deleted.
    fn set(&self, key: &Key, object: Option<&Value>, cluster_roles: &mut BTreeMap<Str, ClusterRole>) {
        let Some((_, plural, rest)) = keys::split(key) else { return };
        let (namespace, name) = match plural {
            ROLES | ROLE_BINDINGS => rest.split_once('/').unwrap_or(("", rest)),
            _ => ("", rest),
        };
        match plural {
            ROLES => {
                let key = RoleKey { namespace: Some(namespace.into()), name: name.into() };
                self.authorizer.set_role(key, object.map(rbac::rules));
            }
            CLUSTER_ROLES => {
                let key = RoleKey { namespace: None, name: name.into() };
                self.authorizer.set_role(key, object.map(rbac::rules));
                match object {
                    Some(object) => drop(cluster_roles.insert(name.into(), ClusterRole::read(object))),
                    None => drop(cluster_roles.remove(name)),
                }
            }
            _ => self.authorizer.set_binding(namespace, name, object.and_then(rbac::binding)),
        }
    }
}
