use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use pleach_auth::UserInfo;
use pleach_auth::user::MASTERS;
use pleach_json::Str;
use tokio::task::{JoinHandle, yield_now};

use super::*;
use crate::flow_control::{FlowControl, Place};

/// A webhook that answers as often as it is let.
#[derive(Clone, Default)]
struct Gate {
    open: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
}

impl Caller for Gate {
    fn call<'a>(&'a self, _: &'a Address, body: Bytes, _: Duration) -> CallFuture<'a> {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::SeqCst);
            let less = |open: usize| open.checked_sub(1);
            while self.open.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_err() {
                yield_now().await;
            }
            Ok(body)
        })
    }
}

struct Fixture {
    gate: Gate,
    caller: Arc<BoundedCaller<Gate>>,
    flow_control: Arc<FlowControl>,
}

const SMALL: InflightLimits = InflightLimits {
    readonly: 0,
    mutating: 2,
    priority_and_fairness: true,
    turns: 0,
    exempt_readonly: 1,
    exempt_mutating: 1,
    calls: CallLimits { count: 30, bytes: 64 << 10 },
    calls_per_webhook: CallLimits { count: 20, bytes: 48 << 10 },
    reserved_calls: 1,
};

impl Fixture {
    fn new(limits: &InflightLimits) -> Self {
        let gate = Gate::default();
        let caller = Arc::new(BoundedCaller::new(gate.clone(), limits));
        Self { gate, caller, flow_control: FlowControl::rejecting(limits) }
    }

    /// A write that makes some calls of some length, one after the other.
    fn write(
        &self,
        place: Arc<Place>,
        webhook: &str,
        calls: usize,
        bytes: usize,
    ) -> JoinHandle<Result<(), CallError>> {
        let (caller, address) = (self.caller.clone(), address(webhook));
        tokio::spawn(place.hold(async move {
            for _ in 0..calls {
                caller.call(&address, vec![0; bytes].into(), Duration::MAX).await?;
            }
            Ok(())
        }))
    }

    fn admit(&self) -> Option<Arc<Place>> {
        self.flow_control.place_for(&UserInfo::anonymous(), true)
    }

    fn calls(&self) -> usize {
        self.gate.calls.load(Ordering::SeqCst)
    }

    fn answer(&self, calls: usize) {
        self.gate.open.fetch_add(calls, Ordering::SeqCst);
    }

    fn is_empty(&self) -> bool {
        let Self { caller, flow_control, .. } = self;
        let full = |seats: &Seats, size| seats.shared.available_permits() == size;
        flow_control.mutating() == 0
            && full(&caller.all.seats, caller.all.seats.size)
            && caller.all.units.available_permits() == caller.all.most_units as usize
            && caller.rooms().is_empty()
    }
}

fn address(webhook: &str) -> Address {
    let place = webhooks::Place::Url(Str::from(format!("https://{webhook}/")));
    Address { place, ca_bundle: Bytes::new() }
}

/// Lets everything run that can.
async fn settle() {
    for _ in 0..50 {
        yield_now().await;
    }
}

#[tokio::test]
async fn requests_that_wait_for_a_webhook_hold_no_place() {
    let fixture = Fixture::new(&SMALL);
    let mut writes = Vec::new();
    for _ in 0..20 {
        writes.push(fixture.write(fixture.admit().expect("a place"), "slow", 1, 10));
        settle().await;
    }
    assert_eq!(fixture.calls(), 20);
    let (a, b) = (fixture.admit(), fixture.admit());
    assert!(a.is_some() && b.is_some(), "all places are free");
    assert!(fixture.admit().is_none(), "and bounded");
    fixture.answer(20);
    settle().await;
    assert!(writes.iter().all(|write| !write.is_finished()), "who comes back waits for a place");
    drop(a);
    for write in writes {
        assert_eq!(write.await.unwrap(), Ok(()), "and is not refused");
    }
    drop(b);
    assert!(fixture.is_empty());
}

#[tokio::test]
async fn requests_that_come_back_go_before_new_ones() {
    let fixture = Fixture::new(&SMALL);
    let waiting = fixture.write(fixture.admit().unwrap(), "slow", 2, 10);
    settle().await;
    let (a, b) = (fixture.admit().unwrap(), fixture.admit().unwrap());
    fixture.answer(1);
    settle().await;
    assert_eq!(fixture.calls(), 1, "it has its answer and no place");
    drop(a);
    assert!(fixture.admit().is_none(), "the place is for the one that comes back");
    settle().await;
    assert_eq!(fixture.calls(), 2);
    drop(b);
    fixture.answer(1);
    assert_eq!(waiting.await.unwrap(), Ok(()));
    assert!(fixture.is_empty());
}

#[tokio::test]
async fn exempt_requests_have_calls_in_reserve() {
    let calls = CallLimits { count: 1, bytes: 1 << 20 };
    let fixture = Fixture::new(&InflightLimits { calls, calls_per_webhook: calls, ..SMALL });
    let waiting = fixture.write(fixture.admit().unwrap(), "slow", 1, 10);
    settle().await;
    let refused = fixture.write(fixture.admit().unwrap(), "other", 1, 10).await.unwrap();
    assert_eq!(refused, Err(CallError::Overloaded));
    let admin = UserInfo::authenticated("admin", [Str::new_static(MASTERS)]);
    let exempt = || fixture.flow_control.place_for(&admin, true);
    let (a, b) = (fixture.admit(), fixture.admit());
    let place = exempt();
    assert!(a.is_some() && b.is_some() && place.is_some() && exempt().is_none(), "bounded, too");
    let write = fixture.write(place.unwrap(), "other", 1, 10);
    settle().await;
    assert_eq!(fixture.calls(), 2);
    fixture.answer(2);
    assert_eq!(write.await.unwrap(), Ok(()));
    drop((a, b));
    assert_eq!(waiting.await.unwrap(), Ok(()));
    assert!(exempt().is_some() && fixture.is_empty());
}

