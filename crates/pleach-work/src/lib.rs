//! Counted and bounded CPU work: step budgets, deadlines and cancellation of requests.
//!
//! Code that works on input calls [`charge`] with the number of steps it takes; one step is a visited node,
//! a compared key or some dozens of bytes, about ten nanoseconds. A [`Meter`] that is entered on the current
//! thread bounds the steps, and has its [`Supervisor`] consulted once per slice of work. Without a meter the
//! steps are only counted.
//!
//! A computation that may not go on is *unwound* with a [`Stopped`] payload, which [`Meter::enter`] catches:
//! the way salsa cancels queries. No `Result` has to pass through every walk, the panic hook is not called,
//! and what the computation owned is dropped. The price is a rule: no step is charged while a lock is held on
//! state that would be left half changed, and lazy statics are [`Constant`]s, because the
//! one of `std::sync` stays unusable after its initializer was unwound.
//!
//! This crate knows no runtime, no clock but the monotonic one, and nothing of Kubernetes.

mod constant;
mod meter;
mod steps;

pub use constant::Constant;
pub use meter::{Interrupted, Meter, Run, Supervisor, run_metered, with_limit};
pub use steps::{charge, exempt, measure};

use std::fmt;

/// Why a computation was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It took more steps than its budget has.
    Budget,
    /// Its deadline has passed.
    Deadline,
    /// The client that asked for it has gone.
    Disconnected,
    /// The process is about to end.
    Shutdown,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Budget => "the budget of work is used up",
            Self::Deadline => "the deadline has passed",
            Self::Disconnected => "the client has disconnected",
            Self::Shutdown => "the server is stopping",
        })
    }
}

impl std::error::Error for Stopped {}
