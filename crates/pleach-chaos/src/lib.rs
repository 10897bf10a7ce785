//! A proxy in front of any API server, with the fault rules and the log of requests that test servers have.
//!
//! [`Upstream`] is the API server: its address, CA and credentials, given one by one or by a kubeconfig. [`Proxy`]
//! sends requests there as `pleach_world::Script` lets it. Which user a request is of, the API server says once per
//! credentials (`SelfSubjectReview`).

mod client;
mod connect;
mod proxy;
mod upstream;

pub use client::UpstreamClient;
pub use proxy::Proxy;
pub use upstream::{Credentials, ExecPlugin, Upstream};