#[tokio::test]
async fn calls_are_bounded_per_webhook_and_in_all() {
    for (why, bytes, counts) in [("by number", 10, (20, 10)), ("by bytes", 8 << 10, (6, 2))] {
        let fixture = Fixture::new(&SMALL);
        let mut waiting = Vec::new();
        for (webhook, count) in [("slow", counts.0), ("other", counts.1)] {
            for _ in 0..count {
                waiting.push(fixture.write(fixture.admit().unwrap(), webhook, 1, bytes));
                settle().await;
            }
            assert_eq!(fixture.calls(), waiting.len(), "{why}");
            let refused = fixture.write(fixture.admit().unwrap(), webhook, 1, bytes).await.unwrap();
            assert_eq!(refused, Err(CallError::Overloaded), "{why}: {webhook}");
        }
        let third = fixture.write(fixture.admit().unwrap(), "third", 1, bytes).await.unwrap();
        assert_eq!(third, Err(CallError::Overloaded), "{why}: in all");
        fixture.answer(waiting.len());
        for write in waiting {
            assert_eq!(write.await.unwrap(), Ok(()), "{why}");
        }
        assert!(fixture.is_empty(), "{why}");
    }
    // A review that is larger than all the room there is has it alone.
    let fixture = Fixture::new(&SMALL);
    fixture.answer(1);
    assert_eq!(fixture.write(fixture.admit().unwrap(), "large", 1, 1 << 20).await.unwrap(), Ok(()));
}

#[tokio::test]
async fn later_calls_of_a_request_and_calls_of_controllers_wait() {
    let one = CallLimits { count: 1, bytes: 1 << 20 };
    let fixture = Fixture::new(&InflightLimits { calls: one, calls_per_webhook: one, ..SMALL });
    fixture.answer(1);
    // Its first call is answered, and before its second one another request takes the only slot.
    let first = fixture.admit().unwrap();
    assert_eq!(fixture.write(first.clone(), "slow", 1, 10).await.unwrap(), Ok(()));
    let other = fixture.write(fixture.admit().unwrap(), "slow", 1, 10);
    settle().await;
    let again = fixture.write(first, "slow", 1, 10);
    let (caller, address) = (fixture.caller.clone(), address("slow"));
    let controller = tokio::spawn(async move { caller.call(&address, Bytes::new(), Duration::MAX).await });
    settle().await;
    assert_eq!(fixture.calls(), 2, "both wait for their turn");
    assert!(fixture.admit().is_some(), "and hold no place");
    fixture.answer(3);
    assert_eq!(other.await.unwrap(), Ok(()));
    assert_eq!(again.await.unwrap(), Ok(()));
    assert!(controller.await.unwrap().is_ok());
    assert!(fixture.is_empty());
}

#[tokio::test]
async fn a_request_that_is_dropped_leaves_nothing_behind() {
    let fixture = Fixture::new(&SMALL);
    let mut writes: Vec<_> = Vec::new();
    for _ in 0..3 {
        writes.push(fixture.write(fixture.admit().unwrap(), "slow", 1, 10));
        settle().await;
    }
    // One waits for its place, two for their answers.
    let taken = (fixture.admit(), fixture.admit());
    fixture.answer(1);
    settle().await;
    for write in &writes {
        write.abort();
    }
    for write in writes {
        assert!(write.await.unwrap_err().is_cancelled());
    }
    drop(taken);
    assert!(fixture.is_empty());
}

#[tokio::test]
async fn several_calls_at_once_are_one_wait() {
    let fixture = Fixture::new(&SMALL);
    let place = fixture.admit().unwrap();
    let (caller, seen) = (fixture.caller.clone(), place.clone());
    let request = tokio::spawn(place.hold(async move {
        let address = address("slow");
        let mut calls: Vec<_> = (0..3).map(|_| caller.call(&address, Bytes::new(), Duration::MAX)).collect();
        poll_fn(|cx| {
            calls.retain_mut(|call| Pin::new(call).poll(cx).is_pending());
            if calls.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        assert!(seen.has_seats(), "the request goes on with a place");
    }));
    settle().await;
    assert_eq!(fixture.calls(), 3);
    fixture.answer(2);
    settle().await;
    let all = (fixture.admit(), fixture.admit());
    assert!(all.0.is_some() && all.1.is_some(), "it still waits for one");
    drop(all);
    fixture.answer(1);
    request.await.unwrap();
    assert!(fixture.is_empty());
}

#[test]
fn few_open_files_allow_few_calls() {
    let calls = |files| {
        let limits = InflightLimits::default().for_open_files(files);
        (limits.calls.count, limits.calls_per_webhook.count, limits.reserved_calls)
    };
    assert_eq!(calls(1 << 20), (1000, 400, 20));
    assert_eq!(calls(4096), (341, 170, 20));
    assert_eq!(calls(256), (32, 16, 4));
}
