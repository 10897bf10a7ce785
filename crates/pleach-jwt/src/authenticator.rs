//! The authenticator of one issuer, and the authenticators of a configuration.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use pleach_auth::authenticator::Authenticated;
use pleach_auth::{Answer, Authenticator, Credentials, Unauthorized, UserInfo};
use pleach_go::strconv::quote;
use pleach_go::time::Timestamp;
use pleach_meta::field_error::aggregate;
use sha2::{Digest as _, Sha256};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::algorithm::Algorithm;
use crate::claims;
use crate::config::JwtConfig;
use crate::key_source::{Fetch, KeySource};
use crate::rules::{self, CompiledRules};
use crate::token::Token;

/// How far the clock of an issuer may be ahead, in seconds.
const LEEWAY: i64 = 60;
/// How long the user of a token is remembered, as upstream does: a key that is withdrawn, or a rule that changes,
/// counts after that.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Tokens that are remembered.
const MOST_REMEMBERED: usize = 4_096;

/// Why a token is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// Another issuer's, or not a token of this form.
    Unknown,
    /// The reason, which only token reviews show.
    Invalid(String),
}

/// Accepts the tokens of one issuer.
#[derive(Debug)]
pub struct JwtAuthenticator {
    config: JwtConfig,
    rules: CompiledRules,
    algorithms: Vec<Algorithm>,
    keys: Arc<KeySource>,
}

impl JwtAuthenticator {
    /// An authenticator. `service_account_issuers` are those of service account tokens, which are not for it.
    pub fn new(
        config: JwtConfig,
        service_account_issuers: &[String],
        fetch: Arc<dyn Fetch>,
    ) -> Result<Self, String> {
        let rules =
            rules::compile(&config, "", service_account_issuers).map_err(|errors| aggregate(&errors))?;
        let algorithms = match &config.algorithms[..] {
            [] => Algorithm::ALL.to_vec(),
            names => names.iter().filter_map(|name| Algorithm::parse(name)).collect(),
        };
        let keys = Arc::new(KeySource::new(&config.issuer, fetch)?);
        Ok(Self { config, rules, algorithms, keys })
    }

    /// The user of a token at a time, in seconds since 1970, and when the token ends.
    async fn check(&self, token: &Token<'_>, now: i64) -> Result<(UserInfo, i64), String> {
        if !self.keys.is_ready() {
            return Err("oidc: authenticator not initialized".into());
        }
        let expires =
            self.verify(token, now).await.map_err(|error| format!("oidc: verify token: {error}"))?;
        Ok((claims::user(&self.config, &self.rules, &token.claims)?, expires))
    }

    async fn verify(&self, token: &Token<'_>, now: i64) -> Result<i64, String> {
        let header = token.header().ok_or("oidc: malformed jwt: the header cannot be read")?;
        let (wanted, found) = (&self.config.issuer.audiences, token.audiences());
        if !wanted.iter().any(|audience| found.contains(&audience.as_str())) {
            return Err(match &wanted[..] {
                [only] => format!("oidc: expected audience {} got {}", quote(only), list(&found)),
                several => format!("oidc: expected audience in {} got {}", list(several), list(&found)),
            });
        }
        let expires = token.time("exp").unwrap_or_default();
        if expires < now {
            return Err(format!("oidc: token is expired (Token Expiry: {})", go_time(expires)));
        }
        if let Some(start) = token.time("nbf")
            && now.saturating_add(LEEWAY) < start
        {
            return Err(format!(
                "oidc: current time {} before the nbf (not before) time: {}",
                go_time(now),
                go_time(start)
            ));
        }
        let algorithm = Algorithm::parse(&header.algorithm).filter(|found| self.algorithms.contains(found));
        let Some(algorithm) = algorithm else {
            let names: Vec<&str> = self.algorithms.iter().map(|algorithm| algorithm.as_str()).collect();
            return Err(format!(
                "oidc: id token signed with unsupported algorithm, expected {} got {}",
                list(&names),
                quote(&header.algorithm)
            ));
        };
        self.keys.verify(token, &header, algorithm).await?;
        Ok(expires)
    }
}

/// A list as Go's `%q` prints it.
fn list<S: AsRef<str>>(texts: &[S]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", texts.join(" "))
}

