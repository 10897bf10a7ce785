use std::time::Duration;

use super::*;

const QUEUES: Queuing = Queuing::Queue { queues: 16, hand: 4, length: 50 };

/// A level with a clock of its own.
struct Fixture {
    set: QueueSet,
    now: Instant,
}

type Running = (Ticket, Instant);
type Held = (Ticket, Arc<Slot>);

impl Fixture {
    fn new(queuing: Queuing, limit: usize) -> Self {
        let now = Instant::now();
        let mut set = QueueSet::new(queuing, limit, now);
        set.flow("a");
        Self { set, now }
    }

    fn start(&mut self, hash: u64, seats: usize) -> Start {
        self.set.start(0, hash, seats, self.now)
    }

    fn runs(&mut self, hash: u64, seats: usize) -> Running {
        match self.start(hash, seats) {
            Start::Run(ticket) => (ticket, self.now),
            other => panic!("it has to start: {other:?}"),
        }
    }

    fn waits(&mut self, hash: u64, seats: usize) -> Held {
        match self.start(hash, seats) {
            Start::Wait(ticket, slot) => (ticket, slot),
            other => panic!("it has to wait: {other:?}"),
        }
    }

    /// Runs a request to its end.
    fn runs_alone(&mut self, hash: u64) -> Ticket {
        let running = self.runs(hash, 1);
        self.finish(running);
        running.0
    }

    fn finish(&mut self, (ticket, _): Running) {
        self.set.finish(ticket, self.now);
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    fn is_empty(&self) -> bool {
        let QueueSet { seats_in_use, executing, waiting, waiting_seats, active_queues, .. } = self.set;
        (seats_in_use, executing, waiting, waiting_seats, active_queues) == (0, 0, 0, 0, 0)
            && self.set.queues.iter().all(|(_, queue)| queue.seats_in_use == 0 && queue.waiting_seats == 0)
    }
}

#[test]
fn hands_have_different_cards() {
    let mut used = [0; 10];
    for hash in 0..10_000_u64 {
        let mut hand = [0; 4];
        deal(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15), 10, &mut hand);
        hand.sort_unstable();
        assert!(hand.windows(2).all(|pair| pair[0] < pair[1]) && hand[3] < 10, "{hand:?}");
        hand.iter().for_each(|card| used[*card] += 1);
    }
    assert!(used.iter().all(|count| (3_700..4_300).contains(count)), "each card is as likely: {used:?}");
}

#[test]
fn without_contention_requests_start_at_once() {
    let mut fixture = Fixture::new(QUEUES, 4);
    let running: Vec<Running> = (0..4).map(|hash| fixture.runs(hash, 1)).collect();
    let (_, slot) = fixture.waits(9, 1);
    running.into_iter().for_each(|one| fixture.finish(one));
    assert!(slot.is_granted());
}

#[test]
fn a_flow_that_floods_does_not_keep_others_waiting() {
    let mut fixture = Fixture::new(QUEUES, 4);
    let mut running: VecDeque<Running> = (0..4).map(|_| fixture.runs(7, 1)).collect();
    let mut flood: Vec<Held> = (0..190).map(|_| fixture.waits(7, 1)).collect();
    // Each round one request ends, and another flow asks for one seat now and then.
    let mut longest = 0;
    for round in 0..150 {
        fixture.pass(Duration::from_micros(750));
        let other = (round % 10 == 5).then(|| fixture.waits(1_000_003, 1));
        let mut ended = 0;
        loop {
            let done = running.pop_front().unwrap();
            fixture.finish(done);
            ended += 1;
            let now = fixture.now;
            let (granted, left) = flood.into_iter().partition(|(_, slot): &Held| slot.is_granted());
            flood = left;
            running.extend(granted.into_iter().map(|(ticket, _): Held| (ticket, now)));
            match &other {
                Some((ticket, slot)) if slot.is_granted() => {
                    running.push_front((*ticket, now));
                    break;
                }
                Some(_) => fixture.pass(Duration::from_micros(750)),
                None => break,
            }
        }
        longest = longest.max(ended);
    }
    assert!(longest <= 8, "requests of the flood that went before: {longest}");
}

