//! Keys of tokens: read from PEM or as JSON web keys, identified, used to sign and to verify.
//!
//! A key's id is the hash of its public key, as upstream makes it, or the one that a JSON web key says.

use pleach_go::base64::{decode_raw_url, encode_raw_url};
use pleach_json::{Value, json};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents, UnparsedPublicKey,
};
use rustls::pki_types::pem::{PemObject as _, SectionKind};
use sha2::{Digest as _, Sha256};
use x509_parser::prelude::FromDer as _;
use x509_parser::public_key;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::algorithm::Algorithm;

/// `AlgorithmIdentifier`s in DER.
const RSA: &[u8] = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
const P256: &[u8] = b"\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
const P384: &[u8] = b"\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22";

/// A key that verifies tokens.
#[derive(Clone, Debug)]
pub struct PublicKey {
    /// The key id; empty if a JSON web key says none.
    pub id: String,
    /// The algorithm of the signatures that the private half makes here.
    pub algorithm: Algorithm,
    /// The only algorithm it may verify, if a JSON web key says one.
    only: Option<Algorithm>,
    material: Material,
    jwk: Value,
}

/// The numbers of a key.
#[derive(Clone, Debug)]
enum Material {
    Rsa {
        /// The modulus, without leading zeros.
        n: Vec<u8>,
        /// The exponent.
        e: Vec<u8>,
    },
    /// An uncompressed point on the curve of the algorithm.
    Point(Algorithm, Vec<u8>),
}

impl PublicKey {
    /// A key from its `SubjectPublicKeyInfo` in DER.
    fn from_spki(der: &[u8]) -> Result<Self, String> {
        let (_, info) =
            SubjectPublicKeyInfo::from_der(der).map_err(|error| format!("a public key: {error}"))?;
        let id = encode_raw_url(Sha256::digest(der));
        let material = match info.parsed() {
            Ok(public_key::PublicKey::RSA(key)) => {
                Material::Rsa { n: without_zeros(key.modulus), e: without_zeros(key.exponent) }
            }
            Ok(public_key::PublicKey::EC(point)) => {
                let algorithm = match point.data().len() {
                    65 => Algorithm::Es256,
                    97 => Algorithm::Es384,
                    _ => return Err("keys on the curves P-256 and P-384 can be used, no others".into()),
                };
                Material::Point(algorithm, point.data().to_vec())
            }
            _ => return Err("RSA and ECDSA keys can be used, no others".into()),
        };
        let algorithm = material.usual_algorithm();
        let mut jwk = material.jwk();
        if let Some(members) = jwk.as_object_mut() {
            members.insert("kid", id.as_str());
            members.insert("alg", algorithm.as_str());
        }
        Ok(Self { id, algorithm, only: None, material, jwk })
    }

    /// A JSON web key (RFC 7517); `Ok(None)` if it is not one for signatures, or of a type that is not known here.
    pub fn from_jwk(jwk: &Value) -> Result<Option<Self>, String> {
        let text = |key: &str| jwk.get(key).and_then(Value::as_str).unwrap_or_default();
        if !matches!(text("use"), "" | "sig") {
            return Ok(None);
        }
        let number = |key: &str| match decode_raw_url(text(key).trim_end_matches('=')) {
            Ok(bytes) if !bytes.is_empty() => Ok(bytes),
            _ => Err(format!("the member {key} is missing or not base64url")),
        };
        let material = match (text("kty"), text("crv")) {
            ("RSA", _) => Material::Rsa { n: without_zeros(&number("n")?), e: without_zeros(&number("e")?) },
            ("EC", "P-256") => Material::Point(Algorithm::Es256, point(&number("x")?, &number("y")?, 32)?),
            ("EC", "P-384") => Material::Point(Algorithm::Es384, point(&number("x")?, &number("y")?, 48)?),
            _ => return Ok(None),
        };
        let only = match text("alg") {
            "" => None,
            name => match Algorithm::parse(name) {
                Some(algorithm) => Some(algorithm),
                None => return Ok(None),
            },
        };
        let algorithm = material.usual_algorithm();
        Ok(Some(Self { id: text("kid").into(), algorithm, only, material, jwk: jwk.clone() }))
    }

    /// Whether the signature of a message is this key's.
    pub fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if self.only.is_some_and(|only| only != algorithm) {
            return false;
        }
        match &self.material {
            Material::Rsa { n, e } => algorithm.rsa().is_some_and(|parameters| {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).is_ok()
            }),
            Material::Point(curve, point) => {
                let parameters = algorithm.ecdsa().filter(|_| *curve == algorithm);
                parameters.is_some_and(|parameters| {
                    UnparsedPublicKey::new(parameters, point).verify(message, signature).is_ok()
                })
            }
        }
    }

    /// The key in a JSON web key set.
    pub fn jwk(&self) -> &Value {
        &self.jwk
    }
}

