//! Servers to call, and certificates for them.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub(crate) type Tls = TlsStream<TcpStream>;

/// A certificate with its key.
pub(crate) struct Identity {
    pub(crate) params: CertificateParams,
    pub(crate) der: CertificateDer<'static>,
    pub(crate) pem: String,
    pub(crate) key: KeyPair,
}

/// A certificate signed by another, or by itself.
pub(crate) fn sign(params: CertificateParams, by: Option<&Identity>) -> Identity {
    let key = KeyPair::generate().expect("a key");
    let certificate = match by {
        None => params.self_signed(&key),
        Some(by) => params.signed_by(&key, &Issuer::from_params(&by.params, &by.key)),
    }
    .expect("a certificate");
    Identity { der: certificate.der().clone(), pem: certificate.pem(), key, params }
}

fn named(name: &str, names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

pub(crate) fn ca(name: &str) -> CertificateParams {
    let mut params = named(name, &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
}

pub(crate) fn leaf(name: &str, names: &[&str]) -> CertificateParams {
    let mut params = named(name, names);
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}

/// A root and a good certificate for this machine.
pub(crate) fn good() -> (Identity, Identity) {
    let root = sign(ca("root"), None);
    let good = sign(leaf("x", &["localhost", "127.0.0.1"]), Some(&root));
    (root, good)
}

pub(crate) fn config(chain: &[&Identity]) -> ServerConfig {
    let certificates = chain.iter().map(|identity| identity.der.clone()).collect();
    let key = PrivateKeyDer::try_from(chain[0].key.serialize_der()).expect("a key");
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .expect("a key that fits")
}

/// Lets `talk` have every connection; the port.
pub(crate) async fn tcp<F, T>(talk: F) -> SocketAddr
where
    F: Fn(TcpStream) -> T + Send + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it has one");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream));
        }
    });
    address
}

/// The same, once the handshake is done; the URL.
pub(crate) async fn tls<F, T>(config: ServerConfig, talk: F) -> String
where
    F: Fn(Tls) -> T + Clone + Send + Sync + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let address = tcp(move |stream| {
        let (acceptor, talk) = (acceptor.clone(), talk.clone());
        async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                talk(stream).await;
            }
        }
    })
    .await;
    format!("https://{address}/hook")
}

/// A server that gives every request the same bytes as its answer, and closes if they are no whole one.
pub(crate) async fn says(identity: &Identity, answer: impl Into<Vec<u8>>) -> String {
    let answer: Arc<[u8]> = answer.into().into();
    tls(config(&[identity]), move |mut stream| {
        let answer = answer.clone();
        async move {
            if request(&mut stream).await.is_some() {
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
            }
        }
    })
    .await
}

/// An answer with a length.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// One request: its head and its body.
pub(crate) async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap_or("0");
    let mut body = vec![0; length.parse().ok()?];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, body))
}
