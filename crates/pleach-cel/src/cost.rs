//! Static cost estimation.
//!
//! The unit is about 50 ns of the API server's time. Sizes come from the bounds in the schema; unknown
//! sizes are unbounded. Multiplying by the cardinality of the rule's location and comparing with the
//! limits is up to the schema crate.
//!
//! An [`Explanation`] tells which part of an expression the cost comes from, through which bound, and
//! which smaller bound would do.
//!
//! Odd, and kept because the numbers decide what is accepted:
//! * sizes are looked up by the path of fields from `self`, whose *first* step is ignored: elements of
//!   a computed list, whose path begins with `@items`, are taken to be as large as `self` itself;
//! * `==` of two objects, or of two scalars that are fields, costs nothing: fields without a
//!   length have size zero.

mod calls;
mod estimate;
mod explain;
mod hint;
mod size;

use crate::checked::Checked;
pub use explain::{Bound, Explanation, Part, Remedy};
pub use hint::{Container, RuleLocation};

/// A range of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CostEstimate {
    /// The minimum, if all sizes are minimal.
    pub min: u64,
    /// The maximum; `u64::MAX` if unbounded.
    pub max: u64,
}

impl Checked {
    /// The estimated cost of one evaluation.
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
