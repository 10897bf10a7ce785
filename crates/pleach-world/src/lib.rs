//! Servers for tests ("worlds"): each has a store in memory, a clock, users and watches of its own.
//!
//! * [`World`]: starts in no time, answers requests without a socket, and can be forked: the fork shares with the
//!   original all data that neither has changed since;
//! * [`TestClock`], [`SeededRandomness`]: the same requests give the same bytes;
//! * [`Rule`]: faults by user agent, user, verb, resource, name, count and seeded probability. [`Script`] has them
//!   happen, in front of a world or of any other [`Backend`];
//! * [`LoggedRequest`]: every request, its answer and its user; [`recording()`] makes a conversation of them that
//!   [`replay()`] plays again, and [`audit_log`] an audit log.
//!
//! It opens no socket and reads no flag.

mod audit;
mod clock;
mod describe;
mod event_expiry;
mod fault;
mod fault_body;
mod fault_rules;
mod normal;
mod objects;
mod recording;
mod replay;
mod request_log;
mod request_query;
mod script;
mod service_account_tokens;
mod under_way;
mod users;
mod watch_events;
mod webhook_faults;
mod world;

pub use audit::{audit_event, audit_log};
pub use clock::{SeededRandomness, TestClock};
pub use describe::describe;
pub use fault::{Action, Rule, Selector};
pub use fault_body::{BoxError, FaultyBody};
pub use fault_rules::{RuleError, parse_rules};
pub use recording::recording;
pub use replay::replay;
pub use request_log::{Answer, Delivery, LoggedRequest};
pub use request_query::RequestQuery;
pub use script::{Backend, ConnectionReset, Script};
pub use world::{World, WorldBody, WorldOptions};