impl Material {
    fn usual_algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa { .. } => Algorithm::Rs256,
            Self::Point(algorithm, _) => *algorithm,
        }
    }

    fn jwk(&self) -> Value {
        let text = |bytes: &[u8]| Value::from(encode_raw_url(bytes));
        match self {
            Self::Rsa { n, e } => json!({"use": "sig", "kty": "RSA", "n": (text(n)), "e": (text(e))}),
            Self::Point(algorithm, point) => {
                let curve = if *algorithm == Algorithm::Es256 { "P-256" } else { "P-384" };
                let (x, y) = point[1..].split_at(point.len() / 2);
                json!({"use": "sig", "kty": "EC", "crv": (curve), "x": (text(x)), "y": (text(y))})
            }
        }
    }
}

/// A number without the zeros in front of it.
fn without_zeros(number: &[u8]) -> Vec<u8> {
    number[number.iter().position(|byte| *byte != 0).unwrap_or(number.len())..].to_vec()
}

/// An uncompressed point, from coordinates that may lack leading zeros.
fn point(x: &[u8], y: &[u8], length: usize) -> Result<Vec<u8>, String> {
    let mut point = vec![4];
    for coordinate in [x, y] {
        let coordinate = without_zeros(coordinate);
        let zeros = length.checked_sub(coordinate.len()).ok_or("a coordinate is too long for its curve")?;
        point.resize(point.len() + zeros, 0);
        point.extend(coordinate);
    }
    Ok(point)
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

    /// A signed token with these claims.
    pub fn token(&self, claims: &Value) -> Result<String, String> {
        let header = json!({"alg": (self.public.algorithm.as_str()), "kid": (self.public.id.as_str())});
        let part = |value: &Value| encode_raw_url(pleach_json::to_vec(value));
        let message = format!("{}.{}", part(&header), part(claims));
        let signature = self.sign(message.as_bytes())?;
        Ok(format!("{message}.{}", encode_raw_url(signature)))
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
        assert!(key.public().verifies(Algorithm::Es256, b"message", &signature));
        assert!(!key.public().verifies(Algorithm::Es256, b"massage", &signature));
        for other in Algorithm::ALL.into_iter().filter(|other| *other != Algorithm::Es256) {
            assert!(!key.public().verifies(other, b"message", &signature), "{other:?}");
        }
        let again = public_keys(&pem).unwrap();
        assert_eq!((again.len(), &again[0].id), (1, &key.public().id));
        assert_eq!(key.public().jwk().get("crv").and_then(Value::as_str), Some("P-256"));
        let published = PublicKey::from_jwk(key.public().jwk()).unwrap().unwrap();
        assert!(published.verifies(Algorithm::Es256, b"message", &signature));
        assert_eq!(published.id, key.public().id);
    }

    #[test]
    fn json_web_keys_are_read_or_left_out() {
        let good = SigningKey::from_pem(&SigningKey::generate().unwrap()).unwrap();
        let with = |key: &str, value: &str| {
            let mut jwk = good.public().jwk().clone();
            jwk.as_object_mut().unwrap().insert(key, value);
            PublicKey::from_jwk(&jwk).map(|key| key.is_some())
        };
        for (key, value, want) in [
            ("kid", "x", Ok(true)),
            ("use", "enc", Ok(false)),
            ("kty", "oct", Ok(false)),
            ("crv", "P-521", Ok(false)),
            ("alg", "HS256", Ok(false)),
            ("alg", "none", Ok(false)),
        ] {
            assert_eq!(with(key, value), want, "{key} {value}");
        }
        for (key, value) in [("x", ""), ("x", "!"), ("y", &"A".repeat(10)), ("x", &"_".repeat(90))] {
            let read = with(key, value);
            // A short coordinate is a number, though no point of the curve: it verifies nothing.
            assert!(read.is_err() || value == "A".repeat(10), "{key} {value}: {read:?}");
        }
        let mut jwk = good.public().jwk().clone();
        jwk.as_object_mut().unwrap().insert("alg", "ES384");
        let key = PublicKey::from_jwk(&jwk).unwrap().unwrap();
        assert!(
            !key.verifies(Algorithm::Es256, b"m", &good.sign(b"m").unwrap()),
            "the key says its algorithm"
        );
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
        let ed25519 = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        let error = SigningKey::from_pem(&ed25519.serialize_pem()).err().unwrap();
        assert!(error.contains("no others"), "{error}");
        assert!(public_keys(&ed25519.public_key_pem()).is_err(), "a key of another type");
    }
}
