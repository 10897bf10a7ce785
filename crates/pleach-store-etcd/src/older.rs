//! Watches of revisions that the cache has dropped: a watch of etcd from there on, until the cache's history is reached.
//!
//! Only such watches are watches of etcd of their own, and only until then. A watch whose client was so slow that
//! the cache has dropped events meanwhile goes on in the same way.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use pleach_store::{Batch, Event, Key, Revision, StoreError, WatchItem, WatchStream};
use pleach_store_mvcc::MvccWatchStream;
use tokio::{
    runtime::Handle,
    sync::mpsc,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    cache::Cache,
    client::{Client, WatchCall},
    follow::{EVERYTHING, PAUSE, PROGRESS_AGAIN, progress, request_progress, whole_revisions},
    messages::{WatchCreateRequest, WatchEvent, WatchRequest, WatchRequestUnion},
    version::Version,
};

/// How many commits wait for the reader of a watch.
const AHEAD: usize = 64;

/// A watch: of the cache, and of etcd as long as it is older than the cache.
pub(crate) struct EtcdWatchStream {
    client: Arc<Client>,
    cache: Arc<Cache>,
    runtime: Handle,
    prefix: Key,
    source: Source,
    /// Everything up to here was delivered by etcd's watch, or is not under the prefix.
    seen: Revision,
}

enum Source {
    Cache(MvccWatchStream),
    Etcd(mpsc::Receiver<Result<WatchItem, StoreError>>),
}

impl EtcdWatchStream {
    pub(crate) fn new(
        client: Arc<Client>,
        cache: Arc<Cache>,
        runtime: Handle,
        prefix: Key,
        after: Revision,
    ) -> Self {
        let source = Source::Cache(MvccWatchStream::new(Arc::clone(&cache.mvcc), prefix.clone(), after));
        Self { client, cache, runtime, prefix, source, seen: after }
    }

    fn read_etcd(&self) -> Source {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let reader = Reader {
            client: Arc::clone(&self.client),
            cache: Arc::clone(&self.cache),
            prefix: self.prefix.clone(),
            sender,
        };
        self.runtime.spawn(reader.run(self.seen));
        Source::Etcd(receiver)
    }
}

impl WatchStream for EtcdWatchStream {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<WatchItem, StoreError>>> {
        loop {
            match &mut self.source {
                Source::Cache(cached) => match ready!(cached.poll_next(cx)) {
                    Some(Err(StoreError::WatchCompacted)) => {
                        self.seen = cached.progress();
                        self.source = self.read_etcd();
                    }
                    item => return Poll::Ready(item),
                },
                Source::Etcd(items) => match ready!(items.poll_recv(cx)) {
                    Some(Ok(WatchItem::Events(batch))) => {
                        self.seen = batch.revision();
                        return Poll::Ready(Some(Ok(WatchItem::Events(batch))));
                    }
                    // The last item.
                    Some(Ok(WatchItem::Progress(revision))) => {
                        self.seen = self.seen.max(revision);
                        let mvcc = Arc::clone(&self.cache.mvcc);
                        self.source =
                            Source::Cache(MvccWatchStream::new(mvcc, self.prefix.clone(), self.seen));
                    }
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None => return Poll::Ready(Some(Err(StoreError::Closed))),
                },
            }
        }
    }

    fn progress(&self) -> Revision {
        match &self.source {
            Source::Cache(cached) => cached.progress(),
            Source::Etcd(_) => self.seen,
        }
    }
}

/// Reads etcd's history until the cache has what follows.
struct Reader {
    client: Arc<Client>,
    cache: Arc<Cache>,
    prefix: Key,
    sender: mpsc::Sender<Result<WatchItem, StoreError>>,
}

/// Why a watch of etcd ended.
enum Ended {
    /// The cache has what follows, or the reader has gone.
    Finished,
    Compacted,
    Broken,
}

