//! Background work: the election of a leader, and compaction.

use std::{sync::Arc, time::Duration};

use pleach_store::{Commit, Expect, Key, Store, StoreError};
use tokio::time::{Instant, sleep, timeout};

use super::etcd::{Etcd, Program};
use crate::{
    Election, EtcdStore, Options, Prefixed,
    client::Client,
    compaction::{self, Seen},
};

const PATIENCE: Duration = Duration::from_mins(1);

async fn connect(etcd: &Etcd) -> EtcdStore {
    EtcdStore::connect(Options::new([etcd.url()]), Arc::new(Prefixed::new("/pleach/"))).await.unwrap()
}

async fn leads(election: &Election) {
    timeout(PATIENCE, election.leads().wait_for(|leads| *leads)).await.expect("it leads").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_one_leads_and_the_other_takes_over() {
    let etcd = Etcd::start(Program::Newest);
    let stores = [connect(&etcd).await, connect(&etcd).await, connect(&etcd).await];
    let elections: Vec<_> = ["a", "b", "c"]
        .iter()
        .zip(&stores)
        .map(|(id, store)| Arc::new(store.election("leader".into(), (*id).into())))
        .collect();
    let first = tokio::spawn(Arc::clone(&elections[0]).run());
    leads(&elections[0]).await;
    let second = tokio::spawn(Arc::clone(&elections[1]).run());
    sleep(Duration::from_secs(3)).await;
    assert!(*elections[0].leads().borrow() && !*elections[1].leads().borrow());

    // It ends orderly.
    elections[0].resign().await;
    assert!(!*elections[0].leads().borrow());
    leads(&elections[1]).await;
    first.await.unwrap();

    // It ends without a word: its lease expires.
    let _third = tokio::spawn(Arc::clone(&elections[2]).run());
    sleep(Duration::from_secs(1)).await;
    assert!(!*elections[2].leads().borrow());
    second.abort();
    let began = Instant::now();
    leads(&elections[2]).await;
    assert!(began.elapsed() > Duration::from_secs(1), "the lease was held");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_cannot_renew_stops() {
    let mut etcd = Etcd::start(Program::Newest);
    let store = connect(&etcd).await;
    let election = Arc::new(store.election("leader".into(), "a".into()));
    tokio::spawn(Arc::clone(&election).run());
    leads(&election).await;
    etcd.kill();
    timeout(PATIENCE, election.leads().wait_for(|leads| !leads)).await.expect("it stops").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_is_compacted_by_one_of_many() {
    let etcd = Etcd::start(Program::Newest);
    let (first, second) = (connect(&etcd).await, connect(&etcd).await);
    let written = first.commit(Commit::put("k", Expect::Absent, "v")).await.unwrap();
    tokio::spawn(first.compact_every(Duration::from_millis(300)));
    tokio::spawn(second.compact_every(Duration::from_millis(300)));
    let end = Instant::now() + PATIENCE;
    // A third store has no history in its cache: it reads from etcd.
    let fresh = connect(&etcd).await;
    fresh.commit(Commit::put("k", Expect::At(written), "w")).await.unwrap();
    loop {
        match connect(&etcd).await.get(&Key::new("k"), Some(written)).await {
            Err(StoreError::Compacted { .. }) => break,
            Ok(found) => assert!(found.is_some_and(|found| found.value == "v")),
            Err(error) => panic!("{error}"),
        }
        assert!(Instant::now() < end, "history is not compacted");
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(first.get(&Key::new("k"), None).await.unwrap().unwrap().value, "w");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_full_etcd_the_leader_stays_and_history_is_compacted() {
    let etcd = Etcd::start_with(Program::Newest, "http", &["--quota-backend-bytes", "1048576"]);
    let store = connect(&etcd).await;
    let (election, other) =
        (store.election("leader".into(), "a".into()), store.election("leader".into(), "b".into()));
    assert!(election.hold().await.unwrap());
    let client = Client::new(&Options::new([etcd.url()])).unwrap();
    let mut seen = compaction::once(&client, Seen::default()).await.unwrap();

    let value = "x".repeat(100_000);
    let first = store.commit(Commit::put("k", Expect::Anything, value.clone())).await.unwrap();
    loop {
        match store.commit(Commit::put("k", Expect::Anything, value.clone())).await {
            Ok(_) => {}
            Err(StoreError::NoSpace { .. }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(election.hold().await.unwrap());
    assert!(!other.hold().await.unwrap());
    // Up to where it was at the time before.
    for _ in 0..2 {
        seen = compaction::once(&client, seen).await.unwrap();
    }
    assert!(seen.revision as u64 > first.0);
    let fresh = connect(&etcd).await;
    let old = fresh.get(&Key::new("k"), Some(first)).await;
    assert!(matches!(old, Err(StoreError::Compacted { .. })), "{old:?}");
    election.resign().await;
    assert_eq!(client.keep_alive(1).await.unwrap(), 0, "a lease that does not exist");
}
