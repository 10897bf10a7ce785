//! Periodic compaction of etcd, shared by all servers on one cluster, kube-apiserver among them.
//!
//! As kube-apiserver does it: after each interval a server writes the current revision to `compact_rev_key` if
//! that key is as the server last saw it, and then compacts up to the revision that the key had before. So one
//! server compacts, however many try, and history stays readable for one interval at least.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::sleep;

use crate::{
    client::Client,
    error::CallError,
    messages::{CompactionRequest, Compare, PutRequest, RangeRequest, Request, RequestOp, TxnRequest},
};

const KEY: &[u8] = b"compact_rev_key";

/// The last seen state of the key: how often it was written, and the cluster's revision then.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    version: i64,
    revision: i64,
}

/// Compacts after every interval, until the task ends.
pub(crate) async fn run(client: Arc<Client>, interval: Duration) {
    let mut seen = Seen::default();
    loop {
        sleep(interval).await;
        match once(&client, seen).await {
            Ok(now) => seen = now,
            Err(error) => tracing::warn!(reason = %error.reason(), "etcd was not compacted"),
        }
    }
}

async fn once(client: &Client, seen: Seen) -> Result<Seen, CallError> {
    let key = Bytes::from_static(KEY);
    let put = PutRequest { key: key.clone(), value: seen.revision.to_string().into(), lease: 0 };
    let range = RangeRequest { key: key.clone(), ..Default::default() };
    let txn = TxnRequest {
        compare: vec![Compare::version(key, seen.version)],
        success: vec![RequestOp { request: Some(Request::Put(put)) }],
        failure: vec![RequestOp { request: Some(Request::Range(range)) }],
    };
    let response = client.txn(txn).await?;
    let revision = response.header.map_or(0, |header| header.revision);
    if !response.succeeded {
        let found =
            response.responses.into_iter().filter_map(|op| op.range).flat_map(|range| range.kvs).next();
        return Ok(Seen { version: found.map_or(0, |found| found.version), revision });
    }
    if seen.revision > 0 {
        match client.compact(CompactionRequest { revision: seen.revision }).await {
            Err(error) if !error.is_compacted() => return Err(error),
            _ => tracing::debug!(revision = seen.revision, "etcd's history was compacted"),
        }
    }
    Ok(Seen { version: seen.version + 1, revision })
}