/// A time as Go prints it.
fn go_time(seconds: i64) -> String {
    /// The years 1 to 9999.
    const PRINTABLE: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
    let seconds = seconds.clamp(*PRINTABLE.start(), *PRINTABLE.end());
    let text = Timestamp::from_seconds(seconds).to_rfc3339();
    format!("{} +0000 UTC", text.trim_end_matches('Z').replace('T', " "))
}

/// The user of a token, when the token ends, and until when that is remembered.
type Remembered = (Arc<UserInfo>, i64, Instant);

/// The JWT authenticators of a server. They can be replaced while requests are served.
pub struct JwtAuthenticators {
    current: RwLock<Arc<Current>>,
    /// Seconds since 1970.
    now: Box<dyn Fn() -> i64 + Send + Sync>,
}

/// The authenticators of one version of the configuration, and what they remember.
struct Current {
    authenticators: Vec<JwtAuthenticator>,
    remembered: Mutex<HashMap<[u8; 32], Remembered>>,
    tasks: Vec<AbortHandle>,
}

impl Drop for Current {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Current {
    /// Starts to fetch the keys.
    fn start(authenticators: Vec<JwtAuthenticator>) -> Arc<Self> {
        let task = |authenticator: &JwtAuthenticator| {
            let keys = authenticator.keys.clone();
            tokio::spawn(async move { keys.run().await }).abort_handle()
        };
        let tasks = authenticators.iter().map(task).collect();
        Arc::new(Self { authenticators, remembered: Mutex::default(), tasks })
    }

    fn recall(&self, hash: &[u8; 32], now: i64) -> Option<Arc<UserInfo>> {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let (user, expires, until) = remembered.get(hash)?;
        (now <= *expires && Instant::now() < *until).then(|| user.clone())
    }

    fn remember(&self, hash: [u8; 32], user: &Arc<UserInfo>, expires: i64) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if remembered.len() >= MOST_REMEMBERED {
            remembered.retain(|_, (.., until)| *until > now);
            if remembered.len() >= MOST_REMEMBERED {
                remembered.clear();
            }
        }
        remembered.insert(hash, (user.clone(), expires, now + REMEMBERED));
    }
}

impl JwtAuthenticators {
    /// Authenticators by this clock (seconds since 1970). Must be used within a tokio runtime.
    pub fn new(authenticators: Vec<JwtAuthenticator>, now: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self { current: RwLock::new(Current::start(authenticators)), now: Box::new(now) }
    }

    /// Replaces the authenticators; what was remembered is forgotten.
    pub fn replace(&self, authenticators: Vec<JwtAuthenticator>) {
        let new = Current::start(authenticators);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
    }

    /// The user of a token.
    pub async fn check(&self, token: &str) -> Result<Arc<UserInfo>, TokenError> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        if current.authenticators.is_empty() {
            return Err(TokenError::Unknown);
        }
        let hash: [u8; 32] = Sha256::digest(token).into();
        let now = (self.now)();
        if let Some(user) = current.recall(&hash, now) {
            return Ok(user);
        }
        let parsed = Token::parse(token).ok_or(TokenError::Unknown)?;
        let issuer = match parsed.issuer() {
            // Google's tokens may leave out the scheme.
            "accounts.google.com" => "https://accounts.google.com",
            issuer => issuer,
        };
        let of_issuer = |authenticator: &&JwtAuthenticator| authenticator.config.issuer.url == issuer;
        let authenticator = current.authenticators.iter().find(of_issuer).ok_or(TokenError::Unknown)?;
        let (user, expires) = authenticator.check(&parsed, now).await.map_err(|reason| {
            tracing::debug!(issuer, reason, "token refused");
            TokenError::Invalid(reason)
        })?;
        let user = Arc::new(user);
        current.remember(hash, &user, expires);
        Ok(user)
    }
}

impl std::fmt::Debug for JwtAuthenticators {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JwtAuthenticators").finish_non_exhaustive()
    }
}

/// As a link of the server's chain.
impl Authenticator for JwtAuthenticators {
    fn authenticate<'a>(&'a self, credentials: &Credentials<'a>) -> Answer<'a, Authenticated> {
        let Some(token) = credentials.token.filter(|token| token.contains('.')) else {
            return Answer::Now(Ok(None));
        };
        Answer::later(async move {
            match self.check(token).await {
                Ok(user) => Ok(Some(user)),
                Err(TokenError::Unknown) => Ok(None),
                Err(TokenError::Invalid(_)) => Err(Unauthorized),
            }
        })
    }
}

#[cfg(test)]
mod tests;
