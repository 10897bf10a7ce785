//! Responses: the agreed encoding, the headers every answer has, warnings, gzip.

use std::io::Write as _;

use bytes::{Buf as _, Bytes};
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER, VARY,
};
use http::{HeaderMap, Response, StatusCode};
use pleach_engine::object::Object;
use pleach_engine::rejection::Rejection;
use pleach_json::Value;
use pleach_meta::Status;

use crate::accept::{Accepted, Encoding, Transform};
use crate::body::Body;
use crate::cbor;
use crate::chunk::Stored;
use crate::listing::List;
use crate::outcome::{self, Outcome};
use crate::pieces::{Begun, Compressed, Indented, PIECE, Pieces, Slices, Yaml};
use pleach_protobuf as protobuf;

/// Answers from this size on are compressed for clients that can read it.
const GZIP_FROM: usize = 128 * 1024;
/// All warnings of an answer together, in characters.
const WARNINGS_TOTAL: usize = 4096;
/// One warning, when they have to be shortened.
const WARNING_SHORT: usize = 256;

/// The format of a response.
#[derive(Clone, Copy, Debug)]
pub struct ResponseFormat {
    /// The agreed encoding and transformation.
    pub accepted: Accepted,
    /// Indented.
    pub pretty: bool,
    /// The client reads gzip.
    pub gzip: bool,
}

impl ResponseFormat {
    /// Plain JSON: the form of errors when negotiation failed.
    pub fn plain() -> Self {
        let accepted = Accepted { encoding: Encoding::Json, transform: Transform::None, pretty: false };
        Self { accepted, pretty: false, gzip: false }
    }
}

/// Whether a client reads gzip.
pub fn reads_gzip(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|encoding| {
            let (name, rest) = encoding.split_once(';').unwrap_or((encoding, ""));
            name.trim() == "gzip" && rest.trim() != "q=0"
        })
}

/// A value in the agreed encoding.
pub fn value(code: impl Into<StatusCode>, value: &Value, format: &ResponseFormat) -> Response<Body> {
    let code = code.into();
    if format.accepted.encoding == Encoding::Protobuf
        && let Some(message) = protobuf::encode(value)
    {
        return bytes(code, Encoding::Protobuf, message, format);
    }
    if format.accepted.encoding == Encoding::Cbor {
        return bytes(code, Encoding::Cbor, cbor::write(value), format);
    }
    let mut out = Vec::with_capacity(1024);
    pleach_json::write_to(value, &mut out);
    if format.accepted.encoding == Encoding::Yaml {
        return text_of(code, Encoding::Yaml, Yaml::new(value.clone(), out.len()), format);
    }
    out.push(b'\n');
    if format.pretty {
        return text_of(code, Encoding::Json, Indented::new(Slices(Bytes::from(out))), format);
    }
    bytes(code, Encoding::Json, out, format)
}

/// Bytes that are in the encoding already.
pub fn bytes(
    code: impl Into<StatusCode>,
    encoding: Encoding,
    bytes: Vec<u8>,
    format: &ResponseFormat,
) -> Response<Body> {
    let compress = format.gzip && bytes.len() >= GZIP_FROM;
    let body = if compress { gzip(&bytes) } else { bytes };
    let mut response = of_encoding(code.into(), encoding, body.into());
    if compress {
        say_compressed(response.headers_mut());
    }
    response
}

/// An object: its stored bytes if they are the response.
pub fn object(
    code: impl Into<StatusCode>,
    object: Object,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    let code = code.into();
    let record = match object {
        Object::Value(object) => return Ok(value(code, &object, format)),
        Object::Stored(record) if format.accepted.encoding == Encoding::Yaml => {
            let size = record.json().len();
            return Ok(text_of(code, Encoding::Yaml, Yaml::new(record.parse()?, size), format));
        }
        Object::Stored(record) if matches!(format.accepted.encoding, Encoding::Protobuf | Encoding::Cbor) => {
            return Ok(value(code, &record.parse()?, format));
        }
        Object::Stored(record) => record,
    };
    let stored = Stored::new(&record);
    if format.pretty {
        return Ok(text_of(code, Encoding::Json, Indented::new(Slices(stored)), format));
    }
    if format.gzip && stored.remaining() >= GZIP_FROM {
        return Ok(text_of(code, Encoding::Json, Slices(stored), format));
    }
    Ok(of_encoding(code, Encoding::Json, stored.into()))
}

