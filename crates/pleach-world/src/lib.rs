//! Servers for tests ("worlds"): each has a store in memory, a clock, users and watches of its own.
//!
//! * [`World`]: starts in no time, answers requests without a socket, and can be forked: the fork shares with the
//!   original all data that neither has changed since;
//! * [`TestClock`], [`SeededRandomness`]: the same requests give the same bytes;
//! * [`Rule`]: faults by user agent, user, verb, resource, name, count and seeded probability;
//! * [`LoggedRequest`]: every request, its answer and its user.
//!
//! It opens no socket and reads no flag.

mod clock;
mod fault;
mod fault_body;
mod request_log;
mod world;

pub use clock::{SeededRandomness, TestClock};
pub use fault::{Action, Rule, RuleError, Selector, parse_rules};
pub use fault_body::WorldBody;
pub use request_log::LoggedRequest;
pub use world::{ConnectionReset, World, WorldOptions};
