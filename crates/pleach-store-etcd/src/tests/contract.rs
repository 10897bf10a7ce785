//! The contract of stores, each test with an etcd of its own: revisions start at one.

use std::sync::Arc;

use pleach_store::Store;

use super::etcd::{Etcd, Program};
use crate::{EtcdStore, Options, Prefixed};

type Fresh = (Arc<dyn Store>, (Etcd, tokio::runtime::Runtime));

fn fresh_on(program: Program) -> Fresh {
    fresh_with(program, |_| {})
}

fn fresh_with(program: Program, adjust: impl FnOnce(&mut Options)) -> Fresh {
    let etcd = Etcd::start(program);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut options = Options::new([etcd.url()]);
    adjust(&mut options);
    let connect = EtcdStore::connect(options, Arc::new(Prefixed::new("/pleach/")));
    let store = runtime.block_on(connect).unwrap();
    (Arc::new(store), (etcd, runtime))
}

mod newest {
    fn fresh() -> super::Fresh {
        super::fresh_on(super::Program::Newest)
    }

    pleach_store::contract!(fresh);
}

/// A version whose progress notifications may come before events.
mod oldest {
    fn fresh() -> super::Fresh {
        super::fresh_on(super::Program::Oldest)
    }

    pleach_store::contract!(fresh);
}

/// A cache without history: watches from the past are watches of etcd.
mod without_history {
    fn newest() -> super::Fresh {
        super::fresh_with(super::Program::Newest, |options| options.history_commits = 0)
    }

    pleach_store::contract!(newest;
        a_watch_sees_create_update_and_delete
        a_watch_from_the_past_replays_it
        a_watch_spans_past_and_present_without_a_gap
        a_watch_sees_its_prefix_only
        a_transaction_is_one_batch
        a_slow_watcher_gets_an_error_or_misses_nothing
        compaction_does_not_disturb_watchers_that_keep_up
    );
}
