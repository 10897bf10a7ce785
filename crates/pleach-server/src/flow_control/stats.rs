//! Counts of a flow schema within a priority level: plain numbers, since the level is locked anyway.

use std::time::Duration;

use pleach_json::Str;

use super::queue_set::Refusal;

/// Upper bounds of durations, in seconds.
pub(super) const DURATIONS: [f64; 11] = [0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];
/// Upper bounds of lengths of queues.
pub(super) const LENGTHS: [f64; 11] =
    [0.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0, 5000.0, 10000.0];
/// Upper bounds of numbers of seats.
pub(super) const SEATS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0];

/// A histogram: how many observations fell between its bounds, and their sum.
#[derive(Debug)]
pub(super) struct Histogram<const N: usize> {
    bounds: &'static [f64; N],
    counts: [u64; N],
    pub(super) count: u64,
    pub(super) sum: f64,
}

impl<const N: usize> Histogram<N> {
    fn new(bounds: &'static [f64; N]) -> Self {
        Self { bounds, counts: [0; N], count: 0, sum: 0.0 }
    }

    fn observe(&mut self, value: f64) {
        if let Some(at) = self.bounds.iter().position(|bound| value <= *bound) {
            self.counts[at] += 1;
        }
        self.count += 1;
        self.sum += value;
    }

    /// Each bound with how many observations are not above it.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut total = 0;
        self.bounds.iter().zip(self.counts).map(move |(bound, count)| {
            total += count;
            (*bound, total)
        })
    }
}

/// The counts of a flow schema.
#[derive(Debug)]
pub(super) struct FlowStats {
    pub(super) name: Str,
    pub(super) executing: usize,
    pub(super) executing_seats: usize,
    pub(super) waiting: usize,
    pub(super) waiting_seats: usize,
    pub(super) dispatched: u64,
    pub(super) no_accommodation: u64,
    refused: [u64; 3],
    pub(super) queue_lengths: Histogram<11>,
    /// Of requests that were refused, and of those that were executed.
    pub(super) waits: [Histogram<11>; 2],
    pub(super) durations: Histogram<11>,
    pub(super) seats: Histogram<8>,
}

impl FlowStats {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            executing: 0,
            executing_seats: 0,
            waiting: 0,
            waiting_seats: 0,
            dispatched: 0,
            no_accommodation: 0,
            refused: [0; 3],
            queue_lengths: Histogram::new(&LENGTHS),
            waits: [Histogram::new(&DURATIONS), Histogram::new(&DURATIONS)],
            durations: Histogram::new(&DURATIONS),
            seats: Histogram::new(&SEATS),
        }
    }

    pub(super) fn refused(&mut self, why: Refusal) {
        self.refused[why as usize] += 1;
    }

    pub(super) fn queue_length(&mut self, length: usize) {
        self.queue_lengths.observe(length as f64);
    }

    pub(super) fn waited(&mut self, executed: bool, time: Duration) {
        self.waits[usize::from(executed)].observe(time.as_secs_f64());
    }

    pub(super) fn estimated(&mut self, seats: usize) {
        self.seats.observe(seats as f64);
    }

    pub(super) fn executed(&mut self, time: Duration) {
        self.durations.observe(time.as_secs_f64());
    }

    /// How many requests were refused, by the reason's label.
    pub(super) fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        ["concurrency-limit", "queue-full", "time-out"].into_iter().zip(self.refused)
    }

    /// How many requests were refused in all.
    pub(super) fn all_refusals(&self) -> u64 {
        self.refused.iter().sum()
    }
}
