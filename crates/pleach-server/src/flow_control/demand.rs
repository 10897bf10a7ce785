//! Seat demand of a priority level over time: what borrowing between levels is decided by.

/// How much of the smoothed demand is left after a period: it halves in about five minutes.
const SMOOTHING: f64 = 0.977;

/// The demand since the last adjustment: its integral, and that of its square.
#[derive(Debug, Default)]
pub(super) struct Demand {
    seconds: f64,
    sum: f64,
    squares: f64,
    highest: usize,
    current: usize,
}

/// The demand of the last period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DemandStats {
    pub(super) high_watermark: f64,
    pub(super) average: f64,
    pub(super) deviation: f64,
    pub(super) smoothed: f64,
}

impl Demand {
    /// Time passes in which so many seats were wanted.
    pub(super) fn advance(&mut self, seconds: f64, seats: usize) {
        let seats = seats as f64;
        self.seconds += seconds;
        self.sum += seconds * seats;
        self.squares += seconds * seats * seats;
    }

    /// So many seats are wanted from now on.
    pub(super) fn observe(&mut self, seats: usize) {
        self.current = seats;
        self.highest = self.highest.max(seats);
    }

    /// Ends the period.
    pub(super) fn take(&mut self, stats: &mut DemandStats) {
        let Self { seconds, sum, squares, highest, current } = *self;
        *self = Self { highest: current, current, ..Self::default() };
        stats.high_watermark = highest as f64;
        if seconds <= 0.0 {
            return;
        }
        stats.average = sum / seconds;
        stats.deviation = (squares / seconds - stats.average * stats.average).max(0.0).sqrt();
        let envelope = stats.average + stats.deviation;
        stats.smoothed = envelope.max(SMOOTHING * stats.smoothed + (1.0 - SMOOTHING) * envelope);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn average_deviation_and_maximum() {
        let (mut demand, mut stats) = (Demand::default(), DemandStats::default());
        demand.observe(4);
        demand.advance(1.0, 4);
        demand.observe(0);
        demand.advance(3.0, 0);
        demand.take(&mut stats);
        let deviation = 3.0_f64.sqrt();
        assert_eq!((stats.high_watermark, stats.average), (4.0, 1.0));
        assert!((stats.deviation - deviation).abs() < 1e-9);
        assert!((stats.smoothed - 1.0 - deviation).abs() < 1e-9);
        demand.advance(1.0, 0);
        demand.take(&mut stats);
        assert_eq!((stats.high_watermark, stats.average), (0.0, 0.0), "a new period");
        assert!(stats.smoothed > 2.0, "which is not forgotten at once");
    }
}
