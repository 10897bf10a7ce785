//! Flags of `pleach serve` about TLS, authentication, authorization, audit and encryption.

use std::path::PathBuf;
use std::time::Duration;

use pleach_go::time::parse_std_duration;

use clap::{Args, ValueEnum};

/// Flags about certificates and keys.
#[derive(Debug, Default, Args)]
pub(crate) struct TlsOptions {
    /// The certificate to serve with, followed by those of its issuers, as PEM. Made by the server's own CA if not
    /// given. The file is read again when it changes.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub tls_cert_file: Option<PathBuf>,
    /// The private key of --tls-cert-file.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub tls_private_key_file: Option<PathBuf>,
    /// Names and addresses in the certificate that the server makes, besides its own.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub tls_san: Vec<String>,
    /// A certificate and its key for some names: CERTFILE,KEYFILE or CERTFILE,KEYFILE:NAME,*.NAME; may be given several
    /// times.
    #[arg(long, value_name = "FILES", value_parser = SniFiles::parse)]
    pub tls_sni_cert_key: Vec<SniFiles>,
    /// The least version of TLS: VersionTLS12 or VersionTLS13.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "VERSION")]
    pub tls_min_version: String,
    /// Cipher suites of TLS 1.2, by Go's names; all secure ones if not given.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub tls_cipher_suites: Vec<String>,
    /// CAs of client certificates, as PEM, besides the server's own. The common name of a certificate is the user, its
    /// organizations are the groups. The file is read again when it changes.
    #[arg(long, value_name = "FILE")]
    pub client_ca_file: Option<PathBuf>,
    /// The certificates by which clients in namespaces verify the server, as PEM: the ConfigMap kube-root-ca.crt and
    /// ca.crt in Secrets with tokens have them. If not given, the server's own CA if it signed the serving certificate,
    /// else the CA certificates in --tls-cert-file. The file is read again when it changes.
    #[arg(long, value_name = "FILE")]
    pub root_ca_file: Option<PathBuf>,
}

/// Flags about tokens of other issuers, and about requests without credentials.
#[derive(Debug, Default, Args)]
pub(crate) struct AuthenticationOptions {
    /// An AuthenticationConfiguration (apiserver.config.k8s.io/v1): issuers of tokens (OpenID Connect) with mappings
    /// and rules in CEL, and which requests without credentials are served. The file is read again when it changes.
    #[arg(long, value_name = "FILE")]
    pub authentication_config: Option<PathBuf>,
    /// Whether requests without credentials are served, as the user system:anonymous: true if not given. Otherwise
    /// they get a 401.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub anonymous_auth: Option<bool>,
    /// The URL of an issuer of tokens (OpenID Connect): what their claim iss must be. An https URL.
    #[arg(long, value_name = "URL", conflicts_with = "authentication_config", requires = "oidc_client_id")]
    pub oidc_issuer_url: Option<String>,
    /// The audience that the issuer's tokens must have.
    #[arg(long, value_name = "NAME", requires = "oidc_issuer_url")]
    pub oidc_client_id: Option<String>,
    /// CAs of the issuer's certificate, as PEM; the system's if not given.
    #[arg(long, value_name = "FILE", requires = "oidc_issuer_url")]
    pub oidc_ca_file: Option<PathBuf>,
    /// A file with the issuer's keys, a JSON web key set or PEM, for machines that do not reach the issuer. The file is
    /// read again when it changes.
    #[arg(long, value_name = "FILE", requires = "oidc_issuer_url")]
    pub oidc_jwks_file: Option<PathBuf>,
    /// The claim that is the user's name.
    #[arg(long, default_value = "sub", value_name = "CLAIM")]
    pub oidc_username_claim: String,
    /// The prefix of the user's name; - for none. If not given, it is the issuer's URL and #, and none for
    /// the claim email.
    #[arg(long, value_name = "PREFIX", allow_hyphen_values = true, requires = "oidc_issuer_url")]
    pub oidc_username_prefix: Option<String>,
    /// The claim that is the user's groups: a text or a list of texts.
    #[arg(long, value_name = "CLAIM", requires = "oidc_issuer_url")]
    pub oidc_groups_claim: Option<String>,
    /// The prefix of the names of groups.
    #[arg(long, value_name = "PREFIX", requires = "oidc_issuer_url")]
    pub oidc_groups_prefix: Option<String>,
    /// A claim that a token must have with this value; may be given several times.
    #[arg(long, value_delimiter = ',', value_name = "CLAIM=VALUE", value_parser = claim_and_value, requires = "oidc_issuer_url")]
    pub oidc_required_claim: Vec<(String, String)>,
    /// Signature algorithms of the issuer's tokens: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384.
    #[arg(long, value_delimiter = ',', default_value = "RS256", value_name = "NAMES")]
    pub oidc_signing_algs: Vec<String>,
}

fn claim_and_value(text: &str) -> Result<(String, String), String> {
    let (claim, value) = text.split_once('=').ok_or("must be formatted as key=value")?;
    Ok((claim.trim().to_owned(), value.trim().to_owned()))
}

