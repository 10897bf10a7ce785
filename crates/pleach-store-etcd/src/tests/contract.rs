//! The contract of stores, each test with an etcd of its own: revisions start at one.

use std::sync::Arc;

use pleach_store::Store;

use super::etcd::Etcd;
use crate::{EtcdStore, Options, Prefixed};

fn fresh() -> (Arc<dyn Store>, (Etcd, tokio::runtime::Runtime)) {
    let etcd = Etcd::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let connect = EtcdStore::connect(Options::new([etcd.url()]), Arc::new(Prefixed::new("/pleach/")));
    let store = runtime.block_on(connect).unwrap();
    (Arc::new(store), (etcd, runtime))
}

pleach_store::contract!(fresh);
