//! Documents from URLs that the server's own configuration names, such as the keys of an issuer.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use pleach_engine::webhooks::caller::{Address, Place};
use pleach_engine::webhooks::excerpt;
use tokio::time::{Instant, timeout_at};

use crate::clients::{Client, Clients};
use crate::errors::{self, DEADLINE};
use crate::target::Target;

/// The largest document, in bytes.
const LIMIT: usize = 1 << 20;
/// How long reading one may take, redirects included.
const TIME: Duration = Duration::from_secs(10);
/// How many requests a chain of redirects may take.
const REDIRECTS: usize = 10;

/// A document.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The body.
    pub body: Bytes,
    /// `max-age` of its `Cache-Control`.
    pub max_age: Option<Duration>,
}

/// Reads documents over HTTPS and keeps connections open.
///
/// Must be used within a tokio runtime: connections are driven by its tasks.
#[derive(Debug, Default)]
pub struct HttpReader {
    clients: Clients,
}

impl HttpReader {
    /// The document at a URL. `ca_bundle` are the certificates to trust, as PEM; those of the system if empty.
    pub async fn read(&self, url: &str, ca_bundle: &[u8]) -> Result<Document, String> {
        let address = Address { place: Place::Url(url.into()), ca_bundle: Bytes::copy_from_slice(ca_bundle) };
        let client = self.clients.get(&address, None)?;
        let deadline = Instant::now() + TIME;
        let late = |_| errors::get(url, DEADLINE);
        let response = timeout_at(deadline, follow(&client, url)).await.map_err(late)??;
        let (parts, body) = response.into_parts();
        let body = timeout_at(deadline, collect(body)).await.map_err(late)?;
        let body = body.map_err(|error| errors::get(url, &error))?;
        if !parts.status.is_success() {
            return Err(format!("{}: {}", parts.status, excerpt(&String::from_utf8_lossy(&body))));
        }
        Ok(Document { body, max_age: max_age(&parts.headers) })
    }
}

/// The first answer that is not a redirect. Redirects lead to HTTPS only.
async fn follow(client: &Client, url: &str) -> Result<Response<Incoming>, String> {
    let mut target = Target { text: url.to_owned() };
    for _ in 0..REDIRECTS {
        let request = request(&target)?;
        let response = client.request(request).await;
        let response = response.map_err(|error| errors::get(&target.text, &errors::of_request(&error)))?;
        let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let Some(location) = location.filter(|_| response.status().is_redirection()) else {
            return Ok(response);
        };
        target = target.resolve(location).map_err(|error| errors::get(&target.text, &error))?;
    }
    Err(errors::get(url, "stopped after 10 redirects"))
}

fn request(target: &Target) -> Result<Request<Full<Bytes>>, String> {
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.method_mut() = Method::GET;
    *request.uri_mut() = target.uri().map_err(|error| error.replacen("Post ", "Get ", 1))?;
    let headers = request.headers_mut();
    if let Ok(host) = HeaderValue::from_str(target.host()) {
        headers.insert(header::HOST, host);
    }
    headers.insert(header::USER_AGENT, HeaderValue::from_static("kube-apiserver"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, */*"));
    Ok(request)
}

async fn collect(mut body: Incoming) -> Result<Bytes, String> {
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|error| errors::of_body(&error))?.into_data() {
            if all.len() + data.len() > LIMIT {
                return Err(format!("the document is larger than {LIMIT} bytes"));
            }
            all.extend_from_slice(&data);
        }
    }
    Ok(all.freeze())
}

fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let control = headers.get(header::CACHE_CONTROL)?.to_str().ok()?;
    let seconds = control.split(',').find_map(|part| part.trim().strip_prefix("max-age="))?;
    seconds.parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_a_document_is_in_its_headers() {
        for (control, want) in [
            ("max-age=60", Some(60)),
            ("public, max-age=60, must-revalidate", Some(60)),
            ("no-cache", None),
            ("max-age=x", None),
        ] {
            let headers = [(header::CACHE_CONTROL, HeaderValue::from_static(control))];
            assert_eq!(max_age(&headers.into_iter().collect()), want.map(Duration::from_secs), "{control}");
        }
    }
}