/// Flags about encryption at rest.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct EncryptionOptions {
    /// An EncryptionConfiguration (apiserver.config.k8s.io/v1): resources whose objects are encrypted in the store, and
    /// the keys (aesgcm, secretbox, aescbc).
    #[arg(long, value_name = "FILE")]
    pub encryption_provider_config: Option<PathBuf>,
}

/// Flags about auditing.
#[derive(Debug, Default, Args)]
pub(crate) struct AuditOptions {
    /// The audit policy: which requests are recorded, at which level. Without it nothing is.
    #[arg(long, value_name = "FILE")]
    pub audit_policy_file: Option<PathBuf>,
    /// A file in which each access of each user is recorded once, as an audit event, for pleach rbac learn. Needs no
    /// policy; members of system:masters are left out.
    #[arg(long, value_name = "FILE")]
    pub record_access: Option<PathBuf>,
    /// The audit log, a line of JSON per event; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub audit_log_path: Option<PathBuf>,
    /// The size in megabytes at which the log is rotated.
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub audit_log_maxsize: u64,
    /// How many rotated logs are kept; 0 keeps all.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub audit_log_maxbackup: usize,
    /// How many days rotated logs are kept; 0 keeps all.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub audit_log_maxage: u64,
    /// A kubeconfig with the server that audit events are sent to, in batches.
    #[arg(long, value_name = "FILE")]
    pub audit_webhook_config_file: Option<PathBuf>,
    /// Events in a batch.
    #[arg(long, default_value_t = 400, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub audit_webhook_batch_max_size: u32,
    /// How long a batch waits for more events.
    #[arg(long, default_value = "30s", value_name = "DURATION", value_parser = parse_std_duration)]
    pub audit_webhook_batch_max_wait: Duration,
    /// Events that may wait; those beyond are dropped.
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub audit_webhook_batch_buffer_size: u32,
}

/// Flags about authorization.
#[expect(clippy::struct_field_names, reason = "the names are those of the flags")]
#[derive(Debug, Args)]
pub(crate) struct AuthorizationOptions {
    /// Authorizers in the order they are asked: RBAC, Webhook, AlwaysAllow, AlwaysDeny. With AlwaysAllow every
    /// authenticated user may do everything, and requests without credentials are refused.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "RBAC", value_name = "MODES")]
    pub authorization_mode: Vec<AuthorizationMode>,
    /// An AuthorizationConfiguration (apiserver.config.k8s.io/v1) with the chain of authorizers, instead of the modes.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["authorization_mode", "authorization_webhook_config_file"])]
    pub authorization_config: Option<PathBuf>,
    /// A kubeconfig with the server that the mode Webhook asks.
    #[arg(long, value_name = "FILE")]
    pub authorization_webhook_config_file: Option<PathBuf>,
    /// How long an allowed answer of the webhook is remembered.
    #[arg(long, default_value = "5m", value_name = "DURATION", value_parser = parse_std_duration)]
    pub authorization_webhook_cache_authorized_ttl: Duration,
    /// How long another answer is.
    #[arg(long, default_value = "30s", value_name = "DURATION", value_parser = parse_std_duration)]
    pub authorization_webhook_cache_unauthorized_ttl: Duration,
}

/// Flags about API Priority and Fairness.
#[derive(Debug, Args)]
pub(crate) struct FlowControlOptions {
    /// How many requests are executed at once, together with --max-mutating-requests-inflight: priority levels share
    /// the sum.
    #[arg(long, default_value_t = 400, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_requests_inflight: u32,
    /// How many writes are, if --enable-priority-and-fairness=false; otherwise it is added to --max-requests-inflight.
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_mutating_requests_inflight: u32,
    /// Whether FlowSchemas and PriorityLevelConfigurations decide which requests are executed, wait or are refused.
    /// Otherwise reads and writes have a limit each.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub enable_priority_and_fairness: bool,
}

/// Authorization modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuthorizationMode {
    /// Role-based access control: roles and bindings decide.
    #[value(name = "RBAC")]
    Rbac,
    /// A webhook decides.
    #[value(name = "Webhook")]
    Webhook,
    /// Everything is allowed.
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
    /// Nothing is, but for system:masters.
    #[value(name = "AlwaysDeny")]
    AlwaysDeny,
}

/// A value of `--tls-sni-cert-key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SniFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Names; empty for the certificate's own.
    pub names: Vec<String>,
}

impl SniFiles {
    fn parse(text: &str) -> Result<Self, String> {
        let (files, names) = text.split_once(':').unwrap_or((text, ""));
        let (certificate, key) = files
            .split_once(',')
            .filter(|(certificate, key)| !certificate.is_empty() && !key.is_empty() && !key.contains(','))
            .ok_or("expected comma separated certificate and key file paths")?;
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(Self {
            certificate: certificate.into(),
            key: key.into(),
            names: names.map(str::to_owned).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sni_certificates_have_files_and_names() {
        let parsed = SniFiles::parse("a.crt,a.key:x.example.com,*.y").unwrap();
        assert_eq!(parsed.names, ["x.example.com", "*.y"]);
        assert_eq!(SniFiles::parse("a.crt,a.key").unwrap().names, Vec::<String>::new());
        for wrong in ["a.crt", "a.crt,", "a,b,c", ":x"] {
            assert!(SniFiles::parse(wrong).is_err(), "{wrong}");
        }
    }
}
