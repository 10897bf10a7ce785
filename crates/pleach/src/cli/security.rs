//! Flags of `pleach serve` about TLS, authentication, authorization, audit and encryption.

use std::path::PathBuf;
use std::time::Duration;

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
}

/// Flags about auditing.
#[expect(clippy::struct_field_names, reason = "the names are those of the flags")]
#[derive(Debug, Default, Args)]
pub(crate) struct AuditOptions {
    /// The audit policy: which requests are recorded, at which level. Without it nothing is.
    #[arg(long, value_name = "FILE")]
    pub audit_policy_file: Option<PathBuf>,
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
    #[arg(long, default_value = "30s", value_name = "DURATION", value_parser = parse_duration)]
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
    #[arg(long, default_value = "5m", value_name = "DURATION", value_parser = parse_duration)]
    pub authorization_webhook_cache_authorized_ttl: Duration,
    /// How long another answer is.
    #[arg(long, default_value = "30s", value_name = "DURATION", value_parser = parse_duration)]
    pub authorization_webhook_cache_unauthorized_ttl: Duration,
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

fn parse_duration(text: &str) -> Result<Duration, String> {
    let nanoseconds = pleach_go::time::parse_duration(text)?;
    u64::try_from(nanoseconds).map(Duration::from_nanos).map_err(|_| "must not be negative".into())
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
