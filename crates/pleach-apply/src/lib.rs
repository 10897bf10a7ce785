//! Server-side apply: field ownership, merging and conflicts.
//!
//! An object and its compiled schema come in, an object and its `managedFields` go out. The parts,
//! from the bottom up: [`PathElement`] and [`Set`] (which fields), the private modules that walk
//! values along their [`Type`] (field sets, comparison, merge,
//! removal), [`ManagedFields`] (the owners of fields), and [`Tracker`], which does what a request does:
//! [`Tracker::update`] for every write that is not an apply, [`Tracker::apply`] for one that is.
//!
//! No IO, no clock: the time is an argument. Nothing here validates an object beyond what ownership
//! needs, and nothing defaults or prunes one.

mod atomics;
mod compare;
mod conflict;
mod create_walk;
mod element;
mod encoded;
mod entries;
mod fields;
mod fields_baseline;
mod fields_v1;
mod fits;
mod items;
mod managed_fields;
mod merge;
mod reconcile;
mod remove;
mod same;
mod set;
mod shape;
#[cfg(test)]
mod tests;
mod tracker;
mod unfit;
mod validate;

pub use atomics::atomics;
pub use compare::{Comparison, compare};
pub use conflict::Conflicts;
pub use element::PathElement;
pub use fields::fields_of;
pub use fields_v1::{decode_fields, encode_fields};
pub use managed_fields::{Identity, ManagedFields, Operation, Owner};
pub use merge::merge;
pub use remove::{extract, remove};
pub use set::{Path, Set};
pub use shape::Type;
pub use tracker::{Applied, ApplyError, ManagedFieldsText, Request, Tracker, Versions};
pub use unfit::{Unfit, check_unfit};
pub use validate::validate;
