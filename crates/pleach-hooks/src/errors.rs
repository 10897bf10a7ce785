//! Errors of network, TLS and HTTP with the texts of Go's libraries.
//!
//! Errors made in this crate are [`GoError`]s, which are found again at the end of the chain that the libraries put
//! around them. Errors of the libraries are translated here.

use std::error::Error;
use std::fmt;
use std::io;

use pleach_go::strconv::quote;
use rustls::AlertDescription;

use crate::received::Received;

/// The error of a call that took too long.
pub(crate) const DEADLINE: &str = "context deadline exceeded";

/// An error whose text is Go's already.
#[derive(Clone, Debug)]
pub(crate) struct GoError(pub(crate) String);

impl fmt::Display for GoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for GoError {}

impl From<GoError> for io::Error {
    fn from(error: GoError) -> Self {
        Self::other(error)
    }
}

/// The `url.Error` of a GET.
pub(crate) fn get(url: &str, reason: &str) -> String {
    format!("Get {}: {reason}", quote(url))
}

/// The `url.Error` of a POST.
pub(crate) fn post(url: &str, reason: &str) -> String {
    format!("Post {}: {reason}", quote(url))
}

/// Why there was no answer to a request.
pub(crate) fn of_request(error: &hyper_util::client::legacy::Error) -> String {
    if let Some(text) = known(error) {
        return text;
    }
    let Some(hyper) = causes(error).find_map(|cause| cause.downcast_ref::<hyper::Error>()) else {
        return last(error);
    };
    if hyper.is_parse_too_large() {
        return broken("net/http: server response headers exceeded the limit; aborted");
    }
    // Canceled: the connection ended before the request was on it.
    if hyper.is_parse() || hyper.is_incomplete_message() || hyper.is_closed() || hyper.is_canceled() {
        return malformed(error).map_or_else(|| "EOF".to_owned(), |reason| broken(&reason));
    }
    // These are how an HTTP/2 connection ends.
    match causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind) {
        Some(io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof) => "unexpected EOF".to_owned(),
        _ => last(error),
    }
}

/// The error about the response on the connection that failed.
fn malformed(error: &hyper_util::client::legacy::Error) -> Option<String> {
    let mut extras = http::Extensions::new();
    error.connect_info()?.get_extras(&mut extras);
    extras.get::<Received>()?.error()
}

/// Why the body of a response ended early.
pub(crate) fn of_body(error: &hyper::Error) -> String {
    if let Some(text) = known(error) {
        return text;
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
        Some(text) => text,
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
        if let Some(GoError(text)) = cause.downcast_ref() {
            return Some(text.clone());
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

/// An error and its causes. `source` of an `io::Error` leaves out the error that it wraps.
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
