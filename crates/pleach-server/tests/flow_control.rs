//! The cost of flow control for a request that does not have to wait.

use std::alloc::System;
use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, Method};
use pleach_auth::UserInfo;
use pleach_engine::deterministic;
use pleach_server::app::Call;
use pleach_server::flow_control::{Begun, FlowControl};
use pleach_server::inflight::InflightLimits;
use pleach_server::query::Query;
use pleach_server::request_info::RequestInfo;
use pleach_store::ModelStore;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[tokio::test]
async fn a_request_that_does_not_wait_costs_one_allocation() {
    let engine = deterministic::engine(Arc::new(ModelStore::new()));
    engine.start().await.expect("the engine starts");
    let control = FlowControl::of(&engine, &InflightLimits::default());
    let query = Query::default();
    let account = "system:serviceaccount:n:a";
    for (user, why) in [
        (UserInfo::authenticated("someone", []), "the last schema but one"),
        (UserInfo::authenticated("admin", ["system:masters".into()]), "exempt"),
        (UserInfo::authenticated(account, ["system:serviceaccounts".into()]), "a service account"),
    ] {
        let info = RequestInfo::new(&Method::GET, "/apis/example.com/v1/namespaces/n/foos/x", &query);
        let call = Call::new(Method::GET, info, user, &query, HeaderMap::new());
        let run = || {
            let begun = control.begin(&call, &engine, Instant::now());
            assert!(matches!(begun, Begun::Runs(..)), "{why}");
        };
        run();
        let region = Region::new(ALLOCATOR);
        (0..100).for_each(|_| run());
        let change = region.change();
        assert_eq!((change.allocations, change.deallocations, change.reallocations), (100, 100, 0), "{why}");
    }
}
