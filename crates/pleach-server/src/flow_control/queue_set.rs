//! Fair queuing of one priority level: shuffle sharding, queues, virtual time, dispatch.
//!
//! Requests of a flow go to one of a few queues that a hash of the flow chooses, the one with the least work. When
//! seats are free, the queue whose next request would end first in virtual time is served: the time in which every
//! queue that has requests gets the same number of seats. Other than upstream, seats count for their queue while they
//! are used, and not when their request ends: a flow whose requests take long does not get ahead by it. A request that finds nothing waiting and enough seats starts
//! at once, at a cost that does not depend on the number of queues.

mod queues;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokio::sync::Notify;

use super::demand::Demand;
use super::stats::FlowStats;
use queues::Queues;

/// How long a request is taken to last before it is known, in seconds, as upstream does.
const ESTIMATED_SERVICE: f64 = 0.003;
/// Shuffle sharding uses no more bits of a hash than allow so many queues in a hand.
pub(super) const LARGEST_HAND: usize = 15;

/// The queue of requests of a level that has none.
const NO_QUEUE: usize = usize::MAX;

/// The treatment of requests beyond the seats of a priority level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queuing {
    /// There are none: its requests always start.
    Exempt,
    /// They are refused.
    Reject,
    /// They wait in queues.
    Queue {
        /// How many queues there are.
        queues: usize,
        /// How many of them a flow may use.
        hand: usize,
        /// How many requests may wait in one.
        length: usize,
    },
}

/// Why a request was refused: the label of the metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no seat, and the level has no queues.
    ConcurrencyLimit,
    /// The queue is full.
    QueueFull,
    /// It waited too long.
    TimeOut,
}

/// A request that waits for its seats.
#[derive(Debug, Default)]
pub(super) struct Slot {
    granted: AtomicBool,
    notify: Notify,
}

impl Slot {
    /// Whether the request has its seats.
    pub(super) fn is_granted(&self) -> bool {
        self.granted.load(Ordering::Acquire)
    }

    /// Waits for the seats.
    pub(super) async fn granted(&self) {
        while !self.is_granted() {
            self.notify.notified().await;
        }
    }

    fn grant(&self) {
        self.granted.store(true, Ordering::Release);
        self.notify.notify_one();
    }
}

/// A request of a level: the index of its flow schema's counts, its queue, how many seats it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    pub(super) flow: usize,
    pub(super) queue: usize,
    pub(super) seats: usize,
}

/// The decision about a new request.
#[derive(Debug)]
pub(super) enum Start {
    /// It has its seats.
    Run(Ticket),
    /// It waits.
    Wait(Ticket, Arc<Slot>),
    /// It is refused.
    Refused,
}

struct Waiting {
    ticket: Ticket,
    slot: Arc<Slot>,
    /// The virtual time of its arrival.
    arrived: f64,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Seats of the requests that wait.
    waiting_seats: usize,
    executing: usize,
    seats_in_use: usize,
    /// The virtual time up to which it has been served: seat-seconds that its requests have used, from the virtual time
    /// at which it became active.
    served: f64,
    /// How long ago that was reckoned, in seconds after the level began.
    reckoned: f64,
}

impl Queue {
    fn is_active(&self) -> bool {
        self.executing > 0 || !self.waiting.is_empty()
    }

    /// Counts what its requests have used until now.
    fn reckon(&mut self, now: f64) {
        self.served += self.seats_in_use as f64 * (now - self.reckoned);
        self.reckoned = now;
    }
}

/// How much work is taken to be ahead of requests with some seats, in seat-seconds.
fn work(seats: usize) -> f64 {
    seats as f64 * ESTIMATED_SERVICE
}

/// The requests of one priority level.
pub(super) struct QueueSet {
    queuing: Queuing,
    /// How many seats there are.
    limit: usize,
    /// May be more than wanted while those beyond are drained.
    queues: Queues,
    /// Requests that gave their seats back while they waited for something else: they go first.
    returning: VecDeque<Waiting>,
    seats_in_use: usize,
    executing: usize,
    waiting: usize,
    waiting_seats: usize,
    active_queues: usize,
    /// Seat-seconds that each queue with requests has been given since the start.
    virtual_time: f64,
    synced: Instant,
    /// Seconds since the level began.
    seconds: f64,
    robin: usize,
    arrivals: usize,
    pub(super) demand: Demand,
    pub(super) flows: Vec<FlowStats>,
}

