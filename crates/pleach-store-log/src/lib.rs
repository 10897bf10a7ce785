//! The embedded store: durable, revisioned, watchable, in one directory.
//!
//! ```text
//!  commit ──► queue ──► committer ──► log (one write, one sync per batch) ──► index ──► answer
//!                                                                              │
//!  get, range ◄── index in memory ◄────────────────────────────────────────────┤
//!  watch ◄── mailbox, or history in the index ◄── publisher ◄──────────────────┘
//!                                   keeper: compaction by age, count and size; checkpoints
//! ```
//!
//! Everything that exists is in memory, with the history that is still kept; the disk has an
//! append-only log and now and then a checkpoint that makes the log's older part superfluous.
//! `docs/design/001-what-keeps-the-objects.md` argues for it.
//!
//! The crate knows bytes, keys and revisions. It never knows JSON or Kubernetes.
//!
//! **Invariant:** what was acknowledged is on disk; what is on disk after a crash is a prefix of
//! history that contains everything acknowledged.

mod archive;
mod bell;
mod checkpoint;
mod committer;
mod disk;
mod feed;
mod format;
mod frames;
mod hub;
mod index;
mod keeper;
mod log;
mod options;
mod pace;
mod publisher;
mod range;
mod recover;
mod repair;
mod shared;
mod space;
mod store;
mod synced;
#[cfg(test)]
mod tests;

pub use archive::{Report, backup, check, restore};
pub use disk::{Disk, DiskFile, RealDisk};
pub use options::Options;
pub use repair::{Repair, Repaired, repair};
pub use store::LogStore;
