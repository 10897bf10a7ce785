//! Cost of durability: commits of the same size to the same store, without a server.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use bytes::Bytes;
use pleach_store::{Commit, Expect, Key, Store as _};
use pleach_store_log::LogStore;

/// The size of a stored object of this benchmark.
const VALUE: usize = 4_500;

/// CPU time per commit in µs, measured in a process of its own.
pub(crate) fn cost(room: &Path, writers: usize, commits: usize) -> f64 {
    let own = std::env::current_exe().expect("this program has a path");
    let output = Command::new(own)
        .arg("store")
        .arg(room.join("store"))
        .args([writers.to_string(), commits.to_string()])
        .output()
        .expect("this program starts again");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Commits, and prints the CPU time of one in µs.
pub(crate) async fn commit(directory: &Path, writers: usize, commits: usize) {
    let store = Arc::new(LogStore::open(directory).expect("a store"));
    let value = Bytes::from(vec![b'x'; VALUE]);
    let before = crate::process::cpu(&[std::process::id()]);
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let (store, value) = (store.clone(), value.clone());
            tokio::spawn(async move {
                for n in 0..commits / writers {
                    let key = Key::new(format!("/bench/{writer}/{n}"));
                    // A copy each, as each request has bytes of its own.
                    let value = Bytes::copy_from_slice(&value);
                    store.commit(Commit::put(key, Expect::Absent, value)).await.expect("a commit");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a writer");
    }
    let took = crate::process::cpu(&[std::process::id()]) - before;
    println!("{:.1}", took * 1e6 / (commits / writers * writers) as f64);
}
