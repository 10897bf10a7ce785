//! The chain of authorizers as the flags ask for it.

use std::sync::Arc;
use std::time::Duration;

use pleach_engine::authorization::{
    AuthorizerConfig, ChainLink, FailurePolicy, WebhookAuthorizer, WebhookOptions, parse,
};
use pleach_engine::webhooks::Caller;
use pleach_server::webhook_config;

use crate::cli::{AuthorizationMode, AuthorizationOptions};
use crate::files::{at, read};

/// The authorizers in the order they are called.
pub(crate) struct Chain {
    /// The authorizers.
    pub links: Vec<ChainLink>,
    /// Whether roles are made at start.
    pub has_rbac: bool,
    /// Whether everything is allowed: requests without credentials are refused then.
    pub allows_all: bool,
}

/// Reads the configuration; every error keeps the server from starting.
pub(crate) fn open(options: &AuthorizationOptions, caller: &Arc<dyn Caller>) -> Result<Chain, String> {
    let mut links = Vec::new();
    if let Some(path) = &options.authorization_config {
        for authorizer in parse(&read(path)?).map_err(|error| at(path, &error))? {
            links.push(match authorizer {
                AuthorizerConfig::Rbac => ChainLink::Rbac,
                AuthorizerConfig::AlwaysAllow => ChainLink::AlwaysAllow,
                AuthorizerConfig::AlwaysDeny => ChainLink::AlwaysDeny,
                AuthorizerConfig::Webhook(settings, file) => {
                    let address = webhook_config::address(file.as_ref())?;
                    ChainLink::Webhook(Box::new(WebhookAuthorizer::new(*settings, caller.clone(), address)))
                }
            });
        }
    } else {
        links = by_modes(options, caller)?;
    }
    Ok(Chain {
        has_rbac: links.iter().any(|link| matches!(link, ChainLink::Rbac)),
        allows_all: links.iter().any(|link| matches!(link, ChainLink::AlwaysAllow)),
        links,
    })
}

fn by_modes(options: &AuthorizationOptions, caller: &Arc<dyn Caller>) -> Result<Vec<ChainLink>, String> {
    let modes = &options.authorization_mode;
    if let Some(twice) = modes.iter().enumerate().find(|(i, mode)| modes[..*i].contains(mode)) {
        return Err(format!("--authorization-mode has {:?} twice", twice.1));
    }
    let mut links = Vec::new();
    for mode in modes {
        links.push(match mode {
            AuthorizationMode::Rbac => ChainLink::Rbac,
            AuthorizationMode::AlwaysAllow => ChainLink::AlwaysAllow,
            AuthorizationMode::AlwaysDeny => ChainLink::AlwaysDeny,
            AuthorizationMode::Webhook => {
                let Some(file) = &options.authorization_webhook_config_file else {
                    return Err("authorization-mode Webhook's authorization config file not passed".into());
                };
                let settings = WebhookOptions {
                    name: "default".into(),
                    authorized_ttl: options.authorization_webhook_cache_authorized_ttl,
                    unauthorized_ttl: options.authorization_webhook_cache_unauthorized_ttl,
                    cache_authorized: true,
                    cache_unauthorized: true,
                    timeout: Duration::from_secs(30),
                    failure_policy: FailurePolicy::NoOpinion,
                    conditions: Vec::new(),
                };
                let address = webhook_config::address(file)?;
                ChainLink::Webhook(Box::new(WebhookAuthorizer::new(settings, caller.clone(), address)))
            }
        });
    }
    Ok(links)
}
