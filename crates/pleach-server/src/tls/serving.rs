//! Serving certificates: one for all names, and more by SNI (`--tls-sni-cert-key`). They are replaced without a restart.

use std::fmt;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;

use super::Leaf;

/// A certificate for the names that clients ask for.
pub struct SniCertificate {
    /// Names, exact or `*.domain`; the certificate's own names if empty.
    pub names: Vec<String>,
    /// The certificate and its key.
    pub leaf: Leaf,
}

struct Certificates {
    default: Arc<CertifiedKey>,
    by_name: Vec<(Vec<String>, Arc<CertifiedKey>)>,
}

/// The certificates that handshakes choose from.
pub struct ServingCertificates(RwLock<Arc<Certificates>>);

impl fmt::Debug for ServingCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServingCertificates").finish_non_exhaustive()
    }
}

impl ServingCertificates {
    /// The default certificate, and the certificates by name.
    pub fn new(default: &Leaf, by_name: &[SniCertificate]) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self(RwLock::new(Arc::new(certificates(default, by_name)?)))))
    }

    /// Replaces the certificates for connections from now on.
    pub fn replace(&self, default: &Leaf, by_name: &[SniCertificate]) -> io::Result<()> {
        let certificates = Arc::new(certificates(default, by_name)?);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = certificates;
        Ok(())
    }

    fn of(&self, name: Option<&str>) -> Arc<CertifiedKey> {
        let certificates = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        let named = name.and_then(|name| {
            let is_exact =
                |names: &&(Vec<String>, _)| names.0.iter().any(|own| own.eq_ignore_ascii_case(name));
            let is_pattern = |names: &&(Vec<String>, _)| names.0.iter().any(|own| matches_pattern(own, name));
            let all = &certificates.by_name;
            all.iter().find(is_exact).or_else(|| all.iter().find(is_pattern))
        });
        named.map_or_else(|| certificates.default.clone(), |(_, key)| key.clone())
    }
}

/// `*.domain` stands for one label.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let domain = pattern.strip_prefix("*.");
    let rest = name.split_once('.').map(|(_, rest)| rest);
    domain.zip(rest).is_some_and(|(domain, rest)| domain.eq_ignore_ascii_case(rest))
}

impl ResolvesServerCert for ServingCertificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.of(hello.server_name()))
    }
}

fn certificates(default: &Leaf, by_name: &[SniCertificate]) -> io::Result<Certificates> {
    let mut named = Vec::new();
    for certificate in by_name {
        let key = certified(&certificate.leaf)?;
        let names = if certificate.names.is_empty() {
            names_of(&certificate.leaf)?
        } else {
            certificate.names.clone()
        };
        named.push((names, key));
    }
    Ok(Certificates { default: certified(default)?, by_name: named })
}

/// A certificate with its key; they must belong together.
fn certified(leaf: &Leaf) -> io::Result<Arc<CertifiedKey>> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(leaf.certificate.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| io::Error::other(format!("the certificate cannot be read: {error:?}")))?;
    if chain.is_empty() {
        return Err(io::Error::other("there is no certificate"));
    }
    let key = PrivateKeyDer::from_pem_slice(leaf.key.as_bytes())
        .map_err(|error| io::Error::other(format!("the private key cannot be read: {error:?}")))?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider)
        .map(Arc::new)
        .map_err(|error| io::Error::other(format!("the certificate and its key cannot be used: {error}")))
}

/// The names in a certificate.
fn names_of(leaf: &Leaf) -> io::Result<Vec<String>> {
    let unreadable = |error: String| io::Error::other(format!("the certificate cannot be read: {error}"));
    let der = CertificateDer::from_pem_slice(leaf.certificate.as_bytes());
    let der = der.map_err(|error| unreadable(format!("{error:?}")))?;
    let parsed = x509_parser::certificate::X509Certificate::from_der(&der);
    let (_, parsed) = parsed.map_err(|error| unreadable(error.to_string()))?;
    let alternatives = parsed.subject_alternative_name().ok().flatten();
    let names = alternatives.iter().flat_map(|names| &names.value.general_names);
    Ok(names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::Authority;
    use super::*;

    #[test]
    fn names_choose_a_certificate() {
        let authority = Authority::generate().unwrap();
        let leaf = |name: &str| authority.serving(&[name.to_owned()]).unwrap();
        let sni = |names: &[&str], leaf: Leaf| SniCertificate {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            leaf,
        };
        let by_name = [
            sni(&["*.example.com"], leaf("x")),
            sni(&["a.example.com"], leaf("y")),
            sni(&[], leaf("own.name")),
        ];
        let serving = ServingCertificates::new(&leaf("default"), &by_name).unwrap();
        let names = |name: Option<&str>| {
            let key = serving.of(name);
            let pem = rcgen_pem(key.cert[0].as_ref());
            names_of(&Leaf { certificate: pem, key: String::new() }).unwrap().remove(0)
        };
        for (asked, want, why) in [
            (None, "default", "no SNI"),
            (Some("other"), "default", "an unknown name"),
            (Some("b.example.com"), "x", "a pattern"),
            (Some("A.example.com"), "y", "an exact name wins, in any case"),
            (Some("b.c.example.com"), "default", "a star is one label"),
            (Some("own.name"), "own.name", "the certificate's own names"),
        ] {
            assert_eq!(names(asked), want, "{why}");
        }
        serving.replace(&leaf("renewed"), &[]).unwrap();
        assert_eq!(
            names_of(&Leaf { certificate: rcgen_pem(serving.of(None).cert[0].as_ref()), key: String::new() })
                .unwrap(),
            ["renewed"]
        );
        let (one, two) = (leaf("one"), leaf("two"));
        let mixed = Leaf { certificate: one.certificate, key: two.key };
        assert!(serving.replace(&mixed, &[]).is_err(), "another key");
    }

    fn rcgen_pem(der: &[u8]) -> String {
        use base64::Engine as _;
        let text = base64::engine::general_purpose::STANDARD.encode(der);
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    }
}
