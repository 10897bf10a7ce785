//! Webhooks: those outside who are asked before something is written, and those who convert.
//!
//! The engine opens no sockets: a [`Caller`] is handed to it.

mod admit;
mod answer;
mod attributes;
pub mod caller;
mod conditions;
pub mod conversion;
mod excerpt;
mod hook;
mod registry;
mod review;
mod rules;

pub(crate) use admit::Question;
pub(crate) use attributes::Operation;
pub use caller::{Address, Answered, CallError, Caller, Place};
pub use conditions::user_info;
pub use excerpt::{EXCERPT, excerpt, excerpt_bytes};
pub(crate) use registry::Registry;
