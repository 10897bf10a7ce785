//! Keys of service account tokens: read from PEM, identified, used to sign and to verify.
//!
//! Signatures are ring's: RS256, ES256 and ES384. A key's id is the hash of its public key, as upstream makes it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pleach_json::{Value, json};
use ring::rand::SystemRandom;
use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED,
    ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey,
};
use rustls::pki_types::pem::{PemObject as _, SectionKind};
use sha2::{Digest as _, Sha256};
use x509_parser::prelude::FromDer as _;
use x509_parser::public_key;
use x509_parser::x509::SubjectPublicKeyInfo;

/// `AlgorithmIdentifier`s in DER.
const RSA: &[u8] = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
const P256: &[u8] = b"\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
const P384: &[u8] = b"\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22";

/// A signature algorithm of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RSA with SHA-256.
    Rs256,
    /// ECDSA on P-256.
    Es256,
    /// ECDSA on P-384.
    Es384,
}

impl Algorithm {
    /// The name in headers and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
        }
    }
}

/// A key that verifies tokens.
#[derive(Clone, Debug)]
pub struct PublicKey {
    /// The key id.
    pub id: String,
    /// The algorithm of its signatures.
    pub algorithm: Algorithm,
    /// The key as ring takes it: a point, or an `RSAPublicKey`.
    bytes: Vec<u8>,
    jwk: Value,
}

impl PublicKey {
    /// A key from its `SubjectPublicKeyInfo` in DER.
    fn from_spki(der: &[u8]) -> Result<Self, String> {
        let (_, info) =
            SubjectPublicKeyInfo::from_der(der).map_err(|error| format!("a public key: {error}"))?;
        let bytes = info.subject_public_key.data.to_vec();
        let id = URL_SAFE_NO_PAD.encode(Sha256::digest(der));
        let text = |bytes: &[u8]| Value::from(URL_SAFE_NO_PAD.encode(bytes));
        let (algorithm, mut jwk) = match info.parsed() {
            Ok(public_key::PublicKey::RSA(key)) => {
                let modulus = key.modulus.iter().position(|byte| *byte != 0).unwrap_or(0);
                let exponent = key.exponent.iter().position(|byte| *byte != 0).unwrap_or(0);
                let (n, e) = (text(&key.modulus[modulus..]), text(&key.exponent[exponent..]));
                (Algorithm::Rs256, json!({"use": "sig", "kty": "RSA", "n": (n), "e": (e)}))
            }
            Ok(public_key::PublicKey::EC(point)) => {
                let (algorithm, curve, length) = match point.data().len() {
                    65 => (Algorithm::Es256, "P-256", 32),
                    97 => (Algorithm::Es384, "P-384", 48),
                    _ => return Err("keys on the curves P-256 and P-384 can be used, no others".into()),
                };
                let (x, y) = (text(&point.data()[1..=length]), text(&point.data()[length + 1..]));
                (algorithm, json!({"use": "sig", "kty": "EC", "crv": (curve), "x": (x), "y": (y)}))
            }
            _ => return Err("RSA and ECDSA keys can be used, no others".into()),
        };
        if let Some(members) = jwk.as_object_mut() {
            members.insert("kid", id.as_str());
            members.insert("alg", algorithm.as_str());
        }
        Ok(Self { id, algorithm, bytes, jwk })
    }

    /// Whether the signature of a message is this key's.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let algorithm: &dyn signature::VerificationAlgorithm = match self.algorithm {
            Algorithm::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
            Algorithm::Es256 => &ECDSA_P256_SHA256_FIXED,
            Algorithm::Es384 => &ECDSA_P384_SHA384_FIXED,
        };
        UnparsedPublicKey::new(algorithm, &self.bytes).verify(message, signature).is_ok()
    }

    /// The key in a JSON web key set.
    pub fn jwk(&self) -> &Value {
        &self.jwk
    }
}

enum Pair {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
}

/// A key that signs tokens.
pub struct SigningKey {
    pair: Pair,
    public: PublicKey,
}

impl SigningKey {
    /// The first private key of a PEM file.
    pub fn from_pem(pem: &str) -> Result<Self, String> {
        let keys = sections(pem)?.into_iter().find_map(|(kind, der)| private(kind, &der));
        keys.ok_or("no private key in it")?
    }

    /// A new key, as PEM.
    pub fn generate() -> Result<String, String> {
        rcgen::KeyPair::generate().map(|key| key.serialize_pem()).map_err(|error| error.to_string())
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, String> {
        let random = SystemRandom::new();
        let failed = |_| "the token cannot be signed".to_owned();
        match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
            Pair::Ecdsa(pair) => Ok(pair.sign(&random, message).map_err(failed)?.as_ref().to_vec()),
        }
    }
}

