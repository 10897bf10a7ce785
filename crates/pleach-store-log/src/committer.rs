//! The one thread that writes.
//!
//! Callers queue their commits; the thread takes all that wait, judges them one after the other,
//! writes those that hold as one frame, syncs once, and only then lets anybody see them: first
//! the index, then the callers, then the watchers. While it syncs, the next batch gathers, and for
//! a moment after it if more are to be expected (see [`Pace`]).
//!
//! **Invariants:** nothing is visible, to readers or in an answer, before it is durable; that is
//! why even a conflict is answered only after the sync: what it found may be of the same frame.
//! Commits are judged against the index and what came before them in the frame, so the frame as
//! a whole is one piece of history.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use foldhash::quality::RandomState;
use pleach_store::{Batch, Commit, Key, Revision, StoreError, Versioned};
use tokio::sync::oneshot;

use crate::{
    format,
    index::Index,
    log::Log,
    pace::Pace,
    shared::{STEP, Shared},
};

/// A frame takes no more commits once it is this large.
const FRAME_BYTES: usize = 4 << 20;
/// How many commits the publisher may be behind before writing waits for it.
const PUBLISHER_LAG: u64 = 16_384;

pub(crate) type Reply = oneshot::Sender<Result<Revision, StoreError>>;

/// Commits that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

/// What the thread takes from the queue.
struct Taken {
    commits: Vec<(Commit, Reply)>,
    compacted: Option<Revision>,
    roll: bool,
}

#[derive(Debug, Default)]
struct Waiting {
    commits: Vec<(Commit, Reply)>,
    /// The thread sleeps until so many wait.
    wanted: usize,
    /// History was given up before this revision, and the log does not say so yet.
    compacted: Option<Revision>,
    /// A new segment is to be begun.
    roll: bool,
    closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a commit; `false` when the store is closed.
    pub(crate) fn push(&self, commit: Commit, reply: Reply) -> bool {
        let mut waiting = self.lock();
        if waiting.closed {
            return false;
        }
        waiting.commits.push((commit, reply));
        if waiting.commits.len() == waiting.wanted {
            self.arrived.notify_one();
        }
        true
    }

    /// Has the log say, with the next commit, that history was given up.
    pub(crate) fn note_compaction(&self, before: Revision) {
        let mut waiting = self.lock();
        waiting.compacted = waiting.compacted.max(Some(before));
    }

    /// Has the thread begin a new segment of the log.
    pub(crate) fn request_roll(&self) {
        self.lock().roll = true;
        self.arrived.notify_one();
    }

    /// Takes no more commits; those that wait are still written.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Everything that waits, once something does, and once there are as many as `expected` or
    /// `patience` has run out; `None` when there will be nothing more.
    fn take(&self, (expected, patience): (usize, Duration)) -> Option<Taken> {
        let mut waiting = self.lock();
        if expected > 1 {
            waiting.wanted = expected;
            let short = |waiting: &mut Waiting| waiting.commits.len() < expected && !waiting.closed;
            let waited = self.arrived.wait_timeout_while(waiting, patience, short);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        waiting.wanted = 1;
        while waiting.commits.is_empty() && !waiting.roll {
            if waiting.closed {
                return None;
            }
            waiting = self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        // What was noted goes with the next commit.
        let compacted = if waiting.commits.is_empty() { None } else { waiting.compacted.take() };
        let roll = mem::take(&mut waiting.roll);
        Some(Taken { commits: mem::take(&mut waiting.commits), compacted, roll })
    }
}

/// Runs until the queue is closed and empty.
pub(crate) fn run(shared: &Shared, log: Log) {
    let mut committer = Committer { shared, log, frame: Vec::new(), synced_in: Duration::ZERO };
    let mut pace = Pace::default();
    while let Some(taken) = shared.queue.take(pace.wait(committer.synced_in)) {
        let Taken { commits, mut compacted, roll } = taken;
        if roll {
            committer.roll();
        }
        if commits.is_empty() {
            continue;
        }
        pace.learn(commits.len());
        let mut commits = commits.into_iter().peekable();
        while commits.peek().is_some() {
            committer.wait_for_publisher();
            committer.write(&mut commits, compacted.take());
        }
        committer.look_after_history();
        // When the processors are busy, with callers' work for the most part, it is done first.
        thread::yield_now();
    }
    committer.log.close();
}

struct Committer<'a> {
    shared: &'a Shared,
    log: Log,
    frame: Vec<u8>,
    /// How long the last write and sync took.
    synced_in: Duration,
}

/// Commits of one frame, judged and not yet durable.
struct Draft<'a> {
    index: &'a Index,
    current: Revision,
    batches: Vec<Batch>,
    /// What they leave under the keys they change.
    changed: HashMap<Key, Option<Versioned>, RandomState>,
}

impl Draft<'_> {
    fn live(&self, key: &Key) -> Option<Versioned> {
        match self.changed.get(key) {
            Some(changed) => changed.clone(),
            None => self.index.live(key.as_str()),
        }
    }

    /// Judges a commit; what it adds to the frame, if anything, is the last of `batches`.
    fn judge(&mut self, commit: Commit) -> Result<Revision, StoreError> {
        commit.expectations(|key| self.live(key))?;
        let revision = self.current.next();
        let mut events = Vec::with_capacity(commit.ops.len());
        for op in commit.ops {
            let previous = self.live(&op.key);
            // Keys are shared by all versions of them.
            let key = previous.as_ref().map_or(op.key, |previous| previous.key.clone());
            events.extend(Index::event(revision, key, op.value, previous));
        }
        if let Some(batch) = Batch::new(events) {
            for event in &batch {
                self.changed.insert(event.key.clone(), event.value.clone());
            }
            self.batches.push(batch);
            self.current = revision;
        }
        Ok(self.current)
    }
}

