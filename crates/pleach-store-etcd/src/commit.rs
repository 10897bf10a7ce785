//! Commits as etcd transactions.

use pleach_store::{Commit, Expect, Key, Revision, StoreError};

use crate::{
    cache::Cache,
    client::Client,
    messages::{
        Compare, DeleteRangeRequest, PutRequest, RangeRequest, Request, RequestOp, TxnRequest, TxnResponse,
    },
};

/// Sends a commit as one transaction. Returns the revision it happened at.
pub(crate) async fn send(
    client: &Client,
    cache: &Cache,
    commit: &Commit,
    lease: i64,
) -> Result<Revision, StoreError> {
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
            let range = RangeRequest { key: key.clone(), ..Default::default() };
            txn.failure.push(RequestOp { request: Some(Request::Range(range)) });
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
        let range = RangeRequest { key, ..Default::default() };
        txn.failure.push(RequestOp { request: Some(Request::Range(range)) });
    }
    let response = client.txn(txn).await.map_err(|error| error.of_write())?;
    if !response.succeeded {
        return Err(conflict(cache, commit, response));
    }
    Ok(Revision(response.header.map_or(0, |header| header.revision as u64)))
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