impl Reader {
    async fn run(self, after: Revision) {
        let mut seen = after;
        loop {
            match self.watch(&mut seen).await {
                Ended::Finished => {
                    let _ = self.sender.send(Ok(WatchItem::Progress(seen))).await;
                    return;
                }
                Ended::Compacted => {
                    let _ = self.sender.send(Err(StoreError::WatchCompacted)).await;
                    return;
                }
                Ended::Broken => sleep(PAUSE).await,
            }
            if self.sender.is_closed() {
                return;
            }
        }
    }

    fn is_reached(&self, seen: Revision) -> bool {
        seen >= self.cache.mvcc.index().oldest()
    }

    /// Watches after a revision, which moves on with what is read.
    async fn watch(&self, seen: &mut Revision) -> Ended {
        let start_revision = seen.next().0 as i64;
        let create = |version: Version| {
            let (key, range_end) = if version.has_reliable_progress() {
                self.cache.codec.span(&self.prefix, Key::prefix_end(self.prefix.as_str()).as_ref())
            } else {
                (Bytes::from_static(EVERYTHING), Bytes::from_static(EVERYTHING))
            };
            let create = WatchCreateRequest {
                key,
                range_end,
                start_revision,
                progress_notify: true,
                prev_kv: true,
                fragment: true,
            };
            WatchRequest { request: Some(WatchRequestUnion::Create(create)) }
        };
        let Ok(mut call) = self.client.watch(create).await else { return Ended::Broken };
        self.follow(&mut call, seen).await
    }

    async fn follow(&self, call: &mut WatchCall, seen: &mut Revision) -> Ended {
        let mut pending = Vec::new();
        let mut ask_at = Instant::now();
        while !self.is_reached(*seen) {
            let response = tokio::select! {
                response = call.responses.message() => response,
                () = self.sender.closed() => return Ended::Finished,
                // A watch that has not caught up does not answer.
                () = sleep_until(ask_at) => {
                    ask_at = Instant::now() + PROGRESS_AGAIN;
                    if request_progress(call).is_err() {
                        return Ended::Broken;
                    }
                    continue;
                }
            };
            let response = match response {
                Ok(Some(response)) => response,
                Ok(None) => return Ended::Broken,
                Err(status) => {
                    let is_compacted = crate::error::classify(status).is_compacted();
                    return if is_compacted { Ended::Compacted } else { Ended::Broken };
                }
            };
            if response.canceled {
                return if response.compact_revision > 0 { Ended::Compacted } else { Ended::Broken };
            }
            let progress = progress(&response, call.version);
            let mut events = whole_revisions(response, &mut pending).into_iter().peekable();
            while let Some(revision) = events.peek().map(revision_of) {
                let of_revision =
                    std::iter::from_fn(|| events.next_if(|event| revision_of(event) == revision));
                let Some(changes) = self.changes(of_revision) else { return Ended::Compacted };
                *seen = revision;
                if let Some(batch) = Batch::new(changes)
                    && self.sender.send(Ok(WatchItem::Events(batch))).await.is_err()
                {
                    return Ended::Finished;
                }
            }
            *seen = progress.map_or(*seen, |revision| revision.max(*seen));
        }
        Ended::Finished
    }

    /// The changes under the prefix; `None` if a previous value has been compacted.
    fn changes(&self, events: impl Iterator<Item = WatchEvent>) -> Option<Vec<Arc<Event>>> {
        let mut changes = Vec::new();
        for WatchEvent { kind, kv, prev_kv } in events {
            let Some(kv) = kv else { continue };
            let Some(key) = self.cache.codec.decode_key(&kv.key) else { continue };
            if !key.starts_with(self.prefix.as_str()) {
                continue;
            }
            let revision = Revision(kv.mod_revision as u64);
            let is_put = kind == 0;
            if prev_kv.is_none() && !(is_put && kv.create_revision == kv.mod_revision) {
                return None;
            }
            let value = is_put.then(|| self.cache.item(kv)).flatten();
            let previous = prev_kv.and_then(|kv| self.cache.item(kv));
            changes.push(Arc::new(Event { revision, key, value, previous }));
        }
        Some(changes)
    }
}

fn revision_of(event: &WatchEvent) -> Revision {
    Revision(event.kv.as_ref().map_or(0, |kv| kv.mod_revision as u64))
}
