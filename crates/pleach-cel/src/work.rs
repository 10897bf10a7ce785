//! Bounds on the work of an evaluation, besides the cost.
//!
//! Costs are cel-go's, and clients see them. They do not reflect all work: comparing two lists costs a
//! tenth of their lengths, whatever the elements, and a value can contain another one twice without
//! taking more memory, so that walking it takes exponential time. [`Work`] counts steps: a node
//! evaluated, an element visited or copied, or some dozens of bytes. An evaluation that takes more than
//! [`STEPS_PER_COST`] times its cost limit, or builds values of more than [`BYTES_PER_COST`] times as
//! many bytes, ends as one that exceeds its limit does.
//!
//! **Invariant:** every loop whose iterations are not charged by cost is counted here. Once the work is
//! exhausted, every further charge fails, and the evaluator checks [`Work::ended`] after each call, so
//! that an implementation cannot absorb the error.

use crate::value::{CelValue, Fault, List};
use std::cell::Cell;
use std::fmt;

/// Steps per unit of the cost limit.
pub const STEPS_PER_COST: u64 = 8;
/// Bytes of values per unit of the cost limit.
pub const BYTES_PER_COST: u64 = 64;
/// Steps and bytes that every evaluation may use, however small its limit.
const BASE: u64 = 1 << 16;

/// Steps between two checks of the limit and of the caller.
const BATCH: u64 = 256;
/// Bytes per step of a fast loop: comparing, copying, searching.
const FAST: usize = 64;
/// The same for loops over single characters.
const SLOW: usize = 16;

/// The count of an evaluation's work.
pub(crate) struct Work<'i> {
    done: Cell<u64>,
    /// The count at which the next [`Work::check`] is due.
    check_at: Cell<u64>,
    /// Steps already reported to the request's meter.
    reported: Cell<u64>,
    limit: u64,
    bytes_left: Cell<u64>,
    interrupted: Option<&'i (dyn Fn() -> bool + Sync)>,
    ended: Cell<Option<End>>,
}

/// Why the work ended.
#[derive(Clone, Copy, Debug)]
enum End {
    Exceeded,
    Interrupted,
}

impl fmt::Debug for Work<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").field("done", &self.done).field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// The steps that an evaluation with a limit may take.
pub(crate) const fn steps_of(limit: u64) -> u64 {
    limit.saturating_mul(STEPS_PER_COST).saturating_add(BASE)
}

impl<'i> Work<'i> {
    /// For an evaluation with a cost `limit`.
    pub(crate) fn new(limit: u64, interrupted: Option<&'i (dyn Fn() -> bool + Sync)>) -> Self {
        let limit_steps = steps_of(limit);
        Self {
            done: Cell::new(0),
            check_at: Cell::new(BATCH.min(limit_steps)),
            reported: Cell::new(0),
            limit: limit_steps,
            bytes_left: Cell::new(limit.saturating_mul(BYTES_PER_COST).saturating_add(BASE)),
            interrupted,
            ended: Cell::new(None),
        }
    }

    /// Counts steps without a check; one follows soon.
    #[inline]
    pub(crate) fn note(&self, steps: u64) {
        self.done.set(self.done.get().saturating_add(steps));
    }

    /// Counts steps that the request's meter knows of already.
    pub(crate) fn note_reported(&self, steps: u64) {
        self.note(steps);
        self.reported.set(self.reported.get().saturating_add(steps));
    }

    /// Counts steps before they are taken; an error if there are too many.
    #[inline]
    pub(crate) fn charge(&self, steps: u64) -> Result<(), Fault> {
        let done = self.done.get().saturating_add(steps);
        if done < self.check_at.get() {
            self.done.set(done);
            return Ok(());
        }
        self.check(steps)
    }

    /// An error if there were too many steps.
    #[inline]
    pub(crate) fn look(&self) -> Result<(), Fault> {
        if self.done.get() < self.check_at.get() { Ok(()) } else { self.check(0) }
    }

