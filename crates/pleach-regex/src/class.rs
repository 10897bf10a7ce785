//! Sets of code points, as sorted ranges.
//!
//! Built range by range while a class is parsed, then frozen. Surrogates may be members (Go's sets hold
//! any 21-bit number); the engines, which see only `str`, ignore them.

/// An inclusive range of code points.
pub(crate) type Range = (u32, u32);

const MAX: u32 = 0x10_ffff;

/// A set under construction. "Canonical" is: sorted, without overlap, neighbours joined.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassBuilder {
    ranges: Vec<Range>,
}

impl ClassBuilder {
    pub(crate) fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    pub(crate) fn push(&mut self, first: u32, last: u32) {
        self.ranges.push((first, last));
    }

    pub(crate) fn push_class(&mut self, other: &Self) {
        self.ranges.extend_from_slice(&other.ranges);
    }

    pub(crate) fn push_points(&mut self, points: &[u32]) {
        self.ranges.extend(points.iter().map(|&point| (point, point)));
    }

    pub(crate) fn push_rows(&mut self, rows: &[(u32, u32, u32)]) {
        for &(first, last, step) in rows {
            if step == 1 {
                self.push(first, last);
            } else {
                self.ranges.extend((first..=last).step_by(step as usize).map(|c| (c, c)));
            }
        }
    }

    /// Sorts and joins.
    pub(crate) fn canonicalize(&mut self) {
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|next, kept| {
            let joined = next.0 <= kept.1.saturating_add(1);
            if joined {
                kept.1 = kept.1.max(next.1);
            }
            joined
        });
    }

    /// Negates a canonical set.
    pub(crate) fn negate(&mut self) {
        let mut rest = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0;
        for &(first, last) in &self.ranges {
            if next < first {
                rest.push((next, first - 1));
            }
            next = last + 1;
        }
        if next <= MAX {
            rest.push((next, MAX));
        }
        self.ranges = rest;
    }

    /// Calls `member` for each code point of the row that is in this canonical set.
    pub(crate) fn intersect(&self, (first, last, step): (u32, u32, u32), mut member: impl FnMut(u32)) {
        let start = self.ranges.partition_point(|range| range.1 < first);
        for &(low, high) in &self.ranges[start..] {
            if low > last {
                break;
            }
            let from = first + low.saturating_sub(first).next_multiple_of(step);
            (from..=high.min(last)).step_by(step as usize).for_each(&mut member);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[Range]) -> ClassBuilder {
        let mut class = ClassBuilder { ranges: ranges.to_vec() };
        class.canonicalize();
        class
    }

    #[test]
    fn canonical_form() {
        for (why, given, want) in [
            ("neighbours join", &[(3, 4), (1, 2)][..], &[(1, 4)][..]),
            ("overlap joins, the longer end wins", &[(1, 9), (2, 3)], &[(1, 9)]),
            ("a gap stays", &[(5, 6), (1, 3)], &[(1, 3), (5, 6)]),
        ] {
            assert_eq!(set(given).ranges(), want, "{why}");
        }
    }

    #[test]
    fn negation_is_its_own_inverse() {
        for ranges in [&[][..], &[(0, MAX)], &[(0, 5), (9, 9)], &[(7, MAX)]] {
            let mut class = set(ranges);
            class.negate();
            class.negate();
            assert_eq!(class.ranges(), ranges);
        }
    }

    #[test]
    fn intersection_keeps_the_step() {
        let mut seen = Vec::new();
        set(&[(4, 7), (12, 30)]).intersect((3, 15, 2), |c| seen.push(c));
        assert_eq!(seen, [5, 7, 13, 15]);
    }
}
