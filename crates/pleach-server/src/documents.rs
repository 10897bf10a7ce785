//! Published documents: OpenAPI, made when somebody asks and kept until the catalog changes.

use http::Response;
use pleach_engine::Engine;

use crate::app::Call;
use crate::body::Body;
use crate::respond;

/// Documents made from the catalog.
#[derive(Default)]
pub struct Documents {}

impl Documents {
    /// Serves `/openapi/…`.
    pub fn openapi(&self, _engine: &Engine, _call: &Call, _path: &str) -> Response<Body> {
        respond::page_not_found()
    }
}
