//! Webhooks: those outside who are asked before something is written, and those who convert.
//!
//! The engine opens no sockets: a [`Caller`] is handed to it.

mod attributes;
pub mod caller;
pub mod conversion;
mod review;

pub(crate) use attributes::{Attributes, Operation};
pub use caller::{Address, Caller, Place};
