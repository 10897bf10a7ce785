//! Client certificates: the CAs that sign them (`--client-ca-file`) and the users they name.
//!
//! The handshake takes any certificate whose key the client has: a certificate that no CA here signed, or that has
//! expired, is a 401 for each request and not a broken connection, as upstream.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use pleach_auth::{Unauthorized, UserInfo};
use pleach_json::Str;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};
use sha2::{Digest as _, Sha256};
use x509_parser::prelude::FromDer as _;

use super::now;

/// The extra in which a user's credential is named.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// The attribute of a subject that is the user's uid, in DER.
const UID_OID: &[u8] = b"\x2b\x06\x01\x04\x01\x83\xc2\x53\x02";

/// The CAs of client certificates. They can be replaced while connections are served.
pub struct ClientCertificates {
    verifier: RwLock<Arc<dyn ClientCertVerifier>>,
    /// How often the CAs were replaced.
    generation: AtomicU64,
}

impl fmt::Debug for ClientCertificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificates").finish_non_exhaustive()
    }
}

/// The identity in the certificate of a connection.
#[derive(Debug)]
pub struct ClientIdentity {
    clients: Arc<ClientCertificates>,
    chain: Vec<CertificateDer<'static>>,
    user: Result<Arc<UserInfo>, Unauthorized>,
    /// Seconds since 1970.
    not_after: i64,
    /// Twice the generation of the CAs that the certificate was verified with last; one more if one of them signed it.
    verified: AtomicU64,
}

impl ClientIdentity {
    /// The user, unless the certificate has expired meanwhile or its CA was replaced.
    pub fn user(&self) -> Result<&Arc<UserInfo>, Unauthorized> {
        let user = self.user.as_ref().map_err(|refused| *refused)?;
        let has_ended = now().as_secs().cast_signed() > self.not_after;
        if has_ended || !self.is_verified() { Err(Unauthorized) } else { Ok(user) }
    }

    /// Whether one of the present CAs signed the certificate.
    fn is_verified(&self) -> bool {
        let generation = self.clients.generation();
        let known = self.verified.load(Ordering::Acquire);
        if known >> 1 == generation {
            return known & 1 == 1;
        }
        let is_verified = self.clients.verify(&self.chain);
        self.verified.store(generation << 1 | u64::from(is_verified), Ordering::Release);
        is_verified
    }
}

impl ClientCertificates {
    /// Takes certificates that one of the CAs in these PEM texts signed.
    pub fn new(authorities: &[&str]) -> io::Result<Arc<Self>> {
        let verifier = verifier(authorities)?;
        Ok(Arc::new(Self { verifier: RwLock::new(verifier), generation: AtomicU64::new(0) }))
    }