/// Text that is made in pieces; the first of them are there, and nothing can go wrong with the rest.
fn text_of(
    code: StatusCode,
    encoding: Encoding,
    pieces: impl Pieces + 'static,
    format: &ResponseFormat,
) -> Response<Body> {
    stream(code, encoding, pieces, format).unwrap_or_else(|error| rejection(error, &ResponseFormat::plain()))
}

/// A list or a table in the agreed encoding, made as the client takes it.
pub fn list(list: List, format: &ResponseFormat) -> Result<Response<Body>, Rejection> {
    match (format.accepted.encoding, format.pretty) {
        (Encoding::Yaml, _) => stream(Outcome::Ok.code(), Encoding::Yaml, list.yaml(), format),
        (Encoding::Protobuf | Encoding::Cbor, _) => Ok(value(Outcome::Ok, &list.into_value()?, format)),
        (_, true) => stream(Outcome::Ok.code(), Encoding::Json, Indented::new(list.json()), format),
        (_, false) => stream(Outcome::Ok.code(), Encoding::Json, list.json(), format),
    }
}

/// Pieces: whole if they are few, else as the client takes them. A failure at the beginning is still a status code.
fn stream(
    code: StatusCode,
    encoding: Encoding,
    mut pieces: impl Pieces + 'static,
    format: &ResponseFormat,
) -> Result<Response<Body>, Rejection> {
    // Whether an answer is worth compressing is known when so much of it is there.
    let wanted = if format.gzip { GZIP_FROM } else { PIECE };
    let (mut first, mut ended) = (Bytes::new(), false);
    while first.len() < wanted && !ended {
        match pieces.next().transpose()? {
            Some(piece) if first.is_empty() => first = piece,
            Some(piece) => first = [first, piece].concat().into(),
            None => ended = true,
        }
    }
    if ended && first.len() < GZIP_FROM {
        return Ok(of_encoding(code, encoding, first.into()));
    }
    let begun = Begun { first, rest: pieces };
    if !format.gzip {
        return Ok(of_encoding(code, encoding, Body::pieces(Box::new(begun))));
    }
    let mut response = of_encoding(code, encoding, Body::pieces(Box::new(Compressed::new(begun))));
    say_compressed(response.headers_mut());
    Ok(response)
}

fn say_compressed(headers: &mut HeaderMap) {
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
}

fn of_encoding(code: StatusCode, encoding: Encoding, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(encoding.media_type()));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Compresses fast rather than well, as upstream does.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder =
        flate2::write::GzEncoder::new(Vec::with_capacity(bytes.len() / 4), flate2::Compression::fast());
    encoder.write_all(bytes).expect("writing to memory does not fail");
    encoder.finish().expect("writing to memory does not fail")
}

/// A rejection as an answer.
pub fn rejection(rejection: Rejection, format: &ResponseFormat) -> Response<Body> {
    let resume = match &rejection {
        Rejection::Expired { resume, .. } => resume.clone(),
        _ => None,
    };
    if let Rejection::Internal(why) | Rejection::Unavailable(why) = &rejection {
        tracing::error!(%why, "request failed");
    }
    status_with(&rejection.into_status(), resume, format)
}

/// A `Status` as an answer.
pub fn status(status: &Status, format: &ResponseFormat) -> Response<Body> {
    status_with(status, None, format)
}

fn status_with(status: &Status, resume: Option<String>, format: &ResponseFormat) -> Response<Body> {
    let code = outcome::code_of(status);
    let mut response = match format.accepted.encoding {
        Encoding::Protobuf => {
            bytes(code, Encoding::Protobuf, protobuf::status(status, resume.as_deref()), format)
        }
        Encoding::Json if !format.pretty => {
            let mut out = status_json(status, resume.as_deref());
            out.push(b'\n');
            bytes(code, Encoding::Json, out, format)
        }
        Encoding::Yaml | Encoding::Json | Encoding::Cbor => value(code, &status.to_value(), format),
    };
    if let Some(details) = &status.details
        && details.retry_after_seconds > 0
    {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(details.retry_after_seconds));
    }
    response
}

/// A response without a body.
pub fn empty(outcome: Outcome) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = outcome.code();
    response
}

