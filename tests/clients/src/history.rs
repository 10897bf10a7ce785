//! A checker of histories: whether what clients of several servers saw is one line of history.
//!
//! Every write has a resource version, and all resource versions are of one counter, so the order of writes is known:
//! answers and events must fit it, and no answer goes back in time. Besides, the operations on each object are given
//! to a checker of linearizability that knows nothing of resource versions (`tests/go/linearizability`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

use serde_json::json;

/// The content of an object; `None`: it is absent. No content is written twice.
pub type Content = Option<String>;

/// A request about an object, and what came of it.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The object.
    pub key: String,
    /// The write; `None` for reads.
    pub change: Option<Change>,
    /// The answer.
    pub outcome: Outcome,
    /// When the request was sent.
    pub began: Instant,
    /// When it was answered.
    pub ended: Instant,
}

/// A write on the condition that the object is as it was read.
#[derive(Clone, Debug)]
pub struct Change {
    /// The resource version that is replaced, if the object was there.
    pub replaced: Option<u64>,
    /// The content that is replaced.
    pub from: Content,
    /// The new content.
    pub to: Content,
}

/// An answer.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The object was read or written, with this resource version and content.
    At(u64, String),
    /// It was found to be absent, or was deleted.
    Absent,
    /// The write was refused: the object was not as it was read.
    Refused,
    /// The write may have happened.
    Unknown,
}

/// The events of one watch after a revision, over any number of connections.
#[derive(Clone, Debug, Default)]
pub struct WatchHistory {
    /// The beginning of the keys of its objects.
    pub prefix: String,
    /// The revision that it began after.
    pub after: u64,
    /// Revision, object and content of each event.
    pub events: Vec<(u64, String, Content)>,
    /// Bookmarks: how many events had come before, and the revision.
    pub bookmarks: Vec<(usize, u64)>,
}

/// Everything that clients saw.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Reads and writes.
    pub operations: Vec<Operation>,
    /// Watches.
    pub watches: Vec<WatchHistory>,
}

type Written<'a> = BTreeMap<u64, (&'a str, Option<&'a str>)>;

impl Operation {
    fn revision(&self) -> Option<u64> {
        match self.outcome {
            Outcome::At(revision, _) => Some(revision),
            _ => None,
        }
    }
}

