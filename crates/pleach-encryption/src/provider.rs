//! Providers: one key of AES-GCM, AES-CBC or secretbox, or none (identity).
//!
//! The ciphers are those of the RustCrypto crates; here is only how their inputs and outputs are laid out.

use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{BlockCipher, BlockDecryptMut, BlockEncryptMut, KeyIvInit as _};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::consts::U12;
use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes128Gcm, Aes256Gcm, AesGcm};
use bytes::Bytes;
use crypto_secretbox::XSalsa20Poly1305;

use crate::is_encrypted;

/// Encrypts and decrypts with one key.
pub(crate) struct Provider {
    /// The beginning of its values; empty for identity.
    prefix: Vec<u8>,
    cipher: Cipher,
}

/// A key, ready to be used.
pub(crate) enum Cipher {
    /// Values are stored as they are.
    Identity,
    /// AES-GCM with a random nonce; the storage key is authenticated.
    Gcm128(Box<Aes128Gcm>),
    /// The same with a key of 24 bytes.
    Gcm192(Box<AesGcm<Aes192, U12>>),
    /// The same with a key of 32 bytes.
    Gcm256(Box<Aes256Gcm>),
    /// AES-CBC with a random initialization vector; not authenticated.
    Cbc(Vec<u8>),
    /// XSalsa20 and Poly1305.
    Secretbox(Box<XSalsa20Poly1305>),
}

/// How long nonces and initialization vectors are.
const GCM_NONCE: usize = 12;
const CBC_VECTOR: usize = 16;
const SECRETBOX_NONCE: usize = 24;

const FAILED: &str =
    "the value cannot be decrypted: the key is another one, or the value was changed or moved";

impl Cipher {
    /// AES-GCM; `None` if the key is not 16, 24 or 32 bytes long.
    pub(crate) fn gcm(key: &[u8]) -> Option<Self> {
        Some(match key.len() {
            16 => Self::Gcm128(Box::new(Aes128Gcm::new_from_slice(key).ok()?)),
            24 => Self::Gcm192(Box::new(AesGcm::new_from_slice(key).ok()?)),
            32 => Self::Gcm256(Box::new(Aes256Gcm::new_from_slice(key).ok()?)),
            _ => return None,
        })
    }

    /// AES-CBC; `None` if the key is not 16, 24 or 32 bytes long.
    pub(crate) fn cbc(key: &[u8]) -> Option<Self> {
        matches!(key.len(), 16 | 24 | 32).then(|| Self::Cbc(key.to_vec()))
    }

    /// Secretbox; `None` if the key is not 32 bytes long.
    pub(crate) fn secretbox(key: &[u8]) -> Option<Self> {
        Some(Self::Secretbox(Box::new(XSalsa20Poly1305::new_from_slice(key).ok()?)))
    }

    /// The name in prefixes.
    fn name(&self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gcm128(_) | Self::Gcm192(_) | Self::Gcm256(_) => "aesgcm",
            Self::Cbc(_) => "aescbc",
            Self::Secretbox(_) => "secretbox",
        }
    }

    fn nonce_length(&self) -> usize {
        match self {
            Self::Identity => 0,
            Self::Gcm128(_) | Self::Gcm192(_) | Self::Gcm256(_) => GCM_NONCE,
            Self::Cbc(_) => CBC_VECTOR,
            Self::Secretbox(_) => SECRETBOX_NONCE,
        }
    }

    fn seal(&self, nonce: &[u8], key: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        let payload = Payload { msg: value, aad: key };
        match self {
            Self::Identity => Some(value.to_vec()),
            Self::Gcm128(cipher) => cipher.encrypt(nonce.into(), payload).ok(),
            Self::Gcm192(cipher) => cipher.encrypt(nonce.into(), payload).ok(),
            Self::Gcm256(cipher) => cipher.encrypt(nonce.into(), payload).ok(),
            Self::Cbc(secret) => match secret.len() {
                16 => cbc_seal::<Aes128>(secret, nonce, value),
                24 => cbc_seal::<Aes192>(secret, nonce, value),
                _ => cbc_seal::<Aes256>(secret, nonce, value),
            },
            Self::Secretbox(cipher) => cipher.encrypt(nonce.into(), value).ok(),
        }
    }

    fn open(&self, nonce: &[u8], key: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let payload = Payload { msg: sealed, aad: key };
        match self {
            Self::Identity => Some(sealed.to_vec()),
            Self::Gcm128(cipher) => cipher.decrypt(nonce.into(), payload).ok(),
            Self::Gcm192(cipher) => cipher.decrypt(nonce.into(), payload).ok(),
            Self::Gcm256(cipher) => cipher.decrypt(nonce.into(), payload).ok(),
            Self::Cbc(secret) => match secret.len() {
                16 => cbc_open::<Aes128>(secret, nonce, sealed),
                24 => cbc_open::<Aes192>(secret, nonce, sealed),
                _ => cbc_open::<Aes256>(secret, nonce, sealed),
            },
            Self::Secretbox(cipher) => cipher.decrypt(nonce.into(), sealed).ok(),
        }
    }
}

fn cbc_seal<C: BlockEncryptMut + BlockCipher + KeyInit>(
    secret: &[u8],
    vector: &[u8],
    value: &[u8],
) -> Option<Vec<u8>> {
    let cipher = cbc::Encryptor::<C>::new_from_slices(secret, vector).ok()?;
    Some(cipher.encrypt_padded_vec_mut::<Pkcs7>(value))
}

fn cbc_open<C: BlockDecryptMut + BlockCipher + KeyInit>(
    secret: &[u8],
    vector: &[u8],
    sealed: &[u8],
) -> Option<Vec<u8>> {
    let cipher = cbc::Decryptor::<C>::new_from_slices(secret, vector).ok()?;
    cipher.decrypt_padded_vec_mut::<Pkcs7>(sealed).ok()
}

impl Provider {
    /// A provider with a key of this name.
    pub(crate) fn new(name: &str, cipher: Cipher) -> Self {
        Self { prefix: format!("k8s:enc:{}:v1:{name}:", cipher.name()).into_bytes(), cipher }
    }

    /// Values are stored as they are.
    pub(crate) fn identity() -> Self {
        Self { prefix: Vec::new(), cipher: Cipher::Identity }
    }

    /// The bytes to store; `None` if they are the value itself.
    pub(crate) fn encrypt(&self, key: &[u8], value: &[u8]) -> Result<Option<Bytes>, String> {
        if matches!(self.cipher, Cipher::Identity) {
            return Ok(None);
        }
        let mut nonce = [0; SECRETBOX_NONCE];
        let nonce = &mut nonce[..self.cipher.nonce_length()];
        getrandom::fill(nonce).map_err(|error| format!("there is no randomness: {error}"))?;
        let sealed = self.cipher.seal(nonce, key, value).ok_or("the value is too long to be encrypted")?;
        Ok(Some([&self.prefix, &*nonce, &sealed].concat().into()))
    }

    /// The value of stored bytes; `None` if they are another provider's.
    pub(crate) fn decrypt(&self, key: &[u8], stored: &Bytes) -> Option<Result<Bytes, String>> {
        if matches!(self.cipher, Cipher::Identity) {
            return (!is_encrypted(stored)).then(|| Ok(stored.clone()));
        }
        let rest = stored.strip_prefix(&self.prefix[..])?;
        let opened = rest
            .split_at_checked(self.cipher.nonce_length())
            .and_then(|(nonce, sealed)| self.cipher.open(nonce, key, sealed));
        Some(opened.map(Bytes::from).ok_or_else(|| FAILED.to_owned()))
    }
}
