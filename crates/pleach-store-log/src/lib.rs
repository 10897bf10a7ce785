//! Log-structured embedded store: durable, revisioned, watchable, in one directory.
//!
//! ```text
//!  commit ──► queue ──► committer ──► log (one write, one sync per batch) ──► index ──► reply
//!                                                                              │
//!  get, range ◄── index in memory ◄────────────────────────────────────────────┤
//!  watch ◄── queue, or history in the index ◄── publisher ◄────────────────────┘
//!                                   maintenance: compaction by age, count and size; checkpoints
//! ```
//!
//! All current values and the kept history are in memory; the disk has an append-only log, and
//! checkpoints that replace its older part. See `docs/design/001-what-keeps-the-objects.md`.
//!
//! The crate knows bytes, keys and revisions. It never knows JSON or Kubernetes.
//!
//! **Invariant:** what was acknowledged is on disk; what is on disk after a crash is a prefix of
//! history that contains everything acknowledged.

mod backup;
mod batch_delay;
mod checkpoint;
mod codec;
mod committer;
mod disk;
mod format;
mod frames;
mod log;
mod maintenance;
mod notify;
mod options;
mod publisher;
mod recover;
mod repair;
mod shared;
mod space;
mod store;
mod sync_marker;
#[cfg(test)]
mod tests;

pub use backup::{Report, backup, check, restore};
pub use codec::{Decoded, ValueCodec};
pub use disk::{Disk, DiskFile, MemoryDisk, RealDisk};
pub use options::Options;
pub use repair::{Repair, RepairReport, repair};
pub use store::LogStore;