impl History {
    /// The violations found in it.
    pub fn violations(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        // Revision to object and content, from everything that was seen.
        let mut written = Written::new();
        let watched = self.watches.iter().flat_map(|watch| &watch.events);
        let watched = watched.map(|(revision, key, content)| (*revision, key.as_str(), content.as_deref()));
        let answered = self.operations.iter().filter_map(|operation| match &operation.outcome {
            Outcome::At(revision, content) => {
                Some((*revision, operation.key.as_str(), Some(content.as_str())))
            }
            _ => None,
        });
        for (revision, key, content) in watched.chain(answered) {
            let known = *written.entry(revision).or_insert((key, content));
            if known != (key, content) {
                wrong.push(format!("revision {revision} is {known:?} and {key:?} with {content:?}"));
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

    fn check_refused(&self, written: &Written<'_>, wrong: &mut Vec<String>) {
        let contents: BTreeSet<&str> = written.values().filter_map(|(_, content)| *content).collect();
        for operation in &self.operations {
            if let (Some(Change { to: Some(to), .. }), Outcome::Refused) =
                (&operation.change, &operation.outcome)
                && contents.contains(to.as_str())
            {
                wrong.push(format!("{}: {to} was refused, and written", operation.key));
            }
        }
    }

    /// An answer is not older than one that came before it was asked for.
    fn check_real_time(&self, wrong: &mut Vec<String>) {
        let mut keys: BTreeMap<&str, Vec<(&Operation, u64)>> = BTreeMap::new();
        for operation in &self.operations {
            if let Some(revision) = operation.revision() {
                keys.entry(&operation.key).or_default().push((operation, revision));
            }
        }
        for (key, operations) in keys {
            let mut by_end = operations.clone();
            by_end.sort_by_key(|(operation, _)| operation.ended);
            let mut by_begin = operations;
            by_begin.sort_by_key(|(operation, _)| operation.began);
            let (mut ended, mut newest) = (by_end.into_iter().peekable(), 0);
            for (operation, revision) in by_begin {
                while let Some((_, earlier)) = ended.next_if(|(earlier, _)| earlier.ended < operation.began) {
                    newest = newest.max(earlier);
                }
                if revision < newest || (operation.change.is_some() && revision == newest) {
                    wrong.push(format!("{key}: {revision} came after {newest}"));
                }
            }
        }
    }

    /// Between a write and what it replaced there is no other write of the object.
    fn check_replaced(&self, written: &Written<'_>, wrong: &mut Vec<String>) {
        for operation in &self.operations {
            let replaced = operation.change.as_ref().and_then(|change| change.replaced);
            let (Some(replaced), Some(at)) = (replaced, operation.revision()) else { continue };
            for (revision, (key, _)) in written.range(replaced + 1..at) {
                if *key == operation.key {
                    wrong.push(format!("{key}: {at} replaced {replaced} over {revision}"));
                }
            }
        }
    }

    /// Writes the operations for the checker of linearizability. A write of unknown outcome whose content was never
    /// seen is left out: every history with it is one without it.
    pub fn export(&self, path: &Path) -> io::Result<()> {
        let seen: BTreeSet<&str> = self
            .operations
            .iter()
            .filter_map(|operation| match &operation.outcome {
                Outcome::At(_, content) => Some(content.as_str()),
                _ => None,
            })
            .chain(self.watches.iter().flat_map(|watch| &watch.events).filter_map(|event| event.2.as_deref()))
            .collect();
        let Some(start) = self.operations.iter().map(|operation| operation.began).min() else {
            return Ok(());
        };
        let mut file = io::BufWriter::new(std::fs::File::create(path)?);
        for operation in &self.operations {
            let at = |instant: Instant| (instant - start).as_nanos() as u64;
            let to = operation.change.as_ref().and_then(|change| change.to.as_deref());
            let outcome = match operation.outcome {
                Outcome::At(..) | Outcome::Absent => "done",
                Outcome::Refused => "refused",
                Outcome::Unknown if to.is_some_and(|to| !seen.contains(to)) => continue,
                Outcome::Unknown => "unknown",
            };
            let from = match (&operation.change, &operation.outcome) {
                (Some(change), _) => change.from.as_deref(),
                (None, Outcome::At(_, content)) => Some(content.as_str()),
                (None, _) => None,
            };
            let ended = if outcome == "unknown" { i64::MAX as u64 } else { at(operation.ended) };
            let line = json!({
                "key": operation.key, "kind": if operation.change.is_some() { "write" } else { "read" },
                "from": from.unwrap_or_default(), "to": to.unwrap_or_default(), "outcome": outcome,
                "call": at(operation.began), "return": ended,
            });
            writeln!(file, "{line}")?;
        }
        file.flush()
    }
}

impl WatchHistory {
    /// Events are in order, each once, and none is missing up to the last; none comes after its bookmark.
    fn check(&self, written: &Written<'_>, wrong: &mut Vec<String>) {
        let mut last = self.after;
        let mut bookmarks = self.bookmarks.iter().peekable();
        for (number, (revision, key, _)) in self.events.iter().enumerate() {
            while let Some((_, bookmark)) = bookmarks.next_if(|(before, _)| *before <= number) {
                last = last.max(*bookmark);
            }
            if *revision <= last {
                wrong.push(format!("watch after {}: {revision} of {key} came after {last}", self.after));
            }
            last = last.max(*revision);
        }
        last = bookmarks.map(|(_, bookmark)| *bookmark).fold(last, u64::max);
        let seen: BTreeSet<u64> = self.events.iter().map(|(revision, ..)| *revision).collect();
        for (revision, (key, _)) in written.range(self.after + 1..=last.max(self.after)) {
            if key.starts_with(&self.prefix) && !seen.contains(revision) {
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

    fn operation(revision: u64, replaced: Option<u64>, content: &str, at: u64) -> Operation {
        let start = Instant::now();
        let (began, ended) =
            (start + Duration::from_secs(at), start + Duration::from_millis(at * 1000 + 500));
        let change = replaced.map(|replaced| Change {
            replaced: Some(replaced),
            from: Some("before".into()),
            to: Some(content.into()),
        });
        Operation { key: "a".into(), change, outcome: Outcome::At(revision, content.into()), began, ended }
    }

    fn event(revision: u64, content: &str) -> (u64, String, Content) {
        (revision, "a".into(), Some(content.into()))
    }

    #[test]
    fn violations_are_found() {
        let write = operation(2, Some(1), "x", 0);
        let mut refused = operation(0, Some(1), "z", 0);
        refused.outcome = Outcome::Refused;
        let watch = WatchHistory {
            prefix: "a".into(),
            after: 1,
            events: vec![event(2, "x"), event(3, "y"), (4, "a".into(), None)],
            bookmarks: vec![(2, 3)],
        };
        let good = History {
            operations: vec![write.clone(), operation(2, None, "x", 1), refused.clone()],
            watches: vec![watch],
        };
        assert_eq!(good.violations(), [""; 0]);
        let with = |change: fn(&mut History)| {
            let mut history = good.clone();
            change(&mut history);
            history.violations().len()
        };
        assert_eq!(with(|history| history.operations.push(operation(1, None, "w", 2))), 1, "an old read");
        assert_eq!(
            with(|history| history.operations[1] = operation(2, None, "other", 1)),
            1,
            "another value"
        );
        assert_eq!(
            with(|history| history.operations[2].change.as_mut().unwrap().to = Some("y".into())),
            1,
            "a refused write"
        );
        assert_eq!(
            with(|history| history.operations.push(operation(5, Some(2), "v", 2))),
            2,
            "an update that lost two"
        );
        assert_eq!(with(|history| history.watches[0].events.push(event(3, "y"))), 1, "an event twice");
        assert_eq!(with(|history| drop(history.watches[0].events.remove(0))), 1, "a missing event");
        assert_eq!(with(|history| history.watches[0].bookmarks[0].1 = 4), 1, "a bookmark before its event");
        assert_eq!(
            with(|history| {
                history.operations.push(operation(7, None, "v", 2));
                history.watches[0].bookmarks.push((3, 8));
            }),
            1,
            "a bookmark without an event"
        );
    }
}
