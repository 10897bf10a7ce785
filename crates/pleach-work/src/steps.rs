//! The count of steps of the current thread.
//!
//! The hot path is one thread-local subtraction; everything else happens once per slice.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;

use crate::Stopped;
use crate::meter::State;

/// Steps between two looks at budget, deadline and supervisor: some 50 microseconds of work.
pub(crate) const SLICE: u64 = 4_096;

thread_local! {
    /// Steps left of the current slice.
    static LEFT: Cell<u64> = const { Cell::new(SLICE) };
    /// Steps the current slice had at its beginning.
    static SLICE_SIZE: Cell<u64> = const { Cell::new(SLICE) };
    /// Steps of all slices before this one.
    static EARLIER: Cell<u64> = const { Cell::new(0) };
    /// The meter that is entered, if any.
    static METER: RefCell<Option<Box<State>>> = const { RefCell::new(None) };
}

/// Charges steps to the computation that runs on this thread, and unwinds if it may not go on.
#[inline]
pub fn charge(steps: u64) {
    let left = LEFT.get();
    if steps < left {
        LEFT.set(left - steps);
    } else {
        end_slice(steps);
    }
}

#[cold]
#[inline(never)]
fn end_slice(steps: u64) {
    EARLIER.set(total().saturating_add(steps));
    // A destructor that runs during an unwinding must not begin another one.
    let verdict = if std::thread::panicking() {
        Ok(SLICE)
    } else {
        METER.with_borrow_mut(|meter| {
            meter.as_mut().map_or(Ok(SLICE), |state| state.slice_ended(EARLIER.get()))
        })
    };
    begin_slice(*verdict.as_ref().unwrap_or(&SLICE));
    if let Err(stopped) = verdict {
        resume_unwind(Box::new(stopped));
    }
}

fn begin_slice(steps: u64) {
    LEFT.set(steps);
    SLICE_SIZE.set(steps);
}

/// All steps of this thread so far; only differences mean something.
fn total() -> u64 {
    EARLIER.get().saturating_add(SLICE_SIZE.get() - LEFT.get())
}

/// Replaces the meter of this thread and starts a slice with it; gives the one that was there.
pub(crate) fn install(state: Option<Box<State>>) -> Option<Box<State>> {
    EARLIER.set(total());
    let first = state.as_ref().map_or(SLICE, |state| state.first_slice());
    begin_slice(first);
    METER.replace(state)
}

/// All steps of this thread so far, for a meter that is entered or left.
pub(crate) fn now() -> u64 {
    total()
}

/// The rest of the budget of the entered meter, and its supervisor, for a meter below it.
pub(crate) fn surrounding<R>(look: impl FnOnce(Option<&State>) -> R) -> R {
    METER.with_borrow(|meter| look(meter.as_deref()))
}

/// The result of a computation and the steps it took.
pub fn measure<R>(work: impl FnOnce() -> R) -> (R, u64) {
    let before = total();
    let result = work();
    (result, total() - before)
}

/// Runs what must not be ended halfway, such as the initializer of a lazy static: no budget counts in it.
pub fn exempt<R>(work: impl FnOnce() -> R) -> R {
    struct Restore(Option<Box<State>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            install(self.0.take());
        }
    }
    let _restore = Restore(install(None));
    work()
}

/// The payload of an unwinding, if it is the end of a computation that was stopped.
pub(crate) fn stopped(payload: &(dyn std::any::Any + Send)) -> Option<Stopped> {
    payload.downcast_ref::<Stopped>().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_without_a_meter() {
        for steps in [0, 1, SLICE - 1, SLICE, SLICE + 1, 10 * SLICE + 7] {
            let ((), one_by_one) = measure(|| (0..steps).for_each(|_| charge(1)));
            let ((), at_once) = measure(|| charge(steps));
            assert_eq!((one_by_one, at_once), (steps, steps));
        }
    }

    #[test]
    fn nested_measurements_count_for_both() {
        let (inner, outer) = measure(|| {
            charge(3);
            measure(|| charge(5)).1
        });
        assert_eq!((inner, outer), (5, 8));
    }
}
