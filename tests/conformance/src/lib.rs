//! Plays recorded conversations against a server and says what differs.
//!
//! A case is one JSON file: requests, and what a real kube-apiserver answered. What no two servers
//! share (uids, times, resource versions, continue tokens) is replaced by placeholders on both sides;
//! causes and conditions may come in any order; everything else is compared exactly.

pub mod behaviours;
mod case;
mod compare;
pub mod etcd;
mod hooks;
mod http;
pub mod mutate;
pub mod protobuf;
mod server;
pub mod session;

pub use case::{Case, Outcome};
pub use hooks::{HOOK_CA, HookServer, Reply};
pub use http::{Connection, Endpoint, trusting};
pub use server::{AS_RECORDED, TestServer};
