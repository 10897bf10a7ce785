//! Limits on requests in flight, and on calls to webhooks.
//!
//! How many requests are executed at once is decided by [`crate::flow_control`], which divides these limits. A request
//! that waits for a webhook gives its seats back meanwhile, so that slow webhooks take nothing from requests that need
//! none.
//!
//! Calls to webhooks have bounds of their own ([`BoundedCaller`]): in all and per webhook, in number and
//! in bytes. Beyond them a request is refused with 429 at its first call. Later calls of the same request,
//! and calls of watches and background controllers, wait for their turn instead: something may have been
//! committed by then. Requests of exempt priority levels have some calls in reserve, so that an administrator can
//! always look and repair. The engine only sees a [`Caller`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use pleach_engine::webhooks::{self, Address, CallError, CallFuture, Caller, WebhookPlugin};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::flow_control;

/// How many requests and calls there may be at once. Watches count while they begin.
#[derive(Clone, Copy, Debug)]
pub struct InflightLimits {
    /// `--max-requests-inflight`: with the next one it is the number of seats that priority levels share.
    pub readonly: usize,
    /// `--max-mutating-requests-inflight`.
    pub mutating: usize,
    /// Whether they are shared fairly (`--enable-priority-and-fairness`). Otherwise each of the two is a limit.
    pub priority_and_fairness: bool,
    /// How many requests are computed at once while several users saturate the processor; 0 for no such limit.
    pub turns: usize,
    /// Reads of exempt priority levels.
    pub exempt_readonly: usize,
    /// Writes of exempt priority levels.
    pub exempt_mutating: usize,
    /// Calls to webhooks.
    pub calls: CallLimits,
    /// Calls to any one webhook.
    pub calls_per_webhook: CallLimits,
    /// Calls for requests of exempt priority levels beyond `calls`.
    pub reserved_calls: usize,
}

/// How many calls to webhooks may wait for their answers.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// Calls.
    pub count: usize,
    /// The bytes they sent, which is roughly the memory they hold.
    pub bytes: usize,
}

impl Default for InflightLimits {
    fn default() -> Self {
        Self {
            readonly: 400,
            mutating: 200,
            priority_and_fairness: true,
            turns: 0,
            exempt_readonly: 440,
            exempt_mutating: 220,
            calls: CallLimits { count: 1000, bytes: 128 << 20 },
            calls_per_webhook: CallLimits { count: 400, bytes: 48 << 20 },
            reserved_calls: 20,
        }
    }
}

impl InflightLimits {
    /// The seats that priority levels share.
    pub fn seats(&self) -> usize {
        self.readonly.saturating_add(self.mutating)
    }

    /// How many requests of exempt priority levels are executed at once.
    pub fn exempt(&self, mutating: bool) -> usize {
        if mutating { self.exempt_mutating } else { self.exempt_readonly }
    }

    /// The limits of flags; exempt requests have a tenth more each.
    #[must_use]
    pub fn with_flags(mut self, readonly: usize, mutating: usize, priority_and_fairness: bool) -> Self {
        (self.readonly, self.mutating) = (readonly, mutating);
        self.exempt_readonly = self.exempt_readonly.max(readonly + readonly / 10);
        self.exempt_mutating = self.exempt_mutating.max(mutating + mutating / 10);
        self.priority_and_fairness = priority_and_fairness;
        self
    }

    /// No more calls than leave most of the files that the process may open to clients and to the store:
    /// each call may need a connection.
    #[must_use]
    pub fn for_open_files(mut self, files: usize) -> Self {
        let calls = (files / 12).max(32);
        self.calls.count = self.calls.count.min(calls);
        self.calls_per_webhook.count = self.calls_per_webhook.count.min(calls / 2);
        self.reserved_calls = self.reserved_calls.min(calls / 8);
        self
    }
}

/// Whether a call may use the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    /// It may not.
    Ordinary,
    /// It may: its request is exempt.
    Exempt,
}

/// Seats for all requests and some in reserve.
struct Seats {
    #[cfg(test)]
    size: usize,
    shared: Semaphore,
    reserve: Semaphore,
}

/// Which of the two a seat is from.
#[derive(Clone, Copy, Debug)]
enum Seat {
    Shared,
    Reserve,
}

impl Seats {
    fn new(shared: usize, reserve: usize) -> Self {
        Self {
            #[cfg(test)]
            size: shared,
            shared: Semaphore::new(shared),
            reserve: Semaphore::new(reserve),
        }
    }

    /// A seat that is free now.
    fn try_take(&self, rank: Rank) -> Option<Seat> {
        if let Ok(permit) = self.shared.try_acquire() {
            permit.forget();
            return Some(Seat::Shared);
        }
        if rank == Rank::Exempt
            && let Ok(permit) = self.reserve.try_acquire()
        {
            permit.forget();
            return Some(Seat::Reserve);
        }
        None
    }

    /// The next seat that is free, ahead of requests that do not wait.
    async fn take(&self, rank: Rank) -> Seat {
        if rank == Rank::Ordinary {
            forget(self.shared.acquire().await);
            return Seat::Shared;
        }
        tokio::select! {
            biased;
            permit = self.shared.acquire() => {
                forget(permit);
                Seat::Shared
            }
            permit = self.reserve.acquire() => {
                forget(permit);
                Seat::Reserve
            }
        }
    }

