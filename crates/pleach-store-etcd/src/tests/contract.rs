//! The contract of stores, each test with an etcd of its own: revisions start at one.

use std::sync::Arc;

use pleach_store::Store;

use super::etcd::{Etcd, Program};
use crate::{EtcdStore, Options, Prefixed};

type Fresh = (Arc<dyn Store>, (Etcd, tokio::runtime::Runtime));

fn fresh_on(program: Program) -> Fresh {
    let etcd = Etcd::start(program);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let connect = EtcdStore::connect(Options::new([etcd.url()]), Arc::new(Prefixed::new("/pleach/")));
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
