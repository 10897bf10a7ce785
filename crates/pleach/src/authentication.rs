//! Authenticators of other issuers' tokens as the flags ask for them: `--oidc-*` and `--authentication-config`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pleach_hooks::{Document, HttpReader};
use pleach_jwt::{
    AnonymousConfig, AuthenticationConfig, Fetch, FetchFuture, Fetched, IssuerConfig, JwtAuthenticator,
    JwtAuthenticators, JwtConfig, Mapping,
};

use crate::cli::AuthenticationOptions;
use crate::files::{at, read};

/// How often the configuration is looked at.
const INTERVAL: Duration = Duration::from_secs(5);

/// Authentication as the flags configure it.
pub(crate) struct Authentication {
    /// The authenticators; none if there is no issuer.
    pub authenticators: Option<Arc<JwtAuthenticators>>,
    /// Which requests without credentials are served.
    pub anonymous: AnonymousConfig,
    /// Reads the configuration again when it changes.
    pub watcher: Option<ConfigWatcher>,
}

/// Reads documents for the authenticators.
struct Reader(HttpReader);

impl Fetch for Reader {
    fn get<'a>(&'a self, url: &'a str, ca: &'a [u8]) -> FetchFuture<'a> {
        Box::pin(async move {
            let Document { body, max_age } = self.0.read(url, ca).await?;
            Ok(Fetched { body, max_age })
        })
    }
}

/// Makes the authenticators. `own_issuers` are those of service account tokens. Errors keep the server from starting.
pub(crate) fn open(
    options: &AuthenticationOptions,
    own_issuers: &[String],
    now: impl Fn() -> i64 + Send + Sync + 'static,
) -> Result<Authentication, String> {
    let maker = Maker { own_issuers: own_issuers.to_vec(), fetch: Arc::new(Reader(HttpReader::default())) };
    let by_flag = AnonymousConfig { enabled: options.anonymous_auth.unwrap_or(true), paths: Vec::new() };
    if let Some(path) = &options.authentication_config {
        let (config, made) = maker.of_file(path)?;
        if config.anonymous.is_some() && options.anonymous_auth.is_some() {
            return Err("--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file".into());
        }
        let authenticators = Arc::new(JwtAuthenticators::new(made, now));
        let watcher = ConfigWatcher {
            path: path.clone(),
            seen: changed(path),
            anonymous: config.anonymous.clone(),
            maker,
            authenticators: authenticators.clone(),
        };
        return Ok(Authentication {
            authenticators: Some(authenticators),
            anonymous: config.anonymous.unwrap_or(by_flag),
            watcher: Some(watcher),
        });
    }
    let made = match config_of_flags(options)? {
        Some(config) => {
            Some(maker.authenticator(config).map_err(|error| format!("--oidc-issuer-url: {error}"))?)
        }
        None => None,
    };
    let authenticators = made.map(|made| Arc::new(JwtAuthenticators::new(vec![made], now)));
    Ok(Authentication { authenticators, anonymous: by_flag, watcher: None })
}

struct Maker {
    own_issuers: Vec<String>,
    fetch: Arc<dyn Fetch>,
}

impl Maker {
    fn authenticator(&self, config: JwtConfig) -> Result<JwtAuthenticator, String> {
        JwtAuthenticator::new(config, &self.own_issuers, self.fetch.clone())
    }

    fn of_file(&self, path: &Path) -> Result<(AuthenticationConfig, Vec<JwtAuthenticator>), String> {
        let config = AuthenticationConfig::parse(&read(path)?, &self.own_issuers);
        let config = config.map_err(|error| at(path, &error))?;
        let made: Result<Vec<_>, String> =
            config.jwt.iter().map(|jwt| self.authenticator(jwt.clone())).collect();
        Ok((config, made.map_err(|error| at(path, &error))?))
    }
}

/// The issuer of `--oidc-*`, with upstream's defaults.
fn config_of_flags(options: &AuthenticationOptions) -> Result<Option<JwtConfig>, String> {
    let (Some(url), Some(client)) = (&options.oidc_issuer_url, &options.oidc_client_id) else {
        return Ok(None);
    };
    let claim = options.oidc_username_claim.clone();
    let prefix = match options.oidc_username_prefix.as_deref() {
        Some("-") => String::new(),
        None | Some("") if claim != "email" => format!("{url}#"),
        given => given.unwrap_or_default().to_owned(),
    };
    let groups = options.oidc_groups_claim.as_ref().map(|claim| Mapping {
        claim: claim.clone(),
        prefix: Some(options.oidc_groups_prefix.clone().unwrap_or_default()),
        ..Mapping::default()
    });
    Ok(Some(JwtConfig {
        issuer: IssuerConfig {
            url: url.clone(),
            audiences: vec![client.clone()],
            certificate_authority: options.oidc_ca_file.as_deref().map(read).transpose()?.unwrap_or_default(),
            jwks_file: options.oidc_jwks_file.clone(),
            ..IssuerConfig::default()
        },
        username: Mapping { claim, prefix: Some(prefix), ..Mapping::default() },
        groups: groups.unwrap_or_default(),
        required_claims: options.oidc_required_claim.clone(),
        algorithms: options.oidc_signing_algs.clone(),
        ..JwtConfig::default()
    }))
}

/// Reads a configuration again when it changes.
pub(crate) struct ConfigWatcher {
    path: PathBuf,
    seen: Option<SystemTime>,
    anonymous: Option<AnonymousConfig>,
    maker: Maker,
    authenticators: Arc<JwtAuthenticators>,
}

impl ConfigWatcher {
    /// Runs until it is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let now = changed(&self.path);
            if now == self.seen {
                continue;
            }
            self.seen = now;
            match self.maker.of_file(&self.path) {
                Ok((config, _)) if config.anonymous != self.anonymous => {
                    tracing::error!(
                        "the authentication configuration is not used: anonymous cannot change without a restart"
                    );
                }
                Ok((_, made)) => {
                    self.authenticators.replace(made);
                    tracing::info!("authentication configuration read again");
                }
                // The configuration that is in use stays in use.
                Err(error) => tracing::error!(error, "cannot read the authentication configuration again"),
            }
        }
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|found| found.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_an_issuer() {
        let options = |claim: &str, prefix: Option<&str>| AuthenticationOptions {
            oidc_issuer_url: Some("https://i".into()),
            oidc_client_id: Some("c".into()),
            oidc_username_claim: claim.into(),
            oidc_username_prefix: prefix.map(Into::into),
            ..AuthenticationOptions::default()
        };
        for (claim, prefix, want) in [
            ("sub", None, "https://i#"),
            ("sub", Some("-"), ""),
            ("sub", Some("x:"), "x:"),
            ("email", None, ""),
            ("email", Some("x:"), "x:"),
        ] {
            let config = config_of_flags(&options(claim, prefix)).unwrap().unwrap();
            assert_eq!(config.username.prefix.as_deref(), Some(want), "{claim} {prefix:?}");
            assert_eq!((config.groups.claim.as_str(), &config.issuer.audiences[0][..]), ("", "c"));
        }
        assert!(config_of_flags(&AuthenticationOptions::default()).unwrap().is_none());
    }
}
