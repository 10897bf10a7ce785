//! `Retry-After` of refused requests: it doubles while many are refused, and falls again.

/// The longest, in seconds.
const MOST: u64 = 32;

/// How many requests of a level were refused lately.
#[derive(Debug)]
pub(super) struct Dropped {
    retry_after: u64,
    /// The second of the last increase.
    increased: u64,
    /// Seconds with the number of requests that were refused in them, the oldest first.
    history: Vec<(u64, u64)>,
}

impl Default for Dropped {
    fn default() -> Self {
        Self { retry_after: 1, increased: 0, history: Vec::new() }
    }
}

impl Dropped {
    /// A request is refused in a second since some start; after how many seconds its client may try again.
    pub(super) fn refuse(&mut self, second: u64) -> u64 {
        match self.history.last_mut() {
            Some((last, count)) if *last == second => *count += 1,
            _ => {
                self.adjust(second);
                self.history.push((second, 1));
            }
        }
        self.retry_after
    }

    fn adjust(&mut self, second: u64) {
        let since = |past: u64| second.saturating_sub(past);
        let recent = self.history.iter().filter(|(past, _)| since(*past) <= self.retry_after);
        let dropped: u64 = recent.map(|(_, count)| count).sum();
        if dropped >= 3 * self.retry_after
            && (self.increased == 0 || since(self.increased) >= self.retry_after)
        {
            self.retry_after = (2 * self.retry_after).min(MOST);
            self.increased = second;
        } else if dropped < self.retry_after && self.retry_after > 1 {
            self.retry_after -= 1;
        }
        let kept = (2 * self.retry_after).min(MOST);
        self.history.retain(|(past, _)| since(*past) <= kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_wait_longer_while_many_are_refused() {
        let mut dropped = Dropped::default();
        let mut second = |second: u64, requests: usize| {
            (0..requests).map(|_| dropped.refuse(second)).last().unwrap_or_default()
        };
        assert_eq!(second(100, 1000), 1, "the first second");
        assert_eq!(second(101, 1000), 2);
        assert_eq!(second(102, 1000), 2, "not before two seconds");
        assert_eq!(second(103, 1000), 4);
        assert_eq!(second(107, 1000), 8);
        assert_eq!(second(200, 1), 7, "and falls when few are");
        assert_eq!(second(300, 1), 6);
    }
}
