//! Credentials: `Authorization` headers, tokens, key sets, client certificates.

use std::sync::OnceLock;

use pleach_json::json;
use pleach_jwt::key::{SigningKey, public_keys};
use pleach_jwt::{KeySet, Token};
use pleach_server::authentication::{Bearer, bearer_token};
use pleach_server::tls::{Authority, ClientCertificates};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// A key, and a token that it has signed.
fn signed() -> &'static (SigningKey, String) {
    static SIGNED: OnceLock<(SigningKey, String)> = OnceLock::new();
    SIGNED.get_or_init(|| {
        let key =
            SigningKey::from_pem(&SigningKey::generate().expect("a key can be made")).expect("it is one");
        let token =
            key.token(&json!({"iss": "i", "aud": ["a"], "sub": "s", "exp": 1, "nbf": 1.5})).expect("signed");
        (key, token)
    })
}

/// A header is read without a panic; no token but the signed one is good.
pub(super) fn token(data: &[u8]) {
    let (key, good) = signed();
    let text = String::from_utf8_lossy(data);
    let token = match bearer_token(data) {
        Bearer::Token(token) => token,
        Bearer::None | Bearer::ExtraSpace | Bearer::Unreadable => &text,
    };
    let _ = public_keys(&text);
    if let Ok(keys) = KeySet::parse(data) {
        assert!(data.windows(6).any(|part| part == b"\"keys\"") || data.contains(&b'\\'), "{keys:?}");
    }
    let Some(parsed) = Token::parse(token) else { return };
    assert_eq!(token.split('.').count(), 3);
    let _ = (parsed.audiences(), parsed.time("exp"), parsed.time("nbf"), parsed.header());
    let message = |token: &str| token.rsplit_once('.').map(|(message, _)| message.to_owned());
    if parsed.is_signed_by(key.public(), key.public().algorithm) {
        assert_eq!(message(token), message(good), "only what was signed has its signature");
    }
}

pub(super) fn token_seeds() -> Vec<Vec<u8>> {
    let (key, good) = signed();
    let set =
        json!({"keys": [(key.public().jwk().clone()), {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "r"}]});
    vec![
        good.clone().into_bytes(),
        format!("Bearer {good}").into_bytes(),
        b"bearer a.b.c".to_vec(),
        b"Bearer  x".to_vec(),
        b"Basic c2VjcmV0".to_vec(),
        b"eyJhbGciOiJub25lIn0.e30.".to_vec(),
        pleach_json::to_vec(&set),
        b"{\"keys\":[]}".to_vec(),
    ]
}

/// A CA, its verifier, and a certificate that it has signed.
fn certified() -> &'static (std::sync::Arc<ClientCertificates>, Vec<u8>) {
    static CERTIFIED: OnceLock<(std::sync::Arc<ClientCertificates>, Vec<u8>)> = OnceLock::new();
    CERTIFIED.get_or_init(|| {
        let authority = Authority::generate().expect("a CA can be made");
        let clients = ClientCertificates::new(&[&authority.certificate]).expect("it can be trusted");
        let leaf = authority.client("ann", Some("dev")).expect("it can sign");
        let der = CertificateDer::from_pem_slice(leaf.certificate.as_bytes()).expect("it is PEM");
        (clients, der.to_vec())
    })
}

/// No certificate but the signed one names a user.
pub(super) fn certificate(data: &[u8]) {
    let (clients, good) = certified();
    let chain = [CertificateDer::from(data.to_vec())];
    let identity = clients.identity(&chain).expect("a certificate was shown, and has a common name");
    assert_eq!(identity.user().is_ok(), data == good, "only the certificate that was signed names a user");
    // As an intermediate certificate it changes nothing.
    let chain = [CertificateDer::from(good.clone()), CertificateDer::from(data.to_vec())];
    assert!(clients.identity(&chain).is_some_and(|identity| identity.user().is_ok()));
}

pub(super) fn certificate_seeds() -> Vec<Vec<u8>> {
    let (_, good) = certified();
    let other = Authority::generate().expect("a CA can be made");
    let nameless = other.client("", None).expect("it can sign");
    let nameless = CertificateDer::from_pem_slice(nameless.certificate.as_bytes()).expect("it is PEM");
    vec![
        good.clone(),
        good[..good.len() / 2].to_vec(),
        nameless.to_vec(),
        vec![0x30, 0x82, 0xff, 0xff],
        Vec::new(),
    ]
}
