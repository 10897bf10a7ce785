//! Multi-version state in memory: all keys with their versions, the history of commits, and watchers.
//!
//! The state in memory from which stores read, independent of the source of commits: `pleach-store-log` applies them when they are
//! on disk, `pleach-store-etcd` when etcd's watch delivers them. Point reads, ranges at any kept revision
//! and watches cost the same in both.
//!
//! The crate knows keys, bytes and revisions. It never knows a disk, a network or a thread: the owner
//! applies commits in order ([`Index::apply`]), publishes them ([`Watchers::publish`]), and decides what
//! history to drop ([`Index::compact`]).
//!
//! **Invariant:** a read at a revision sees exactly the commits up to it; a watcher gets every commit
//! after its revision once and in order, or an error.

mod index;
mod mvcc;
mod range;
mod watch_stream;
mod watchers;

pub use index::{Index, Step, Stop};
pub use mvcc::{Mvcc, Pin, STEP};
pub use range::read as read_range;
pub use watch_stream::MvccWatchStream;
pub use watchers::{Capacity, Watchers};
