//! A checker of histories: whether what clients of several servers saw is one line of history.
//!
//! Every write of an object has a resource version, and all resource versions are of one counter. So the order of
//! writes is known, and a history is linearizable if every answer fits that order and none goes back in time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// A write that was acknowledged, or a read.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The object.
    pub key: String,
    /// Its resource version in the answer.
    pub revision: u64,
    /// The resource version that a write replaced; `None` for reads.
    pub replaced: Option<u64>,
    /// The object's content.
    pub value: String,
    /// When the request was sent.
    pub began: Instant,
    /// When it was answered.
    pub ended: Instant,
}

/// The events of one watch after a revision, over any number of connections.
#[derive(Clone, Debug, Default)]
pub struct WatchHistory {
    /// The revision that it began after.
    pub after: u64,
    /// Revision, object and content of each event.
    pub events: Vec<(u64, String, String)>,
}

/// Everything that clients saw.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Acknowledged writes and reads.
    pub operations: Vec<Operation>,
    /// The contents of writes that were refused.
    pub refused: Vec<String>,
    /// Watches.
    pub watches: Vec<WatchHistory>,
}

impl History {
    /// The violations of the history.
    pub fn violations(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        // Revision to object and content, from everything that was seen.
        let mut written: BTreeMap<u64, (&str, &str)> = BTreeMap::new();
        let watched = self.watches.iter().flat_map(|watch| &watch.events);
        let watched = watched.map(|(revision, key, value)| (*revision, key.as_str(), value.as_str()));
        let answered = self.operations.iter().map(|op| (op.revision, op.key.as_str(), op.value.as_str()));
        for (revision, key, value) in watched.chain(answered) {
            let known = *written.entry(revision).or_insert((key, value));
            if known != (key, value) {
                wrong.push(format!("revision {revision} is {known:?} and {key:?} with {value:?}"));
            }
        }
        self.check_refused(&written, &mut wrong);
        self.check_real_time(&mut wrong);
        self.check_replaced(&written, &mut wrong);
        for watch in &self.watches {
            watch.check(&written, &mut wrong);
        }
        wrong
    }

    fn check_refused(&self, written: &BTreeMap<u64, (&str, &str)>, wrong: &mut Vec<String>) {
        let values: BTreeSet<&str> = written.values().map(|(_, value)| *value).collect();
        let taken = self.refused.iter().filter(|value| values.contains(value.as_str()));
        wrong.extend(taken.map(|value| format!("{value} was refused, and written")));
    }

    /// An answer is not older than one that came before it was asked for.
    fn check_real_time(&self, wrong: &mut Vec<String>) {
        let mut keys: BTreeMap<&str, Vec<&Operation>> = BTreeMap::new();
        for operation in &self.operations {
            keys.entry(&operation.key).or_default().push(operation);
        }
        for (key, operations) in keys {
            let mut by_end = operations.clone();
            by_end.sort_by_key(|operation| operation.ended);
            let mut by_begin = operations;
            by_begin.sort_by_key(|operation| operation.began);
            let (mut ended, mut newest) = (by_end.into_iter().peekable(), 0);
            for operation in by_begin {
                while let Some(earlier) = ended.next_if(|earlier| earlier.ended < operation.began) {
                    newest = newest.max(earlier.revision);
                }
                let is_write = operation.replaced.is_some();
                if operation.revision < newest || (is_write && operation.revision == newest) {
                    wrong.push(format!("{key}: {} came after {newest}", operation.revision));
                }
            }
        }
    }

    /// Between a write and what it replaced there is no other write of the object.
    fn check_replaced(&self, written: &BTreeMap<u64, (&str, &str)>, wrong: &mut Vec<String>) {
        for operation in &self.operations {
            let Some(replaced) = operation.replaced else { continue };
            let between = written.range(replaced + 1..operation.revision);
            for (revision, (key, _)) in between.filter(|(_, (key, _))| *key == operation.key) {
                wrong.push(format!("{key}: {} replaced {replaced} over {revision}", operation.revision));
            }
        }
    }
}

impl WatchHistory {
    /// Events are in order, each once, and none is missing up to the last.
    fn check(&self, written: &BTreeMap<u64, (&str, &str)>, wrong: &mut Vec<String>) {
        let mut last = self.after;
        for (revision, key, _) in &self.events {
            if *revision <= last {
                wrong.push(format!("watch after {}: {revision} of {key} came after {last}", self.after));
            }
            last = last.max(*revision);
        }
        let seen: BTreeSet<u64> = self.events.iter().map(|(revision, ..)| *revision).collect();
        for (revision, (key, _)) in written.range(self.after + 1..=last.max(self.after)) {
            if !seen.contains(revision) {
                wrong.push(format!(
                    "watch after {}: {revision} of {key} is missing, {last} is not",
                    self.after
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn operation(revision: u64, replaced: Option<u64>, value: &str, at: u64) -> Operation {
        let start = Instant::now();
        let (began, ended) =
            (start + Duration::from_secs(at), start + Duration::from_millis(at * 1000 + 500));
        Operation { key: "a".into(), revision, replaced, value: value.into(), began, ended }
    }

    fn event(revision: u64, value: &str) -> (u64, String, String) {
        (revision, "a".into(), value.into())
    }

    #[test]
    fn violations_are_found() {
        let write = operation(2, Some(1), "x", 0);
        let good = History {
            operations: vec![write.clone(), operation(2, None, "x", 1)],
            refused: vec!["z".into()],
            watches: vec![WatchHistory { after: 1, events: vec![event(2, "x"), event(3, "y")] }],
        };
        assert_eq!(good.violations(), [""; 0]);
        let with = |change: fn(&mut History)| {
            let mut history = good.clone();
            change(&mut history);
            history.violations().len()
        };
        assert_eq!(with(|history| history.operations.push(operation(1, None, "w", 2))), 1, "an old read");
        assert_eq!(with(|history| history.operations[1].value = "other".into()), 1, "another value");
        assert_eq!(with(|history| history.refused.push("y".into())), 1, "a refused write");
        assert_eq!(
            with(|history| history.operations.push(operation(4, Some(2), "v", 2))),
            1,
            "a lost update"
        );
        assert_eq!(with(|history| history.watches[0].events.push(event(3, "y"))), 1, "an event twice");
        assert_eq!(with(|history| drop(history.watches[0].events.remove(0))), 1, "a missing event");
    }
}
