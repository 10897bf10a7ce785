//! The issuer of service account tokens that all worlds of a process share. Whether a token has expired is a matter of
//! each world's clock, and whether its ServiceAccount exists of its store.

use std::sync::{Arc, OnceLock};

use pleach_engine::Rejection;
use pleach_engine::secret_tokens::SecretTokenSigner;
use pleach_jwt::key::SigningKey;
use pleach_server::service_account::{IssuerOptions, SecretTokens, TokenIssuer};

/// The issuer in tokens.
const ISSUER: &str = "https://kubernetes.default.svc";

/// The issuer and the signer, made once per process.
#[derive(Clone)]
pub(crate) struct ServiceAccountTokens {
    /// Issues and checks tokens of the `TokenRequest` API.
    pub(crate) issuer: Arc<TokenIssuer>,
    /// Signs tokens in Secrets.
    pub(crate) secrets: Arc<dyn SecretTokenSigner>,
}

static TOKENS: OnceLock<ServiceAccountTokens> = OnceLock::new();

/// The issuer of this process.
pub(crate) fn shared() -> Result<ServiceAccountTokens, Rejection> {
    if let Some(tokens) = TOKENS.get() {
        return Ok(tokens.clone());
    }
    let made = make().map_err(Rejection::Internal)?;
    Ok(TOKENS.get_or_init(|| made).clone())
}

fn make() -> Result<ServiceAccountTokens, String> {
    let pem = SigningKey::generate()?;
    let issuer = TokenIssuer::new(IssuerOptions {
        issuers: vec![ISSUER.to_owned()],
        audiences: Vec::new(),
        signing_key: SigningKey::from_pem(&pem)?,
        keys: Vec::new(),
        max_expiration: None,
        jwks_uri: format!("{ISSUER}/openid/v1/jwks"),
    });
    let secrets = Arc::new(SecretTokens(SigningKey::from_pem(&pem)?));
    Ok(ServiceAccountTokens { issuer: Arc::new(issuer), secrets })
}
