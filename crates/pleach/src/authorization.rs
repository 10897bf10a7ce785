//! The chain of authorizers as the flags ask for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pleach_engine::authorization::{
    AuthorizerConfig, ChainLink, FailurePolicy, ReplaceableAuthorizers, WebhookAuthorizer, WebhookOptions,
    parse,
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
    match &options.authorization_config {
        Some(path) => of_file(path, &read(path)?, caller),
        None => Ok(Chain::new(by_modes(options, caller)?)),
    }
}

impl Chain {
    fn new(links: Vec<ChainLink>) -> Self {
        Self {
            has_rbac: links.iter().any(|link| matches!(link, ChainLink::Rbac)),
            allows_all: links.iter().any(|link| matches!(link, ChainLink::AlwaysAllow)),
            links,
        }
    }
}

/// The chain of a configuration file.
fn of_file(path: &Path, text: &str, caller: &Arc<dyn Caller>) -> Result<Chain, String> {
    let mut links = Vec::new();
    for authorizer in parse(text).map_err(|error| at(path, &error))? {
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
    Ok(Chain::new(links))
}

/// How often the configuration is looked at.
const INTERVAL: Duration = Duration::from_secs(5);

/// Follows changes of `--authorization-config`.
pub(crate) struct ConfigWatcher {
    path: PathBuf,
    /// The text that was read last.
    seen: String,
    has_rbac: bool,
    allows_all: bool,
    caller: Arc<dyn Caller>,
    authorizers: Arc<ReplaceableAuthorizers>,
}

impl ConfigWatcher {
    /// A watcher of a file that was just read.
    pub(crate) fn new(
        path: &Path,
        chain: (bool, bool),
        caller: Arc<dyn Caller>,
        authorizers: Arc<ReplaceableAuthorizers>,
    ) -> Self {
        let seen = read(path).unwrap_or_default();
        let (has_rbac, allows_all) = chain;
        Self { path: path.to_owned(), seen, has_rbac, allows_all, caller, authorizers }
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            match self.look() {
                Ok(true) => tracing::info!("authorization configuration read again"),
                Ok(false) => {}
                // The authorizers that are in use stay in use.
                Err(error) => tracing::error!(error, "cannot read the authorization configuration again"),
            }
        }
    }

    fn look(&mut self) -> Result<bool, String> {
        let text = read(&self.path)?;
        if text == self.seen {
            return Ok(false);
        }
        self.seen = text;
        let chain = of_file(&self.path, &self.seen, &self.caller)?;
        if chain.has_rbac != self.has_rbac {
            return Err("RBAC cannot be added or removed without a restart".into());
        }
        if chain.allows_all != self.allows_all {
            return Err("AlwaysAllow cannot be added or removed without a restart".into());
        }
        self.authorizers.replace(chain.links);
        Ok(true)
    }
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
