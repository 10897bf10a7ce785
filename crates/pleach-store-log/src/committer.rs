//! The committer thread: group commit.
//!
//! Callers queue commits. The thread takes all that are queued, evaluates them in order, appends those
//! that succeed as one frame, syncs once, and then makes them visible: first in the index, then to the
//! callers, then to the watchers. The next batch gathers during the sync, and for a moment after it if
//! more commits are expected (see [`BatchDelay`]).
//!
//! **Invariants:** nothing is visible, to readers or in a result, before it is durable. Even a conflict
//! is returned only after the sync, since it may be with a commit of the same frame. Commits are
//! evaluated against the index and the earlier commits of the frame.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use foldhash::quality::RandomState;
use pleach_store::{Batch, Commit, Key, Revision, StoreError, Versioned};
use pleach_store_mvcc::{Index, STEP};
use tokio::sync::oneshot;

use crate::{batch_delay::BatchDelay, format, log::Log, shared::Shared};

/// The size from which a frame takes no more commits.
const FRAME_BYTES: usize = 4 << 20;
/// How much of the buffer of a frame is kept for the next one.
const FRAME_BYTES_KEPT: usize = 512 << 10;
/// How many commits the publisher may be behind before the committer waits for it.
const PUBLISHER_LAG: u64 = 16_384;

pub(crate) type Reply = oneshot::Sender<Result<Revision, StoreError>>;

/// Commits to be written.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<PendingCommits>,
    arrived: Condvar,
}

/// An item of the committer's queue.
struct Work {
    commits: Vec<(Commit, Reply)>,
    compacted: Option<Revision>,
    roll: bool,
}

