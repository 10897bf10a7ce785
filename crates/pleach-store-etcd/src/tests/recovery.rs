//! An etcd that goes and comes back, a member that hangs, and history that is compacted meanwhile.

use std::{net::TcpListener, sync::Arc, time::Duration};

use pleach_store::{Commit, Expect, Key, RangeQuery, Revision, Store, StoreError, Watch, WatchItem};
use tokio::time::{Instant, timeout};

use super::{
    etcd::{Etcd, Program},
    proxy::Proxy,
};
use crate::{
    EtcdStore, Options, Prefixed,
    client::Client,
    error::CallError,
    messages::{PutRequest, RangeRequest, Request, RequestOp, TxnRequest},
};

const PATIENCE: Duration = Duration::from_mins(1);

async fn connect(servers: impl IntoIterator<Item = String>) -> EtcdStore {
    let mut options = Options::new(servers);
    options.call_timeout = Duration::from_secs(10);
    EtcdStore::connect(options, Arc::new(Prefixed::new("/pleach/"))).await.unwrap()
}

fn put(key: &str) -> Commit {
    Commit::put(key, Expect::Anything, "value")
}

/// Commits, again and again while etcd cannot be reached.
async fn put_at_last(store: &EtcdStore, key: &str) -> Revision {
    let end = Instant::now() + PATIENCE;
    loop {
        match store.commit(put(key)).await {
            Ok(revision) => return revision,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
    }
}

/// The keys and revisions of the next events, until one key was changed.
async fn events_up_to(watch: &mut Watch, last: &str) -> Vec<(String, Revision)> {
    let mut seen = Vec::new();
    loop {
        let item = timeout(PATIENCE, watch.next()).await.expect("events come").unwrap().unwrap();
        let WatchItem::Events(batch) = item else { continue };
        for event in &batch {
            seen.push((event.key.as_str().to_owned(), event.revision));
            if event.key.as_str() == last {
                return seen;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_goes_on_after_a_disconnect_and_a_restart() {
    for program in [Program::Newest, Program::Oldest] {
        let mut etcd = Etcd::start(program);
        let proxy = Proxy::start(etcd.address());
        let (store, other) = (connect([proxy.url()]).await, connect([etcd.url()]).await);
        let mut watch = store.watch(Key::new("k/"), Revision::FIRST).await.unwrap();
        let mut want = Vec::new();
        want.push(("k/1".to_owned(), store.commit(put("k/1")).await.unwrap()));
        proxy.cut();
        for n in 2..50 {
            want.push((format!("k/{n}"), other.commit(put(&format!("k/{n}"))).await.unwrap()));
        }
        assert!(store.commit(put("k/lost")).await.is_err(), "there is no connection");
        proxy.heal();
        assert_eq!(events_up_to(&mut watch, "k/49").await, want, "each once, in order");

        etcd.restart();
        let revision = put_at_last(&store, "k/50").await;
        let seen = events_up_to(&mut watch, "k/50").await;
        // A commit that was told as lost may have happened.
        assert!(seen.iter().all(|(key, _)| key == "k/50") && seen.is_sorted(), "{seen:?}");
        assert!(seen.iter().any(|(_, at)| *at == revision), "{seen:?} {revision}");
        let all = store.range(RangeQuery::prefix("k/")).await.unwrap();
        assert_eq!((all.items.len(), all.revision >= revision), (50, true));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_that_was_compacted_meanwhile_is_listed_anew() {
    let etcd = Etcd::start(Program::Newest);
    let proxy = Proxy::start(etcd.address());
    let (store, other) = (connect([proxy.url()]).await, connect([etcd.url()]).await);
    let first = store.commit(put("k/1")).await.unwrap();
    let mut watch = store.watch(Key::new("k/"), first).await.unwrap();
    proxy.cut();
    for n in 2..20 {
        other.commit(put(&format!("k/{n}"))).await.unwrap();
    }
    let last = other.commit(Commit::delete("k/1", Expect::At(first))).await.unwrap();
    other.compact(last).await.unwrap();
    proxy.heal();
    // An open watch ends with the error after which its client lists again; no event is passed over in silence.
    let ended = timeout(PATIENCE, watch.next()).await.expect("the watch ends").unwrap();
    assert!(matches!(ended, Err(StoreError::WatchCompacted | StoreError::Compacted { .. })), "{ended:?}");
    let all = store.range(RangeQuery::prefix("k/")).await.unwrap();
    assert_eq!(all.items.len(), 18);
    assert!(all.items.iter().all(|item| item.key.as_str() != "k/1"));
    let mut watch = store.watch(Key::new("k/"), all.revision).await.unwrap();
    let next = store.commit(put("k/20")).await.unwrap();
    assert_eq!(events_up_to(&mut watch, "k/20").await, [("k/20".to_owned(), next)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_cache_begins_with_history() {
    let etcd = Etcd::start(Program::Newest);
    let store = connect([etcd.url()]).await;
    let mut want = Vec::new();
    for n in 0..20 {
        want.push((format!("k/{n}"), store.commit(put(&format!("k/{n}"))).await.unwrap()));
    }
    let last = &want[19].0;
    let fresh = connect([etcd.url()]).await;
    assert!(fresh.cached_revision() >= Some(want[19].1), "it is as new as etcd was");
    let mut watch = fresh.watch(Key::new("k/"), want[4].1).await.unwrap();
    assert_eq!(events_up_to(&mut watch, last).await, want[5..]);
    // What etcd has compacted is gone, and nothing else.
    store.compact(want[10].1).await.unwrap();
    let fresh = connect([etcd.url()]).await;
    let gone = fresh.watch(Key::new("k/"), want[9].1).await.map(drop);
    assert!(matches!(gone, Err(StoreError::Compacted { .. })), "{gone:?}");
    let mut watch = fresh.watch(Key::new("k/"), want[10].1).await.unwrap();
    assert_eq!(events_up_to(&mut watch, last).await, want[11..]);
    assert_eq!(fresh.range(RangeQuery::prefix("k/")).await.unwrap().items.len(), 20);
}

/// A cache with room for so many commits of history.
async fn with_history(server: String, commits: u64) -> EtcdStore {
    let mut options = Options::new([server]);
    options.history_commits = commits;
    EtcdStore::connect(options, Arc::new(Prefixed::new("/pleach/"))).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_an_old_list_is_read_with_its_limit() {
    let etcd = Etcd::start(Program::Newest);
    let mut options = Options::new([etcd.url()]);
    (options.history_commits, options.page) = (0, 4);
    let store = EtcdStore::connect(options, Arc::new(Prefixed::new("/pleach/"))).await.unwrap();
    let mut at = Revision(0);
    for n in 10..30 {
        at = store.commit(put(&format!("k/{n}"))).await.unwrap();
    }
    for n in 10..30 {
        store.commit(Commit::delete(format!("k/{n}").as_str(), Expect::Anything)).await.unwrap();
    }
    let mut query = RangeQuery::prefix("k/").limit(7).at(at);
    for (first, remaining) in [("k/10", 13), ("k/17", 6), ("k/24", 0)] {
        let page = store.range(query.clone()).await.unwrap();
        let found = (page.items[0].key.as_str(), page.items.len(), page.remaining, page.more);
        assert_eq!(found, (first, if remaining > 0 { 7 } else { 6 }, remaining, remaining > 0));
        query = query.after(&page.items[page.items.len() - 1].key);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_older_than_the_cache_reads_etcd() {
    for program in [Program::Newest, Program::Oldest] {
        let etcd = Etcd::start(program);
        let proxy = Proxy::start(etcd.address());
        let (store, other) = (with_history(proxy.url(), 10).await, connect([etcd.url()]).await);
        // Of two watches of everything one has the history in its cache.
        let mut complete = other.watch(Key::new(""), Revision::FIRST).await.unwrap();
        let mut last = Revision::FIRST;
        for n in 0..100 {
            let key = format!("k/{}", n % 7);
            last = match n % 5 {
                4 => store.commit(Commit::delete(key, Expect::Anything)).await.unwrap(),
                _ => store.commit(put(&key)).await.unwrap(),
            };
        }
        let quiet = store.commit(put("q/1")).await.unwrap();
        for n in 0..50 {
            last = store.commit(put(&format!("o/{n}"))).await.unwrap();
        }
        assert!(store.stats().await.unwrap().oldest > quiet, "the cache has dropped it");
        let mut older = store.watch(Key::new(""), Revision::FIRST).await.unwrap();
        // Its events are few and long ago: progress notifications tell that there are no others.
        let mut sparse = store.watch(Key::new("q/"), Revision(quiet.0 - 20)).await.unwrap();
        let mut seen = Revision::FIRST;
        while seen < last {
            if seen.0 == 30 {
                proxy.cut();
                proxy.heal();
            }
            let next = timeout(PATIENCE, older.next()).await.expect("events come");
            let wanted = timeout(PATIENCE, complete.next()).await.expect("events come");
            assert_eq!(next.clone().unwrap().unwrap(), wanted.unwrap().unwrap());
            let Some(Ok(WatchItem::Events(batch))) = next else { panic!("{next:?}") };
            seen = batch.revision();
            assert_eq!(older.progress(), seen);
        }
        assert_eq!(events_up_to(&mut sparse, "q/1").await, [("q/1".to_owned(), quiet)]);
        // From here on both are watches of the cache.
        last = put_at_last(&store, "q/2").await;
        assert_eq!(events_up_to(&mut older, "q/2").await.last(), Some(&("q/2".to_owned(), last)));
        assert_eq!(events_up_to(&mut sparse, "q/2").await.last(), Some(&("q/2".to_owned(), last)));
        assert!(older.progress() >= last && sparse.progress() >= last);

        store.compact(quiet).await.unwrap();
        let gone = store.watch(Key::new(""), Revision(quiet.0 - 1)).await.map(drop);
        assert!(matches!(gone, Err(StoreError::Compacted { .. })), "{gone:?}");
        let mut kept = store.watch(Key::new("q/"), quiet).await.unwrap();
        assert_eq!(events_up_to(&mut kept, "q/2").await.last(), Some(&("q/2".to_owned(), last)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_watch_goes_on_from_etcd() {
    let etcd = Etcd::start(Program::Newest);
    let store = with_history(etcd.url(), 10).await;
    let mut slow = store.watch(Key::new("k/"), Revision::FIRST).await.unwrap();
    let mut want = Vec::new();
    for n in 0..1_000 {
        let key = format!("k/{n}");
        want.push((key.clone(), store.commit(put(&key)).await.unwrap()));
    }
    assert_eq!(events_up_to(&mut slow, "k/999").await, want);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_hangs_is_passed_over() {
    let etcd = Etcd::start(Program::Newest);
    // Takes connections, and says nothing.
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let hanging_url = format!("http://{}", hanging.local_addr().unwrap());
    let store = connect([hanging_url, etcd.url()]).await;
    // The first call to it found out; no write was lost to it since.
    for n in 0..20 {
        store.commit(put(&format!("k/{n}"))).await.unwrap();
    }
    assert_eq!(store.range(RangeQuery::prefix("k/")).await.unwrap().items.len(), 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_writers_and_watchers_share_one_connection() {
    let etcd = Etcd::start(Program::Newest);
    let proxy = Proxy::start(etcd.address());
    let store = Arc::new(connect([proxy.url()]).await);
    let watches: Vec<_> = (0..100)
        .map(|n| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let (prefix, key) = (format!("k/{n}/"), format!("k/{n}/x"));
                let mut watch = store.watch(Key::new(prefix), Revision::FIRST).await.unwrap();
                let revision = store.commit(put(&key)).await.unwrap();
                assert_eq!(events_up_to(&mut watch, &key).await, [(key.clone(), revision)]);
                assert!(store.get(&Key::new(key), None).await.unwrap().is_some());
            })
        })
        .collect();
    for watch in watches {
        watch.await.unwrap();
    }
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_without_an_answer_is_told_as_such() {
    let mut etcd = Etcd::start(Program::Newest);
    let mut options = Options::new([etcd.url()]);
    options.call_timeout = Duration::from_secs(2);
    let store = EtcdStore::connect(options, Arc::new(Prefixed::new("/pleach/"))).await.unwrap();
    store.commit(put("k/1")).await.unwrap();
    // Sent to a process that does not run: whether it happens is not known.
    let pid = rustix::process::Pid::from_child(etcd.process());
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let unknown = store.commit(put("k/2")).await;
    assert!(matches!(unknown, Err(StoreError::OutcomeUnknown { .. })), "{unknown:?}");
    // Never sent: it certainly did not happen.
    etcd.kill();
    let end = Instant::now() + PATIENCE;
    loop {
        match store.commit(put("k/3")).await {
            Err(StoreError::Unavailable { .. }) => break,
            Err(StoreError::OutcomeUnknown { .. }) => assert!(Instant::now() < end),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_waits_for_etcd_and_is_not_sent_after_its_caller_has_gone() {
    let mut etcd = Etcd::start(Program::Newest);
    let store = Arc::new(connect([etcd.url()]).await);
    store.commit(put("k/1")).await.unwrap();
    etcd.kill();
    let patient = Arc::clone(&store);
    let patient = tokio::spawn(async move { put_at_last(&patient, "k/patient").await });
    // The first call after the end may find a broken connection, and is then of unknown outcome.
    while timeout(Duration::from_millis(300), store.commit(put("k/gone"))).await.is_ok() {}
    assert!(timeout(Duration::from_millis(300), store.commit(put("k/gone"))).await.is_err());
    tokio::time::sleep(Duration::from_millis(300)).await;
    etcd.restart();
    patient.await.unwrap();
    let keys = store.range(RangeQuery::prefix("k/")).await.unwrap().items;
    let keys: Vec<_> = keys.iter().map(|item| item.key.as_str()).collect();
    assert_eq!(keys, ["k/1", "k/patient"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_caller_goes_while_a_connection_is_made_is_not_sent() {
    let etcd = Etcd::start(Program::Newest);
    let client = Client::new(&Options::new([etcd.url()])).unwrap();
    let put = PutRequest { key: "k".into(), value: "v".into(), lease: 0 };
    let txn =
        TxnRequest { success: vec![RequestOp { request: Some(Request::Put(put)) }], ..TxnRequest::default() };
    let connecting = client.members[0].connection.lock().await;
    let caller = Arc::new(());
    let waiting = Arc::downgrade(&caller);
    let mut write = std::pin::pin!(client.txn_for(&waiting, txn));
    assert!(timeout(Duration::ZERO, &mut write).await.is_err(), "it waits for the connection");
    drop(caller);
    drop(connecting);
    let refused = write.await;
    assert!(matches!(refused, Err(CallError::NotProcessed(_))), "{refused:?}");
    let found = client.range(RangeRequest { key: "k".into(), ..Default::default() }).await.unwrap();
    assert_eq!(found.kvs, []);
}
