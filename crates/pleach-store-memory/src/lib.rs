//! [`MemoryStore`]: a store in memory that can be forked.
//!
//! For tests: a fork is a store of its own that begins with everything in the original and shares with it whatever
//! neither has changed since (`cow_map.rs`). It knows no disk, no network and no thread.
//!
//! **Invariant:** a commit to a store is never seen in a fork of it, nor the other way round.

mod cow_map;
mod store;

pub use store::MemoryStore;
