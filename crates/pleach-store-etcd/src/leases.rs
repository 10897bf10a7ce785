//! Leases of keys that expire: one lease for many keys, as kube-apiserver does it.
//!
//! A lease lives a minute longer than its keys should (five percent of their time to live, if that is
//! less), and is used for new keys that long. So a key expires after its time to live or a little later.

use std::time::Duration;

use pleach_store::StoreError;
use tokio::{sync::Mutex, time::Instant};

use crate::{client::Client, messages::LeaseGrantRequest};

/// How many keys share a lease.
const KEYS: u32 = 1_000;

/// The lease that new keys get.
#[derive(Debug, Default)]
pub(crate) struct Leases(Mutex<Option<Lease>>);

#[derive(Debug)]
struct Lease {
    id: i64,
    ttl: Duration,
    usable_until: Instant,
    keys: u32,
}

impl Leases {
    /// A lease that lasts at least `ttl` from now.
    pub(crate) async fn lease(&self, client: &Client, ttl: Duration) -> Result<i64, StoreError> {
        let mut current = self.0.lock().await;
        if let Some(lease) = &mut *current
            && lease.ttl == ttl
            && lease.keys < KEYS
            && Instant::now() < lease.usable_until
        {
            lease.keys += 1;
            return Ok(lease.id);
        }
        let reuse = Duration::from_mins(1).min(ttl / 20);
        let seconds = (ttl + reuse).as_secs_f64().ceil() as i64;
        let before = Instant::now();
        let granted = client.grant(LeaseGrantRequest { ttl: seconds }).await;
        let granted = granted.map_err(|error| StoreError::Unavailable { reason: error.reason() })?;
        if !granted.error.is_empty() {
            return Err(StoreError::Unavailable { reason: granted.error.into() });
        }
        *current = Some(Lease { id: granted.id, ttl, usable_until: before + reuse, keys: 1 });
        Ok(granted.id)
    }

    /// Forgets a lease that etcd does not know.
    pub(crate) async fn forget(&self, id: i64) {
        self.0.lock().await.take_if(|lease| lease.id == id);
    }
}