    #[cold]
    #[inline(never)]
    fn check(&self, steps: u64) -> Result<(), Fault> {
        if self.ended.get().is_none() {
            let done = self.done.get().saturating_add(steps);
            if done > self.limit {
                // They are not taken.
                self.ended.set(Some(End::Exceeded));
            } else {
                self.done.set(done);
            }
        }
        self.report();
        if self.ended.get().is_none() && self.interrupted.is_some_and(|interrupted| interrupted()) {
            self.ended.set(Some(End::Interrupted));
        }
        match self.ended() {
            Some(fault) => {
                // Every further check finds that too.
                self.check_at.set(0);
                Err(fault)
            }
            None => {
                self.check_at.set(self.done.get().saturating_add(BATCH).min(self.limit.saturating_add(1)));
                Ok(())
            }
        }
    }

    /// Reports the steps to the request's meter, which may unwind.
    pub(crate) fn report(&self) {
        let new = self.done.get() - self.reported.replace(self.done.get());
        pleach_work::charge(new);
    }

    /// Why the work ended, if it did.
    #[inline]
    pub(crate) fn ended(&self) -> Option<Fault> {
        match self.ended.get() {
            None => None,
            Some(End::Exceeded) => Some(Fault::CostExceeded),
            Some(End::Interrupted) => Some(Fault::Interrupted),
        }
    }

    /// Ends the evaluation as one that has exceeded its limit.
    #[cold]
    pub(crate) fn exceed(&self) -> Fault {
        self.ended.set(self.ended.get().or(Some(End::Exceeded)));
        self.check_at.set(0);
        Fault::CostExceeded
    }

    /// The steps taken so far.
    pub(crate) fn done(&self) -> u64 {
        self.done.get()
    }

    /// The steps that are left.
    pub(crate) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.done.get())
    }

    /// Bytes that are compared, copied or searched.
    #[inline]
    pub(crate) fn scan(&self, bytes: usize) -> Result<(), Fault> {
        if bytes < FAST { Ok(()) } else { self.charge((bytes / FAST) as u64) }
    }

    /// Bytes that are read one by one.
    #[inline]
    pub(crate) fn read_bytes(&self, bytes: usize) -> Result<(), Fault> {
        if bytes < SLOW { Ok(()) } else { self.charge((bytes / SLOW) as u64) }
    }

    /// The size of a value about to be built.
    #[inline]
    pub(crate) fn build(&self, bytes: usize) -> Result<(), Fault> {
        match self.bytes_left.get().checked_sub(bytes as u64) {
            Some(left) => {
                self.bytes_left.set(left);
                self.scan(bytes)
            }
            None => Err(self.exceed()),
        }
    }

    /// The number of elements about to be added to a list.
    #[inline]
    pub(crate) fn build_items(&self, count: usize) -> Result<(), Fault> {
        self.note(count as u64);
        self.build(count.saturating_mul(size_of::<CelValue<'_>>()))
    }

    /// The number of entries about to be added to a map.
    pub(crate) fn build_entries(&self, count: usize) -> Result<(), Fault> {
        self.note(count as u64);
        self.build(count.saturating_mul(4 * size_of::<CelValue<'_>>()))
    }

    /// The cost of reading a value from the object: bytes are decoded every time, and the text of an
    /// error may quote a long string.
    #[inline]
    pub(crate) fn read<'a>(&self, value: Result<CelValue<'a>, Fault>) -> Result<CelValue<'a>, Fault> {
        match &value {
            Ok(CelValue::Bytes(bytes)) => {
                self.read_bytes(bytes.len())?;
                self.build(bytes.len())?;
            }
            Err(Fault::Error(text)) => self.read_bytes(text.len())?,
            _ => {}
        }
        value
    }

    /// The same for a member that may be absent.
    pub(crate) fn read_found<'a>(
        &self,
        found: Result<Option<CelValue<'a>>, Fault>,
    ) -> Result<Option<CelValue<'a>>, Fault> {
        match found.transpose() {
            Some(value) => self.read(value).map(Some),
            None => Ok(None),
        }
    }

    /// The elements of a list, one step each.
    #[inline]
    pub(crate) fn items<'a>(&self, list: &List<'a>) -> impl Iterator<Item = Result<CelValue<'a>, Fault>> {
        list.iter().map(|item| {
            self.charge(1)?;
            self.read(item)
        })
    }

    /// All elements of a list, or the first error.
    pub(crate) fn to_vec<'a>(&self, list: &List<'a>) -> Result<Vec<CelValue<'a>>, Fault> {
        self.build_items(list.len())?;
        self.items(list).collect()
    }
}