#[derive(Debug, Default)]
struct PendingCommits {
    commits: Vec<(Commit, Reply)>,
    /// The committer sleeps until so many are queued.
    wanted: usize,
    /// A compaction that the log does not record yet.
    compacted: Option<Revision>,
    /// A new segment was requested.
    roll: bool,
    closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, PendingCommits> {
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

    /// Records a compaction in the log, with the next commit.
    pub(crate) fn note_compaction(&self, before: Revision) {
        let mut waiting = self.lock();
        waiting.compacted = waiting.compacted.max(Some(before));
    }

    /// Requests a new segment of the log.
    pub(crate) fn request_roll(&self) {
        self.lock().roll = true;
        self.arrived.notify_one();
    }

    /// Takes no more commits; queued ones are still written.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Everything queued, once there is something, and once there are `expected` commits or `patience`
    /// has passed; `None` when the queue is closed and empty.
    fn take(&self, (expected, patience): (usize, Duration)) -> Option<Work> {
        let mut waiting = self.lock();
        if expected > 1 {
            waiting.wanted = expected;
            let short = |waiting: &mut PendingCommits| waiting.commits.len() < expected && !waiting.closed;
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
        // A compaction is recorded with the next commit.
        let compacted = if waiting.commits.is_empty() { None } else { waiting.compacted.take() };
        let roll = mem::take(&mut waiting.roll);
        Some(Work { commits: mem::take(&mut waiting.commits), compacted, roll })
    }
}

/// Runs until the queue is closed and empty.
pub(crate) fn run(shared: &Shared, log: Log) {
    let mut committer = Committer { shared, log, frame: Vec::new(), synced_in: Duration::ZERO };
    let mut batch_delay = BatchDelay::default();
    while let Some(taken) = shared.queue.take(batch_delay.wait(committer.synced_in)) {
        let Work { commits, mut compacted, roll } = taken;
        if roll {
            committer.roll();
        }
        if commits.is_empty() {
            continue;
        }
        batch_delay.observe(commits.len());
        let mut commits = commits.into_iter().peekable();
        while commits.peek().is_some() {
            committer.wait_for_publisher();
            committer.write(&mut commits, compacted.take());
            committer.clear_frame();
        }
        committer.request_compaction();
        // On a busy machine, let the callers go on first.
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

/// Commits of one frame, evaluated and not yet durable.
struct PendingFrame<'a> {
    index: &'a Index,
    current: Revision,
    batches: Vec<Batch>,
    /// The values after these commits, of the keys they change.
    changed: HashMap<Key, Option<Versioned>, RandomState>,
}

impl PendingFrame<'_> {
    fn live(&self, key: &Key) -> Option<Versioned> {
        match self.changed.get(key) {
            Some(changed) => changed.clone(),
            None => self.index.live(key.as_str()),
        }
    }

    /// Evaluates a commit; its changes, if any, become the last of `batches`.
    fn evaluate(&mut self, commit: Commit) -> Result<Revision, StoreError> {
        commit.expectations(|key| self.live(key))?;
        let revision = self.current.next();
        let mut events = Vec::with_capacity(commit.ops.len());
        for op in commit.ops {
            let previous = self.live(&op.key);
            // All versions of a key share its text.
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
    /// Large frames are rare; their buffer is not kept.
    fn clear_frame(&mut self) {
        self.frame.clear();
        self.frame.shrink_to(FRAME_BYTES_KEPT);
    }

    /// Writes one frame of commits and replies to their callers.
    fn write(&mut self, commits: &mut impl Iterator<Item = (Commit, Reply)>, compacted: Option<Revision>) {
        let mut answers = Vec::new();
        format::begin_frame(&mut self.frame);
        let (base, batches) = {
            let index = self.shared.index();
            let base = index.current();
            format::put_base(&mut self.frame, base);
            if let Some(compacted) = compacted {
                format::put_compacted(&mut self.frame, compacted);
            }
            let mut frame_commits = PendingFrame {
                index: &index,
                current: base,
                batches: Vec::new(),
                changed: HashMap::default(),
            };
            while self.frame.len() < FRAME_BYTES
                && let Some((commit, reply)) = commits.next()
            {
                let before = frame_commits.batches.len();
                let encoded = match self.shared.encoded(&commit) {
                    Ok(encoded) => encoded,
                    Err(error) => {
                        answers.push((reply, Err(error)));
                        continue;
                    }
                };
                let live = |key: &Key| frame_commits.live(key).map(|live| live.value.len() as u64);
                let result =
                    self.shared.space.admit(&commit, live).and_then(|()| frame_commits.evaluate(commit));
                answers.push((reply, result));
                for batch in &frame_commits.batches[before..] {
                    format::put_commit(&mut self.frame, batch, &encoded);
                }
            }
            (base, frame_commits.batches)
        };
        if !batches.is_empty()
            && let Err(error) = self.make_durable(base, Revision(base.0 + batches.len() as u64))
        {
            for (reply, _) in answers {
                // The caller may be gone.
                let _ = reply.send(Err(error.clone()));
            }
            return;
        }
        let current = Revision(base.0 + batches.len() as u64);
        self.apply_to_index(batches);
        for (reply, answer) in answers {
            let _ = reply.send(answer);
        }
        if !self.shared.mvcc.watchers.skip(base, current) {
            self.shared.committed.notify();
        }
    }

    fn make_durable(&mut self, base: Revision, last: Revision) -> Result<(), StoreError> {
        let begin = Instant::now();
        let mut appended = self.log.append(&mut self.frame, (base, last));
        if let Err(error) = &appended {
            let reserve = self.shared.space.failed(error, &*self.shared.disk);
            self.shared.grown.notify();
            // One retry with the released reserve, if this frame needs no more than half of it.
            if reserve / 2 >= self.frame.len() as u64 {
                appended = self.log.append(&mut self.frame, (base, last));
            }
        }
        self.synced_in = begin.elapsed();
        if let Some(reason) = self.log.failed() {
            self.shared.set_failed(Arc::clone(reason));
        }
        let place = appended?;
        self.record_segment_size(place, self.frame.len() as u64);
        Ok(())
    }

    /// Records the size of a segment.
    fn record_segment_size(&self, (segment, size): (Revision, u64), written: u64) {
        let mut files = self.shared.files();
        match files.segments.back_mut() {
            Some((base, known)) if *base == segment => *known = size,
            _ => files.segments.push_back((segment, size)),
        }
        let used = files.bytes();
        drop(files);
        self.shared.space.record_usage(used, written);
        if self.shared.space.should_shrink(used) {
            self.shared.grown.notify();
        }
    }

    /// Starts a new segment.
    fn roll(&mut self) {
        let current = self.shared.index().current();
        match self.log.roll(current) {
            Ok(Some(place)) => self.record_segment_size(place, place.1),
            Ok(None) => {}
            Err(error) => {
                self.shared.space.failed(&error, &*self.shared.disk);
            }
        }
        self.shared.rolled.notify();
    }

    /// Makes durable commits visible to readers.
    fn apply_to_index(&self, batches: Vec<Batch>) {
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

    /// Bounds what is committed and not published, in commits and bytes: compaction cannot drop it. The
    /// publisher never waits for a watcher, so this ends.
    fn wait_for_publisher(&self) {
        let behind = || {
            let index = self.shared.index();
            let lag = index.current().0 - self.shared.mvcc.watchers.published().0;
            let large = index.history_size().1 > self.shared.options.history_bytes.saturating_mul(2);
            lag > PUBLISHER_LAG || (lag > 0 && large)
        };
        while behind() && !self.shared.closing.load(Relaxed) {
            self.shared.committed.notify();
            self.shared.published.wait(Some(Duration::from_millis(10)));
        }
    }

    /// Requests compaction when history exceeds its bounds. At twice the bounds the maintenance thread
    /// is stuck or starved, and compaction is done here.
    fn request_compaction(&self) {
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
            crate::maintenance::compact_to_bounds(self.shared);
        } else if exceeded(1) {
            self.shared.grown.notify();
        }
    }
}
