//! Options of the connection to etcd.

use std::{fmt, sync::Arc, time::Duration};

use pleach_store::VALUE_LIMIT;

/// A client's certificate and key, as PEM, or why they are not to be had.
pub type ReadIdentity = dyn Fn() -> Result<(String, String), String> + Send + Sync;

/// Where etcd is, and how it is used.
#[derive(Clone)]
pub struct Options {
    /// The client URLs of the members.
    pub servers: Vec<String>,
    /// The CAs that the members' certificates are checked with, as PEM; the system's if there are none.
    pub ca: Option<String>,
    /// Reads the client's certificate and key, for every connection anew: they may be replaced before they expire.
    pub identity: Option<Arc<ReadIdentity>>,
    /// How long a call may take altogether. More than what requests are given: they end first.
    pub call_timeout: Duration,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long a read waits for the cache before it reads from etcd.
    pub cache_timeout: Duration,
    /// The largest value of a put.
    pub value_bytes: u64,
    /// Approximate memory limit of the history in the cache.
    pub history_bytes: u64,
    /// How many commits of history the cache keeps.
    pub history_commits: u64,
    /// How many keys a page of the initial list has.
    pub page: i64,
}

impl Options {
    /// The defaults, for these members.
    pub fn new(servers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            servers: servers.into_iter().map(Into::into).collect(),
            ca: None,
            identity: None,
            call_timeout: Duration::from_secs(65),
            connect_timeout: Duration::from_secs(2),
            cache_timeout: Duration::from_secs(3),
            value_bytes: VALUE_LIMIT,
            history_bytes: 64 << 20,
            history_commits: 200_000,
            page: 500,
        }
    }
}

/// Without the key.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("servers", &self.servers).finish_non_exhaustive()
    }
}
