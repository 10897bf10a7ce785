//! The server's certificates: a CA of its own, a serving certificate, an admin's client certificate.
//!
//! The CA is made once, for ten years, and kept in the data directory, so that a kubeconfig stays good across restarts.
//! Certificates of servers and clients live for a year and are made anew before they end.

mod client;
pub mod protocol;
mod root_ca;
mod serving;

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ConfigBuilder, ServerConfig, WantsVerifier};
use tokio_rustls::TlsAcceptor;
use x509_parser::prelude::FromDer as _;

pub use client::{ClientCertificates, ClientIdentity};
pub use root_ca::RootCaBundle;
pub use serving::{ServingCertificates, SniCertificate};

const CA_NAME: &str = "pleach-ca";
/// How long a CA and the certificates that it signs are valid.
const CA_DAYS: i64 = 3_650;
const LEAF_DAYS: i64 = 365;
/// How long before its end a certificate is made anew.
const RENEWED_BEFORE: i64 = 30 * 24 * 3_600;

/// A certificate authority: its certificate and key as PEM.
#[derive(Clone)]
pub struct Authority {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// A certificate signed by an [`Authority`], with its key, as PEM.
#[derive(Clone)]
pub struct Leaf {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl Authority {
    /// Makes a new one.
    pub fn generate() -> io::Result<Self> {
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = ca_params()?.self_signed(&key).map_err(io::Error::other)?;
        Ok(Self { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    /// Whether the key is the one that the certificate is of.
    pub fn is_pair(&self) -> io::Result<bool> {
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes())
            .map_err(|error| io::Error::other(format!("the certificate cannot be read: {error:?}")))?;
        let key = KeyPair::from_pem(&self.key)
            .map_err(|error| io::Error::other(format!("the key cannot be read: {error}")))?;
        // A certificate has the bytes of the public key in it; no other key's by chance.
        let public = key.public_key_raw();
        Ok(certificate.windows(public.len()).any(|part| part == public))
    }

    /// A certificate for serving at these names and addresses.
    pub fn serving(&self, names: &[String]) -> io::Result<Leaf> {
        let mut params = CertificateParams::new(names.to_vec()).map_err(io::Error::other)?;
        params.distinguished_name.push(DnType::CommonName, "pleach");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// A client certificate for a user, who may be in a group.
    pub fn client(&self, user: &str, group: Option<&str>) -> io::Result<Leaf> {
        let mut params = CertificateParams::new(Vec::new()).map_err(io::Error::other)?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.distinguished_name.push(DnType::CommonName, user);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> io::Result<Leaf> {
        valid_for(&mut params, LEAF_DAYS);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.use_authority_key_identifier_extension = true;
        let ca_key = KeyPair::from_pem(&self.key).map_err(io::Error::other)?;
        let issuer = Issuer::new(ca_params()?, ca_key);
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.signed_by(&key, &issuer).map_err(io::Error::other)?;
        Ok(Leaf { certificate: certificate.pem(), key: sec1_pem(&key)? })
    }
}

/// A P-256 key as `EC PRIVATE KEY` (SEC 1), which every client reads: some in Java read an EC key in no other form.
fn sec1_pem(key: &KeyPair) -> io::Result<String> {
    /// ECPrivateKey: version 1, and the private key in an octet string of 32 bytes.
    const BEFORE_PRIVATE: [u8; 5] = [0x02, 0x01, 0x01, 0x04, 0x20];
    /// The parameters: the name of the curve.
    const CURVE: [u8; 12] = [0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
    /// The public key, in a bit string.
    const BEFORE_PUBLIC: [u8; 5] = [0xa1, 0x44, 0x03, 0x42, 0x00];
    let unexpected = || io::Error::other("the key is no P-256 key");
    // PKCS#8 has the same structure within, but for the curve, which it names outside.
    let pkcs8 = key.serialize_der();
    let at = pkcs8.windows(BEFORE_PRIVATE.len()).position(|part| part == BEFORE_PRIVATE);
    let at = at.ok_or_else(unexpected)? + BEFORE_PRIVATE.len();
    let private = pkcs8.get(at..at + 32).ok_or_else(unexpected)?;
    let public = key.public_key_raw();
    let content = [&BEFORE_PRIVATE[..], private, &CURVE, &BEFORE_PUBLIC, public].concat();
    let length = u8::try_from(content.len()).ok().filter(|length| *length < 0x80).ok_or_else(unexpected)?;
    Ok(pem("EC PRIVATE KEY", &[&[0x30, length][..], &content].concat()))
}

/// DER as PEM.
fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        pem += line;
        pem.push('\n');
        rest = more;
    }
    pem += &format!("-----END {label}-----\n");
    pem
}

fn ca_params() -> io::Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new()).map_err(io::Error::other)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, CA_NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    valid_for(&mut params, CA_DAYS);
    Ok(params)
}

/// A certificate is valid from yesterday on, since clocks differ.
fn valid_for(params: &mut CertificateParams, days: i64) {
    let day = |days: i64| {
        let at = jiff::Timestamp::from_second(unix_seconds() + days * 24 * 3_600).unwrap_or_default();
        let date = at.to_zoned(jiff::tz::TimeZone::UTC).date();
        rcgen::date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    (params.not_before, params.not_after) = (day(-1), day(days));
}

fn unix_seconds() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_secs().cast_signed()
}

impl Leaf {
    /// Whether the certificate is near its end, or cannot be read.
    pub fn is_to_be_renewed(&self) -> bool {
        let end = CertificateDer::from_pem_slice(self.certificate.as_bytes()).ok().and_then(|der| {
            let (_, parsed) = x509_parser::certificate::X509Certificate::from_der(&der).ok()?;
            Some(parsed.validity().not_after.timestamp())
        });
        end.is_none_or(|end| end - unix_seconds() < RENEWED_BEFORE)
    }

