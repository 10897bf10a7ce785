//! How the seats of the server are divided among priority levels: nominal limits by shares, and from time to time
//! current limits by demand, since levels lend seats that they do not use.

use super::demand::DemandStats;

/// The limits of a priority level by its configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// Its share of all seats.
    pub(super) nominal: usize,
    /// The rest when it has lent all that it lends.
    pub(super) min: usize,
    /// With all that it may borrow.
    pub(super) max: usize,
}

impl Limits {
    /// The limits of a level with some shares of `total` seats.
    pub(super) fn new(
        total: usize,
        shares: i64,
        all_shares: i64,
        lendable: i64,
        borrowing: Option<i64>,
    ) -> Self {
        let nominal = if all_shares <= 0 {
            0
        } else {
            (total as f64 * shares.max(0) as f64 / all_shares as f64).ceil() as usize
        };
        let percent = |percent: i64| (nominal as f64 * percent.max(0) as f64 / 100.0).round() as usize;
        let borrowed = borrowing.map_or(total, percent);
        Self {
            nominal,
            // One seat at least: a request that waits at a level without seats would wait for another one to come.
            min: nominal.saturating_sub(percent(lendable)).max(nominal.min(1)),
            max: nominal.saturating_add(borrowed),
        }
    }
}

/// The claim of a level when seats are divided anew.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) is_exempt: bool,
    pub(super) limits: Limits,
    pub(super) demand: DemandStats,
}

/// The seats of all levels: a current limit and a target for each, and the fraction of the targets that was reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Division {
    pub(super) limits: Vec<usize>,
    pub(super) targets: Vec<f64>,
    pub(super) fair_fraction: f64,
}

/// Divides the sum of all nominal limits anew.
pub(super) fn divide(claims: &[Claim]) -> Division {
    let sum: usize = claims.iter().map(|claim| claim.limits.nominal).sum();
    // What a level needs at least: what it wanted lately, if that is within its own.
    let needs: Vec<usize> = claims
        .iter()
        .map(|Claim { is_exempt, limits, demand }| {
            let wanted = demand.high_watermark.round() as usize;
            limits.min.max(if *is_exempt { wanted } else { wanted.min(limits.nominal) })
        })
        .collect();
    let targets: Vec<f64> =
        claims.iter().zip(&needs).map(|(claim, need)| claim.demand.smoothed.max(*need as f64)).collect();
    let is_limited = |at: &usize| !claims[*at].is_exempt;
    let of_exempt: usize = (0..claims.len()).filter(|at| !is_limited(at)).map(|at| needs[at]).sum();
    let remaining = sum.saturating_sub(of_exempt);
    let limited: Vec<usize> = (0..claims.len()).filter(is_limited).collect();
    let least: usize = limited.iter().map(|at| claims[*at].limits.min).sum();
    let needed: usize = limited.iter().map(|at| needs[*at]).sum();
    let mut limits = needs.clone();
    let mut fair_fraction = 0.0;
    if remaining <= least {
        limited.iter().for_each(|at| limits[*at] = claims[*at].limits.min);
    } else if remaining <= needed {
        let share = (remaining - least) as f64 / (needed - least) as f64;
        for at in limited {
            let min = claims[at].limits.min;
            limits[at] = min + ((needs[at] - min) as f64 * share).round() as usize;
        }
    } else {
        let bounds = |at: usize| (needs[at] as f64, claims[at].limits.max as f64, targets[at].max(0.001));
        let all: Vec<_> = limited.iter().map(|at| bounds(*at)).collect();
        fair_fraction = fraction(sum as f64, &all);
        for (at, (low, high, target)) in limited.into_iter().zip(all) {
            limits[at] = (fair_fraction * target).clamp(low, high.max(low)).round() as usize;
        }
    }
    Division { limits, targets, fair_fraction }
}

/// The fraction of targets at which allocations within their bounds add up to a sum, as far as the bounds let them.
fn fraction(sum: f64, classes: &[(f64, f64, f64)]) -> f64 {
    let at = |fraction: f64| -> f64 {
        classes.iter().map(|(low, high, target)| (fraction * target).clamp(*low, high.max(*low))).sum()
    };
    let mut high = classes.iter().map(|(_, high, target)| high / target).fold(0.0, f64::max);
    let mut low = 0.0;
    // The sum grows with the fraction: each step halves the interval.
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if at(middle) < sum { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(limits: Limits, wanted: f64) -> Claim {
        let demand = DemandStats { high_watermark: wanted, smoothed: wanted, ..DemandStats::default() };
        Claim { is_exempt: false, limits, demand }
    }

    #[test]
    fn limits_follow_from_shares() {
        // The default levels of a server with 600 seats.
        for (shares, lendable, nominal, min) in [
            (100, 90, 245, 24),
            (40, 50, 98, 49),
            (40, 25, 98, 73),
            (30, 33, 74, 50),
            (20, 50, 49, 24),
            (10, 0, 25, 25),
            (5, 0, 13, 13),
        ] {
            let limits = Limits::new(600, shares, 245, lendable, None);
            assert_eq!((limits.nominal, limits.min, limits.max), (nominal, min, nominal + 600), "{shares}");
        }
        assert_eq!(Limits::new(600, 20, 245, 0, Some(10)).max, 49 + 5);
        assert_eq!(Limits::new(12, 20, 245, 50, None).min, 1, "it never lends its only seat");
        assert_eq!(Limits::new(600, 0, 0, 0, None).nominal, 0);
    }

    #[test]
    fn a_level_borrows_what_others_do_not_use() {
        let one = Limits { nominal: 50, min: 25, max: 650 };
        let idle = divide(&[claim(one, 0.0), claim(one, 0.0)]);
        assert_eq!(idle.limits, [50, 50], "shared in proportion to what they cannot lend");
        let busy = divide(&[claim(one, 300.0), claim(one, 0.0)]);
        assert_eq!(busy.limits, [75, 25]);
        let both = divide(&[claim(one, 300.0), claim(one, 300.0)]);
        assert_eq!(both.limits, [50, 50]);
        assert_eq!(busy.limits.iter().sum::<usize>(), 100);
    }

    #[test]
    fn exempt_requests_take_from_the_others() {
        let one = Limits { nominal: 50, min: 25, max: 650 };
        let mut exempt = claim(Limits::default(), 60.0);
        exempt.is_exempt = true;
        let division = divide(&[claim(one, 300.0), claim(one, 300.0), exempt]);
        assert_eq!(division.limits, [25, 25, 60], "no less than what they do not lend");
    }
}
