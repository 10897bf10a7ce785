//! Reads from etcd itself: revisions that the cache has dropped, and a cache that does not keep up.

use pleach_store::{Key, Range, RangeQuery, Revision, StoreError, Versioned};

use crate::{cache::Cache, client::Client, error::CallError, messages::RangeRequest};

/// Reads one key.
pub(crate) async fn get(
    client: &Client,
    cache: &Cache,
    key: &Key,
    at: Option<Revision>,
) -> Result<Option<Versioned>, StoreError> {
    let revision = at.map_or(0, |at| at.0 as i64);
    let request = RangeRequest { key: cache.codec.encode_key(key), revision, ..Default::default() };
    let response = client.range(request).await.map_err(|error| explain(cache, at, &error))?;
    Ok(response.kvs.into_iter().filter_map(|kv| cache.item(kv)).find(|item| item.key == *key))
}

/// Reads a range, in pages at one revision. Where etcd's keys are in the same order, no more than the query's limit.
pub(crate) async fn range(
    client: &Client,
    cache: &Cache,
    query: &RangeQuery,
    page: i64,
) -> Result<Range, StoreError> {
    let (mut key, range_end) = cache.codec.span(&query.start, query.end.as_ref());
    let mut revision = query.at.map_or(0, |at| at.0 as i64);
    let mut items: Vec<Versioned> = Vec::new();
    let most = query.limit.filter(|_| cache.codec.is_exact(&query.start, query.end.as_ref()));
    // Keys after the limit.
    let mut beyond = 0;
    if query.is_empty() {
        // Nothing to read, and the revision must be readable all the same.
        let request = RangeRequest { key: key.clone(), revision, count_only: true, ..Default::default() };
        let response = client.range(request).await.map_err(|error| explain(cache, query.at, &error))?;
        revision =
            query.at.map_or_else(|| response.header.map_or(0, |header| header.revision), |at| at.0 as i64);
    }
    while !query.is_empty() {
        let request = RangeRequest {
            key: key.clone(),
            range_end: range_end.clone(),
            limit: most.map_or(page, |most| page.min((most - items.len()).max(1) as i64)),
            revision,
            ..Default::default()
        };
        let at = query.at.or_else(|| (revision > 0).then_some(Revision(revision as u64)));
        let response = client.range(request).await.map_err(|error| explain(cache, at, &error))?;
        if revision == 0 {
            revision = response.header.map_or(0, |header| header.revision);
        }
        let left = (response.count as u64).saturating_sub(response.kvs.len() as u64);
        if let Some(last) = response.kvs.last() {
            key = [&last.key[..], b"\0"].concat().into();
        }
        items.extend(response.kvs.into_iter().filter_map(|kv| cache.item(kv)));
        if !response.more {
            break;
        }
        if most.is_some_and(|most| items.len() >= most) {
            beyond = left;
            break;
        }
    }
    items.retain(|item| item.key >= query.start && query.end.as_ref().is_none_or(|end| item.key < *end));
    // The order of etcd's keys may be another one.
    items.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    let kept = query.limit.unwrap_or(items.len()).min(items.len());
    let remaining = (items.len() - kept) as u64 + beyond;
    items.truncate(kept);
    Ok(Range { items, revision: Revision(revision as u64), more: remaining > 0, remaining })
}

/// Whether a revision can be read; an error if it has been compacted.
pub(crate) async fn check_readable(client: &Client, cache: &Cache, at: Revision) -> Result<(), StoreError> {
    let (key, revision) = (cache.codec.whole().0, at.0 as i64);
    let request = RangeRequest { key, revision, count_only: true, ..Default::default() };
    client.range(request).await.map(drop).map_err(|error| explain(cache, Some(at), &error))
}

fn explain(cache: &Cache, at: Option<Revision>, error: &CallError) -> StoreError {
    match at {
        Some(requested) if error.is_compacted() => {
            StoreError::Compacted { requested, oldest: cache.mvcc.index().oldest() }
        }
        Some(requested) if error.is_future() => {
            StoreError::Future { requested, current: cache.mvcc.index().current() }
        }
        _ => error.of_read(),
    }
}
