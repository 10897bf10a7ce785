//! A controller's work queue: items by due time, items in work, and the back-off of each.
//!
//! As client-go's: an item is in it once, an item that is added while it is processed is processed again
//! afterwards, and the delay of an item that fails doubles each time. Items of one lane do not use up all
//! workers, and items that failed before are in a lane of their own: an item that waits for a webhook that does not
//! respond holds up neither other kinds nor new objects.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use pleach_json::Str;
use tokio::time::Instant;

/// How long an item that failed waits: this, and twice as long each time, up to the second.
const BACK_OFF: Duration = Duration::from_millis(5);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(30);

/// How many retries of an item come so soon that it counts as being processed.
const QUICK_RETRIES: u32 = 3;

/// How long to wait after so many failures in a row.
fn back_off(failures: u32) -> Duration {
    let times = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    BACK_OFF.saturating_mul(times).min(LONGEST_BACK_OFF)
}

/// Items that share a bound on how many are worked on at once, and whether they failed before.
type Lane = (Str, bool);

/// Where an item is.
enum State {
    /// It is due at a time.
    Due(Instant),
    /// It is due, and its lane is full.
    Parked,
    /// It is being processed, and is due again at a time if it was added meanwhile.
    Running(Lane, Option<Instant>),
}

/// A work queue.
pub(super) struct Queue<T> {
    per_lane: usize,
    items: BTreeMap<T, State>,
    in_order: BTreeSet<(Instant, T)>,
    parked: HashMap<Lane, VecDeque<T>>,
    running: HashMap<Lane, usize>,
    failures: BTreeMap<T, u32>,
}

impl<T: Clone + Ord> Queue<T> {
    /// An empty queue; so many items of a lane are worked on at once.
    pub(super) fn new(per_lane: usize) -> Self {
        Self {
            per_lane,
            items: BTreeMap::new(),
            in_order: BTreeSet::new(),
            parked: HashMap::new(),
            running: HashMap::new(),
            failures: BTreeMap::new(),
        }
    }

    /// Adds an item; one that is in the queue stays, or becomes due earlier.
    pub(super) fn add(&mut self, item: T, at: Instant) {
        match self.items.get_mut(&item) {
            Some(State::Running(_, again)) => *again = Some(again.map_or(at, |again| again.min(at))),
            Some(State::Parked) => {}
            Some(State::Due(due)) if *due <= at => {}
            Some(State::Due(due)) => {
                let before = std::mem::replace(due, at);
                self.in_order.remove(&(before, item.clone()));
                self.in_order.insert((at, item));
            }
            None => {
                self.items.insert(item.clone(), State::Due(at));
                self.in_order.insert((at, item));
            }
        }
    }

