//! The contract of a store, for a new one and for a fork of one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::Arc;

use pleach_store::contract::block_on;
use pleach_store::{Commit, Expect, Key, Revision, Store, StoreError};
use pleach_store_memory::MemoryStore;

mod new {
    use super::*;

    pleach_store::contract!(|| (Arc::new(MemoryStore::new()) as Arc<dyn Store>, ()));
}

mod forked {
    use super::*;

    pleach_store::contract!(|| {
        let origin = MemoryStore::new();
        (Arc::new(origin.fork()) as Arc<dyn Store>, origin)
    });
}

fn put(store: &MemoryStore, key: &str, value: &str) -> Revision {
    let commit = Commit::put(key, Expect::Anything, value.to_owned());
    block_on(store.commit(commit)).unwrap()
}

fn get(store: &MemoryStore, key: &str) -> Option<String> {
    let found = block_on(store.get(&Key::new(key), None)).unwrap();
    found.map(|found| String::from_utf8(found.value.to_vec()).unwrap())
}

#[test]
fn forks_see_nothing_of_each_other() {
    let origin = MemoryStore::new();
    put(&origin, "a", "1");
    let at = put(&origin, "b", "1");
    let (first, second) = (origin.fork(), origin.fork());
    assert_eq!(block_on(first.revision()).unwrap(), at);
    put(&first, "a", "2");
    put(&origin, "b", "3");
    assert_eq!((get(&origin, "a"), get(&origin, "b")), (Some("1".into()), Some("3".into())));
    assert_eq!((get(&first, "a"), get(&first, "b")), (Some("2".into()), Some("1".into())));
    assert_eq!((get(&second, "a"), get(&second, "b")), (Some("1".into()), Some("1".into())));
    let earlier = block_on(second.get(&Key::new("a"), Some(at.before())));
    assert!(matches!(earlier, Err(StoreError::Compacted { .. })), "{earlier:?}");
}
