//! [`UpstreamClient`]: requests to an API server.

use std::error::Error;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, HOST, HeaderName, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::PathAndQuery;
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use crate::connect::Connector;
use crate::upstream::Upstream;

/// Sends requests to an API server, over HTTP/1.1.
pub struct UpstreamClient {
    client: Client<Connector, Full<Bytes>>,
    upstream: Uri,
    authorization: Option<HeaderValue>,
}

impl UpstreamClient {
    /// A client; its certificate is used for every connection.
    pub fn new(upstream: &Upstream) -> Result<Self, Box<dyn Error>> {
        let authorization = match &upstream.credentials.token {
            Some(token) => Some(HeaderValue::try_from(format!("Bearer {token}"))?),
            None => None,
        };
        let server: Uri = upstream.server.parse().map_err(|error| format!("{}: {error}", upstream.server))?;
        if server.host().is_none() || !matches!(server.scheme_str(), Some("http" | "https")) {
            return Err(format!("{}: an API server has a URL with http or https", upstream.server).into());
        }
        let client = Client::builder(TokioExecutor::new()).build(Connector::new(upstream)?);
        Ok(Self { client, upstream: server, authorization })
    }

    /// Adds the bearer token, if there is one.
    pub fn sign(&self, headers: &mut HeaderMap) {
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
    }

    /// Sends a request for a path of the API. The error says why there is no response.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Incoming>, String> {
        self.send_as_is(self.outgoing(request)?).await
    }

    /// Sends a request that [`Self::outgoing`] made.
    pub(crate) async fn send_as_is(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, String> {
        self.client.request(request).await.map_err(|error| {
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                text = format!("{text}: {error}");
                cause = error.source();
            }
            text
        })
    }

    /// A request as it is sent on.
    pub(crate) fn outgoing(&self, request: Request<Bytes>) -> Result<Request<Full<Bytes>>, String> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let prefix = self.upstream.path().trim_end_matches('/');
        let uri = Uri::builder()
            .scheme(self.upstream.scheme_str().unwrap_or("https"))
            .authority(self.upstream.authority().map_or("", http::uri::Authority::as_str))
            .path_and_query(format!("{prefix}{path}"));
        parts.uri = uri.build().map_err(|error| error.to_string())?;
        parts.version = http::Version::HTTP_11;
        // What is logged and cut into events is not compressed.
        for name in [HOST, ACCEPT_ENCODING, CONNECTION, UPGRADE, TE, TRANSFER_ENCODING] {
            parts.headers.remove(name);
        }
        parts.headers.remove(HeaderName::from_static("keep-alive"));
        Ok(Request::from_parts(parts, Full::from(body)))
    }
}
