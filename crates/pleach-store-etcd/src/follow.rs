//! Keeps the cache up to date: an initial list in pages at one revision, then one watch of everything. The first
//! list is of an older revision, so that the cache begins with some history.
//!
//! The watch also says how far it is when nothing changes (progress notifications), which is how the cache knows
//! that it has reached a revision of a key outside the store's prefix. Older versions of etcd may say so before
//! they have sent all events: of them all keys are watched, so that every revision comes as an event.
//!
//! After a disconnect the watch goes on, on the next member, after the last revision that was applied.
//! If etcd has compacted that revision meanwhile, everything is listed anew and open watches end: their
//! clients list again, as they do after any compaction.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use bytes::Bytes;
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
    version::Version,
};

/// As start and end of a range: all keys.
pub(crate) const EVERYTHING: &[u8] = b"\0";

/// How long the watch may be silent before it is asked for its progress.
const SILENCE: Duration = Duration::from_secs(5);
/// How long it may be silent after it was asked.
const ANSWER: Duration = Duration::from_secs(3);
/// How long after a caller began to wait the watch is asked for its progress: most revisions arrive with
/// their events before that.
const PROGRESS_AFTER: Duration = Duration::from_millis(5);
/// How often it is asked again while callers wait.
pub(crate) const PROGRESS_AGAIN: Duration = Duration::from_millis(100);
/// How many revisions of history a cache begins with, at most.
const REPLAYED: i64 = 10_000;
/// The pause between attempts to watch.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// Why a watch ended.
enum Ended {
    /// History after the cache's revision is gone.
    Compacted,
    /// The connection broke, or the member refused.
    Broken(Arc<str>),
    /// The member does not answer.
    Silent,
}

/// Lists everything as it was some time ago, so that the watch brings recent history with it: clients of another server
/// can resume their watches here.
pub(crate) async fn load_with_history(
    client: &Client,
    codec: &dyn Codec,
    page: i64,
) -> Result<Index, StoreError> {
    let now = client.revision(codec.whole().0).await.map_err(|error| error.of_read())?;
    let from = oldest_readable(client, codec, now).await.map_err(|error| error.of_read())?;
    match list(client, codec, page, from).await {
        Err(error) if error.is_compacted() => load(client, codec, page).await,
        listed => listed.map_err(|error| error.of_read()),
    }
}

/// Lists everything as it is now.
async fn load(client: &Client, codec: &dyn Codec, page: i64) -> Result<Index, StoreError> {
    loop {
        let now = client.revision(codec.whole().0).await.map_err(|error| error.of_read())?;
        match list(client, codec, page, now).await {
            Err(error) if error.is_compacted() => {}
            listed => return listed.map_err(|error| error.of_read()),
        }
    }
}

/// The oldest of the last revisions that can be read: those before may be compacted.
async fn oldest_readable(client: &Client, codec: &dyn Codec, now: i64) -> Result<i64, CallError> {
    let is_readable = async |revision| {
        let request = RangeRequest { key: codec.whole().0, revision, count_only: true, ..Default::default() };
        match client.range(request).await {
            Err(error) if error.is_compacted() => Ok(false),
            answer => answer.map(|_| true),
        }
    };
    let (mut compacted, mut readable) = (now.saturating_sub(REPLAYED).max(1), now);
    if is_readable(compacted).await? {
        return Ok(compacted);
    }
    while readable - compacted > 1 {
        let middle = compacted + (readable - compacted) / 2;
        if is_readable(middle).await? { readable = middle } else { compacted = middle }
    }
    Ok(readable)
}

/// Lists everything as it was at a revision, in pages.
async fn list(client: &Client, codec: &dyn Codec, page: i64, revision: i64) -> Result<Index, CallError> {
    let mut index = Index::new(Revision(revision as u64));
    let (mut key, range_end) = codec.whole();
    loop {
        let request = RangeRequest {
            key: key.clone(),
            range_end: range_end.clone(),
            limit: page,
            revision,
            ..Default::default()
        };
        let response = client.range(request).await?;
        if let Some(last) = response.kvs.last() {
            key = [&last.key[..], b"\0"].concat().into();
        }
        response.kvs.into_iter().filter_map(|kv| item(codec, kv)).for_each(|item| index.load(item));
        if !response.more {
            return Ok(index);
        }
    }
}

