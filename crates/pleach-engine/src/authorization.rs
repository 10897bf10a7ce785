//! The chain of authorizers: `--authorization-mode` lists and `--authorization-config` (AuthorizationConfiguration).

mod config;
mod webhook;

use std::sync::Arc;

use pleach_auth::rbac::PrivilegedGroup;
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

impl Engine {
    /// A chain of authorizers in this order; members of `system:masters` are allowed everything before that.
    #[must_use]
    pub fn with_authorizers(self, links: Vec<ChainLink>) -> Self {
        let rbac = self.rbac.authorizer.clone();
        let mut chain: Vec<Box<dyn Authorizer>> = vec![Box::new(PrivilegedGroup)];
        chain.extend(links.into_iter().map(|link| -> Box<dyn Authorizer> {
            match link {
                ChainLink::Rbac => Box::new(rbac.clone()),
                ChainLink::AlwaysAllow => Box::new(AlwaysAllow),
                ChainLink::AlwaysDeny => Box::new(AlwaysDeny),
                ChainLink::Webhook(webhook) => webhook,
            }
        }));
        self.with_authorizer(Arc::new(AuthorizerUnion(chain)))
    }
}
