//! An OpenID Connect issuer on loopback TLS: a discovery document and the keys it has at the moment.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use pleach_json::Value;
use pleach_jwt::key::SigningKey;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A running issuer. It ends with the test.
pub(crate) struct Issuer {
    /// Its URL.
    pub url: String,
    /// The certificate that clients must trust, as PEM.
    pub ca: String,
    keys: Arc<Mutex<Vec<Value>>>,
    asked: Arc<AtomicUsize>,
}

/// A new key.
pub(crate) fn key() -> SigningKey {
    SigningKey::from_pem(&SigningKey::generate().unwrap()).unwrap()
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed()
}

impl Issuer {
    /// An issuer with a key.
    pub(crate) fn start(key: &SigningKey) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self::listen(listener, key)
    }

    /// An issuer on a port that was reserved before.
    pub(crate) fn listen(listener: TcpListener, key: &SigningKey) -> Self {
        let url = format!("https://{}", listener.local_addr().unwrap());
        let pair = rcgen::KeyPair::generate().unwrap();
        let certificate =
            rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap().self_signed(&pair).unwrap();
        let ca = certificate.pem();
        let chain = vec![CertificateDer::from_pem_slice(ca.as_bytes()).unwrap()];
        let private = PrivateKeyDer::from_pem_slice(pair.serialize_pem().as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config =
            Arc::new(config.unwrap().with_no_client_auth().with_single_cert(chain, private).unwrap());
        let issuer = Self { url, ca, keys: Arc::default(), asked: Arc::default() };
        issuer.publish(&[key]);
        let (url, keys, asked) = (issuer.url.clone(), issuer.keys.clone(), issuer.asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (config, url, keys, asked) = (config.clone(), url.clone(), keys.clone(), asked.clone());
                std::thread::spawn(move || {
                    let connection = rustls::ServerConnection::new(config).unwrap();
                    let mut stream = rustls::StreamOwned::new(connection, stream.unwrap());
                    let mut request = Vec::new();
                    let mut piece = [0; 1024];
                    while !request.windows(4).any(|part| part == b"\r\n\r\n") {
                        match stream.read(&mut piece) {
                            Ok(0) | Err(_) => return,
                            Ok(count) => request.extend_from_slice(&piece[..count]),
                        }
                    }
                    asked.fetch_add(1, Ordering::SeqCst);
                    let request = String::from_utf8_lossy(&request).into_owned();
                    let (status, body) = match request.split(' ').nth(1).unwrap() {
                        "/.well-known/openid-configuration" => {
                            ("200 OK", format!("{{\"issuer\":\"{url}\",\"jwks_uri\":\"{url}/keys\"}}"))
                        }
                        "/keys" => {
                            let keys = Value::from(keys.lock().unwrap().clone());
                            ("200 OK", format!("{{\"keys\":{}}}", pleach_json::to_string(&keys)))
                        }
                        _ => ("404 Not Found", String::new()),
                    };
                    let length = body.len();
                    let head = format!(
                        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                    );
                    let _ = stream.write_all(format!("{head}{body}").as_bytes());
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                });
            }
        });
        issuer
    }

    /// Replaces the keys.
    pub(crate) fn publish(&self, keys: &[&SigningKey]) {
        *self.keys.lock().unwrap() = keys.iter().map(|key| key.public().jwk().clone()).collect();
    }

    /// How many requests there were.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// A token of the issuer for the audience `pleach`, good for an hour, with more claims.
    pub(crate) fn token(&self, key: &SigningKey, more: &[(&str, Value)]) -> String {
        let mut claims = pleach_json::Map::new();
        claims.insert("iss", self.url.as_str());
        claims.insert("aud", "pleach");
        claims.insert("sub", "ann");
        claims.insert("exp", now() + 3_600);
        for (claim, value) in more {
            claims.insert(*claim, value.clone());
        }
        key.token(&claims.into()).unwrap()
    }
}
