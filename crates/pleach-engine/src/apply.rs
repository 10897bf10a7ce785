//! Server-side apply: the request, and what it does to an object.

use crate::engine::Engine;
use crate::object::Object;
use crate::options::{Body, Context, WriteOptions};
use crate::rejection::Rejection;
use crate::target::Target;

/// What an apply did.
pub struct Applied {
    /// The object as it is now.
    pub object: Object,
    /// Whether it is new.
    pub created: bool,
}

impl Engine {
    /// Applies a configuration.
    pub async fn apply(
        &self,
        _target: &Target,
        _body: &Body,
        _options: &WriteOptions,
        _context: &mut Context,
    ) -> Result<Applied, Rejection> {
        Err(Rejection::internal("server-side apply is not wired yet"))
    }
}
