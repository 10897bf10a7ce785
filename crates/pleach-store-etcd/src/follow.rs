//! Keeps the cache up to date: an initial list in pages at one revision, then one watch of everything.
//!
//! After a disconnect the watch goes on, on the next member, after the last revision that was applied.
//! If etcd has compacted that revision meanwhile, everything is listed anew and open watches end: their
//! clients list again, as they do after any compaction.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use pleach_store::{Revision, StoreError};
use pleach_store_mvcc::Index;
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    cache::{Cache, item},
    client::{Client, WatchCall},
    codec::Codec,
    error::CallError,
    messages::{
        RangeRequest, WatchCreateRequest, WatchEvent, WatchProgressRequest, WatchRequest, WatchRequestUnion,
        WatchResponse,
    },
};

/// How long the watch may be silent before it is asked for its progress, and then before it is given up.
const SILENCE: Duration = Duration::from_secs(5);
/// How long after a caller began to wait the watch is asked for its progress: most revisions arrive with
/// their events before that.
const PROGRESS_AFTER: Duration = Duration::from_millis(5);
/// How often it is asked again while callers wait.
const PROGRESS_AGAIN: Duration = Duration::from_millis(100);
/// The pause between attempts to watch.
const PAUSE: Duration = Duration::from_millis(100);

/// Why a watch ended.
enum Ended {
    /// History after the cache's revision is gone.
    Compacted,
    /// The connection broke, or the member refused.
    Broken(Arc<str>),
}

/// Lists everything, in pages at one revision.
pub(crate) async fn load(client: &Client, codec: &dyn Codec, page: i64) -> Result<Index, StoreError> {
    'again: loop {
        let (mut key, range_end) = codec.whole();
        let mut index: Option<Index> = None;
        loop {
            let revision = index.as_ref().map_or(0, |index| index.current().0 as i64);
            let request = RangeRequest {
                key: key.clone(),
                range_end: range_end.clone(),
                limit: page,
                revision,
                ..Default::default()
            };
            let response = match client.range(request).await {
                Ok(response) => response,
                Err(error) if error.is_compacted() => continue 'again,
                Err(error) => return Err(error.of_read()),
            };
            let found = Revision(response.header.as_ref().map_or(0, |header| header.revision as u64));
            let index = index.get_or_insert_with(|| Index::new(found));
            if let Some(last) = response.kvs.last() {
                key = [&last.key[..], b"\0"].concat().into();
            }
            let more = response.more;
            response.kvs.into_iter().filter_map(|kv| item(codec, kv)).for_each(|item| index.load(item));
            if !more {
                break;
            }
        }
        if let Some(index) = index {
            return Ok(index);
        }
    }
}

/// Follows etcd until the task is aborted.
pub(crate) async fn run(client: Arc<Client>, cache: Arc<Cache>, page: i64) {
    loop {
        let ended = watch(&client, &cache).await;
        cache.following.store(false, Relaxed);
        match ended {
            Ended::Compacted => {
                tracing::warn!("etcd has compacted history that was not read; everything is listed anew");
                match load(&client, &*cache.codec, page).await {
                    Ok(index) => {
                        cache.reset(index);
                        continue;
                    }
                    Err(error) => tracing::warn!(%error, "cannot list from etcd"),
                }
            }
            Ended::Broken(reason) => tracing::warn!(%reason, "the watch of etcd ended; it is opened again"),
        }
        sleep(PAUSE).await;
    }
}

async fn watch(client: &Client, cache: &Cache) -> Ended {
    let (key, range_end) = cache.codec.whole();
    let start_revision = cache.current().next().0 as i64;
    let create = WatchCreateRequest { key, range_end, start_revision, progress_notify: true, fragment: true };
    let request = WatchRequest { request: Some(WatchRequestUnion::Create(create)) };
    let mut call = match client.watch(request).await {
        Ok(call) => call,
        Err(error) => return Ended::Broken(error.reason()),
    };
    let mut pending = Vec::new();
    let mut asked = None;
    let mut silent_until = Instant::now() + SILENCE;
    let mut progress_at: Option<Instant> = None;
    loop {
        let progress = sleep_until(progress_at.unwrap_or(silent_until));
        tokio::select! {
            response = call.responses.message() => {
                let response = match response {
                    Ok(Some(response)) => response,
                    Ok(None) => return Ended::Broken("the stream ended".into()),
                    Err(status) => {
                        let error = crate::error::classify(status);
                        return if error.is_compacted() { Ended::Compacted } else { Ended::Broken(error.reason()) };
                    }
                };
                (silent_until, asked) = (Instant::now() + SILENCE, None);
                if response.canceled {
                    return canceled(&response);
                }
                if response.created {
                    cache.following.store(true, Relaxed);
                }
                take(cache, response, &mut pending);
            }
            () = cache.waiters.added.notified() => {
                progress_at.get_or_insert(Instant::now() + PROGRESS_AFTER);
            }
            () = progress => {
                let now = Instant::now();
                let waited_for = progress_at.take().is_some() && cache.waiters.any();
                if now >= silent_until {
                    if asked.is_some() {
                        return Ended::Broken("the member does not answer".into());
                    }
                    (asked, silent_until) = (Some(now), now + SILENCE);
                } else if !waited_for {
                    continue;
                }
                if waited_for {
                    progress_at = Some(now + PROGRESS_AGAIN);
                }
                if request_progress(&call).is_err() {
                    return Ended::Broken("the stream does not take requests".into());
                }
            }
        }
    }
}

fn canceled(response: &WatchResponse) -> Ended {
    if response.compact_revision > 0 {
        return Ended::Compacted;
    }
    Ended::Broken(response.cancel_reason.as_str().into())
}

/// A full queue of requests has a progress request in it.
fn request_progress(call: &WatchCall) -> Result<(), CallError> {
    let request = WatchRequest { request: Some(WatchRequestUnion::Progress(WatchProgressRequest {})) };
    match call.requests.try_send(request) {
        Err(tokio::sync::mpsc::error::TrySendError::Closed(_)) => {
            Err(CallError::NoAnswer("the stream is closed".into()))
        }
        _ => Ok(()),
    }
}

/// Applies a response. The events of one revision may come in several fragments: the last revision waits
/// in `pending` until it is whole.
fn take(cache: &Cache, response: WatchResponse, pending: &mut Vec<WatchEvent>) {
    let is_progress = response.events.is_empty() && !response.created && !response.fragment;
    pending.extend(response.events);
    let whole = if response.fragment {
        let revision = |event: &WatchEvent| event.kv.as_ref().map_or(0, |kv| kv.mod_revision);
        let last = pending.last().map_or(0, revision);
        let split = pending.partition_point(|event| revision(event) < last);
        let rest = pending.split_off(split);
        std::mem::replace(pending, rest)
    } else {
        std::mem::take(pending)
    };
    if !whole.is_empty() {
        cache.apply(whole);
    }
    if is_progress && let Some(header) = response.header {
        cache.advance(Revision(header.revision as u64));
    }
}