    /// When the next item is due.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.in_order.first().map(|(at, _)| *at)
    }

    /// Whether no item is due, and none will be soon because it failed: later retries wait for something else.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.next_at().is_none_or(|at| at > now)
            && self.failures.values().all(|failures| *failures > QUICK_RETRIES)
    }

    /// Takes the next item that is due and has a worker left in its lane. It is worked on until
    /// [`Self::done`] or [`Self::failed`] says otherwise.
    pub(super) fn take_due(&mut self, now: Instant, lane: impl Fn(&T) -> Str) -> Option<T> {
        while self.next_at()? <= now {
            let (_, item) = self.in_order.pop_first()?;
            let lane = (lane(&item), self.failures.contains_key(&item));
            let running = self.running.entry(lane.clone()).or_default();
            if *running < self.per_lane {
                *running += 1;
                self.items.insert(item.clone(), State::Running(lane, None));
                return Some(item);
            }
            self.items.insert(item.clone(), State::Parked);
            self.parked.entry(lane).or_default().push_back(item);
        }
        None
    }

    /// An item was processed and is finished, unless it was added meanwhile.
    pub(super) fn done(&mut self, item: &T, now: Instant) {
        self.failures.remove(item);
        if let Some(again) = self.release(item, now) {
            self.add(item.clone(), again);
        }
    }

    /// An item was worked on and is not finished; how long it waits.
    pub(super) fn failed(&mut self, item: &T, now: Instant) -> Duration {
        let failures = self.failures.entry(item.clone()).or_default();
        *failures = failures.saturating_add(1);
        let wait = back_off(*failures);
        let again = self.release(item, now);
        let at = again.map_or(now + wait, |again| again.min(now + wait));
        self.add(item.clone(), at);
        wait
    }

    /// An item is no longer processed; returns when it is due again if it was added meanwhile. The next of its lane is due.
    fn release(&mut self, item: &T, now: Instant) -> Option<Instant> {
        let Some(State::Running(lane, again)) = self.items.remove(item) else { return None };
        if let Some(running) = self.running.get_mut(&lane) {
            *running -= 1;
            if *running == 0 {
                self.running.remove(&lane);
            }
        }
        if let Some(parked) = self.parked.get_mut(&lane) {
            if let Some(next) = parked.pop_front() {
                self.items.insert(next.clone(), State::Due(now));
                self.in_order.insert((now, next));
            }
            if parked.is_empty() {
                self.parked.remove(&lane);
            }
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Clock(Instant);

    impl Clock {
        fn at(&self, seconds: u64) -> Instant {
            self.0 + Duration::from_secs(seconds)
        }
    }

    fn lane(item: &&'static str) -> Str {
        item[..1].into()
    }

    fn taken(queue: &mut Queue<&'static str>, now: Instant) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.take_due(now, lane)).collect()
    }

    #[test]
    fn an_item_comes_once_and_at_the_earliest_time() {
        let clock = Clock(Instant::now());
        let mut queue = Queue::new(9);
        assert_eq!(queue.next_at(), None);
        for (item, seconds) in [("late", 9), ("a", 2), ("b", 1), ("a", 5), ("late", 3), ("c", 1)] {
            queue.add(item, clock.at(seconds));
        }
        assert_eq!(queue.take_due(clock.0, lane), None, "nothing is due yet");
        assert_eq!(queue.next_at(), Some(clock.at(1)));
        assert_eq!(taken(&mut queue, clock.at(2)), ["b", "c", "a"]);
        assert_eq!(queue.next_at(), Some(clock.at(3)), "what was asked for again comes at the earlier time");
        assert_eq!(taken(&mut queue, clock.at(99)), ["late"], "and only once");
    }

    #[test]
    fn an_item_that_is_asked_for_while_it_is_worked_on_comes_again() {
        let clock = Clock(Instant::now());
        let mut queue = Queue::new(9);
        queue.add("a", clock.0);
        assert_eq!(taken(&mut queue, clock.0), ["a"]);
        queue.add("a", clock.at(5));
        queue.add("a", clock.at(3));
        assert_eq!(queue.next_at(), None, "not twice at once");
        queue.done(&"a", clock.at(1));
        assert_eq!(queue.next_at(), Some(clock.at(3)));
        assert_eq!(taken(&mut queue, clock.at(3)), ["a"]);
        queue.done(&"a", clock.at(3));
        assert_eq!(queue.next_at(), None);
        assert!(queue.items.is_empty() && queue.running.is_empty());
    }

    #[test]
    fn an_item_that_fails_waits_longer_each_time() {
        let clock = Clock(Instant::now());
        let mut queue = Queue::new(9);
        let mut now = clock.0;
        queue.add("a", now);
        let mut waits = Vec::new();
        for retries in 1..=50 {
            assert_eq!(taken(&mut queue, now), ["a"]);
            let wait = queue.failed(&"a", now);
            assert_eq!(queue.is_idle(now), retries > QUICK_RETRIES);
            assert_eq!(queue.next_at(), Some(now + wait));
            now += wait;
            waits.push(wait.as_millis());
        }
        assert_eq!(waits[..6], [5, 10, 20, 40, 80, 160]);
        assert!(queue.is_idle(now - Duration::from_secs(1)), "what was tried so often is not waited for");
        assert!(!queue.is_idle(now), "it is due");
        assert_eq!(waits[49], 30_000);
        // A change of the object is looked at at once, and a success is the end of it.
        queue.add("a", now - Duration::from_secs(1));
        assert_eq!(taken(&mut queue, now), ["a"]);
        queue.done(&"a", now);
        assert!(queue.failures.is_empty());
    }

    #[test]
    fn a_lane_has_a_bound_and_what_failed_has_a_lane_of_its_own() {
        let clock = Clock(Instant::now());
        let mut queue = Queue::new(2);
        for item in ["a1", "a2", "a3", "a4", "b1"] {
            queue.add(item, clock.0);
        }
        assert_eq!(taken(&mut queue, clock.0), ["a1", "a2", "b1"], "another lane goes on");
        queue.add("a3", clock.0);
        assert_eq!(taken(&mut queue, clock.0), [] as [&str; 0], "the lane is full");
        queue.failed(&"a1", clock.0);
        queue.failed(&"a2", clock.0);
        let second = clock.at(1);
        assert_eq!(taken(&mut queue, second), ["a3", "a4", "a1", "a2"], "two that are new, two that failed");
        for item in ["a1", "a2", "a3", "a4", "b1"] {
            queue.done(&item, second);
        }
        assert!(queue.items.is_empty() && queue.running.is_empty() && queue.parked.is_empty());
    }
}
