//! Lazy statics that survive the end of the request that happens to make them.

use std::ops::Deref;
use std::sync::OnceLock;

use crate::exempt;

/// A value made when it is first used, outside of any budget.
///
/// The lazy static of `std::sync` stays unusable once its initializer was unwound, so it has no place where steps
/// are charged.
pub struct Constant<T> {
    made: OnceLock<T>,
    make: fn() -> T,
}

impl<T> Constant<T> {
    /// A value that `make` makes.
    pub const fn new(make: fn() -> T) -> Self {
        Self { made: OnceLock::new(), make }
    }
}

impl<T> Deref for Constant<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.made.get_or_init(|| exempt(self.make))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{charge, with_limit};

    #[test]
    fn a_small_budget_does_not_spoil_it() {
        static DEAR: Constant<u32> = Constant::new(|| {
            charge(1_000_000);
            7
        });
        assert_eq!(with_limit(10, || *DEAR), Ok(7));
        assert_eq!(*DEAR, 7);
    }
}