/// A `Status` in the field order of the Go struct, as kube-apiserver sends it.
pub fn status_json(status: &Status, resume: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(b"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{");
    if let Some(token) = resume {
        member(&mut out, "continue", token, true);
    }
    out.extend_from_slice(b"}");
    member(&mut out, "status", if status.success { "Success" } else { "Failure" }, false);
    if !status.message.is_empty() {
        member(&mut out, "message", &status.message, false);
    }
    if !status.reason.as_str().is_empty() {
        member(&mut out, "reason", status.reason.as_str(), false);
    }
    if let Some(details) = &status.details {
        out.extend_from_slice(b",\"details\":{");
        let mut first = true;
        for (key, text) in [
            ("name", &details.name),
            ("group", &details.group),
            ("kind", &details.kind),
            ("uid", &details.uid),
        ] {
            if !text.is_empty() {
                member(&mut out, key, text, first);
                first = false;
            }
        }
        if !details.causes.is_empty() {
            if !first {
                out.push(b',');
            }
            first = false;
            out.extend_from_slice(b"\"causes\":[");
            for (i, cause) in details.causes.iter().enumerate() {
                out.extend_from_slice(if i == 0 { b"{" } else { b",{" });
                let mut first = true;
                for (key, text) in
                    [("reason", &cause.reason), ("message", &cause.message), ("field", &cause.field)]
                {
                    if !text.is_empty() {
                        member(&mut out, key, text, first);
                        first = false;
                    }
                }
                out.push(b'}');
            }
            out.push(b']');
        }
        if details.retry_after_seconds != 0 {
            if !first {
                out.push(b',');
            }
            out.extend_from_slice(
                format!("\"retryAfterSeconds\":{}", details.retry_after_seconds).as_bytes(),
            );
        }
        out.push(b'}');
    }
    if status.code != 0 {
        out.extend_from_slice(format!(",\"code\":{}", status.code).as_bytes());
    }
    out.push(b'}');
    out
}

fn member(out: &mut Vec<u8>, key: &str, text: &str, first: bool) {
    if !first {
        out.push(b',');
    }
    pleach_json::write_string(key, out);
    out.push(b':');
    pleach_json::write_string(text, out);
}

/// Plain text, not an API object: health checks, and paths that are not served.
pub fn text(code: impl Into<StatusCode>, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = code.into();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// The response for a path that is not served.
pub fn page_not_found() -> Response<Body> {
    text(Outcome::PageNotFound, "404 page not found\n")
}

/// Adds the warnings: each once, shortened when they are too much together.
pub fn add_warnings(headers: &mut HeaderMap, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let mut unique: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for text in warnings {
        if seen.insert(text.as_str()) && !text.chars().any(char::is_control) {
            unique.push(text);
        }
    }
    let total: usize = unique.iter().map(|text| text.chars().count()).sum();
    let mut left = WARNINGS_TOTAL;
    for text in unique {
        let text: String =
            if total > WARNINGS_TOTAL { text.chars().take(WARNING_SHORT).collect() } else { text.into() };
        let length = text.chars().count();
        if length > left {
            break;
        }
        left -= length;
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{escaped}\"").as_bytes()) {
            headers.append("warning", value);
        }
    }
}

#[cfg(test)]
mod tests {
    use pleach_engine::rejection::Subject;

    use super::*;

    #[test]
    fn warnings_are_quoted_and_said_once() {
        let mut headers = HeaderMap::new();
        let warnings =
            ["unknown field \"a\"".to_owned(), "x\ny".to_owned(), "unknown field \"a\"".to_owned()];
        add_warnings(&mut headers, &warnings);
        let found: Vec<_> = headers.get_all("warning").iter().map(|v| v.to_str().unwrap()).collect();
        assert_eq!(found, ["299 - \"unknown field \\\"a\\\"\""]);
    }

    #[test]
    fn too_much_is_shortened() {
        let mut headers = HeaderMap::new();
        let warnings: Vec<String> = (0..100).map(|i| format!("{i:03}{}", "x".repeat(400))).collect();
        add_warnings(&mut headers, &warnings);
        let found: Vec<_> = headers.get_all("warning").iter().collect();
        assert_eq!(found.len(), WARNINGS_TOTAL / WARNING_SHORT);
    }

    #[test]
    fn a_status_has_the_order_of_the_go_struct() {
        let (group, resource, name) = ("".into(), "foos".into(), "x".into());
        let mut status = Rejection::NotFound(Subject { group, resource, name }).into_status();
        status.details = None;
        assert_eq!(
            String::from_utf8(status_json(&status, None)).unwrap(),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"foos \"x\" not found","reason":"NotFound","code":404}"#
        );
    }
}
