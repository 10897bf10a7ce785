//! [`InProcess`]: the `tower` service that a [`kube::Client`] sends its requests to.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use pleach_auth::UserInfo;
use pleach_world::WorldBody;
use tower_service::Service;

use crate::server::Server;

type BoxError = Box<dyn Error + Send + Sync>;

/// Answers requests of one user in this process.
#[derive(Clone)]
pub struct InProcess {
    server: Server,
    user: Arc<UserInfo>,
}

impl InProcess {
    pub(crate) fn new(server: Server, user: Arc<UserInfo>) -> Self {
        Self { server, user }
    }
}

impl Service<Request<Body>> for InProcess {
    type Response = Response<WorldBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (world, user) = (self.server.world(), self.user.clone());
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok(world.handle(Request::from_parts(parts, body), Some(&user)).await?)
        })
    }
}