/// The keys of a PEM file that verify tokens: public keys, those of certificates, and those of private keys.
pub fn public_keys(pem: &str) -> Result<Vec<PublicKey>, String> {
    let mut keys = Vec::new();
    for (kind, der) in sections(pem)? {
        match kind {
            SectionKind::PublicKey => keys.push(PublicKey::from_spki(&der)?),
            SectionKind::Certificate => {
                let (_, certificate) = x509_parser::certificate::X509Certificate::from_der(&der)
                    .map_err(|error| format!("a certificate: {error}"))?;
                keys.push(PublicKey::from_spki(certificate.public_key().raw)?);
            }
            other => {
                if let Some(key) = private(other, &der) {
                    keys.push(key?.public);
                }
            }
        }
    }
    if keys.is_empty() { Err("no key in it".into()) } else { Ok(keys) }
}

fn sections(pem: &str) -> Result<Vec<(SectionKind, Vec<u8>)>, String> {
    let sections = <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.as_bytes());
    sections.collect::<Result<_, _>>().map_err(|error| format!("not PEM: {error:?}"))
}

/// The private key of a section; `None` if it holds something else.
fn private(kind: SectionKind, der: &[u8]) -> Option<Result<SigningKey, String>> {
    let pair = match kind {
        SectionKind::PrivateKey => pkcs8(der),
        SectionKind::RsaPrivateKey => RsaKeyPair::from_der(der).ok().map(Pair::Rsa),
        SectionKind::EcPrivateKey => {
            // PKCS#8 around SEC 1, which says the curve again.
            let wrapped = |curve| tlv(0x30, &[&[2, 1, 0], curve, &tlv(0x04, &[der])]);
            pkcs8(&wrapped(P256)).or_else(|| pkcs8(&wrapped(P384)))
        }
        _ => return None,
    };
    Some(
        pair.ok_or_else(|| "RSA keys of 2048 bits and more and ECDSA keys can be used, no others".to_owned())
            .and_then(|pair| {
                let (algorithm, key) = match &pair {
                    Pair::Rsa(pair) => (RSA, pair.public_key().as_ref().to_vec()),
                    Pair::Ecdsa(pair) => {
                        let point = pair.public_key().as_ref().to_vec();
                        (if point.len() == 65 { P256 } else { P384 }, point)
                    }
                };
                let spki = tlv(0x30, &[algorithm, &tlv(0x03, &[&[0], &key])]);
                Ok(SigningKey { public: PublicKey::from_spki(&spki)?, pair })
            }),
    )
}

fn pkcs8(der: &[u8]) -> Option<Pair> {
    if let Ok(pair) = RsaKeyPair::from_pkcs8(der) {
        return Some(Pair::Rsa(pair));
    }
    let random = SystemRandom::new();
    [&ECDSA_P256_SHA256_FIXED_SIGNING, &ECDSA_P384_SHA384_FIXED_SIGNING]
        .into_iter()
        .find_map(|algorithm| EcdsaKeyPair::from_pkcs8(algorithm, der, &random).ok())
        .map(Pair::Ecdsa)
}

/// An element of DER: tag, length, contents.
fn tlv(tag: u8, contents: &[&[u8]]) -> Vec<u8> {
    let length: usize = contents.iter().map(|part| part.len()).sum();
    let mut out = vec![tag];
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => out.push(short),
        _ => {
            let bytes: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
            out.push(0x80 | bytes.len() as u8);
            out.extend(bytes);
        }
    }
    contents.iter().for_each(|part| out.extend(*part));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_key_signs_and_its_public_half_verifies() {
        let pem = SigningKey::generate().unwrap();
        let key = SigningKey::from_pem(&pem).unwrap();
        let signature = key.sign(b"message").unwrap();
        assert!(key.public().verifies(b"message", &signature));
        assert!(!key.public().verifies(b"massage", &signature));
        let again = public_keys(&pem).unwrap();
        assert_eq!((again.len(), &again[0].id), (1, &key.public().id));
        assert_eq!(key.public().jwk().get("crv").and_then(Value::as_str), Some("P-256"));
    }

    #[test]
    fn the_key_of_a_certificate_is_that_of_its_private_key() {
        let pair = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::default().self_signed(&pair).unwrap();
        let (a, b) = (public_keys(&certificate.pem()).unwrap(), public_keys(&pair.serialize_pem()).unwrap());
        assert_eq!(a[0].id, b[0].id);
        assert_eq!(public_keys(&pair.public_key_pem()).unwrap()[0].id, a[0].id);
    }

    #[test]
    fn files_without_a_key_are_refused() {
        for (pem, want) in [("", "no key in it"), ("nonsense", "no key in it")] {
            assert_eq!(public_keys(pem).unwrap_err(), want, "{pem}");
        }
        assert!(SigningKey::from_pem("").is_err());
        let broken = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert!(SigningKey::from_pem(broken).is_err());
    }
}