    /// Whether the key is the certificate's.
    pub fn is_pair(&self) -> bool {
        ServingCertificates::new(self, &[]).is_ok()
    }

    /// Whether a CA signed the certificate.
    pub fn is_signed_by(&self, authority: &Authority) -> bool {
        let clients = ClientCertificates::new(&[&authority.certificate]);
        let der = CertificateDer::from_pem_slice(self.certificate.as_bytes());
        clients.ok().zip(der.ok()).is_some_and(|(clients, der)| {
            clients.identity(&[der]).is_some_and(|identity| identity.user().is_ok())
        })
    }
}

/// The names and addresses a serving certificate needs when bound to `address`.
pub fn serving_names(address: IpAddr) -> Vec<String> {
    let mut names = vec![
        "localhost".to_owned(),
        "kubernetes".to_owned(),
        "kubernetes.default".to_owned(),
        "kubernetes.default.svc".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    if !address.is_unspecified() && !address.is_loopback() {
        names.push(address.to_string());
    }
    names
}

/// The machine's clock for TLS. The library's own panics before 1970.
#[derive(Debug)]
pub struct SystemTime;

impl TimeProvider for SystemTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(now())
    }
}

fn now() -> UnixTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    UnixTime::since_unix_epoch(since.unwrap_or_default())
}

/// Versions and cipher suites of handshakes.
#[derive(Clone, Debug, Default)]
pub struct ProtocolOptions {
    /// The least version, by upstream's names; empty for TLS 1.2.
    pub min_version: String,
    /// Cipher suites by Go's names; empty for all.
    pub cipher_suites: Vec<String>,
}

/// The TLS configuration of the listener.
#[derive(Clone)]
pub struct Tls {
    builder: ConfigBuilder<ServerConfig, WantsVerifier>,
    serving: Arc<ServingCertificates>,
    /// The users of client certificates.
    pub clients: Arc<ClientCertificates>,
    /// Handshakes, and the generation of client CAs that they name.
    current: Arc<RwLock<(u64, TlsAcceptor)>>,
}

impl Tls {
    /// HTTP/2 and HTTP/1.1; client certificates are requested, not required.
    pub fn new(
        serving: Arc<ServingCertificates>,
        clients: Arc<ClientCertificates>,
        options: &ProtocolOptions,
    ) -> io::Result<Self> {
        let invalid = |error: String| io::Error::new(io::ErrorKind::InvalidInput, error);
        let versions = protocol::versions(&options.min_version).map_err(invalid)?;
        let cipher_suites = protocol::cipher_suites(&options.cipher_suites).map_err(invalid)?;
        let provider =
            rustls::crypto::CryptoProvider { cipher_suites, ..rustls::crypto::ring::default_provider() };
        let builder = ServerConfig::builder_with_details(Arc::new(provider), Arc::new(SystemTime))
            .with_protocol_versions(&versions)
            .map_err(io::Error::other)?;
        let generation = clients.generation();
        let first = acceptor(builder.clone(), &serving, &clients);
        Ok(Self { builder, serving, clients, current: Arc::new(RwLock::new((generation, first))) })
    }

    /// Handshakes that name the present client CAs.
    pub fn acceptor(&self) -> TlsAcceptor {
        let generation = self.clients.generation();
        {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            if current.0 == generation {
                return current.1.clone();
            }
        }
        let acceptor = acceptor(self.builder.clone(), &self.serving, &self.clients);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = (generation, acceptor.clone());
        acceptor
    }
}

fn acceptor(
    builder: ConfigBuilder<ServerConfig, WantsVerifier>,
    serving: &Arc<ServingCertificates>,
    clients: &ClientCertificates,
) -> TlsAcceptor {
    let mut config =
        builder.with_client_cert_verifier(clients.handshake()).with_cert_resolver(serving.clone());
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_in_the_form_that_every_client_reads() {
        let authority = Authority::generate().unwrap();
        for leaf in [authority.client("a", Some("b")).unwrap(), authority.serving(&["c".to_owned()]).unwrap()]
        {
            assert!(leaf.key.starts_with("-----BEGIN EC PRIVATE KEY-----\n"), "{}", leaf.key);
            assert!(leaf.key.lines().all(|line| line.len() <= 64));
            let chain = vec![CertificateDer::from_pem_slice(leaf.certificate.as_bytes()).unwrap()];
            let key = rustls::pki_types::PrivateKeyDer::from_pem_slice(leaf.key.as_bytes()).unwrap();
            let provider = rustls::crypto::ring::default_provider();
            // The library compares the key's public part with the certificate's.
            rustls::sign::CertifiedKey::from_der(chain, key, &provider).unwrap();
        }
    }

    #[test]
    fn certificates_end_and_are_renewed_before() {
        let authority = Authority::generate().unwrap();
        let days = |pem: &str| {
            let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
            let (_, parsed) = x509_parser::certificate::X509Certificate::from_der(&der).unwrap();
            (parsed.validity().not_after.timestamp() - unix_seconds()) / (24 * 3_600)
        };
        let leaf = authority.client("a", None).unwrap();
        assert!((3_648..=3_650).contains(&days(&authority.certificate)));
        assert!((363..=365).contains(&days(&leaf.certificate)));
        assert!(!leaf.is_to_be_renewed() && leaf.is_signed_by(&authority));
        assert!(!leaf.is_signed_by(&Authority::generate().unwrap()));
        let nonsense = Leaf { certificate: "nonsense".into(), key: leaf.key };
        assert!(nonsense.is_to_be_renewed() && !nonsense.is_signed_by(&authority));
    }
}
