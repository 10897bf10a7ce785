//! Periodic compaction of etcd, shared by all servers on one cluster, kube-apiserver among them.
//!
//! As kube-apiserver does it: after each interval a server writes the current revision to `compact_rev_key` if
//! that key is as the server last saw it, and then compacts up to the revision that the key had before. So one
//! server compacts, however many try, and history stays readable for one interval at least. A full etcd takes no puts:
//! then every server compacts.

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
pub(crate) struct Seen {
    version: i64,
    pub(crate) revision: i64,
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

pub(crate) async fn once(client: &Client, seen: Seen) -> Result<Seen, CallError> {
    let key = Bytes::from_static(KEY);
    let put = PutRequest { key: key.clone(), value: seen.revision.to_string().into(), lease: 0 };
    let range = RangeRequest { key: key.clone(), ..Default::default() };
    let read = range.clone();
    let txn = TxnRequest {
        compare: vec![Compare::version(key, seen.version)],
        success: vec![RequestOp { request: Some(Request::Put(put)) }],
        failure: vec![RequestOp { request: Some(Request::Range(range)) }],
    };
    let response = match client.txn(txn).await {
        Err(error) if error.is_no_space() => {
            let response = client.range(read).await?;
            compact(client, seen.revision).await?;
            let version = response.kvs.first().map_or(0, |found| found.version);
            return Ok(Seen { version, revision: response.header.map_or(0, |header| header.revision) });
        }
        response => response?,
    };
    let revision = response.header.map_or(0, |header| header.revision);
    if !response.succeeded {
        let found =
            response.responses.into_iter().filter_map(|op| op.range).flat_map(|range| range.kvs).next();
        return Ok(Seen { version: found.map_or(0, |found| found.version), revision });
    }
    compact(client, seen.revision).await?;
    Ok(Seen { version: seen.version + 1, revision })
}

/// Compacts up to a revision, if there is one.
async fn compact(client: &Client, revision: i64) -> Result<(), CallError> {
    if revision == 0 {
        return Ok(());
    }
    match client.compact(CompactionRequest { revision }).await {
        Err(error) if !error.is_compacted() => return Err(error),
        _ => tracing::debug!(revision, "etcd's history was compacted"),
    }
    Ok(())
}
