//! What an expression costs at most, before it is ever run.
//!
//! The unit is roughly 50 ns of the API server's time. Sizes of values come from the bounds in
//! the schema; where they cannot be told they are taken to be endless. The estimate of a rule
//! times the number of values it can be run on decides whether a CRD is accepted; that
//! multiplication and the limits are the schema crate's.
//!
//! `estimate` computes; an [`Explanation`] tells a person which part of an expression the cost
//! comes from, through which bound, and which smaller bound would do.
//!
//! Odd, and kept because the numbers decide what is accepted:
//! * sizes are looked up by the path of fields from `self`, of which the *first* part is never
//!   looked at: elements of a computed list, whose path begins with `@items`, are taken to be as
//!   large as `self` itself;
//! * `==` of two objects, or of two scalars that are fields, costs nothing: fields without a
//!   length have size zero.

mod calls;
mod estimate;
mod explain;
mod hint;
mod size;

use crate::checked::Checked;
pub use explain::{Bound, Explanation, Part, Remedy};
pub use hint::{Around, Surroundings};

/// A range of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CostEstimate {
    /// The least, if everything is as small as it can be.
    pub min: u64,
    /// The most; `u64::MAX` if there is no telling.
    pub max: u64,
}

impl Checked {
    /// What evaluating the expression once costs.
    ///
    /// Bounds are those of the first declared variable: `self`.
    pub fn cost_estimate(&self) -> CostEstimate {
        estimate::Estimator::new(self, &[]).total()
    }

    /// Where the cost comes from, and what would lower it.
    pub fn explain_cost(&self) -> Explanation {
        Explanation::of(self)
    }
}