    /// Replaces the CAs. Certificates of open connections are verified again.
    pub fn replace(&self, authorities: &[&str]) -> io::Result<()> {
        let verifier = verifier(authorities)?;
        let mut current = self.verifier.write().unwrap_or_else(PoisonError::into_inner);
        *current = verifier;
        self.generation.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// How often the CAs were replaced.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The part of a handshake that asks for a certificate.
    pub(super) fn handshake(&self) -> Arc<Handshake> {
        Arc::new(Handshake {
            hints: self.verifier().root_hint_subjects().to_vec(),
            algorithms: rustls::crypto::ring::default_provider().signature_verification_algorithms,
        })
    }

    fn verifier(&self) -> Arc<dyn ClientCertVerifier> {
        self.verifier.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether one of the CAs signed a certificate, which other certificates follow.
    fn verify(&self, chain: &[CertificateDer<'_>]) -> bool {
        let Some((certificate, intermediates)) = chain.split_first() else { return false };
        let verified = self.verifier().verify_client_cert(certificate, intermediates, now());
        if let Err(error) = &verified {
            tracing::debug!(%error, "client certificate refused");
        }
        verified.is_ok()
    }

    /// The identity of a client that showed these certificates. A certificate without a common name is none.
    pub fn identity(self: &Arc<Self>, chain: &[CertificateDer<'_>]) -> Option<ClientIdentity> {
        let certificate = chain.first()?;
        // Before it is verified: with a later generation it is verified again.
        let generation = self.generation();
        let is_verified = self.verify(chain);
        let (user, not_after) = match certificate_user(certificate) {
            Ok((Some(user), not_after)) => (Ok(user), not_after),
            Ok((None, _)) if is_verified => return None,
            _ => (Err(Unauthorized), 0),
        };
        Some(ClientIdentity {
            clients: self.clone(),
            chain: chain.iter().map(|one| one.clone().into_owned()).collect(),
            user,
            not_after,
            verified: AtomicU64::new(generation << 1 | u64::from(is_verified)),
        })
    }
}

fn verifier(authorities: &[&str]) -> io::Result<Arc<dyn ClientCertVerifier>> {
    let mut roots = RootCertStore::empty();
    for pem in authorities {
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate = certificate.map_err(|error| io::Error::other(format!("{error:?}")))?;
            roots.add(certificate).map_err(io::Error::other)?;
        }
    }
    if roots.is_empty() {
        return Err(io::Error::other("there is no certificate of a client CA"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .allow_unauthenticated()
        .build()
        .map_err(io::Error::other)?;
    Ok(verifier)
}

/// The user of a certificate (common name, organizations) and when the certificate ends.
fn certificate_user(certificate: &CertificateDer<'_>) -> Result<(Option<Arc<UserInfo>>, i64), Unauthorized> {
    let (_, parsed) =
        x509_parser::certificate::X509Certificate::from_der(certificate).map_err(|_| Unauthorized)?;
    let not_after = parsed.validity().not_after.timestamp();
    let subject = parsed.subject();
    // The last one counts, as in Go.
    let name = subject.iter_common_name().last().and_then(|name| name.as_str().ok()).unwrap_or_default();
    if name.is_empty() {
        return Ok((None, not_after));
    }
    let groups = subject.iter_organization().filter_map(|o| o.as_str().ok()).map(Str::from);
    let user = UserInfo::authenticated(name, groups);
    let mut uids = subject.iter_attributes().filter(|attribute| attribute.attr_type().as_bytes() == UID_OID);
    let uid = match (uids.next(), uids.next()) {
        (None, _) => "",
        (Some(uid), None) => uid.as_str().ok().filter(|uid| !uid.is_empty()).ok_or(Unauthorized)?,
        (Some(_), Some(_)) => return Err(Unauthorized),
    };
    let id = Sha256::digest(certificate).iter().fold(String::from("X509SHA256="), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
        text
    });
    let extra = vec![(Str::new_static(CREDENTIAL_ID), vec![Str::from(id)])];
    Ok((Some(Arc::new(UserInfo { uid: uid.into(), extra, ..(*user).clone() })), not_after))
}

/// The part of a handshake that asks for a certificate, and checks only that the client has its key.
#[derive(Debug)]
pub(super) struct Handshake {
    /// The names of the CAs, which a client is shown so that it can choose a certificate.
    hints: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for Handshake {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Authority;
    use super::*;

    fn der(pem: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
    }

    #[test]
    fn certificates_of_the_ca_name_a_user() {
        let (own, other) = (Authority::generate().unwrap(), Authority::generate().unwrap());
        let clients = ClientCertificates::new(&[&own.certificate]).unwrap();
        let leaf = own.client("ann", Some("dev")).unwrap();
        let identity = clients.identity(&[der(&leaf.certificate)]).unwrap();
        let user = identity.user().unwrap();
        assert_eq!(user.name, "ann");
        assert_eq!(user.groups, ["dev", "system:authenticated"]);
        let (key, values) = &user.extra[0];
        assert_eq!(key, CREDENTIAL_ID);
        assert!(values[0].starts_with("X509SHA256=") && values[0].len() == 11 + 64, "{values:?}");
        let expired = ClientIdentity { not_after: 1, ..identity };
        assert_eq!(expired.user(), Err(Unauthorized), "it ends while the connection is open");

        for (leaf, why) in [
            (other.client("ann", None).unwrap(), "another CA"),
            (own.serving(&["localhost".to_owned()]).unwrap(), "not for clients"),
        ] {
            let identity = clients.identity(&[der(&leaf.certificate)]).unwrap();
            assert_eq!(identity.user(), Err(Unauthorized), "{why}");
        }
        assert!(
            clients.identity(&[CertificateDer::from(vec![1, 2, 3])]).unwrap().user().is_err(),
            "nonsense"
        );
        assert!(clients.identity(&[]).is_none());
        let nameless = own.client("", Some("dev")).unwrap();
        assert!(clients.identity(&[der(&nameless.certificate)]).is_none(), "no common name");

        let open = clients.identity(&[der(&leaf.certificate)]).unwrap();
        assert_eq!(open.user().unwrap().name, "ann");
        let hints = || clients.handshake().root_hint_subjects().to_vec();
        let before = hints();
        clients.replace(&[&own.certificate, &other.certificate]).unwrap();
        assert_eq!(hints().len(), before.len() + 1, "clients are shown the new CA");
        assert_eq!(open.user().unwrap().name, "ann", "its CA is still there");
        clients.replace(&[&other.certificate]).unwrap();
        assert_eq!(open.user(), Err(Unauthorized), "the CA of an open connection was replaced");
        clients.replace(&[&own.certificate]).unwrap();
        assert_eq!(open.user().unwrap().name, "ann", "and came back");

        clients.replace(&[&other.certificate]).unwrap();
        assert!(clients.identity(&[der(&leaf.certificate)]).unwrap().user().is_err(), "the CA was replaced");
        assert!(clients.replace(&["nothing"]).is_err());
        let leaf = other.client("bob", None).unwrap();
        assert_eq!(clients.identity(&[der(&leaf.certificate)]).unwrap().user().unwrap().name, "bob");
    }
}
