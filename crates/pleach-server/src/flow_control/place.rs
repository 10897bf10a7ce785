//! A request's seats at its priority level, from its start to the end of its response. They are given back while it
//! waits for something that is not the server's work: a webhook, or the rest of its body.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Instant;

use super::level::Level;
use super::queue_set::{Slot, Ticket};

/// How many requests are executed that only read, and that write.
#[derive(Debug, Default)]
pub(super) struct Inflight {
    pub(super) readonly: AtomicUsize,
    pub(super) mutating: AtomicUsize,
}

impl Inflight {
    pub(super) fn of(&self, mutating: bool) -> &AtomicUsize {
        if mutating { &self.mutating } else { &self.readonly }
    }
}

/// A request's seats, until it is dropped.
pub struct Place {
    pub(super) level: Arc<Level>,
    pub(super) inflight: Arc<Inflight>,
    pub(super) ticket: Ticket,
    pub(super) mutating: bool,
    pub(super) is_exempt: bool,
    /// A hash of the user.
    pub(super) user: u64,
    pub(super) began: Instant,
    state: Mutex<State>,
}

struct State {
    held: Held,
    /// Calls to webhooks that it waits for now.
    calls: usize,
    /// Whether it made a call before.
    has_called: bool,
}

enum Held {
    /// The request has its seats.
    Seats,
    /// It waits for them.
    Waits(Arc<Slot>),
    /// It has given them back.
    Nothing,
}

tokio::task_local! {
    /// The place of the request that the running task works on.
    static PLACE: Arc<Place>;
}

/// The place of the request that the running task works on.
pub(crate) fn current() -> Option<Arc<Place>> {
    PLACE.try_with(Clone::clone).ok()
}

impl Place {
    pub(super) fn new(
        level: Arc<Level>,
        inflight: Arc<Inflight>,
        ticket: Ticket,
        mutating: bool,
        is_exempt: bool,
        user: u64,
        began: Instant,
    ) -> Arc<Self> {
        inflight.of(mutating).fetch_add(1, Ordering::Relaxed);
        let state = Mutex::new(State { held: Held::Seats, calls: 0, has_called: false });
        Arc::new(Self { level, inflight, ticket, mutating, is_exempt, user, began, state })
    }

    /// Works on a request; calls to webhooks from within it give its seats back while they wait.
    pub fn hold<F: Future>(self: Arc<Self>, request: F) -> impl Future<Output = F::Output> {
        PLACE.scope(self, request)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the request is one that is never refused.
    pub(crate) fn is_exempt(&self) -> bool {
        self.is_exempt
    }

    /// Whether the request has its seats.
    #[cfg(test)]
    pub(crate) fn has_seats(&self) -> bool {
        matches!(self.state().held, Held::Seats)
    }

    /// Whether this is the first call of the request to a webhook, which may still be refused.
    pub(crate) fn begin_call(&self) -> bool {
        !std::mem::replace(&mut self.state().has_called, true)
    }

    /// Gives the seats back for as long as any call is under way.
    pub(crate) fn leave(&self) -> ReleasedSeats<'_> {
        let mut state = self.state();
        state.calls += 1;
        let held = std::mem::replace(&mut state.held, Held::Nothing);
        drop(state);
        self.release(held);
        ReleasedSeats(self)
    }

    /// Takes seats again, unless other calls of the request are under way: several may be at once, and a request that
    /// waits for any of them is one that waits.
    pub(crate) async fn come_back(&self) {
        let slot = {
            let mut state = self.state();
            if state.calls > 0 {
                return;
            }
            match &state.held {
                Held::Seats => return,
                Held::Waits(slot) => slot.clone(),
                Held::Nothing => {
                    let now = Instant::now();
                    let Some(slot) = self.level.queues().come_back(self.ticket, now) else {
                        state.held = Held::Seats;
                        self.inflight.of(self.mutating).fetch_add(1, Ordering::Relaxed);
                        return;
                    };
                    state.held = Held::Waits(slot.clone());
                    slot
                }
            }
        };
        slot.granted().await;
        let mut state = self.state();
        if matches!(&state.held, Held::Waits(own) if Arc::ptr_eq(own, &slot)) {
            state.held = Held::Seats;
            self.inflight.of(self.mutating).fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits for something without the seats, if it is not there yet.
    pub async fn without_seats<F: Future>(&self, waits_for: F) -> F::Output {
        let mut waits_for = pin!(waits_for);
        if let Poll::Ready(done) = poll_fn(|cx| Poll::Ready(waits_for.as_mut().poll(cx))).await {
            return done;
        }
        let away = self.leave();
        let done = waits_for.await;
        drop(away);
        self.come_back().await;
        done
    }

    fn release(&self, held: Held) {
        match held {
            Held::Nothing => {}
            Held::Seats => {
                self.inflight.of(self.mutating).fetch_sub(1, Ordering::Relaxed);
                self.level.queues().finish(self.ticket, Instant::now());
            }
            Held::Waits(slot) => {
                let (now, mut queues) = (Instant::now(), self.level.queues());
                // It may have got them without having noticed.
                if !queues.cancel(self.ticket, &slot, now) {
                    queues.finish(self.ticket, now);
                }
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let held = std::mem::replace(&mut state.held, Held::Nothing);
        let now = Instant::now();
        let took = now.saturating_duration_since(self.began);
        if matches!(held, Held::Seats) {
            self.inflight.of(self.mutating).fetch_sub(1, Ordering::Relaxed);
            let mut queues = self.level.queues();
            queues.flows[self.ticket.flow].executed(took);
            queues.finish(self.ticket, now);
        } else {
            self.release(held);
            self.level.queues().flows[self.ticket.flow].executed(took);
        }
    }
}

/// The seats that a request gave back while it waits; it takes them again when this is dropped.
pub(crate) struct ReleasedSeats<'p>(&'p Place);

impl Drop for ReleasedSeats<'_> {
    fn drop(&mut self) {
        self.0.state().calls -= 1;
    }
}
