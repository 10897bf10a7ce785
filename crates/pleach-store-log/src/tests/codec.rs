//! Values in another form on disk: never as they are in memory, decoded when the store is opened, rewritten on demand.

use super::*;
use crate::{Decoded, ValueCodec};

/// Writes `<name>:` and the value with every byte inverted.
#[derive(Debug)]
struct Inverted {
    name: &'static str,
    /// Another name that is read.
    also: &'static str,
}

impl ValueCodec for Inverted {
    fn encode(&self, _: &Key, value: &Bytes) -> Result<Bytes, String> {
        if value.starts_with(b"old:") || value.starts_with(b"new:") {
            return Ok(value.clone());
        }
        if value == "refused" {
            return Err("no".into());
        }
        let inverted: Vec<u8> = value.iter().map(|byte| !byte).collect();
        Ok([self.name.as_bytes(), b":", &inverted].concat().into())
    }

    fn decode(&self, _: &Key, value: Bytes) -> Decoded {
        for name in [self.name, self.also] {
            if let Some(rest) = value.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b":")) {
                let value: Vec<u8> = rest.iter().map(|byte| !byte).collect();
                return Decoded { value: value.into(), is_stale: name != self.name };
            }
        }
        Decoded { value, is_stale: false }
    }

    fn overhead(&self) -> u64 {
        4
    }
}

fn with(name: &'static str, also: &'static str) -> Options {
    small().codec(Some(Arc::new(Inverted { name, also })))
}

fn value(store: &dyn Store, key: &str) -> Option<Bytes> {
    block_on(store.get(&Key::from(key), None)).expect("a value").map(|found| found.value)
}

/// Whether any file has these bytes.
fn disk_has(disk: &SimDisk, text: &str) -> bool {
    let has = |content: &mut Vec<u8>| content.windows(text.len()).any(|part| part == text.as_bytes());
    disk.list_names().iter().any(|name| disk.with_file(name, has))
}

#[test]
fn values_are_encoded_on_disk_only() {
    let disk = SimDisk::new();
    let store = open(&disk, with("old", "old")).expect("a store");
    for i in 0..40 {
        put(&store, &format!("k{}", i % 4), format!("hidden-{i}")).expect("a commit");
    }
    assert_eq!(value(&store, "k3").expect("a value"), "hidden-39");
    block_on(store.compact(revision(&store))).expect("compacted");
    store.checkpoint().expect("a checkpoint");
    assert!(matches!(put(&store, "k0", "refused"), Err(StoreError::Io { .. })), "it is not written as it is");
    assert_eq!(value(&store, "k0").expect("a value"), "hidden-36");
    let at = revision(&store);
    drop(store);
    assert!(!disk_has(&disk, "hidden") && !disk_has(&disk, "refused"));
    let store = open(&disk, with("old", "old")).expect("a store");
    assert_eq!((revision(&store), store.has_stale_values()), (at, false));
    assert_eq!(value(&store, "k3").expect("a value"), "hidden-39");
}

#[test]
fn stale_values_are_rewritten() {
    let disk = SimDisk::new();
    let store = open(&disk, small()).expect("a store");
    put(&store, "a", "plain text").expect("a commit");
    put(&store, "b", "plain text, deleted").expect("a commit");
    delete(&store, "b").expect("a commit");
    drop(store);
    assert!(disk_has(&disk, "plain text"));
    // Without a prefix values are read as they are; they are written in the new form.
    let store = open(&disk, with("old", "old")).expect("a store");
    store.rewrite().expect("written");
    assert_eq!(value(&store, "a").expect("a value"), "plain text");
    assert!(!disk_has(&disk, "plain text"), "nor what was deleted");
    put(&store, "c", "x").expect("a commit");
    let at = revision(&store);
    drop(store);
    let store = open(&disk, with("new", "old")).expect("a store");
    assert!(store.has_stale_values());
    store.rewrite().expect("written");
    store.rewrite().expect("twice is the same");
    assert!(!store.has_stale_values() && !disk_has(&disk, "old:"));
    drop(store);
    let store = open(&disk, with("new", "new")).expect("a store");
    assert_eq!((revision(&store), value(&store, "c").expect("a value")), (at, Bytes::from("x")));
}

#[test]
fn values_that_cannot_be_decoded_are_kept() {
    let disk = SimDisk::new();
    let store = open(&disk, with("old", "old")).expect("a store");
    put(&store, "a", "hidden").expect("a commit");
    drop(store);
    let store = open(&disk, with("new", "new")).expect("a store");
    assert!(value(&store, "a").expect("a value").starts_with(b"old:"));
    store.rewrite().expect("written");
    drop(store);
    let store = open(&disk, with("old", "old")).expect("a store");
    assert_eq!(value(&store, "a").expect("a value"), "hidden");
}
