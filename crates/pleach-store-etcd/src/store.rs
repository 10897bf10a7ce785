//! [`EtcdStore`]: the implementation of [`Store`].

use std::{
    fmt,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use bytes::Bytes;
use pleach_store::{
    Commit, Key, Range, RangeQuery, Revision, Stats, Store, StoreError, StoreFuture, Versioned, Watch,
};
use pleach_store_mvcc::read_range;
use tokio::{runtime::Handle, task::JoinHandle, time::timeout};

use crate::{
    cache::Cache, client::Client, codec::Codec, commit, compaction, direct, election::Election,
    error::CallError, follow, freshness::Freshness, leases::Leases, messages::CompactionRequest,
    older::EtcdWatchStream, options::Options,
};

/// How long etcd may take to answer a question about its health, as kube-apiserver's.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// A store on an etcd cluster. Dropping it ends its watches; commits that were sent go on.
pub struct EtcdStore {
    client: Arc<Client>,
    cache: Arc<Cache>,
    freshness: Freshness,
    runtime: Handle,
    tasks: Vec<JoinHandle<()>>,
    cache_timeout: Duration,
    value_bytes: u64,
    page: i64,
    leases: Arc<Leases>,
}

impl EtcdStore {
    /// Connects, and fills the cache up to where etcd is now. The calls of the store run on the runtime that this is called on.
    pub async fn connect(options: Options, codec: Arc<dyn Codec>) -> Result<Self, StoreError> {
        let client = Arc::new(Client::new(&options)?);
        let index = follow::load_with_history(&client, &*codec, options.page).await?;
        let cache = Arc::new(Cache::new(codec, index, &options));
        let runtime = Handle::current();
        let (freshness, asking) = Freshness::new(Arc::clone(&client), cache.codec.whole().0);
        let following = follow::run(Arc::clone(&client), Arc::clone(&cache), options.page);
        let (probing, key) = (Arc::clone(&client), cache.codec.whole().0);
        let probing = async move { probing.probe(key).await };
        let tasks = vec![runtime.spawn(asking), runtime.spawn(following), runtime.spawn(probing)];
        let Options { cache_timeout, call_timeout, value_bytes, page, .. } = options;
        let store = Self {
            client,
            cache,
            freshness,
            runtime,
            tasks,
            cache_timeout,
            value_bytes,
            page,
            leases: Arc::default(),
        };
        // It begins with history. A read that takes any state must not be answered with one from before the start.
        let revision = store.freshness.revision().await?;
        if !store.reached_within(revision, call_timeout).await {
            return Err(StoreError::Unavailable { reason: "the watch of etcd does not keep up".into() });
        }
        Ok(store)
    }

    /// Waits until the cache has reached a revision; `false` if it does not in time.
    async fn reached(&self, revision: Revision) -> bool {
        self.reached_within(revision, self.cache_timeout).await
    }

    async fn reached_within(&self, revision: Revision, wait: Duration) -> bool {
        match self.cache.waiters.wait(revision, || self.cache.current()) {
            None => true,
            Some(receiver) => {
                let waiting = self.runtime.spawn(async move { timeout(wait, receiver).await });
                matches!(waiting.await, Ok(Ok(Ok(()))))
            }
        }
    }

    /// Whether the cache can answer a read: it holds the revision, or has become as new as etcd was when
    /// the read began.
    async fn readable(&self, at: Option<Revision>) -> Result<bool, StoreError> {
        match at {
            None => {
                let revision = self.freshness.revision().await?;
                Ok(self.reached(revision).await)
            }
            Some(at) => {
                if at.0 == 0 {
                    let oldest = self.cache.mvcc.index().oldest();
                    return Err(StoreError::Compacted { requested: at, oldest });
                }
                if at > self.cache.current() {
                    let current = self.freshness.revision().await?;
                    if at > current {
                        return Err(StoreError::Future { requested: at, current });
                    }
                    return Ok(self.reached(at).await);
                }
                Ok(at >= self.cache.mvcc.index().oldest())
            }
        }
    }

    /// Runs a call to etcd on the store's runtime, to its end even if the caller goes.
    async fn on_runtime<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.runtime.spawn(call).await.unwrap_or(Err(StoreError::Closed))
    }

    async fn commit_now(&self, commit: Commit) -> Result<Revision, StoreError> {
        commit.check()?;
        commit.check_values(self.value_bytes)?;
        if commit.ops.is_empty() {
            return self.freshness.revision().await;
        }
        let (client, cache) = (Arc::clone(&self.client), Arc::clone(&self.cache));
        let (leases, wait) = (Arc::clone(&self.leases), self.cache_timeout);
        // Dropped with this future: what could not be sent until then is not sent any more.
        let caller = Arc::new(());
        let waiting = Arc::downgrade(&caller);
        let committed = self.on_runtime(async move {
            let sent = commit::send(&client, &cache, &commit, &leases, &waiting).await;
            if let Ok(revision) = sent
                && let Some(receiver) = cache.waiters.wait(revision, || cache.current())
            {
                // Acknowledged, whether or not the cache has it; most callers go on to read it.
                let _ = timeout(wait, receiver).await;
            }
            commit.ops.iter().for_each(|op| cache.forget(&op.key));
            sent
        });
        let committed = committed.await;
        drop(caller);
        committed
    }
}