impl QueueSet {
    pub(super) fn new(queuing: Queuing, limit: usize, now: Instant) -> Self {
        let mut set = Self {
            queuing,
            limit,
            queues: Queues::default(),
            returning: VecDeque::new(),
            seats_in_use: 0,
            executing: 0,
            waiting: 0,
            waiting_seats: 0,
            active_queues: 0,
            virtual_time: 0.0,
            synced: now,
            seconds: 0.0,
            robin: 0,
            arrivals: 0,
            demand: Demand::default(),
            flows: Vec::new(),
        };
        set.configure(queuing, limit, now);
        set
    }

    /// Changes the queues and the number of seats. Requests that wait stay where they are.
    pub(super) fn configure(&mut self, queuing: Queuing, limit: usize, now: Instant) {
        self.sync(now);
        (self.queuing, self.limit) = (queuing, limit);
        self.resize_queues();
        self.dispatch();
    }

    /// Changes the number of seats.
    pub(super) fn set_limit(&mut self, limit: usize, now: Instant) {
        self.configure(self.queuing, limit, now);
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn executing(&self) -> usize {
        self.executing
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(super) fn virtual_time(&self) -> f64 {
        self.virtual_time
    }

    /// Each queue: its index, requests that wait and that execute, seats in use and waited for, virtual time of the next
    /// start. Of a level with thousands of queues, most of those without requests are left out.
    pub(super) fn queues(&self) -> impl Iterator<Item = (usize, usize, usize, usize, usize, f64)> {
        self.queues.iter().map(|(index, queue)| {
            let Queue { waiting, waiting_seats, executing, seats_in_use, served, .. } = queue;
            (index, waiting.len(), *executing, *seats_in_use, *waiting_seats, *served)
        })
    }

    /// The index of the counts of a flow schema.
    pub(super) fn flow(&mut self, name: &str) -> usize {
        if let Some(at) = self.flows.iter().position(|flow| flow.name == name) {
            return at;
        }
        self.flows.push(FlowStats::new(name));
        self.flows.len() - 1
    }

    /// Begins a request of a flow.
    pub(super) fn start(&mut self, flow: usize, hash: u64, seats: usize, now: Instant) -> Start {
        self.sync(now);
        let start = self.place(flow, hash, seats);
        self.demand.observe(self.seats_in_use + self.waiting_seats);
        start
    }

    fn place(&mut self, flow: usize, hash: u64, seats: usize) -> Start {
        let nothing_waits = self.waiting == 0 && self.returning.is_empty();
        let Queuing::Queue { queues, hand, length } = self.queuing else {
            let ticket = Ticket { flow, queue: NO_QUEUE, seats };
            if self.queuing == Queuing::Exempt || nothing_waits && self.has_room_for(seats) {
                self.run(ticket);
                return Start::Run(ticket);
            }
            self.flows[flow].refused(Refusal::ConcurrencyLimit);
            return Start::Refused;
        };
        let queue = self.shuffle_shard(hash, queues, hand);
        let ticket = Ticket { flow, queue, seats };
        let (virtual_time, seconds) = (self.virtual_time, self.seconds);
        let chosen = self.queues.get_or_make(queue);
        if !chosen.is_active() {
            (chosen.served, chosen.reckoned) = (virtual_time, seconds);
        }
        if nothing_waits && self.has_room_for(seats) {
            self.flows[flow].queue_length(1);
            self.run(ticket);
            return Start::Run(ticket);
        }
        let chosen = self.queues.get_or_make(queue);
        if self.seats_in_use >= self.limit && chosen.waiting.len() >= length {
            self.flows[flow].refused(Refusal::QueueFull);
            return Start::Refused;
        }
        if !chosen.is_active() {
            self.active_queues += 1;
        }
        let slot = Arc::new(Slot::default());
        chosen.waiting.push_back(Waiting { ticket, slot: slot.clone(), arrived: virtual_time });
        chosen.waiting_seats += seats;
        self.flows[flow].queue_length(chosen.waiting.len());
        self.bound_served(queue);
        self.count_waiting(ticket, true);
        self.dispatch();
        if slot.is_granted() { Start::Run(ticket) } else { Start::Wait(ticket, slot) }
    }

    /// A request has ended, or gives its seats back for a while.
    pub(super) fn finish(&mut self, ticket: Ticket, now: Instant) {
        self.sync(now);
        let Ticket { flow, queue, seats } = ticket;
        self.executing -= 1;
        self.seats_in_use -= seats;
        self.flows[flow].executing -= 1;
        self.flows[flow].executing_seats -= seats;
        // A queue may have been dropped and made anew while the request was away.
        if let Some(queue) = self.queues.get_mut(queue).filter(|queue| queue.executing > 0) {
            queue.reckon(self.seconds);
            queue.executing -= 1;
            queue.seats_in_use = queue.seats_in_use.saturating_sub(seats);
            if !queue.is_active() {
                self.active_queues -= 1;
            }
        }
        self.bound_served(queue);
        self.dispatch();
        self.demand.observe(self.seats_in_use + self.waiting_seats);
        self.resize_queues();
    }

    /// A request that gave its seats back wants them again: it waits for its turn, ahead of new requests.
    pub(super) fn come_back(&mut self, ticket: Ticket, now: Instant) -> Option<Arc<Slot>> {
        self.sync(now);
        let back = if self.queuing == Queuing::Exempt
            || self.returning.is_empty() && self.has_room_for(ticket.seats)
        {
            self.revive(ticket.queue);
            self.run_again(ticket);
            None
        } else {
            let slot = Arc::new(Slot::default());
            self.returning.push_back(Waiting { ticket, slot: slot.clone(), arrived: self.virtual_time });
            self.waiting_seats += ticket.seats;
            Some(slot)
        };
        self.demand.observe(self.seats_in_use + self.waiting_seats);
        back
    }

    /// A request does not wait any longer. `false` if it has its seats already.
    pub(super) fn cancel(&mut self, ticket: Ticket, slot: &Arc<Slot>, now: Instant) -> bool {
        self.sync(now);
        if slot.is_granted() {
            return false;
        }
        let is_this = |waiting: &Waiting| Arc::ptr_eq(&waiting.slot, slot);
        if let Some(at) = self.returning.iter().position(is_this) {
            self.returning.remove(at);
            self.waiting_seats -= ticket.seats;
        } else if let Some(queue) = self.queues.get_mut(ticket.queue)
            && let Some(at) = queue.waiting.iter().position(is_this)
        {
            queue.waiting.remove(at);
            queue.waiting_seats -= ticket.seats;
            if !queue.is_active() {
                self.active_queues -= 1;
            }
            self.count_waiting(ticket, false);
            self.bound_served(ticket.queue);
        }
        // The request behind it may be narrower.
        self.dispatch();
        self.demand.observe(self.seats_in_use + self.waiting_seats);
        true
    }

    /// Virtual time runs as fast as a queue gets seats.
    pub(super) fn sync(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.synced).as_secs_f64();
        self.synced = self.synced.max(now);
        self.seconds += elapsed;
        let wanted = self.seats_in_use + self.waiting_seats;
        self.demand.advance(elapsed, wanted);
        if self.active_queues > 0 {
            self.virtual_time += elapsed * wanted.min(self.limit) as f64 / self.active_queues as f64;
        }
    }

    /// The queue with the least work among those that the hash deals to the flow.
    fn shuffle_shard(&mut self, hash: u64, queues: usize, hand: usize) -> usize {
        let mut cards = [0_usize; LARGEST_HAND];
        let hand = hand.clamp(1, LARGEST_HAND.min(queues));
        deal(hash, queues, &mut cards[..hand]);
        let offset = self.arrivals % hand;
        self.arrivals = self.arrivals.wrapping_add(1);
        let dealt = (0..hand).map(|i| cards[(offset + i) % hand]);
        dealt
            .min_by_key(|card| self.queues.get(*card).map_or(0, |queue| queue.waiting_seats))
            .unwrap_or_default()
    }

    /// A request that is wider than all the seats there are has them alone.
    fn has_room_for(&self, seats: usize) -> bool {
        if seats > self.limit {
            self.executing == 0 && (self.limit > 0 || self.queuing == Queuing::Reject)
        } else {
            self.seats_in_use + seats <= self.limit
        }
    }

    /// A queue whose requests were all away has not saved up virtual time meanwhile.
    fn revive(&mut self, queue: usize) {
        let (virtual_time, seconds) = (self.virtual_time, self.seconds);
        if queue == NO_QUEUE {
            return;
        }
        // It may have been removed while it was empty.
        let queue = self.queues.get_or_make(queue);
        if !queue.is_active() {
            (queue.served, queue.reckoned) = (queue.served.max(virtual_time), seconds);
        }
    }

    fn run(&mut self, ticket: Ticket) {
        self.flows[ticket.flow].dispatched += 1;
        self.run_again(ticket);
    }

    fn run_again(&mut self, Ticket { flow, queue, seats }: Ticket) {
        self.executing += 1;
        self.seats_in_use += seats;
        self.flows[flow].executing += 1;
        self.flows[flow].executing_seats += seats;
        if let Some(queue) = self.queues.get_mut(queue) {
            if !queue.is_active() {
                self.active_queues += 1;
            }
            queue.reckon(self.seconds);
            queue.executing += 1;
            queue.seats_in_use += seats;
        }
    }

    fn count_waiting(&mut self, ticket: Ticket, more: bool) {
        let flow = &mut self.flows[ticket.flow];
        if more {
            self.waiting += 1;
            self.waiting_seats += ticket.seats;
            flow.waiting += 1;
            flow.waiting_seats += ticket.seats;
        } else {
            self.waiting -= 1;
            self.waiting_seats -= ticket.seats;
            flow.waiting -= 1;
            flow.waiting_seats -= ticket.seats;
        }
    }

    /// Starts requests as long as there are seats.
    fn dispatch(&mut self) {
        while let Some(front) = self.returning.front() {
            if !self.has_room_for(front.ticket.seats) {
                return;
            }
            let Some(Waiting { ticket, slot, .. }) = self.returning.pop_front() else { return };
            self.waiting_seats -= ticket.seats;
            self.revive(ticket.queue);
            self.run_again(ticket);
            slot.grant();
        }
        while self.waiting > 0 && self.seats_in_use < self.limit && self.dispatch_one() {}
    }

    fn dispatch_one(&mut self) -> bool {
        let (robin, seconds) = (self.robin, self.seconds);
        // The best behind the last one that was served, and the best up to it: the first of those that are alike counts.
        let mut best: [Option<(f64, usize)>; 2] = [None, None];
        for (index, queue) in self.queues.iter_mut() {
            let Some(head) = queue.waiting.front().map(|head| head.ticket.seats) else { continue };
            queue.reckon(seconds);
            let finish = queue.served + work(queue.seats_in_use + head);
            let best = &mut best[usize::from(index <= robin)];
            if best.is_none_or(|(least, _)| finish < least) {
                *best = Some((finish, index));
            }
        }
        let index = match best {
            [Some((behind, index)), Some((before, _))] if behind <= before => index,
            [_, Some((_, index))] | [Some((_, index)), None] => index,
            [None, None] => return false,
        };
        let Some(queue) = self.queues.get_mut(index) else { return false };
        let Some(ticket) = queue.waiting.front().map(|head| head.ticket) else { return false };
        if !self.has_room_for(ticket.seats) {
            self.flows[ticket.flow].no_accommodation += 1;
            return false;
        }
        let Some(queue) = self.queues.get_mut(index) else { return false };
        let Some(Waiting { ticket, slot, .. }) = queue.waiting.pop_front() else { return false };
        queue.waiting_seats -= ticket.seats;
        // Active before, since a request waited, and active after: `run` must not count the queue once more.
        if !queue.is_active() {
            self.active_queues -= 1;
        }
        self.robin = index;
        self.count_waiting(ticket, false);
        self.run(ticket);
        self.bound_served(index);
        slot.grant();
        true
    }

    /// A queue saves up no virtual time from before its oldest request arrived.
    fn bound_served(&mut self, queue: usize) {
        let Some(queue) = self.queues.get_mut(queue) else { return };
        if let Some(oldest) = queue.waiting.front() {
            queue.served = queue.served.max(oldest.arrived);
        }
    }

    fn resize_queues(&mut self) {
        let wanted = match self.queuing {
            Queuing::Queue { queues, .. } => queues,
            Queuing::Exempt | Queuing::Reject => 0,
        };
        self.queues.resize(wanted);
        if self.queues.last().is_none_or(|last| self.robin > last) {
            self.robin = 0;
        }
    }
}

/// Deals cards from a deck: different ones, each hand as likely as any other.
fn deal(mut hash: u64, deck: usize, hand: &mut [usize]) {
    for i in 0..hand.len() {
        let left = (deck - i) as u64;
        // The position among the cards that are left.
        let mut card = (hash % left) as usize;
        hash /= left;
        // Cards that were dealt before are skipped, the lowest first.
        let (dealt, rest) = hand.split_at_mut(i);
        dealt.sort_unstable();
        for taken in dealt.iter() {
            if card >= *taken {
                card += 1;
            }
        }
        rest[0] = card;
    }
}

#[cfg(test)]
mod tests;