#[test]
fn flows_share_the_seats() {
    // Two flows want as much as they can get, one of them with ten times as many requests.
    let mut fixture = Fixture::new(Queuing::Queue { queues: 64, hand: 1, length: 1000 }, 4);
    let mut running: VecDeque<(usize, Running)> = VecDeque::new();
    let mut waiting: Vec<(usize, Held)> = Vec::new();
    for _ in 0..4 {
        running.push_back((0, fixture.runs(1, 1)));
    }
    for i in 0..880 {
        let flow = usize::from(i % 11 == 0);
        waiting.push((flow, fixture.waits(flow as u64 + 1, 1)));
    }
    let mut served = [0, 0];
    while waiting.iter().any(|(flow, _)| *flow == 1) {
        fixture.pass(Duration::from_millis(1));
        fixture.finish(running.pop_front().unwrap().1);
        let now = fixture.now;
        let (granted, left): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, (_, slot))| slot.is_granted());
        waiting = left;
        for (flow, (ticket, _)) in granted {
            served[flow] += 1;
            running.push_back((flow, (ticket, now)));
        }
    }
    assert_eq!(served[1], 80);
    assert!((72..=92).contains(&served[0]), "about as many of the other: {served:?}");
}

#[test]
fn full_queues_refuse() {
    let mut fixture = Fixture::new(Queuing::Queue { queues: 8, hand: 2, length: 3 }, 1);
    let running = fixture.runs(5, 1);
    let waiting: Vec<Held> = (0..6).map(|_| fixture.waits(5, 1)).collect();
    assert!(matches!(fixture.start(5, 1), Start::Refused), "two queues of three");
    let mut others = 0;
    for hash in 0..1000 {
        others += usize::from(matches!(fixture.start(hash, 1), Start::Wait(..)));
    }
    assert!(others >= 18, "other flows have queues that are not full: {others}");
    assert_eq!(fixture.set.flows[0].refusals().nth(1), Some(("queue-full", 1 + 1000 - others as u64)));
    fixture.finish(running);
    assert!(waiting.iter().filter(|(_, slot)| slot.is_granted()).count() <= 1);
}

#[test]
fn levels_without_queues_refuse() {
    let mut fixture = Fixture::new(Queuing::Reject, 2);
    let (a, b) = (fixture.runs(0, 1), fixture.runs(0, 1));
    assert!(matches!(fixture.start(0, 1), Start::Refused));
    fixture.finish(a);
    let c = fixture.runs(0, 1);
    fixture.finish(b);
    fixture.finish(c);
    let wide = fixture.runs(0, 10);
    assert!(matches!(fixture.start(0, 1), Start::Refused), "a wide request has the level alone");
    fixture.finish(wide);
    assert!(fixture.is_empty());
    let mut exempt = Fixture::new(Queuing::Exempt, 0);
    let all: Vec<Running> = (0..1000).map(|_| exempt.runs(0, 1)).collect();
    all.into_iter().for_each(|one| exempt.finish(one));
    assert!(exempt.is_empty());
}

#[test]
fn wide_requests_wait_for_all_their_seats() {
    let mut fixture = Fixture::new(Queuing::Queue { queues: 1, hand: 1, length: 50 }, 4);
    let (a, b) = (fixture.runs(0, 2), fixture.runs(0, 1));
    let (wide, slot) = fixture.waits(0, 3);
    let (_, narrow) = fixture.waits(0, 1);
    assert!(!narrow.is_granted(), "it does not overtake");
    assert!(fixture.set.flows[0].no_accommodation > 0);
    fixture.finish(b);
    assert!(!slot.is_granted());
    fixture.finish(a);
    assert!(slot.is_granted() && narrow.is_granted());
    let now = fixture.now;
    fixture.finish((wide, now));
    assert_eq!(fixture.set.executing(), 1);
}

#[test]
fn requests_that_come_back_go_first_and_are_not_refused() {
    for queuing in [QUEUES, Queuing::Reject] {
        let mut fixture = Fixture::new(queuing, 1);
        let away = fixture.runs(0, 1);
        fixture.finish(away);
        let other = fixture.runs(1, 1);
        let late = match fixture.start(2, 1) {
            Start::Wait(ticket, slot) => Some((ticket, slot)),
            _ => None,
        };
        let slot = fixture.set.come_back(away.0, fixture.now).expect("there is no seat");
        fixture.finish(other);
        assert!(slot.is_granted());
        assert!(late.as_ref().is_none_or(|(_, late)| !late.is_granted()), "new ones wait");
        fixture.finish(away);
        if let Some((ticket, late)) = late {
            assert!(late.is_granted());
            let now = fixture.now;
            fixture.finish((ticket, now));
        }
        assert!(fixture.is_empty());
    }
}

