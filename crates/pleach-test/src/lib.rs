//! A Kubernetes API server inside a test.
//!
#![doc = include_str!("../README.md")]
//!
//! # Forks and the log of requests
//!
//! [`Server::start`] gives a whole API server in this process, without a port, a file or a child process.
//! [`Server::client`] is an ordinary [`kube::Client`]. Servers share nothing: a test binary can have hundreds, and
//! every test its own.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::api::{Api, PostParams};
//!
//! let server = pleach_test::Server::start().await;
//! let api: Api<ConfigMap> = Api::default_namespaced(server.client());
//! let object = serde_json::from_value(serde_json::json!({"metadata": {"name": "a"}, "data": {"k": "v"}}))?;
//! api.create(&PostParams::default(), &object).await?;
//!
//! let fork = server.fork().await; // everything is in it, and nothing that is written there is seen here
//! let there: Api<ConfigMap> = Api::default_namespaced(fork.client());
//! there.delete("a", &Default::default()).await?;
//! assert!(there.get_opt("a").await?.is_none() && api.get_opt("a").await?.is_some());
//! assert_eq!(server.requests().iter().filter(|request| request.is_write()).count(), 1);
//! # Ok(()) }
//! ```

mod assertions;
mod listen;
mod server;
mod service;

pub use listen::Listener;
pub use pleach_world::{
    Action, Delivery, LoggedRequest, RequestQuery, Rule, RuleError, Selector, TestClock,
    WorldOptions as Options,
};
pub use server::{Server, Snapshot};
pub use service::InProcess;
