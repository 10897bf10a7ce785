//! Commits as etcd transactions.

use std::sync::Weak;

use bytes::Bytes;
use pleach_store::{Commit, Expect, Key, Revision, StoreError};

use crate::{
    cache::Cache,
    client::Client,
    leases::Leases,
    messages::{
        Compare, DeleteRangeRequest, PutRequest, RangeRequest, Request, RequestOp, TxnRequest, TxnResponse,
    },
};

/// Sends a commit as one transaction. Returns the revision it happened at.
pub(crate) async fn send(
    client: &Client,
    cache: &Cache,
    commit: &Commit,
    leases: &Leases,
    caller: &Weak<()>,
) -> Result<Revision, StoreError> {
    let time_to_live = commit.ops.iter().filter_map(|op| cache.codec.time_to_live(&op.key)).max();
    let mut is_new_lease = false;
    loop {
        let lease = match time_to_live {
            Some(ttl) => leases.lease(client, ttl).await?,
            None => 0,
        };
        match client.txn_for(caller, transaction(cache, commit, lease)?).await {
            Ok(response) if response.succeeded => {
                return Ok(Revision(response.header.map_or(0, |header| header.revision as u64)));
            }
            Ok(response) => return Err(conflict(cache, commit, response)),
            // The lease was revoked, or etcd restored from a snapshot without it. Nothing was written.
            Err(error) if error.is_lease_gone() && !is_new_lease => {
                is_new_lease = true;
                leases.forget(lease).await;
            }
            Err(error) => return Err(error.of_write()),
        }
    }
}

fn transaction(cache: &Cache, commit: &Commit, lease: i64) -> Result<TxnRequest, StoreError> {
    let mut txn = TxnRequest::default();
    for op in &commit.ops {
        let key = cache.codec.encode_key(&op.key);
        let expected = match op.expect {
            Expect::Anything => None,
            Expect::Absent => Some(0),
            Expect::At(revision) => Some(revision.0 as i64),
        };
        if let Some(revision) = expected {
            txn.compare.push(Compare::mod_revision(key.clone(), revision));
            txn.failure.push(read(key.clone()));
        }
        let request = match &op.value {
            Some(value) => {
                let encoded = cache.codec.encode_value(&op.key, value).map_err(StoreError::damaged)?;
                cache.sent(&op.key, &encoded, value);
                let lease = if cache.codec.time_to_live(&op.key).is_some() { lease } else { 0 };
                Request::Put(PutRequest { key, value: encoded, lease })
            }
            // Only a precondition.
            None if op.expect == Expect::Absent => continue,
            None => Request::DeleteRange(DeleteRangeRequest { key }),
        };
        txn.success.push(RequestOp { request: Some(request) });
    }
    for check in &commit.checks {
        let key = cache.codec.encode_key(&check.key);
        txn.compare.push(Compare::mod_revision(key.clone(), check.revision.0 as i64));
        txn.failure.push(read(key));
    }
    Ok(txn)
}

fn read(key: Bytes) -> RequestOp {
    RequestOp { request: Some(Request::Range(RangeRequest { key, ..Default::default() })) }
}

/// The first precondition that failed, from the values that the transaction read instead.
fn conflict(cache: &Cache, commit: &Commit, response: TxnResponse) -> StoreError {
    let found = response.responses.into_iter().filter_map(|op| op.range).flat_map(|range| range.kvs);
    let found: Vec<_> = found.filter_map(|kv| cache.item(kv)).collect();
    let live = |key: &Key| found.iter().find(|item| item.key == *key).cloned();
    match commit.expectations(live) {
        Err(conflict) => conflict,
        Ok(()) => StoreError::damaged("etcd refused a transaction whose preconditions hold"),
    }
}
