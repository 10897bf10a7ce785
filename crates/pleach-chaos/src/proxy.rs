//! [`Proxy`]: requests on their way to an API server.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HeaderValue, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use pleach_json::Value;
use pleach_world::{Backend, ConnectionReset, FaultyBody, Script, describe};

use crate::client::UpstreamClient;
use crate::upstream::Upstream;

/// The most that is read of an answer to a question of our own.
const ANSWER: usize = 1 << 20;

/// The path of a question: which user am I?
const SELF_REVIEW: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// The answer to a request that becomes another protocol.
const SWITCHING_PROTOCOLS: u16 = 101;

/// The header that makes the user of a request.
const IMPERSONATE_USER: &str = "impersonate-user";

/// The name of a user and the user's groups.
type User = (String, Vec<String>);

/// A proxy in front of an API server.
pub struct Proxy {
    client: UpstreamClient,
    /// The bearer token of clients that may use the proxy's own credentials.
    token: String,
    script: Arc<Script>,
    /// Users and their groups by their credentials.
    users: Mutex<HashMap<Option<HeaderValue>, User>>,
}

impl Proxy {
    /// A proxy. Requests with the bearer token `token` are sent with the credentials of `upstream`, all others with
    /// their own.
    pub fn new(upstream: &Upstream, token: String, script: Arc<Script>) -> Result<Self, Box<dyn Error>> {
        Ok(Self { client: UpstreamClient::new(upstream)?, token, script, users: Mutex::default() })
    }

    /// The rules and the log.
    pub fn script(&self) -> &Arc<Script> {
        &self.script
    }

    /// Answers a request.
    pub async fn handle(
        &self,
        mut request: Request<Bytes>,
    ) -> Result<Response<FaultyBody<Incoming>>, ConnectionReset> {
        self.sign(request.headers_mut());
        let (user, groups) = self.user(request.headers()).await;
        let (parts, body) = request.into_parts();
        let logged = describe(&parts, &body, (&user, groups));
        self.script.run(&Link(self), Request::from_parts(parts, body), logged).await
    }

    /// Sends a request that becomes another protocol (exec, port forwarding). Rules do not apply to it, and the log does not have it.
    pub async fn upgrade(
        &self,
        mut request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, ConnectionReset> {
        self.sign(request.headers_mut());
        let client_side = hyper::upgrade::on(&mut request);
        let (parts, _) = request.into_parts();
        let headers = [CONNECTION, UPGRADE].map(|name| (name.clone(), parts.headers.get(name).cloned()));
        let mut sent =
            self.client.outgoing(Request::from_parts(parts, Bytes::new())).map_err(|_| ConnectionReset)?;
        for (name, value) in headers {
            value.map(|value| sent.headers_mut().insert(name, value));
        }
        let answer = self.client.send_as_is(sent).await.map_err(|error| unreachable(&error))?;
        let (parts, body) = answer.into_parts();
        if parts.status.as_u16() != SWITCHING_PROTOCOLS {
            let body = body.collect().await.map_err(|_| ConnectionReset)?.to_bytes();
            return Ok(Response::from_parts(parts, Full::from(body)));
        }
        let mut answer = Response::from_parts(parts, body);
        let server_side = hyper::upgrade::on(&mut answer);
        tokio::spawn(async move {
            if let (Ok(client), Ok(server)) = (client_side.await, server_side.await) {
                // A side that hangs up is no error.
                let _ =
                    tokio::io::copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(server)).await;
            }
        });
        Ok(answer.map(|_| Full::default()))
    }

    /// Puts the proxy's own credentials in the place of its token.
    fn sign(&self, headers: &mut HeaderMap) {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if given.and_then(|given| given.strip_prefix("Bearer ")) == Some(self.token.as_str()) {
            headers.remove(AUTHORIZATION);
            self.client.sign(headers);
        }
    }

    /// The user of a request and the user's groups, as the API server says it.
    async fn user(&self, headers: &HeaderMap) -> User {
        if let Some(user) = headers.get(IMPERSONATE_USER).and_then(|user| user.to_str().ok()) {
            return (user.to_owned(), Vec::new());
        }
        let authorization = headers.get(AUTHORIZATION).cloned();
        let users = || self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(user) = users().get(&authorization) {
            return user.clone();
        }
        let mut request = Request::new(Bytes::from_static(
            br#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#,
        ));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static(SELF_REVIEW);
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(authorization) = authorization.clone() {
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        let Some(review) = self.ask(request).await else { return Default::default() };
        let user = review.at(&["status", "userInfo", "username"]).and_then(Value::as_str).unwrap_or_default();
        let groups = review.at(&["status", "userInfo", "groups"]).and_then(Value::as_array);
        let groups = groups.into_iter().flat_map(|groups| groups.iter()).filter_map(Value::as_str);
        let user = (user.to_owned(), groups.map(ToOwned::to_owned).collect::<Vec<_>>());
        users().insert(authorization, user.clone());
        user
    }

    /// An answer in JSON; `None` if there is none.
    async fn ask(&self, request: Request<Bytes>) -> Option<Value> {
        let answer = self.client.send(request).await.ok()?;
        let body = Limited::new(answer.into_body(), ANSWER).collect().await.ok()?;
        pleach_json::parse(&body.to_bytes()).ok()
    }
}

fn unreachable(why: &str) -> ConnectionReset {
    tracing::error!("the API server does not answer: {why}");
    ConnectionReset
}

/// The way to the API server.
struct Link<'a>(&'a Proxy);

impl Backend for Link<'_> {
    type Body = Incoming;

    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Incoming>, ConnectionReset> {
        let mut answer = self.0.client.send(request).await.map_err(|error| unreachable(&error))?;
        *answer.version_mut() = http::Version::default();
        for name in [CONNECTION, TRANSFER_ENCODING] {
            answer.headers_mut().remove(name);
        }
        Ok(answer)
    }

    async fn revisions(&self, request: &Request<Bytes>) -> Option<(u64, u64)> {
        let mut list = Request::new(Bytes::new());
        *list.uri_mut() = format!("{}?limit=1", request.uri().path()).parse().ok()?;
        if let Some(authorization) = request.headers().get(AUTHORIZATION) {
            list.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        let list = self.0.ask(list).await?;
        let now = list.at(&["metadata", "resourceVersion"])?.as_str()?.parse().ok()?;
        Some((1, now))
    }

    /// For clients, a server that is away for a while has restarted.
    async fn restart(&self) {}
}
