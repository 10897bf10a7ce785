//! The maintenance thread: automatic compaction, checkpoints, and removal of old log segments.
//!
//! History is compacted by age, count and size; a checkpoint is written when enough of the log is
//! garbage. A checkpoint is of the oldest readable revision, not the newest: the log after it is then
//! the whole history, which survives a restart.
//!
//! An error here (most likely a full disk) is reported in `Stats` and retried; commits go on.

use std::{
    collections::VecDeque,
    sync::{Arc, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use pleach_store::{Revision, StoreError, Versioned};
use pleach_store_mvcc::{Step, Stop};

use crate::{
    checkpoint::{self, UNFINISHED, Writer},
    disk::Disk,
    format, log,
    shared::Shared,
};

/// How often free space is checked while it is low.
const LOW_SPACE_POLL: Duration = Duration::from_secs(1);
/// A checkpoint that frees less is not worth writing.
const MIN_GAIN: u64 = 16 << 10;

/// Runs until the store is closed.
pub(crate) fn run(shared: &Shared) {
    let tick = (shared.options.history_age / 16).clamp(Duration::from_millis(10), Duration::from_secs(20));
    let mut times = RevisionTimes::default();
    if shared.files().bytes() > 0 {
        shared.space.maintain_reserve(&*shared.disk, shared.checkpoint_bytes());
    }
    loop {
        shared.grown.wait(Some(if shared.space.is_low() { tick.min(LOW_SPACE_POLL) } else { tick }));
        if shared.is_closing() {
            return;
        }
        let due = times.passed(Instant::now(), shared.index().current(), shared.options.history_age);
        if let Some(due) = due {
            // Cannot fail: it was the current revision once.
            let _ = shared.compact(due);
        }
        compact_to_bounds(shared);
        // Revisions that were pinned or unpublished the last time may be free now.
        shared.mvcc.prune();
        let kept = checkpoint_if_worthwhile(shared);
        shared.space.maintain_reserve(&*shared.disk, shared.checkpoint_bytes());
        shared.files().maintenance_error = kept.err().map(|error| {
            tracing::warn!(%error, "checkpoint failed, will retry");
            error.to_string().into()
        });
    }
}

/// The current revision at past times.
#[derive(Debug, Default)]
struct RevisionTimes(VecDeque<(Instant, Revision)>);

impl RevisionTimes {
    /// Records the current revision; returns the newest revision that is `age` old or older.
    fn passed(&mut self, now: Instant, current: Revision, age: Duration) -> Option<Revision> {
        if self.0.back().is_none_or(|(_, last)| *last < current) {
            self.0.push_back((now, current));
        }
        let mut due = None;
        // The commits after an entry are at most as old as the next entry.
        while let Some((when, revision)) = self.0.front()
            && now.duration_since(*when) >= age
        {
            due = Some(*revision);
            if self.0.len() == 1 {
                break;
            }
            self.0.pop_front();
        }
        due
    }
}

/// Compacts history that has outgrown its count or size.
pub(crate) fn compact_to_bounds(shared: &Shared) {
    loop {
        let target = {
            let index = shared.index();
            let (oldest, current) = (index.oldest(), index.current());
            let length = current.0 - oldest.0;
            // Pinned history stays in memory however far `oldest` goes.
            let prunable = index.pruned() == oldest;
            if length > shared.options.history_commits {
                // Some more than needed, so as not to compact for every commit.
                Some(Revision(current.0 - shared.options.history_commits * 7 / 8))
            } else if index.history_size().1 > shared.options.history_bytes && length > 0 && prunable {
                Some(Revision(oldest.0 + length.div_ceil(4)))
            } else {
                None
            }
        };
        match target {
            Some(target) if shared.compact(target).is_ok() => {}
            _ => return,
        }
    }
}

/// Writes a checkpoint, if the log has enough garbage, and removes the files it replaces.
fn checkpoint_if_worthwhile(shared: &Shared) -> Result<(), StoreError> {
    let used = shared.files().bytes();
    if shared.space.should_shrink(used) {
        return free_space(shared, used);
    }
    let oldest = shared.index().oldest();
    let (spare, checkpoint) = {
        let files = shared.files();
        (files.spare_bytes(oldest), files.checkpoint)
    };
    let worth = shared.options.checkpoint_bytes.max(checkpoint.map_or(0, |(_, size)| size));
    if spare >= worth && spare > 0 { write_checkpoint(shared, false) } else { Ok(()) }
}

/// Drops all history and leaves only a checkpoint, if that saves much space.
fn free_space(shared: &Shared, used: u64) -> Result<(), StoreError> {
    let then = shared.checkpoint_bytes() + format::HEADER as u64;
    let gain = used.saturating_sub(then);
    let fits = shared.disk.free().is_none_or(|free| free > then);
    let much = used / if shared.space.is_full() { 16 } else { 4 };
    if !fits || gain < MIN_GAIN || !(gain >= much || shared.space.would_clear_alarm(used, then)) {
        return Ok(());
    }
    rewrite(shared, false)?;
    shared.space.record_usage(shared.files().bytes(), 0);
    Ok(())
}

/// Drops all history and leaves only a checkpoint; `again` as for [`write_checkpoint`].
pub(crate) fn rewrite(shared: &Shared, again: bool) -> Result<(), StoreError> {
    // The new segment first: the checkpoint is then of a revision at or after its start, and older
    // segments can be removed.
    shared.queue.request_roll();
    shared.rolled.wait(Some(Duration::from_secs(5)));
    let current = shared.index().current();
    let _ = shared.compact(current);
    write_checkpoint(shared, again)
}

/// Writes a checkpoint of the oldest readable revision, then removes older files. If there is one of that revision
/// already, it is written anew only if `again` says so.
pub(crate) fn write_checkpoint(shared: &Shared, again: bool) -> Result<(), StoreError> {
    let _one_at_a_time = shared.checkpointing.lock().unwrap_or_else(PoisonError::into_inner);
    let before = shared.files().checkpoint;
    if !again && before.is_some_and(|(before, _)| before == shared.index().oldest()) {
        return Ok(());
    }
    let (revision, size) = write_snapshot(shared, &*shared.disk, None, SnapshotAt::Oldest)?;
    shared.checkpoints.fetch_add(1, Relaxed);
    let spare = {
        let mut files = shared.files();
        files.checkpoint = Some((revision, size));
        let mut spare = Vec::new();
        while files.segments.get(1).is_some_and(|next| next.0 <= revision) {
            spare.extend(files.segments.pop_front());
        }
        spare
    };
    let old = before.filter(|(before, _)| *before != revision);
    let old = old.map(|(before, _)| checkpoint::checkpoint_name(before));
    let names = old.into_iter().chain(spare.into_iter().map(|(base, _)| log::segment_name(base)));
    for name in names {
        let removed = shared.disk.remove(&name);
        removed.map_err(|error| StoreError::io(format!("cannot remove {name}"), error))?;
    }
    shared.disk.sync_names().map_err(|error| StoreError::io("cannot remove old files", error))
}

/// The revision of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotAt {
    /// The oldest readable revision.
    Oldest,
    /// The current revision.
    Latest,
}

/// Writes everything that existed at a revision to a file, named after the revision unless `name` is
/// given. Does not block commits. Returns the revision and the file's size.
pub(crate) fn write_snapshot(
    shared: &Shared,
    disk: &dyn Disk,
    name: Option<&str>,
    at: SnapshotAt,
) -> Result<(Revision, u64), StoreError> {
    let (revision, _pin) = {
        let index = shared.index();
        let revision = if at == SnapshotAt::Oldest { index.oldest() } else { index.current() };
        (revision, shared.mvcc.pin(&index, revision))
    };
    let name = name.map_or_else(|| checkpoint::checkpoint_name(revision), str::to_owned);
    let written = write_items(shared, disk, &name, revision);
    if written.is_err() {
        // Opening the store would remove it, but a full disk needs the space now.
        let _ = disk.remove(&format!("{name}{UNFINISHED}"));
    }
    Ok((revision, written?))
}

fn write_items(shared: &Shared, disk: &dyn Disk, name: &str, revision: Revision) -> Result<u64, StoreError> {
    let mut writer = Writer::begin(disk, name, revision)?;
    let step = Step { items: 256, visits: 256 };
    let (mut items, mut start): (Vec<Versioned>, Arc<str>) = (Vec::new(), Arc::from(""));
    loop {
        let stop = shared.index().collect((&start, None), revision, step, &mut items);
        for item in items.drain(..) {
            writer.put(&shared.encoded_item(item)?)?;
        }
        match stop {
            Stop::End => break,
            Stop::Before(_) if shared.is_closing() => return Err(StoreError::Closed),
            Stop::Before(key) => start = Arc::from(key.as_str()),
        }
    }
    writer.finish()
}
