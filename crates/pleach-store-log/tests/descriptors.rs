//! A process out of file descriptors goes on writing to open files, and opens new ones once it can.
//!
//! The test runs itself as a child with a low limit, because the limit is per process.

use std::{fs::File, path::Path, process::Command};

use pleach_store::{Commit, Expect, RangeQuery, Revision, Store, contract::block_on};
use pleach_store_log::{LogStore, Options};
use tempfile::TempDir;

const CHILD: &str = "PLEACH_STORE_WITHOUT_DESCRIPTORS";

fn open(directory: &Path) -> LogStore {
    Options::new().segment_bytes(4_000).checkpoint_bytes(20_000).open(directory).expect("a store")
}

fn put(store: &LogStore, n: u64) -> Result<Revision, pleach_store::StoreError> {
    block_on(store.commit(Commit::put(format!("k/{}", n % 20), Expect::Anything, vec![b'x'; 500])))
}

/// Uses up all descriptors.
fn take_all() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

fn child(directory: &Path) {
    // A store without a segment cannot start one, and returns an error.
    let store = open(&directory.join("new"));
    let taken = take_all();
    assert!(taken.len() < 100, "the limit is low: {} were free", taken.len());
    let error = put(&store, 0).expect_err("no descriptors").to_string();
    assert!(error.contains("cannot begin a new segment of the log: Too many open files"), "{error}");
    drop(taken);
    put(&store, 0).expect("a write");
    drop(store);

    // A store with a segment goes on in it.
    let store = open(&directory.join("old"));
    put(&store, 0).expect("a write");
    let taken = take_all();
    for n in 0..100 {
        put(&store, n).expect("a write without descriptors");
    }
    drop(taken);
    for n in 0..100 {
        put(&store, n).expect("a write");
    }
    assert_eq!(block_on(store.stats()).expect("figures").read_only, None);
    drop(store);
    let range = block_on(open(&directory.join("old")).range(RangeQuery::prefix(""))).expect("a range");
    assert_eq!((range.items.len(), range.revision), (20, Revision(202)));
}

#[test]
fn a_store_recovers_from_a_lack_of_descriptors() {
    if let Some(directory) = std::env::var_os(CHILD) {
        child(Path::new(&directory));
        return;
    }
    let room = TempDir::new().expect("a directory");
    let this = std::env::current_exe().expect("this program");
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$0\" --exact a_store_recovers_from_a_lack_of_descriptors"])
        .arg(this)
        .env(CHILD, room.path())
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(room.path().join("old").is_dir(), "the child ran");
}
