//! Responses with a document and its `ETag`, or 304 Not Modified.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, EXPIRES, HeaderValue, IF_NONE_MATCH, LAST_MODIFIED,
    LOCATION, VARY,
};
use http::{HeaderMap, Response};
use pleach_openapi::{Edition, Form};

use super::assembly::Stamp;
use super::negotiate;
use super::rope::Rope;
use crate::app::Call;
use crate::body::Body;
use crate::outcome::Outcome;
use crate::{http_date, respond};

const YEAR: Duration = Duration::from_hours(365 * 24);

/// A document, compressed if the client accepts that. `stamp` is that of the current content; the
/// content is not made if the client has it already.
pub(super) fn document(
    call: &Call<'_>,
    edition: Edition,
    form: Form,
    stamp: &Stamp,
    content: impl FnOnce(bool) -> (Rope, Stamp),
) -> Response<Body> {
    let asked = call.query.get("hash").filter(|hash| edition == Edition::V3 && !hash.is_empty());
    let is_another = |stamp: &Stamp| asked.is_some_and(|hash| hash != stamp.etag);
    if is_another(stamp) {
        return moved(call.attributes.path, &stamp.etag);
    }
    let quoted = format!("\"{}\"", stamp.etag);
    let known = call.header(IF_NONE_MATCH).is_some_and(|sent| {
        sent.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == quoted)
    });
    if known {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = Outcome::NotModified.code();
        tell(response.headers_mut(), stamp, asked.is_some());
        return response;
    }
    let gzip = respond::reads_gzip(&call.headers);
    let (rope, stamp) = content(gzip);
    if is_another(&stamp) {
        return moved(call.attributes.path, &stamp.etag);
    }
    let mut response = Response::new(rope.into());
    let headers = response.headers_mut();
    tell(headers, &stamp, asked.is_some());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(negotiate::media_type(edition, form)));
    if gzip {
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Sets the headers for caches.
fn tell(headers: &mut HeaderMap, Stamp { etag, since }: &Stamp, immutable: bool) {
    put(headers, ETAG, &format!("\"{etag}\""));
    put(headers, LAST_MODIFIED, &http_date::text(*since));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    if immutable {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
        put(headers, EXPIRES, &http_date::text(SystemTime::now() + YEAR));
    } else {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    }
}

/// The list of documents. Its content type is that of upstream's aggregator: text, as it looks.
pub(super) fn index(list: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(list));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    put(headers, LAST_MODIFIED, &http_date::text(SystemTime::now()));
    response
}

/// A path without a document: 404 with an empty body.
pub(super) fn no_document() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = Outcome::PageNotFound.code();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// 406.
pub(super) fn not_acceptable() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = Outcome::NotAcceptable.code();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// The hash is outdated: the URL of the current document.
fn moved(path: &str, etag: &str) -> Response<Body> {
    let place = format!("{path}?hash={etag}");
    let mut response =
        Response::new(Body::from(format!("<a href=\"{place}\">Moved Permanently</a>.\n\n").into_bytes()));
    *response.status_mut() = Outcome::Moved.code();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    put(headers, LOCATION, &place);
    response
}

fn put(headers: &mut HeaderMap, name: http::header::HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}
