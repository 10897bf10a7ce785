//! Ranges of sizes and costs, with saturating arithmetic.

use crate::cost::CostEstimate;

/// Size of a value: elements of a list or map, bytes of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    /// Nothing is known.
    pub(super) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };
    /// The `union` of no sizes.
    pub(super) const NONE: Self = Self { min: u64::MAX, max: 0 };

    pub(super) fn fixed(size: u64) -> Self {
        Self { min: size, max: size }
    }

    pub(super) fn at_most(max: u64) -> Self {
        Self { min: 0, max }
    }

    pub(super) fn add(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn multiply(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The cost of traversing it, at `factor` per element.
    pub(super) fn times(self, factor: f64) -> CostEstimate {
        CostEstimate { min: scale(self.min, factor), max: scale(self.max, factor) }
    }

    /// The cost of evaluating something for each element.
    pub(super) fn times_cost(self, cost: CostEstimate) -> CostEstimate {
        CostEstimate { min: self.min.saturating_mul(cost.min), max: self.max.saturating_mul(cost.max) }
    }
}

impl CostEstimate {
    pub(super) const fn fixed(cost: u64) -> Self {
        Self { min: cost, max: cost }
    }

    #[must_use]
    pub(super) fn add(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    #[must_use]
    pub(super) fn multiply(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    #[must_use]
    pub(super) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// `size × factor`, rounded up.
fn scale(size: u64, factor: f64) -> u64 {
    // `as` saturates.
    (size as f64 * factor).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_and_rounds_up() {
        for (why, got, want) in [
            ("a tenth of one is one", scale(1, 0.1), 1),
            ("of nothing is nothing", scale(0, 0.1), 0),
            ("of the largest", scale(u64::MAX, 0.1), 1_844_674_407_370_955_264),
            ("twice the largest", scale(u64::MAX, 2.0), u64::MAX),
            ("sums", Size::UNKNOWN.add(Size::fixed(1)).max, u64::MAX),
            ("products", Size::UNKNOWN.multiply(Size::fixed(3)).max, u64::MAX),
        ] {
            assert_eq!(got, want, "{why}");
        }
    }
}
