//! Requests in flight: how many are worked on at once, and how many wait for webhooks.
//!
//! A read or a write holds a [`Place`] while it is worked on. While it waits for a webhook it gives the
//! place back, so that slow webhooks take nothing from requests that need none. It takes a place again
//! before it goes on, ahead of new requests, and is not refused then: the semaphores are fair, and a new
//! request only tries.
//!
//! Calls to webhooks have bounds of their own ([`BoundedCaller`]): in all and per webhook, in number and
//! in bytes. Beyond them a request is refused with 429 at its first call. Later calls of the same request,
//! and calls of watches and background controllers, wait for their turn instead: something may have been
//! committed by then.
//!
//! Users in `system:masters` have places in reserve, so that an administrator can always look and repair.
//! The engine only sees a [`Caller`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use pleach_engine::webhooks::{self, Address, CallError, CallFuture, Caller, WebhookPlugin};
use tokio::sync::{Semaphore, SemaphorePermit};

use pleach_auth::UserInfo;
use pleach_auth::user::MASTERS;

/// How many requests and calls there may be at once. Watches are not counted.
#[derive(Clone, Copy, Debug)]
pub struct InflightLimits {
    /// Reads.
    pub readonly: usize,
    /// Writes.
    pub mutating: usize,
    /// Reads of `system:masters` beyond that.
    pub reserved_readonly: usize,
    /// Writes of `system:masters` beyond that.
    pub reserved_mutating: usize,
    /// Calls to webhooks.
    pub calls: CallLimits,
    /// Calls to any one webhook.
    pub calls_per_webhook: CallLimits,
    /// Calls for requests of `system:masters` beyond `calls`.
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
            reserved_readonly: 40,
            reserved_mutating: 20,
            calls: CallLimits { count: 1000, bytes: 128 << 20 },
            calls_per_webhook: CallLimits { count: 400, bytes: 48 << 20 },
            reserved_calls: 20,
        }
    }
}

impl InflightLimits {
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

/// Whether a request may use the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// All other users: it may not.
    Ordinary,
    /// Users in `system:masters`: it may.
    Master,
}

impl Rank {
    /// The rank of a user.
    pub fn of(user: &UserInfo) -> Self {
        if user.is_in(MASTERS) { Self::Master } else { Self::Ordinary }
    }
}

/// Seats for all requests and some in reserve.
struct Seats {
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
        Self { size: shared, shared: Semaphore::new(shared), reserve: Semaphore::new(reserve) }
    }

    /// A seat that is free now.
    fn try_take(&self, rank: Rank) -> Option<Seat> {
        if let Ok(permit) = self.shared.try_acquire() {
            permit.forget();
            return Some(Seat::Shared);
        }
        if rank == Rank::Master
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

    fn taken(&self) -> usize {
        self.size.saturating_sub(self.shared.available_permits())
    }
}

/// Keeps a permit until it is given back by hand. These semaphores are never closed.
fn forget(permit: Result<SemaphorePermit<'_>, tokio::sync::AcquireError>) {
    if let Ok(permit) = permit {
        permit.forget();
    }
}

/// Places for requests.
pub struct Inflight {
    readonly: Seats,
    mutating: Seats,
}

impl Inflight {
    /// As many as there may be.
    pub fn new(limits: &InflightLimits) -> Arc<Self> {
        Arc::new(Self {
            readonly: Seats::new(limits.readonly, limits.reserved_readonly),
            mutating: Seats::new(limits.mutating, limits.reserved_mutating),
        })
    }

    /// A place for a read or a write; `None` is a 429.
    pub fn admit(self: &Arc<Self>, mutating: bool, rank: Rank) -> Option<Arc<Place>> {
        let seat = self.seats(mutating).try_take(rank)?;
        let state = Mutex::new(State { seat: Some(seat), calls: 0, has_called: false });
        Some(Arc::new(Place { inflight: self.clone(), mutating, rank, state }))
    }

    /// Whether there is a place now.
    pub fn has_place(&self, mutating: bool, rank: Rank) -> bool {
        let Seats { shared, reserve, .. } = self.seats(mutating);
        shared.available_permits() > 0 || (rank == Rank::Master && reserve.available_permits() > 0)
    }

    /// How many writes are worked on.
    pub fn mutating(&self) -> usize {
        self.mutating.taken()
    }

    fn seats(&self, mutating: bool) -> &Seats {
        if mutating { &self.mutating } else { &self.readonly }
    }
}

/// A request's place among those in flight, until it is dropped.
pub struct Place {
    inflight: Arc<Inflight>,
    mutating: bool,
    rank: Rank,
    state: Mutex<State>,
}

struct State {
    /// `None` while the request waits for webhooks.
    seat: Option<Seat>,
    /// Calls to webhooks that it waits for now.
    calls: usize,
    /// Whether it made a call before.
    has_called: bool,
}

tokio::task_local! {
    /// The place of the request that the running task works on.
    static PLACE: Arc<Place>;
}

impl Place {
    /// Works on a request; calls to webhooks from within it give its place back while they wait.
    pub fn hold<F: Future>(self: Arc<Self>, request: F) -> impl Future<Output = F::Output> {
        PLACE.scope(self, request)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seats(&self) -> &Seats {
        self.inflight.seats(self.mutating)
    }

    /// Whether the request may still be refused.
    fn begin_call(&self) -> bool {
        !std::mem::replace(&mut self.state().has_called, true)
    }

    /// Gives the place back for as long as any call is under way.
    fn leave(&self) -> Away<'_> {
        let mut state = self.state();
        state.calls += 1;
        let seat = state.seat.take();
        drop(state);
        if let Some(seat) = seat {
            self.seats().give_back(seat);
        }
        Away(self)
    }

    /// Takes a place again unless other calls of the request are under way: several may be at once, and
    /// a request that waits for any of them is one that waits.
    async fn come_back(&self) {
        let is_back = |state: &State| state.calls > 0 || state.seat.is_some();
        if is_back(&self.state()) {
            return;
        }
        let seat = self.seats().take(self.rank).await;
        let mut state = self.state();
        if is_back(&state) {
            drop(state);
            self.seats().give_back(seat);
        } else {
            state.seat = Some(seat);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(seat) = state.seat.take() {
            self.seats().give_back(seat);
        }
    }
}

/// A place that was given back for the time of a webhook call.
struct Away<'p>(&'p Place);

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.state().calls -= 1;
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
        let place = PLACE.try_with(Clone::clone).ok();
        let rank = place.as_ref().map_or(Rank::Ordinary, |place| place.rank);
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
