//! Leader election by a key with a lease: of all processes that ask for it, one holds it.
//!
//! The key's lease is renewed three times within its life, which a full etcd allows as well: it takes no puts and grants
//! no leases. A holder that cannot do so stops to lead before the lease can have expired, by its own clock; one that
//! ends orderly deletes the key.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout_at},
};

use crate::{
    client::Client,
    error::CallError,
    messages::{
        Compare, DeleteRangeRequest, LeaseGrantRequest, PutRequest, RangeRequest, Request, RequestOp,
        TxnRequest,
    },
};

/// How long a leader that is gone is still taken for one.
const TTL: Duration = Duration::from_secs(6);
/// How often the lease is renewed, or the key is looked at.
const RENEW: Duration = Duration::from_secs(2);

/// An election, as one process sees it.
#[derive(Debug)]
pub struct Election {
    client: Arc<Client>,
    key: Bytes,
    id: Bytes,
    leads: watch::Sender<bool>,
    resigned: AtomicBool,
}

impl Election {
    pub(crate) fn new(client: Arc<Client>, key: impl Into<Bytes>, id: impl Into<Bytes>) -> Self {
        Self {
            client,
            key: key.into(),
            id: id.into(),
            leads: watch::Sender::new(false),
            resigned: AtomicBool::new(false),
        }
    }

    /// Whether this process leads, as it changes.
    pub fn leads(&self) -> watch::Receiver<bool> {
        self.leads.subscribe()
    }

    /// Stands for election until it resigns.
    pub async fn run(self: Arc<Self>) {
        // The time until which no other server can become the leader.
        let mut held_until = Instant::now();
        while !self.resigned.load(Relaxed) {
            let began = Instant::now();
            let deadline = if *self.leads.borrow() { held_until } else { began + TTL };
            match timeout_at(deadline, self.hold()).await {
                Ok(Ok(true)) => {
                    held_until = began + TTL;
                    self.set(true);
                }
                Ok(Ok(false)) => self.set(false),
                Ok(Err(error)) => {
                    tracing::debug!(reason = %error.reason(), "leader election: etcd did not answer");
                }
                Err(_) => {}
            }
            if Instant::now() + RENEW >= held_until {
                self.set(false);
            }
            sleep(RENEW).await;
        }
    }

    fn set(&self, leads: bool) {
        self.leads.send_if_modified(|led| std::mem::replace(led, leads) != leads);
    }

    /// Renews the lease of the key if it is held, and writes the key if it is free; whether it is held now.
    pub(crate) async fn hold(&self) -> Result<bool, CallError> {
        let key = || self.key.clone();
        let found = self.client.range(RangeRequest { key: key(), ..Default::default() }).await?;
        if let Some(found) = found.kvs.first() {
            if found.value != self.id {
                return Ok(false);
            }
            // A lease that lives keeps its key.
            if found.lease != 0 && self.client.keep_alive(found.lease).await? > 0 {
                return Ok(true);
            }
        }
        let lease = self.client.grant(LeaseGrantRequest { ttl: TTL.as_secs() as i64 }).await?.id;
        let put = PutRequest { key: key(), value: self.id.clone(), lease };
        let acquire = TxnRequest {
            compare: vec![Compare::mod_revision(
                key(),
                found.kvs.first().map_or(0, |found| found.mod_revision),
            )],
            success: vec![RequestOp { request: Some(Request::Put(put)) }],
            failure: vec![],
        };
        Ok(self.client.txn(acquire).await?.succeeded)
    }

    /// Gives the key back, so that another process leads at once.
    pub async fn resign(&self) {
        self.resigned.store(true, Relaxed);
        self.set(false);
        let delete = DeleteRangeRequest { key: self.key.clone() };
        let txn = TxnRequest {
            compare: vec![Compare::value(self.key.clone(), self.id.clone())],
            success: vec![RequestOp { request: Some(Request::DeleteRange(delete)) }],
            failure: vec![],
        };
        let _ = timeout_at(Instant::now() + RENEW, self.client.txn(txn)).await;
    }
}
