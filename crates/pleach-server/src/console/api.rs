//! [`Api`]: the API behind the console, and the users that it knows.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::header::{AUTHORIZATION, COOKIE, HeaderValue, USER_AGENT};
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use pleach_auth::{Credentials, UserInfo};
use pleach_work::{Meter, run_metered};
use tokio::time::timeout;

use super::Certificate;
use super::sessions::Grant;
use crate::app::{AUTHENTICATION, App, REQUEST_STEPS};
use crate::body::Body;
use crate::cpu::CpuGuard;
use crate::respond;

/// The name under which the page's requests appear in logs, and as the manager of fields.
pub(super) const AGENT: HeaderValue = HeaderValue::from_static("pleach-console");

/// The API behind the console, for one request.
pub(super) trait Api: Sync {
    /// The user of a bearer token.
    fn authenticate(&self, token: &str) -> impl Future<Output = Option<Arc<UserInfo>>> + Send;

    /// The user of the connection's certificate.
    fn certificate(&self) -> Certificate<'_>;

    /// Passes a request below `/console/k8s` on, as the user of a session.
    fn pass_on(
        &self,
        request: Request<Incoming>,
        grant: &Grant,
    ) -> impl Future<Output = Response<Body>> + Send;

    /// The supervisor of long computations.
    fn cpu(&self) -> Arc<CpuGuard>;

    /// Whether nothing can be written.
    fn is_read_only(&self) -> bool;

    /// The API server, if it is not this one.
    fn cluster(&self) -> Option<&str>;
}

/// The path and query of the API for a request below `/console/k8s`.
pub(super) fn api_path(uri: &Uri) -> Option<Uri> {
    let below = uri.path_and_query().map_or("", PathAndQuery::as_str);
    below.strip_prefix("/console/k8s").unwrap_or_default().parse().ok()
}

/// The server that serves the console.
pub(super) struct ThisServer<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) certificate: Certificate<'a>,
    pub(super) peer: Option<SocketAddr>,
    pub(super) cpu: Arc<CpuGuard>,
}

impl Api for ThisServer<'_> {
    async fn authenticate(&self, token: &str) -> Option<Arc<UserInfo>> {
        let user = self.app.authenticate(Credentials { token: Some(token), ..Credentials::default() });
        let meter = Meter::new(REQUEST_STEPS).deadline(Instant::now() + AUTHENTICATION);
        let user = run_metered(meter.supervisor(self.cpu.clone()), user);
        timeout(AUTHENTICATION, user).await.ok()?.ok()?.ok()
    }

    fn certificate(&self) -> Certificate<'_> {
        self.certificate
    }

    async fn pass_on(&self, mut request: Request<Incoming>, grant: &Grant) -> Response<Body> {
        let Some(uri) = api_path(request.uri()) else { return respond::page_not_found() };
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.remove(COOKIE);
        headers.remove(AUTHORIZATION);
        headers.insert(USER_AGENT, AGENT);
        match grant {
            Grant::User(user) => self.app.handle(request, Some(Ok(user)), self.peer, self.cpu.clone()).await,
            Grant::Token(token) => {
                if let Ok(value) = HeaderValue::from_str(&format!("Bearer {token}")) {
                    headers.insert(AUTHORIZATION, value);
                }
                self.app.handle(request, None, self.peer, self.cpu.clone()).await
            }
        }
    }

    fn cpu(&self) -> Arc<CpuGuard> {
        self.cpu.clone()
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn cluster(&self) -> Option<&str> {
        None
    }
}
