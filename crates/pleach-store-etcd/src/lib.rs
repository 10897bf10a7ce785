//! The store on an etcd cluster.
//!
//! ```text
//!  commit ──► codec ──► transaction ──► etcd ──► one watch of the whole prefix ──► cache ──► reply
//!                                                                                    │
//!  get, range ◄── linearizable revision, cache waits for it ◄────────────────────────┤
//!  watch ◄── history in the cache ◄──────────────────────────────────────────────────┘
//!    └────── older history: a watch of etcd, up to what the cache has
//! ```
//!
//! The cache (`pleach-store-mvcc`) holds all current values and recent history in the store's own form,
//! so that reads and watches cost what they cost in the embedded store. One etcd watch keeps it up to
//! date, however many clients watch. A read at latest first asks etcd for its revision (readers that ask
//! at the same time share the answer) and waits for the cache to reach it, which makes it linearizable;
//! reads of revisions that the cache has dropped go to etcd.
//!
//! How keys and values look in etcd is a [`Codec`]'s choice. The crate never knows JSON or Kubernetes.
//!
//! **Invariant:** a commit that etcd did not acknowledge is never reported as done, nor sent twice; an
//! event is delivered once and in etcd's order, over any number of reconnects.

mod cache;
mod client;
mod codec;
mod commit;
mod compaction;
mod direct;
mod election;
mod error;
mod follow;
mod freshness;
mod leases;
mod member;
mod messages;
mod metrics;
mod older;
mod options;
mod store;
#[cfg(test)]
mod tests;
mod version;
mod waiters;

pub use codec::{Codec, Prefixed, prefix_end};
pub use election::Election;
pub use options::{Options, ReadIdentity};
pub use store::EtcdStore;