impl Store for EtcdStore {
    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> StoreFuture<'a, Option<Versioned>> {
        Box::pin(async move {
            if self.readable(at).await? {
                let index = self.cache.mvcc.index();
                match at {
                    None => return Ok(index.live(key.as_str())),
                    Some(at) if at >= index.oldest() => return Ok(index.get(key.as_str(), at)),
                    Some(_) => {}
                }
            }
            let (client, cache, key) = (Arc::clone(&self.client), Arc::clone(&self.cache), key.clone());
            self.on_runtime(async move { direct::get(&client, &cache, &key, at).await }).await
        })
    }

    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Range> {
        Box::pin(async move {
            if self.readable(query.at).await? {
                match read_range(&self.cache.mvcc, query.clone()).await {
                    Err(StoreError::Compacted { .. }) => {}
                    range => return range,
                }
            }
            let (client, cache, page) = (Arc::clone(&self.client), Arc::clone(&self.cache), self.page);
            self.on_runtime(async move { direct::range(&client, &cache, &query, page).await }).await
        })
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Revision> {
        Box::pin(self.commit_now(commit))
    }

    fn watch(&self, prefix: Key, after: Revision) -> StoreFuture<'_, Watch> {
        Box::pin(async move {
            if after > self.cache.current() {
                self.readable(Some(after)).await?;
            }
            let checked = self.cache.mvcc.index().resolve_revision(Some(after)).map(drop);
            match checked {
                Err(StoreError::Compacted { .. }) if after.0 > 0 => {
                    let (client, cache) = (Arc::clone(&self.client), Arc::clone(&self.cache));
                    self.on_runtime(async move { direct::check_readable(&client, &cache, after).await })
                        .await?;
                }
                checked => checked?,
            }
            let (client, cache) = (Arc::clone(&self.client), Arc::clone(&self.cache));
            Ok(Watch::new(EtcdWatchStream::new(client, cache, self.runtime.clone(), prefix, after)))
        })
    }

    fn revision(&self) -> StoreFuture<'_, Revision> {
        Box::pin(async move {
            let revision = self.freshness.revision().await?;
            self.reached(revision).await;
            Ok(revision)
        })
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let client = Arc::clone(&self.client);
            let request = CompactionRequest { revision: before.0 as i64 };
            let sent = self.runtime.spawn(async move { client.compact(request).await }).await;
            match sent.unwrap_or(Err(CallError::NotProcessed("the store is closed".into()))) {
                Ok(_) => {}
                Err(error) if error.is_compacted() => {}
                Err(error) if error.is_future() => {
                    let current = self.freshness.revision().await?;
                    return Err(StoreError::Future { requested: before, current });
                }
                Err(error) => return Err(error.of_read()),
            }
            self.reached(before).await;
            self.cache.compact(before);
            Ok(())
        })
    }

    fn cached_revision(&self) -> Option<Revision> {
        Some(self.cache.current())
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn write_metrics(&self, out: &mut String) {
        self.client.metrics.write(self.cache.current(), out);
    }

    fn stats(&self) -> StoreFuture<'_, Stats> {
        Box::pin(async move {
            let mut stats = self.cache_stats();
            let client = Arc::clone(&self.client);
            let asked = async move {
                let alarms = client.alarms().await?;
                // A member without a leader knows its alarms, and can do nothing.
                client.revision(Bytes::from_static(b"\0")).await.map(|_| alarms)
            };
            match self.runtime.spawn(async move { timeout(HEALTH_TIMEOUT, asked).await }).await {
                Ok(Ok(Ok(response))) => {
                    let raised = |alarm: i32| response.alarms.iter().any(|member| member.alarm == alarm);
                    stats.no_space = raised(1).then(|| "etcdserver: mvcc: database space exceeded".into());
                    stats.unavailable = raised(2).then(|| "etcdserver: corrupt cluster".into());
                }
                Ok(Ok(Err(error))) => stats.unavailable = Some(error.reason()),
                Ok(Err(_)) => stats.unavailable = Some("etcd does not answer".into()),
                Err(_) => stats.unavailable = Some("the store is closed".into()),
            }
            Ok(stats)
        })
    }
}

impl EtcdStore {
    /// Compacts etcd's history after every interval, up to where it was one interval before. Of all processes
    /// that do so on one cluster, kube-apiserver among them, one at a time compacts.
    pub fn compact_every(&self, interval: Duration) -> impl Future<Output = ()> + Send + use<> {
        compaction::run(Arc::clone(&self.client), interval)
    }

    /// Lets the codec look at every value in the cache once more. Takes a while, and must not run where requests do.
    pub fn refresh(&self) {
        self.cache.refresh();
    }

    /// An election under a key, which must not be one of the store's. `id` is this process's, and no other's.
    pub fn election(&self, key: String, id: String) -> Election {
        Election::new(Arc::clone(&self.client), key, id)
    }

    fn cache_stats(&self) -> Stats {
        let mut stats = Stats::default();
        {
            let index = self.cache.mvcc.index();
            stats.revision = index.current();
            stats.oldest = index.oldest();
            (stats.keys, stats.value_bytes) = index.live_size();
            (stats.history, stats.history_bytes) = index.history_size();
        }
        stats.watchers = self.cache.mvcc.watchers.count();
        stats.compactions = self.cache.compactions.load(Relaxed);
        stats
    }
}

/// Prints how far it is, not its content.
impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdStore").field("revision", &self.cache.current()).finish_non_exhaustive()
    }
}

impl Drop for EtcdStore {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.cache.mvcc.watchers.close();
    }
}
