//! Certificates of tests: a CA, what it signs, and TLS configurations of clients.

use std::path::Path;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

/// A certificate authority.
pub struct Authority {
    /// Its certificate, as PEM.
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl Authority {
    /// A new CA with this common name.
    pub fn new(name: &str) -> Self {
        let mut params = params(&[], name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().expect("a key is made");
        let certificate = params.self_signed(&key).expect("a CA is made").pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// A serving certificate for names and addresses.
    pub fn serving(&self, names: &[&str]) -> Pair {
        let mut params = params(names, "server");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params)
    }

    /// A certificate for a server that is a client of others like it.
    pub fn peer(&self, names: &[&str]) -> Pair {
        let mut params = params(names, "peer");
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params)
    }

    /// A client certificate for a user in up to two groups.
    pub fn client(&self, user: &str, groups: &[&str]) -> Pair {
        self.sign(&client_params(user, groups))
    }

    /// A client certificate that ended long ago.
    pub fn expired_client(&self, user: &str, groups: &[&str]) -> Pair {
        let mut params = client_params(user, groups);
        params.not_after = date_time_ymd(2001, 1, 1);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Pair {
        let key = KeyPair::generate().expect("a key is made");
        let certificate = params.signed_by(&key, &self.issuer).expect("the CA signs").pem();
        Pair { certificate, key: key.serialize_pem() }
    }
}

impl Pair {
    /// Writes `NAME.crt` and `NAME.key` into a directory; their paths.
    pub fn write(&self, directory: &Path, name: &str) -> (String, String) {
        let write = |extension: &str, text: &str| {
            let path = directory.join(format!("{name}.{extension}"));
            std::fs::write(&path, text).expect("a file can be written");
            path.to_str().expect("a path of ours is text").to_owned()
        };
        (write("crt", &self.certificate), write("key", &self.key))
    }
}

fn params(names: &[&str], common_name: &str) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names are good");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.not_before = date_time_ymd(2000, 1, 1);
    params
}

fn client_params(user: &str, groups: &[&str]) -> CertificateParams {
    let mut params = params(&[], user);
    // A name has each type once: the second group's is the same OID as a type of its own.
    let types = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
    assert!(groups.len() <= types.len(), "up to two groups");
    types.into_iter().zip(groups).for_each(|(kind, group)| params.distinguished_name.push(kind, *group));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

/// Certificates of a PEM text.
pub fn certificates(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>().expect("it is PEM")
}

/// A client that trusts these CAs, shows this certificate and speaks these versions of TLS.
pub fn client_tls(
    roots: &str,
    client: Option<&Pair>,
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(certificates(roots));
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(versions)
        .expect("the provider has the versions")
        .with_root_certificates(store);
    Arc::new(match client {
        Some(pair) => {
            let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).expect("a key");
            builder.with_client_auth_cert(certificates(&pair.certificate), key).expect("a pair")
        }
        None => builder.with_no_client_auth(),
    })
}
