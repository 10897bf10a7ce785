//! Verification of server certificates, with the rules and messages of Go.
//!
//! webpki verifies signatures and chains. This module adds what Go does differently: the order in
//! which things are complained about, a certificate that is itself among the roots (people put a
//! self-signed serving certificate into the CA bundle), a serving certificate that is also a CA,
//! roots that have expired or may not sign, and the words.

mod chain;
mod names;

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, SignatureScheme};
use x509_parser::parse_x509_certificate;
use x509_parser::prelude::X509Certificate;

use crate::errors::GoError;

const UNLOADABLE: &str = "unable to load root certificates";

/// The certificates to start from.
#[derive(Debug)]
pub(crate) struct Trust {
    roots: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Trust {
    fn new(mut roots: Vec<CertificateDer<'static>>) -> Self {
        roots.retain(|der| parse(der).is_some());
        let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        Self { roots, algorithms }
    }

    /// The roots of the system, read once.
    pub(crate) fn system() -> Arc<Self> {
        static SYSTEM: OnceLock<Arc<Trust>> = OnceLock::new();
        SYSTEM.get_or_init(|| Arc::new(Self::new(rustls_native_certs::load_native_certs().certs))).clone()
    }

    /// The roots of a bundle. Blocks that are no certificates are skipped, if there is a certificate.
    pub(crate) fn pem(bundle: &[u8]) -> Result<Self, String> {
        let given: Vec<_> = CertificateDer::pem_slice_iter(bundle).filter_map(Result::ok).collect();
        if given.is_empty() {
            return Err(format!("{UNLOADABLE}: unable to parse bytes as PEM block"));
        }
        let trust = Self::new(given);
        if trust.roots.is_empty() {
            return Err(format!("{UNLOADABLE}: failed to parse certificate: x509: malformed certificate"));
        }
        Ok(trust)
    }

    fn judge(
        &self,
        server: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), String> {
        let leaf = parse(server).ok_or("x509: malformed certificate")?;
        chain::in_time(&leaf, now)?;
        names::check(&leaf, name)?;
        chain::check(self, server, &leaf, intermediates, now)
    }
}

fn parse<'a>(der: &'a CertificateDer<'_>) -> Option<X509Certificate<'a>> {
    parse_x509_certificate(der).ok().map(|(_, certificate)| certificate)
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.judge(end_entity, intermediates, server_name, now)
            .map(|()| ServerCertVerified::assertion())
            .map_err(|reason| CertificateError::Other(OtherError(Arc::new(GoError(reason)))).into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