impl Committer<'_> {
    /// Writes one frame of commits and answers them.
    fn write(&mut self, commits: &mut impl Iterator<Item = (Commit, Reply)>, compacted: Option<Revision>) {
        let mut answers = Vec::new();
        self.frame.clear();
        // A commit of many megabytes is rare; its room is not kept for the next.
        self.frame.shrink_to(2 * FRAME_BYTES);
        format::begin_frame(&mut self.frame);
        let (base, batches) = {
            let index = self.shared.index();
            let base = index.current();
            format::put_base(&mut self.frame, base);
            if let Some(compacted) = compacted {
                format::put_compacted(&mut self.frame, compacted);
            }
            let mut draft =
                Draft { index: &index, current: base, batches: Vec::new(), changed: HashMap::default() };
            while self.frame.len() < FRAME_BYTES
                && let Some((commit, reply)) = commits.next()
            {
                let before = draft.batches.len();
                let live = |key: &Key| draft.live(key).map(|live| live.value.len() as u64);
                let judged = self.shared.space.judge(&commit, live).and_then(|()| draft.judge(commit));
                answers.push((reply, judged));
                for batch in &draft.batches[before..] {
                    format::put_commit(&mut self.frame, batch);
                }
            }
            (base, draft.batches)
        };
        if !batches.is_empty()
            && let Err(error) = self.make_durable(base, Revision(base.0 + batches.len() as u64))
        {
            for (reply, _) in answers {
                // A caller that is gone does not want to know.
                let _ = reply.send(Err(error.clone()));
            }
            return;
        }
        let current = Revision(base.0 + batches.len() as u64);
        self.show(batches);
        for (reply, answer) in answers {
            let _ = reply.send(answer);
        }
        if !self.shared.hub.skip(base, current) {
            self.shared.committed.ring();
        }
    }

    fn make_durable(&mut self, base: Revision, last: Revision) -> Result<(), StoreError> {
        let begin = Instant::now();
        let mut appended = self.log.append(&mut self.frame, (base, last));
        if let Err(error) = &appended {
            let reserve = self.shared.space.failed(error, &*self.shared.disk);
            self.shared.grown.ring();
            // Once more, with what was held back; most of it is for others.
            if reserve / 2 >= self.frame.len() as u64 {
                appended = self.log.append(&mut self.frame, (base, last));
            }
        }
        self.synced_in = begin.elapsed();
        if let Some(reason) = self.log.failed() {
            self.shared.set_failed(Arc::clone(reason));
        }
        let place = appended?;
        self.note_place(place, self.frame.len() as u64);
        Ok(())
    }

    /// Notes how long a segment is.
    fn note_place(&self, (segment, size): (Revision, u64), written: u64) {
        let mut files = self.shared.files();
        match files.segments.back_mut() {
            Some((base, known)) if *base == segment => *known = size,
            _ => files.segments.push_back((segment, size)),
        }
        let used = files.bytes();
        drop(files);
        self.shared.space.note(used, written);
        if self.shared.space.is_pressed(used) {
            self.shared.grown.ring();
        }
    }

    /// Begins a new segment.
    fn roll(&mut self) {
        let current = self.shared.index().current();
        match self.log.roll(current) {
            Ok(Some(place)) => self.note_place(place, place.1),
            Ok(None) => {}
            Err(error) => {
                self.shared.space.failed(&error, &*self.shared.disk);
            }
        }
        self.shared.rolled.ring();
    }

    /// Lets readers see commits that are durable.
    fn show(&self, batches: Vec<Batch>) {
        let mut batches = batches.into_iter().peekable();
        while batches.peek().is_some() {
            let (mut index, mut changes) = (self.shared.index_mut(), 0);
            while changes < STEP
                && let Some(batch) = batches.next()
            {
                changes += batch.len();
                index.apply(batch);
            }
        }
    }

    /// The publisher never waits for a watcher, so this ends; it bounds what waits in between, in
    /// number and in bytes: history that was not handed out yet cannot be let go of.
    fn wait_for_publisher(&self) {
        let behind = || {
            let index = self.shared.index();
            let lag = index.current().0 - self.shared.hub.published().0;
            let large = index.history_size().1 > self.shared.options.history_bytes.saturating_mul(2);
            lag > PUBLISHER_LAG || (lag > 0 && large)
        };
        while behind() && !self.shared.closing.load(Relaxed) {
            self.shared.committed.ring();
            self.shared.published.wait(Some(Duration::from_millis(10)));
        }
    }

    /// Calls for compaction when history has outgrown its bounds. When it has outgrown them twice
    /// over, nobody came: the compactor is stuck or starved, and it is done here.
    fn look_after_history(&self) {
        let options = &self.shared.options;
        let (commits, bytes) = {
            let index = self.shared.index();
            (index.current().0 - index.oldest().0, index.history_size().1)
        };
        let exceeded = |times: u64| {
            commits > options.history_commits.saturating_mul(times)
                || bytes > options.history_bytes.saturating_mul(times)
        };
        if exceeded(2) {
            crate::keeper::shorten_history(self.shared);
        } else if exceeded(1) {
            self.shared.grown.ring();
        }
    }
}
