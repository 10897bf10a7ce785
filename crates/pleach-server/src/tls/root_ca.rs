//! The root CA bundle: the certificates by which clients verify the serving certificate. It is what
//! kube-controller-manager publishes from `--root-ca-file`.

use std::io;

use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::ParsedCertificate;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

use super::{Authority, Leaf, now, pem};

/// A root CA bundle, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootCaBundle(pub String);

impl RootCaBundle {
    /// The bundle for a serving certificate: the server's own CA if it signed the certificate, else the CA certificates
    /// in the certificate's file, else the certificate itself.
    pub fn of(serving: &Leaf, own: Option<&Authority>) -> io::Result<Self> {
        if let Some(own) = own.map(|own| Self(own.certificate.clone()))
            && own.verifies(serving)
        {
            return Ok(own);
        }
        let chain = certificates(&serving.certificate)?;
        let is_ca =
            |der: &&CertificateDer<'_>| X509Certificate::from_der(der).is_ok_and(|(_, it)| it.is_ca());
        let issuers: String = chain.iter().filter(is_ca).map(|der| pem("CERTIFICATE", der)).collect();
        if !issuers.is_empty() {
            return Ok(Self(issuers));
        }
        Ok(Self(chain.first().map(|der| pem("CERTIFICATE", der)).unwrap_or_default()))
    }

    /// A bundle from a file.
    pub fn parse(text: String) -> io::Result<Self> {
        if certificates(&text)?.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "there is no certificate"));
        }
        Ok(Self(text))
    }

    /// Whether clients that trust this bundle accept the certificate, whatever its names are. A certificate that is in
    /// the bundle itself is accepted by Go's clients only.
    pub fn verifies(&self, serving: &Leaf) -> bool {
        let (Ok(trusted), Ok(chain)) = (certificates(&self.0), certificates(&serving.certificate)) else {
            return false;
        };
        let Some((certificate, intermediates)) = chain.split_first() else { return false };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted);
        let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms.all;
        ParsedCertificate::try_from(certificate).is_ok_and(|certificate| {
            let verified = verify_server_cert_signed_by_trust_anchor(
                &certificate,
                &roots,
                intermediates,
                now(),
                algorithms,
            );
            verified.is_ok()
        })
    }
}

fn certificates(text: &str) -> io::Result<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<_, _>>().map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("the certificates cannot be read: {error:?}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_verifies_the_serving_certificate() {
        let (own, other) = (Authority::generate().unwrap(), Authority::generate().unwrap());
        let names = ["localhost".to_owned()];
        let made = own.serving(&names).unwrap();
        let bundle = RootCaBundle::of(&made, Some(&own)).unwrap();
        assert_eq!(bundle.0, own.certificate);
        assert!(bundle.verifies(&made));

        let foreign = other.serving(&names).unwrap();
        let with_ca =
            Leaf { certificate: foreign.certificate.clone() + &other.certificate, ..foreign.clone() };
        let bundle = RootCaBundle::of(&with_ca, Some(&own)).unwrap();
        assert!(bundle.verifies(&with_ca) && bundle.verifies(&foreign) && !bundle.verifies(&made));
        assert_eq!(certificates(&bundle.0).unwrap(), certificates(&other.certificate).unwrap());

        let alone = RootCaBundle::of(&foreign, None).unwrap();
        assert_eq!(certificates(&alone.0).unwrap(), certificates(&foreign.certificate).unwrap());
        assert!(!alone.verifies(&foreign), "a certificate that is no CA signs nothing");
        assert!(RootCaBundle::parse("nothing".into()).is_err());
    }
}
