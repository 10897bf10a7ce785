//! The store contract, with default options and with small limits: queues overflow, segments are
//! closed, history is compacted.

use std::sync::Arc;

use pleach_store::Store;
use pleach_store_log::{LogStore, Options};
use tempfile::TempDir;

fn open(options: Options) -> (Arc<dyn Store>, TempDir) {
    let directory = TempDir::new().expect("a directory");
    let store: LogStore = options.open(directory.path()).expect("a store");
    (Arc::new(store), directory)
}

mod as_it_comes {
    pleach_store::contract!(|| super::open(super::Options::new()));
}

mod made_small {
    pleach_store::contract!(|| {
        let options =
            super::Options::new().sync(false).watch_queue(2).segment_bytes(4096).checkpoint_bytes(1);
        super::open(options)
    });
}