/// Follows etcd until the task is aborted.
pub(crate) async fn run(client: Arc<Client>, cache: Arc<Cache>, page: i64) {
    loop {
        let ended = watch(&client, &cache).await;
        client.metrics.following.store(false, Relaxed);
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
            Ended::Silent => {
                tracing::warn!("etcd does not answer the watch; reopening it on another member");
                continue;
            }
        }
        sleep(PAUSE).await;
    }
}

async fn watch(client: &Client, cache: &Cache) -> Ended {
    let start_revision = cache.current().next().0 as i64;
    let create = |version: Version| {
        let everything = || (Bytes::from_static(EVERYTHING), Bytes::from_static(EVERYTHING));
        let (key, range_end) =
            if version.has_reliable_progress() { cache.codec.whole() } else { everything() };
        let create = WatchCreateRequest {
            key,
            range_end,
            start_revision,
            progress_notify: true,
            fragment: true,
            ..Default::default()
        };
        WatchRequest { request: Some(WatchRequestUnion::Create(create)) }
    };
    let mut call = match client.watch(create).await {
        Ok(call) => call,
        Err(error) => return Ended::Broken(error.reason()),
    };
    let ended = follow(client, &mut call, cache).await;
    if matches!(ended, Ended::Silent) {
        client.has_failed(call.member);
    }
    ended
}

/// Applies events until the stream ends.
async fn follow(client: &Client, call: &mut WatchCall, cache: &Cache) -> Ended {
    let mut pending = Vec::new();
    // When something came last, and when the watch was asked for its progress since then.
    let (mut heard, mut asked) = (Instant::now(), None::<Instant>);
    // When it is to be asked for callers that wait.
    let mut progress_at: Option<Instant> = None;
    loop {
        let quiet_until = asked.map_or(heard + SILENCE, |asked| asked + ANSWER);
        let wake = progress_at.map_or(quiet_until, |at| at.min(quiet_until));
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
                (heard, asked) = (Instant::now(), None);
                if response.canceled {
                    return canceled(&response);
                }
                if response.created {
                    client.metrics.following.store(true, Relaxed);
                }
                take(cache, response, &mut pending, call.version);
            }
            () = cache.waiters.added.notified() => {
                progress_at.get_or_insert(Instant::now() + PROGRESS_AFTER);
            }
            () = sleep_until(wake) => {
                let now = Instant::now();
                let is_quiet = now >= quiet_until;
                if is_quiet && asked.is_some() {
                    return Ended::Silent;
                }
                let waited_for = progress_at.is_some_and(|at| now >= at) && {
                    progress_at = None;
                    cache.waiters.any()
                };
                if waited_for {
                    progress_at = Some(now + PROGRESS_AGAIN);
                }
                if waited_for || is_quiet {
                    asked.get_or_insert(now);
                    if request_progress(call).is_err() {
                        return Ended::Broken("the stream does not take requests".into());
                    }
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
pub(crate) fn request_progress(call: &WatchCall) -> Result<(), CallError> {
    let request = WatchRequest { request: Some(WatchRequestUnion::Progress(WatchProgressRequest {})) };
    match call.requests.try_send(request) {
        Err(tokio::sync::mpsc::error::TrySendError::Closed(_)) => {
            Err(CallError::NoAnswer("the stream is closed".into()))
        }
        _ => Ok(()),
    }
}

/// Applies a response.
fn take(cache: &Cache, response: WatchResponse, pending: &mut Vec<WatchEvent>, version: Version) {
    let progress = progress(&response, version);
    let whole = whole_revisions(response, pending);
    if !whole.is_empty() {
        cache.apply(whole);
    }
    if let Some(revision) = progress {
        cache.advance(revision);
    }
}

/// The revision of a progress notification.
pub(crate) fn progress(response: &WatchResponse, version: Version) -> Option<Revision> {
    let is_progress = response.events.is_empty()
        && !response.created
        && !response.fragment
        && version.has_reliable_progress();
    response.header.as_ref().filter(|_| is_progress).map(|header| Revision(header.revision as u64))
}

/// The events that are complete. Those of one revision may come in several fragments: the last revision waits in
/// `pending` until it is whole.
pub(crate) fn whole_revisions(response: WatchResponse, pending: &mut Vec<WatchEvent>) -> Vec<WatchEvent> {
    pending.extend(response.events);
    if response.fragment {
        let revision = |event: &WatchEvent| event.kv.as_ref().map_or(0, |kv| kv.mod_revision);
        let last = pending.last().map_or(0, revision);
        let split = pending.partition_point(|event| revision(event) < last);
        let rest = pending.split_off(split);
        std::mem::replace(pending, rest)
    } else {
        std::mem::take(pending)
    }
}
