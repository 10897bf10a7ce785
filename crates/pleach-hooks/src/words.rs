//! Failures of network, TLS and HTTP in Go's words.
//!
//! Where we make an error ourselves it is made of [`Words`] from the start, and found again at the
//! end of whatever chain the libraries put around it. The rest is translated here.

use std::error::Error;
use std::fmt;
use std::io;

use pleach_go::strconv::quote;
use rustls::AlertDescription;

use crate::heard::Heard;

/// A call that took too long.
pub(crate) const DEADLINE: &str = "context deadline exceeded";

/// An error that needs no translation.
#[derive(Clone, Debug)]
pub(crate) struct Words(pub(crate) String);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Words {}

impl From<Words> for io::Error {
    fn from(words: Words) -> Self {
        Self::other(words)
    }
}

/// What went wrong when posting to a URL.
pub(crate) fn post(url: &str, reason: &str) -> String {
    format!("Post {}: {reason}", quote(url))
}

/// Why there was no answer to a request.
pub(crate) fn of_request(error: &hyper_util::client::legacy::Error) -> String {
    if let Some(words) = known(error) {
        return words;
    }
    let Some(hyper) = causes(error).find_map(|cause| cause.downcast_ref::<hyper::Error>()) else {
        return last(error);
    };
    if hyper.is_parse_too_large() {
        return broken("net/http: server response headers exceeded the limit; aborted");
    }
    // Canceled: the connection ended before the request was on it.
    if hyper.is_parse() || hyper.is_incomplete_message() || hyper.is_closed() || hyper.is_canceled() {
        return heard(error).map_or_else(|| "EOF".to_owned(), |complaint| broken(&complaint));
    }
    // How HTTP/2 says that the connection ended.
    match causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind) {
        Some(io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof) => "unexpected EOF".to_owned(),
        _ => last(error),
    }
}

/// What there is to say of the answer on the connection that failed.
fn heard(error: &hyper_util::client::legacy::Error) -> Option<String> {
    let mut extras = http::Extensions::new();
    error.connect_info()?.get_extras(&mut extras);
    extras.get::<Heard>()?.complaint()
}

/// Why the body of an answer ended early.
pub(crate) fn of_body(error: &hyper::Error) -> String {
    if let Some(words) = known(error) {
        return words;
    }
    match causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind) {
        Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
            "invalid byte in chunk length".to_owned()
        }
        Some(io::ErrorKind::UnexpectedEof) => "unexpected EOF".to_owned(),
        _ if error.is_incomplete_message() || error.is_body_write_aborted() => "unexpected EOF".to_owned(),
        _ => last(error),
    }
}

/// Why a TLS handshake failed.
pub(crate) fn of_handshake(error: &io::Error) -> String {
    match known(error) {
        Some(words) => words,
        None if error.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        None => last(error),
    }
}

/// An error of the operating system: its text in lower case, without its number.
pub(crate) fn of_system(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn broken(reason: &str) -> String {
    format!("net/http: HTTP/1.x transport connection broken: {reason}")
}

fn known(error: &(dyn Error + 'static)) -> Option<String> {
    causes(error).find_map(|cause| {
        if let Some(Words(words)) = cause.downcast_ref() {
            return Some(words.clone());
        }
        of_tls(cause.downcast_ref::<rustls::Error>()?)
    })
}

fn of_tls(error: &rustls::Error) -> Option<String> {
    Some(match error {
        rustls::Error::AlertReceived(alert) => format!("remote error: tls: {}", alert_text(*alert)),
        rustls::Error::InvalidCertificate(rustls::CertificateError::Other(other)) => {
            format!("tls: failed to verify certificate: {}", other.0)
        }
        rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => {
            "tls: first record does not look like a TLS handshake".to_owned()
        }
        rustls::Error::PeerIncompatible(_) => "tls: server selected unsupported protocol version".to_owned(),
        rustls::Error::NoApplicationProtocol => "tls: server selected unadvertised ALPN protocol".to_owned(),
        rustls::Error::InvalidMessage(_)
        | rustls::Error::InappropriateMessage { .. }
        | rustls::Error::InappropriateHandshakeMessage { .. } => {
            "local error: tls: unexpected message".to_owned()
        }
        rustls::Error::DecryptError => "local error: tls: bad record MAC".to_owned(),
        _ => return None,
    })
}

/// An error and everything below it. An `io::Error` hides what it carries from `source`.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    })
}

fn last(error: &(dyn Error + 'static)) -> String {
    causes(error).last().unwrap_or(error).to_string()
}

fn alert_text(alert: AlertDescription) -> String {
    let text = match u8::from(alert) {
        0 => "close notify",
        10 => "unexpected message",
        20 => "bad record MAC",
        21 => "decryption failed",
        22 => "record overflow",
        30 => "decompression failure",
        40 => "handshake failure",
        42 => "bad certificate",
        43 => "unsupported certificate",
        44 => "revoked certificate",
        45 => "expired certificate",
        46 => "unknown certificate",
        47 => "illegal parameter",
        48 => "unknown certificate authority",
        49 => "access denied",
        50 => "error decoding message",
        51 => "error decrypting message",
        60 => "export restriction",
        70 => "protocol version not supported",
        71 => "insufficient security level",
        80 => "internal error",
        86 => "inappropriate fallback",
        90 => "user canceled",
        100 => "no renegotiation",
        109 => "missing extension",
        110 => "unsupported extension",
        111 => "certificate unobtainable",
        112 => "unrecognized name",
        113 => "bad certificate status response",
        114 => "bad certificate hash value",
        115 => "unknown PSK identity",
        116 => "certificate required",
        120 => "no application protocol",
        121 => "encrypted client hello required",
        other => return format!("alert({other})"),
    };
    text.to_owned()
}
