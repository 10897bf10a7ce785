//! Room for recursion on input that may be nested ten thousand levels deep.
//!
//! Every recursive walk over a value or a schema takes its next step through [`grow_stack`]:
//! while there is room it is a comparison with the stack limit, and when there is little left the
//! step continues on a fresh segment, so that neither a test thread nor a server worker overflows.
//! The step is charged to the running request (see `pleach_work`), so no walk is without a bound.

/// Room that must be left for a step to run in place. Covers the fattest frame of a debug build.
const RED_ZONE: usize = 64 * 1024;
/// Size of a further segment.
const SEGMENT: usize = 1024 * 1024;

/// Charges one step and runs it, on a further stack segment when the current one is nearly used up.
#[inline]
pub fn grow_stack<R>(step: impl FnOnce() -> R) -> R {
    pleach_work::charge(1);
    stacker::maybe_grow(RED_ZONE, SEGMENT, step)
}

/// As [`grow_stack`], without a charge: for destructors, which must run to their end.
#[inline]
pub fn grow_stack_to_drop<R>(step: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(RED_ZONE, SEGMENT, step)
}
