//! Webhooks: admission webhooks as their configurations describe them, and conversion webhooks.
//!
//! Admission calls them in `admission.rs`. The engine opens no sockets: a [`Caller`] is handed to it.

pub(crate) mod answer;
pub mod caller;
pub(crate) mod conditions;
pub mod conversion;
pub(crate) mod excerpt;
pub(crate) mod hook;
mod registry;
pub(crate) mod review;

pub use caller::{Address, CallError, CallFuture, Caller, Place, WebhookPlugin};
pub use excerpt::{EXCERPT, excerpt, excerpt_bytes};
pub use pleach_policy::user_info;
pub(crate) use registry::{NOT_READY, Registry};