    fn give_back(&self, seat: Seat) {
        match seat {
            Seat::Shared => self.shared.add_permits(1),
            Seat::Reserve => self.reserve.add_permits(1),
        }
    }
}

/// Keeps a permit until it is given back by hand. These semaphores are never closed.
fn forget(permit: Result<SemaphorePermit<'_>, tokio::sync::AcquireError>) {
    if let Ok(permit) = permit {
        permit.forget();
    }
}

/// Bytes are counted in units, since a semaphore counts no further than 32 bits at a time.
const UNIT: usize = 1024;

/// The bounds on calls: their number and their memory.
struct Room {
    seats: Seats,
    units: Semaphore,
    most_units: u32,
}

/// A call's share of a room.
struct Share<'r> {
    room: &'r Room,
    seat: Seat,
    units: u32,
}

impl Room {
    fn new(limits: CallLimits, reserve: usize) -> Self {
        let most_units = u32::try_from(limits.bytes / UNIT).unwrap_or(u32::MAX).max(1);
        Self {
            seats: Seats::new(limits.count, reserve),
            units: Semaphore::new(most_units as usize),
            most_units,
        }
    }

    /// A call that is larger than the bound takes all of it.
    fn units(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).clamp(1, self.most_units)
    }

    fn try_enter(&self, bytes: usize, rank: Rank) -> Option<Share<'_>> {
        let units = self.units(bytes);
        let permit = self.units.try_acquire_many(units).ok()?;
        let seat = self.seats.try_take(rank)?;
        permit.forget();
        Some(Share { room: self, seat, units })
    }

    async fn enter(&self, bytes: usize, rank: Rank) -> Share<'_> {
        let units = self.units(bytes);
        let permit = self.units.acquire_many(units).await;
        let seat = self.seats.take(rank).await;
        forget(permit);
        Share { room: self, seat, units }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.room.seats.give_back(self.seat);
        self.room.units.add_permits(self.units as usize);
    }
}

/// Calls webhooks through another caller, within bounds, and without the places of the requests that wait.
pub struct BoundedCaller<C> {
    caller: C,
    all: Room,
    per_webhook: CallLimits,
    webhooks: Mutex<HashMap<webhooks::Place, Arc<Room>>>,
}

/// The room of one webhook, which is forgotten with its last call.
struct Entry<'c, C> {
    caller: &'c BoundedCaller<C>,
    place: &'c webhooks::Place,
    room: Arc<Room>,
}

impl<C: Caller> BoundedCaller<C> {
    /// Bounds a caller.
    pub fn new(caller: C, limits: &InflightLimits) -> Self {
        Self {
            caller,
            all: Room::new(limits.calls, limits.reserved_calls),
            per_webhook: limits.calls_per_webhook,
            webhooks: Mutex::default(),
        }
    }

    async fn bounded(
        &self,
        plugin: Option<WebhookPlugin>,
        address: &Address,
        body: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, CallError> {
        let place = flow_control::current();
        let is_exempt = place.as_ref().is_some_and(|place| place.is_exempt());
        let rank = if is_exempt { Rank::Exempt } else { Rank::Ordinary };
        let entry = self.entry(&address.place);
        let bytes = body.len();
        let own = Rank::Ordinary;
        let shares = if place.as_ref().is_some_and(|place| place.begin_call()) {
            let enter = || Some((entry.room.try_enter(bytes, own)?, self.all.try_enter(bytes, rank)?));
            Some(enter().ok_or(CallError::Overloaded)?)
        } else {
            None
        };
        let away = place.as_ref().map(|place| place.leave());
        let shares = match shares {
            Some(shares) => shares,
            None => (entry.room.enter(bytes, own).await, self.all.enter(bytes, rank).await),
        };
        let answer = match plugin {
            Some(plugin) => self.caller.call_for(plugin, address, body, timeout).await,
            None => self.caller.call(address, body, timeout).await,
        };
        drop((shares, away));
        if let Some(place) = &place {
            place.come_back().await;
        }
        answer
    }

    fn entry<'c>(&'c self, place: &'c webhooks::Place) -> Entry<'c, C> {
        let mut rooms = self.rooms();
        let room = match rooms.get(place) {
            Some(room) => room.clone(),
            None => {
                let room = Arc::new(Room::new(self.per_webhook, 0));
                rooms.insert(place.clone(), room.clone());
                room
            }
        };
        Entry { caller: self, place, room }
    }
}

impl<C> BoundedCaller<C> {
    fn rooms(&self) -> MutexGuard<'_, HashMap<webhooks::Place, Arc<Room>>> {
        self.webhooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Caller> Caller for BoundedCaller<C> {
    fn call<'a>(&'a self, address: &'a Address, body: Bytes, timeout: Duration) -> CallFuture<'a> {
        Box::pin(self.bounded(None, address, body, timeout))
    }

    fn call_for<'a>(
        &'a self,
        plugin: WebhookPlugin,
        address: &'a Address,
        body: Bytes,
        timeout: Duration,
    ) -> CallFuture<'a> {
        Box::pin(self.bounded(Some(plugin), address, body, timeout))
    }
}

impl<C> Drop for Entry<'_, C> {
    fn drop(&mut self) {
        let mut rooms = self.caller.rooms();
        // The map's and this one: clones are only made with the map locked.
        if Arc::strong_count(&self.room) == 2 {
            rooms.remove(self.place);
        }
    }
}

#[cfg(test)]
mod tests;
