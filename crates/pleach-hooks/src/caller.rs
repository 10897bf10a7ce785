//! A webhook call from its address to the body of the response: retries, redirects, the deadline.
//!
//! One deadline covers name lookup, connecting, waiting between retries and reading the body.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use pleach_engine::webhooks::caller::{Address, CallError, CallFuture, Caller, WebhookPlugin};
use pleach_engine::webhooks::excerpt;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::answer;
use crate::clients::{Client, Clients};
use crate::content::{self, Budget};
use crate::credentials::{Credential, WebhookCredentials};
use crate::errors::{self, DEADLINE};
use crate::services::ServiceMap;
use crate::target::{Target, seconds};

/// How often a request is sent again because of `Retry-After`.
const RETRIES: usize = 10;
/// How many requests a chain of redirects may take.
const REDIRECTS: usize = 10;

/// Calls webhooks over HTTPS and keeps connections to them open.
///
/// Must be used within a tokio runtime: connections are driven by its tasks.
#[derive(Debug, Default)]
pub struct HttpCaller {
    clients: Clients,
    answers: Budget,
    /// The credentials of `MutatingAdmissionWebhook`.
    mutating: WebhookCredentials,
    /// The credentials of `ValidatingAdmissionWebhook`.
    validating: WebhookCredentials,
}

impl HttpCaller {
    /// A caller without connections.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has services connected to at other addresses than those of their names.
    #[must_use]
    pub fn with_services(mut self, services: ServiceMap) -> Self {
        self.clients = Clients::new(services);
        self
    }

    /// Presents credentials to the webhooks of an admission plugin.
    #[must_use]
    pub fn with_credentials(mut self, plugin: WebhookPlugin, credentials: WebhookCredentials) -> Self {
        match plugin {
            WebhookPlugin::Mutating => self.mutating = credentials,
            WebhookPlugin::Validating => self.validating = credentials,
        }
        self
    }

    async fn post(
        &self,
        credential: Option<&Arc<Credential>>,
        address: &Address,
        body: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, String> {
        let client = self.clients.get(address, credential)?;
        let credential = credential.map(|credential| &**credential);
        let deadline = Instant::now() + timeout;
        let target = Target::of(&address.place, seconds(timeout))?;
        let mut attempt = 0;
        loop {
            let response = follow(&client, credential, &target, &body, deadline).await?;
            attempt += 1;
            let (parts, incoming) = response.into_parts();
            let wait = retry_after(parts.status, &parts.headers).filter(|_| attempt <= RETRIES);
            // Also before a retry: a connection is reused only once its response has been read.
            let read = timeout_at(deadline, self.answers.read(incoming, &parts.headers, body.len())).await;
            let Some(wait) = wait else {
                let content = read
                    .unwrap_or_else(|_| Err(DEADLINE.to_owned()))
                    .map_err(|error| content::unreadable(&error))?;
                return answer::check(parts.status, &parts.headers, content);
            };
            let until = Instant::now().checked_add(wait).map_or(deadline, |until| until.min(deadline));
            sleep_until(until).await;
            if until >= deadline {
                return Err(errors::post(&target.text, DEADLINE));
            }
        }
    }
}

impl Caller for HttpCaller {
    fn call<'a>(&'a self, address: &'a Address, body: Bytes, timeout: Duration) -> CallFuture<'a> {
        Box::pin(async move { self.post(None, address, body, timeout).await.map_err(CallError::Failed) })
    }

    fn call_for<'a>(
        &'a self,
        plugin: WebhookPlugin,
        address: &'a Address,
        body: Bytes,
        timeout: Duration,
    ) -> CallFuture<'a> {
        let credentials = match plugin {
            WebhookPlugin::Mutating => &self.mutating,
            WebhookPlugin::Validating => &self.validating,
        };
        let credential = credentials.of(&address.place);
        Box::pin(
            async move { self.post(credential, address, body, timeout).await.map_err(CallError::Failed) },
        )
    }
}

/// How long to wait before a retry, if the response has `Retry-After`.
fn retry_after(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    if status != StatusCode::TOO_MANY_REQUESTS && status.as_u16() < 500 {
        return None;
    }
    let after: i64 = headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(after.max(0) as u64))
}

/// The first response that is not a redirect.
async fn follow(
    client: &Client,
    credential: Option<&Credential>,
    first: &Target,
    body: &Bytes,
    deadline: Instant,
) -> Result<Response<Incoming>, String> {
    let mut target = first.clone();
    let mut method = Method::POST;
    let mut referer = None;
    let mut count = 0;
    loop {
        count += 1;
        let request = request(&target, credential, &method, body, referer.take())?;
        // Errors of later requests still say Post, the method of the first.
        let response = timeout_at(deadline, client.request(request))
            .await
            .map_err(|_| errors::post(&target.text, DEADLINE))?
            .map_err(|error| errors::post(&target.text, &errors::of_request(&error)))?;
        let becomes_get = match response.status().as_u16() {
            301..=303 => true,
            307 | 308 => false,
            _ => return Ok(response),
        };
        let Some(location) = location(response.headers()) else { return Ok(response) };
        if count == REDIRECTS {
            return Err(errors::post(&excerpt(&location), "stopped after 10 redirects"));
        }
        let next = target.resolve(&location).map_err(|error| errors::post(&target.text, &error))?;
        if becomes_get {
            method = Method::GET;
        }
        // A review may hold secrets, and the response decides: redirects stay on the host of the webhook.
        if !next.has_origin_of(first) {
            let why = "redirects to another scheme, host or port are not followed";
            return Err(errors::post(&excerpt(&next.text), why));
        }
        referer = HeaderValue::from_str(&target.text).ok();
        target = next;
    }
}

fn location(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::LOCATION)?.as_bytes();
    (!value.is_empty()).then(|| String::from_utf8_lossy(value).into_owned())
}

fn request(
    target: &Target,
    credential: Option<&Credential>,
    method: &Method,
    body: &Bytes,
    referer: Option<HeaderValue>,
) -> Result<Request<Full<Bytes>>, String> {
    let posts = *method == Method::POST;
    let body = if posts { body.clone() } else { Bytes::new() };
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method.clone();
    *request.uri_mut() = target.uri()?;
    let headers = request.headers_mut();
    // As it stands in the URL: by default, the client would drop the scheme's own port.
    if let Ok(host) = HeaderValue::from_str(target.host()) {
        headers.insert(header::HOST, host);
    }
    headers.insert(header::USER_AGENT, HeaderValue::from_static("kube-apiserver-admission"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, */*"));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    if posts {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if let Some(credential) = credential {
        credential.add_to(headers)?;
    }
    if let Some(referer) = referer {
        headers.insert(header::REFERER, referer);
    }
    Ok(request)
}