#[test]
fn requests_that_are_given_up_leave_nothing_behind() {
    let mut fixture = Fixture::new(QUEUES, 1);
    let running = fixture.runs(0, 1);
    let (ticket, slot) = fixture.waits(1, 1);
    let (next, granted) = fixture.waits(2, 1);
    assert!(fixture.set.cancel(ticket, &slot, fixture.now));
    fixture.finish(running);
    assert!(granted.is_granted() && !slot.is_granted());
    assert!(!fixture.set.cancel(next, &granted, fixture.now), "it has its seat");
    let now = fixture.now;
    fixture.finish((next, now));
    assert!(fixture.is_empty());
}

#[test]
fn queues_may_become_more_and_fewer() {
    let mut fixture = Fixture::new(QUEUES, 1);
    let running = fixture.runs(3, 1);
    let waiting: Vec<Held> = (0..40).map(|hash| fixture.waits(hash * 7919, 1)).collect();
    let few = Queuing::Queue { queues: 2, hand: 1, length: 50 };
    fixture.set.configure(few, 5, fixture.now);
    assert_eq!(waiting.iter().filter(|(_, slot)| slot.is_granted()).count(), 4, "more seats");
    fixture.finish(running);
    let mut left = waiting;
    while !left.is_empty() {
        let now = fixture.now;
        let (granted, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(|(_, slot)| slot.is_granted());
        assert!(!granted.is_empty(), "requests in queues that are drained are served, too");
        granted.into_iter().for_each(|(ticket, _)| fixture.finish((ticket, now)));
        left = rest;
    }
    assert!(fixture.is_empty());
    assert_eq!(fixture.set.queues.iter().count(), 2);
    fixture.set.configure(Queuing::Reject, 1, fixture.now);
    assert_eq!(fixture.set.queues.iter().count(), 0);
}

#[test]
fn millions_of_queues_are_made_when_they_are_used() {
    const MILLIONS: Queuing = Queuing::Queue { queues: 10_000_000, hand: 1, length: 2 };
    let mut fixture = Fixture::new(MILLIONS, 1);
    let made = |fixture: &Fixture| fixture.set.queues.iter().count();
    assert_eq!(made(&fixture), 1_024);
    let first = fixture.runs(5_000_000, 1);
    let second = fixture.waits(5_000_000, 1);
    let other = fixture.waits(7_000_000, 1);
    assert_eq!(made(&fixture), 1_026);
    fixture.pass(Duration::from_millis(100));
    fixture.finish(first);
    assert!(other.1.is_granted(), "its queue was given nothing yet");
    fixture.finish((other.0, fixture.now));
    assert!(second.1.is_granted());
    // Away while thousands of others come and go, which removes its empty queue.
    fixture.finish((second.0, fixture.now));
    for hash in 0..10_000 {
        let running = fixture.runs(2_000_000 + hash, 1);
        fixture.finish(running);
    }
    assert!(made(&fixture) <= 3 * 1_024, "{}", made(&fixture));
    assert!(fixture.set.come_back(second.0, fixture.now).is_none());
    fixture.finish((second.0, fixture.now));
    fixture.set.configure(QUEUES, 1, fixture.now);
    assert_eq!(made(&fixture), 16);
    assert!(fixture.is_empty());
}

#[test]
fn a_request_that_comes_back_after_its_queue_went_is_counted_when_there_are_more_again() {
    let mut fixture = Fixture::new(QUEUES, 1);
    let running = (0..100).map(|hash| fixture.runs_alone(hash)).find(|ticket| ticket.queue > 2).unwrap();
    fixture.set.configure(Queuing::Queue { queues: 2, hand: 1, length: 2 }, 1, fixture.now);
    assert!(fixture.set.come_back(running, fixture.now).is_none());
    fixture.set.configure(QUEUES, 1, fixture.now);
    assert_eq!(fixture.set.queues.iter().count(), 16);
    fixture.finish((running, fixture.now));
    assert!(fixture.is_empty());
}
