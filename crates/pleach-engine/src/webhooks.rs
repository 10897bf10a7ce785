//! Webhooks: those outside who are asked before something is written.
//!
//! The engine opens no sockets: a [`Caller`] is handed to it.

#![allow(dead_code, unused_imports, reason = "the write path does not ask anybody yet")]

mod attributes;
pub mod caller;
mod conditions;
mod hook;
mod rules;
mod shape;
mod validate;

pub(crate) use attributes::{Attributes, Operation};
pub use caller::{Address, Caller, Place};
pub(crate) use conditions::{Verdict, request};
pub(crate) use hook::{FailurePolicy, Hook, ReviewVersion, decode};
pub(crate) use rules::GroupVersion;
pub(crate) use shape::decode_configuration;
pub(crate) use validate::validate;
