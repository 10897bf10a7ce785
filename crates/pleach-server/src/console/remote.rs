//! [`RemoteConsole`]: the console in front of another API server, with the credentials of a kubeconfig.
//!
//! Its only sessions are those of its sign-in links: a browser with such a link acts as the user of the kubeconfig. Of the page's
//! headers only those about media types are sent on, so that a page can neither impersonate nor upgrade. Read-only means:
//! reads, and reviews of access, which write nothing; and no subresource that opens a way into nodes, pods or services.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, USER_AGENT, WARNING};
use http::{Method, Request, Response};
use hyper::body::Incoming;
use pleach_auth::UserInfo;
use pleach_go::url::unescape_path;

use super::api::{AGENT, Api, api_path};
use super::sessions::Grant;
use super::{Certificate, Console};
use crate::body::Body;
use crate::cpu::{CpuGuard, CpuLanes};
use crate::outcome::Outcome;
use crate::request_body::Unread;
use crate::respond;

/// Another API server.
pub trait RemoteApi: Send + Sync + 'static {
    /// Sends a request with the credentials of the kubeconfig. The error says why there is no response.
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Incoming>, String>> + Send + '_>>;
}

/// The console in front of another API server.
pub struct RemoteConsole {
    console: Console,
    api: Box<dyn RemoteApi>,
    /// The user of the kubeconfig, as the API server knows it.
    user: Arc<UserInfo>,
    /// The URL of the API server.
    cluster: String,
    is_read_only: bool,
    lanes: Arc<CpuLanes>,
}

impl RemoteConsole {
    /// A console for an API server at a URL, whose requests are those of `user`.
    pub fn new(
        console: Console,
        api: Box<dyn RemoteApi>,
        user: Arc<UserInfo>,
        cluster: String,
        is_read_only: bool,
    ) -> Self {
        Self { console, api, user, cluster, is_read_only, lanes: Arc::new(CpuLanes::of_this_machine()) }
    }

    /// The fragment of a link that signs in once, within a few minutes.
    pub fn sign_in_fragment(&self) -> String {
        self.console.sign_in_fragment(self.user.clone())
    }

    /// Answers a request. Paths other than the console's lead to it.
    pub async fn handle(&self, request: Request<Incoming>) -> Response<Body> {
        if request.uri().path() == "/" {
            return super::redirect();
        }
        if !Console::is_at(request.uri().path()) {
            return respond::page_not_found();
        }
        self.console.handle_for(self, request).await
    }
}

impl Api for RemoteConsole {
    /// Tokens do not sign in: the kubeconfig's credentials are used for everything.
    async fn authenticate(&self, _: &str) -> Option<Arc<UserInfo>> {
        None
    }

    fn certificate(&self) -> Certificate<'_> {
        None
    }

    async fn pass_on(&self, request: Request<Incoming>, _: &Grant) -> Response<Body> {
        let Some(uri) = api_path(request.uri()) else { return respond::page_not_found() };
        if self.is_read_only && !is_read(request.method(), uri.path()) {
            return respond::text(Outcome::ReadOnly, "this console is read-only: see --writable\n");
        }
        let (parts, body) = request.into_parts();
        let Ok(body) = Unread::new(body).read().await else {
            return respond::text(Outcome::BadPath, "the body cannot be read\n");
        };
        let mut sent = Request::new(body);
        (*sent.method_mut(), *sent.uri_mut()) = (parts.method, uri);
        for name in [ACCEPT, CONTENT_TYPE] {
            if let Some(value) = parts.headers.get(&name) {
                sent.headers_mut().insert(name, value.clone());
            }
        }
        sent.headers_mut().insert(USER_AGENT, AGENT);
        match self.api.send(sent).await {
            Ok(response) => relayed(response),
            Err(why) => {
                respond::text(Outcome::Unreachable, format!("{} does not answer: {why}\n", self.cluster))
            }
        }
    }

    fn cpu(&self) -> Arc<CpuGuard> {
        Arc::new(CpuGuard::new(self.lanes.clone(), None))
    }

    fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    fn cluster(&self) -> Option<&str> {
        Some(&self.cluster)
    }
}

/// A response of the other API server. What it says about connections, cookies and places is not for the page.
fn relayed(response: Response<Incoming>) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let mut out = Response::new(Body::relayed(body));
    *out.status_mut() = parts.status;
    let mut headers = HeaderMap::new();
    for name in [CONTENT_TYPE, WARNING] {
        for value in parts.headers.get_all(&name) {
            headers.append(name.clone(), value.clone());
        }
    }
    *out.headers_mut() = headers;
    out
}

/// Subresources whose GET reaches a node or a Pod behind the API server.
const TUNNELS: [&str; 4] = ["proxy", "exec", "attach", "portforward"];

/// Reviews: created, but never kept.
const REVIEWS: [&str; 5] = [
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    "/apis/authentication.k8s.io/v1/tokenreviews",
];

/// Whether a request changes nothing.
fn is_read(method: &Method, path: &str) -> bool {
    match *method {
        // An API server routes by the path that this decodes to, and refuses one that does not.
        Method::GET | Method::HEAD => unescape_path(path).is_ok_and(|path| {
            let path = String::from_utf8_lossy(&path);
            subresource(&path).is_none_or(|found| !TUNNELS.contains(&found))
        }),
        Method::POST => REVIEWS.contains(&path),
        _ => false,
    }
}

/// The subresource of a path.
fn subresource(path: &str) -> Option<&str> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match parts.next()? {
        "api" => parts.next()?,
        "apis" => parts.nth(1)?,
        _ => return None,
    };
    let parts: Vec<&str> = parts.collect();
    match parts[..] {
        ["namespaces", _, _, _] => None,
        ["namespaces", _, _, _, subresource, ..] | [_, _, subresource, ..] => Some(subresource),
        _ => None,
    }
}

impl std::fmt::Debug for RemoteConsole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteConsole").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_reviews_change_nothing() {
        for (method, path, want) in [
            ("GET", "/api/v1/namespaces/a/pods", true),
            ("GET", "/api/v1/namespaces/a/pods/proxy", true),
            ("GET", "/api/v1/namespaces/a/pods/b/log", true),
            ("GET", "/api/v1/namespaces/a/pods/b/exec", false),
            ("GET", "/api/v1/namespaces/a/services/b/proxy/x", false),
            ("GET", "/api/v1/namespaces/a/services/b/%70roxy", false),
            ("GET", "/api/v1/namespaces/a/pods%2Fb%2Fexec", false),
            ("GET", "//api/v1//nodes/b/proxy/metrics", false),
            ("GET", "/api/v1/namespaces/proxy", true),
            ("GET", "/apis/example.com/v1/namespaces/a/widgets/b/status", true),
            ("HEAD", "/metrics", true),
            ("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", true),
            ("POST", "/api/v1/namespaces/a/serviceaccounts/b/token", false),
            ("POST", "/api/v1/namespaces", false),
            ("PATCH", "/api/v1/namespaces/a", false),
            ("DELETE", "/api/v1/namespaces/a", false),
            ("OPTIONS", "/api", false),
        ] {
            assert_eq!(is_read(&method.parse().unwrap(), path), want, "{method} {path}");
        }
    }
}
