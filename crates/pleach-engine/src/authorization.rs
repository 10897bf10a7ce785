//! The chain of authorizers: `--authorization-mode` lists and `--authorization-config` (AuthorizationConfiguration).

mod config;
mod webhook;

use std::sync::{Arc, PoisonError, RwLock};

use pleach_auth::rbac::{PrivilegedGroup, RbacAuthorizer};
use pleach_auth::{AlwaysAllow, Answer, Attributes, Authorizer, AuthorizerUnion, Decision, Rules, UserInfo};

pub use self::config::{AuthorizerConfig, parse};
pub use self::webhook::{FailurePolicy, WebhookAuthorizer, WebhookOptions};
use crate::engine::Engine;

/// Denies everything that no authorizer before it decided on.
struct AlwaysDeny;

impl Authorizer for AlwaysDeny {
    fn authorize<'a>(&'a self, _: &'a Attributes<'a>) -> Answer<'a, Decision> {
        Answer::Now(Decision::no_opinion("Everything is forbidden."))
    }

    fn rules_for<'a>(&'a self, _: &'a UserInfo, _: &'a str) -> Answer<'a, Rules> {
        Answer::Now(Rules::default())
    }
}

/// An authorizer of the chain.
pub enum ChainLink {
    /// Role-based access control.
    Rbac,
    /// Everything is allowed.
    AlwaysAllow,
    /// Nothing is.
    AlwaysDeny,
    /// A webhook authorizer.
    Webhook(Box<WebhookAuthorizer>),
}

/// The chain; members of `system:masters` are allowed everything before it is asked.
fn union(rbac: &Arc<RbacAuthorizer>, links: Vec<ChainLink>) -> AuthorizerUnion {
    let mut chain: Vec<Box<dyn Authorizer>> = vec![Box::new(PrivilegedGroup)];
    chain.extend(links.into_iter().map(|link| -> Box<dyn Authorizer> {
        match link {
            ChainLink::Rbac => Box::new(rbac.clone()),
            ChainLink::AlwaysAllow => Box::new(AlwaysAllow),
            ChainLink::AlwaysDeny => Box::new(AlwaysDeny),
            ChainLink::Webhook(webhook) => webhook,
        }
    }));
    AuthorizerUnion(chain)
}

/// A chain of authorizers that is replaced while requests are served: of a configuration file.
pub struct ReplaceableAuthorizers {
    rbac: Arc<RbacAuthorizer>,
    current: RwLock<Arc<AuthorizerUnion>>,
}

impl ReplaceableAuthorizers {
    /// Replaces the chain. Decisions under way are those of the chain before.
    pub fn replace(&self, links: Vec<ChainLink>) {
        let next = Arc::new(union(&self.rbac, links));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = next;
    }

    fn current(&self) -> Arc<AuthorizerUnion> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Authorizer for ReplaceableAuthorizers {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> Answer<'a, Decision> {
        let current = self.current();
        if let Answer::Now(decision) = current.authorize(attributes) {
            return Answer::Now(decision);
        }
        // The answer that has to be waited for is asked for again, since this one borrows from the chain.
        Answer::later(async move { current.authorize(attributes).get().await })
    }

    fn rules_for<'a>(&'a self, user: &'a UserInfo, namespace: &'a str) -> Answer<'a, Rules> {
        let current = self.current();
        Answer::later(async move { current.rules_for(user, namespace).get().await })
    }
}

impl Engine {
    /// A chain of authorizers in this order; members of `system:masters` are allowed everything before that.
    #[must_use]
    pub fn with_authorizers(self, links: Vec<ChainLink>) -> Self {
        let union = union(&self.rbac.authorizer, links);
        self.with_authorizer(Arc::new(union))
    }

    /// The same with a chain that can be replaced.
    #[must_use]
    pub fn with_replaceable_authorizers(self, links: Vec<ChainLink>) -> (Self, Arc<ReplaceableAuthorizers>) {
        let rbac = self.rbac.authorizer.clone();
        let current = RwLock::new(Arc::new(union(&rbac, links)));
        let authorizers = Arc::new(ReplaceableAuthorizers { rbac, current });
        (self.with_authorizer(authorizers.clone()), authorizers)
    }
}
