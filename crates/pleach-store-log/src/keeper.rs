//! The thread that keeps history and log short.
//!
//! It compacts history by age, by count and by size, and writes a checkpoint when enough of the
//! log has become superfluous. A checkpoint is of the oldest revision that still answers, not of
//! the newest: the log after it is then all the history there is, and survives a restart.
//!
//! Trouble here (a full disk, most likely) is remembered and tried again; it does not stop
//! commits, whose own writes will tell.

use std::{
    collections::VecDeque,
    sync::{Arc, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use pleach_store::{Revision, StoreError, Versioned};

use crate::{
    checkpoint::{self, UNFINISHED, Writer},
    disk::Disk,
    format,
    index::{Step, Stop},
    log,
    shared::Shared,
};

/// How often it is looked whether there is room again.
const WHEN_SHORT: Duration = Duration::from_secs(1);
/// Less room than this is not worth a checkpoint.
const LITTLE: u64 = 16 << 10;

/// Runs until the store is closed.
pub(crate) fn run(shared: &Shared) {
    let tick = (shared.options.history_age / 16).clamp(Duration::from_millis(10), Duration::from_secs(20));
    let mut marks = Marks::default();
    if shared.files().bytes() > 0 {
        shared.space.look_after_reserve(&*shared.disk, shared.index().checkpoint_bytes());
    }
    loop {
        shared.grown.wait(Some(if shared.space.is_short() { tick.min(WHEN_SHORT) } else { tick }));
        if shared.is_closing() {
            return;
        }
        let due = marks.due(Instant::now(), shared.index().current(), shared.options.history_age);
        if let Some(due) = due {
            // Never in the future: it was the current revision once.
            let _ = shared.compact(due);
        }
        shorten_history(shared);
        // What readers and the publisher needed the last time may be free now.
        shared.prune();
        let kept = keep_log_short(shared);
        shared.space.look_after_reserve(&*shared.disk, shared.index().checkpoint_bytes());
        shared.files().trouble = kept.err().map(|error| {
            tracing::warn!(%error, "the log could not be shortened; it will be tried again");
            error.to_string().into()
        });
    }
}

/// When history was how long.
#[derive(Debug, Default)]
struct Marks(VecDeque<(Instant, Revision)>);

impl Marks {
    /// Notes where history ends now; the revision that was passed `age` ago or longer.
    fn due(&mut self, now: Instant, current: Revision, age: Duration) -> Option<Revision> {
        if self.0.back().is_none_or(|(_, last)| *last < current) {
            self.0.push_back((now, current));
        }
        let mut due = None;
        // The commits after a mark are as old as the next mark, at most.
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
pub(crate) fn shorten_history(shared: &Shared) {
    loop {
        let target = {
            let index = shared.index();
            let (oldest, current) = (index.oldest(), index.current());
            let length = current.0 - oldest.0;
            // What a reader pins stays in memory however far `oldest` goes.
            let prunable = index.pruned() == oldest;
            if length > shared.options.history_commits {
                // A little more than needed, so as not to come back for every commit.
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

/// Writes a checkpoint if it is worth it, and removes what it makes superfluous.
fn keep_log_short(shared: &Shared) -> Result<(), StoreError> {
    let used = shared.files().bytes();
    if shared.space.is_pressed(used) {
        return free_space(shared, used);
    }
    let oldest = shared.index().oldest();
    let (spare, checkpoint) = {
        let files = shared.files();
        (files.spare_bytes(oldest), files.checkpoint)
    };
    let worth = shared.options.checkpoint_bytes.max(checkpoint.map_or(0, |(_, size)| size));
    if spare >= worth && spare > 0 { write_checkpoint(shared) } else { Ok(()) }
}

/// Gives up all history and leaves a checkpoint only, if that takes much less room.
fn free_space(shared: &Shared, used: u64) -> Result<(), StoreError> {
    let then = shared.index().checkpoint_bytes() + format::HEADER as u64;
    let gain = used.saturating_sub(then);
    let fits = shared.disk.free().is_none_or(|free| free > then);
    let much = used / if shared.space.is_full() { 16 } else { 4 };
    if !fits || gain < LITTLE || !(gain >= much || shared.space.would_end(used, then)) {
        return Ok(());
    }
    // First the new segment: then the checkpoint is of a revision at or after its beginning, and the
    // segments before it can go.
    shared.queue.request_roll();
    shared.rolled.wait(Some(Duration::from_secs(5)));
    let current = shared.index().current();
    let _ = shared.compact(current);
    write_checkpoint(shared)?;
    shared.space.note(shared.files().bytes(), 0);
    Ok(())
}

/// Writes a checkpoint of the oldest revision that answers, then removes older files.
pub(crate) fn write_checkpoint(shared: &Shared) -> Result<(), StoreError> {
    let _one_at_a_time = shared.checkpointing.lock().unwrap_or_else(PoisonError::into_inner);
    let before = shared.files().checkpoint;
    if before.is_some_and(|(before, _)| before == shared.index().oldest()) {
        return Ok(());
    }
    let (revision, size) = write_snapshot(shared, &*shared.disk, None, Moment::Oldest)?;
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
    let old = before.map(|(before, _)| checkpoint::checkpoint_name(before));
    let names = old.into_iter().chain(spare.into_iter().map(|(base, _)| log::segment_name(base)));
    for name in names {
        let removed = shared.disk.remove(&name);
        removed.map_err(|error| StoreError::io(format!("cannot remove {name}"), error))?;
    }
    shared.disk.sync_names().map_err(|error| StoreError::io("cannot remove old files", error))
}

/// As of when a snapshot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The oldest revision that answers.
    Oldest,
    /// The latest one.
    Latest,
}

/// Writes everything that existed at a moment to a file on a disk, named after the revision
/// unless it is given a name. Commits go on meanwhile. The revision and the size of the file.
pub(crate) fn write_snapshot(
    shared: &Shared,
    disk: &dyn Disk,
    name: Option<&str>,
    moment: Moment,
) -> Result<(Revision, u64), StoreError> {
    let (revision, _pin) = {
        let index = shared.index();
        let revision = if moment == Moment::Oldest { index.oldest() } else { index.current() };
        (revision, shared.pin(&index, revision))
    };
    let name = name.map_or_else(|| checkpoint::checkpoint_name(revision), str::to_owned);
    let written = write_items(shared, disk, &name, revision);
    if written.is_err() {
        // It would be removed when the store is opened the next time; a full disk wants it now.
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
            writer.put(&item)?;
        }
        match stop {
            Stop::End => break,
            Stop::Before(_) if shared.is_closing() => return Err(StoreError::Closed),
            Stop::Before(key) => start = Arc::from(key.as_str()),
        }
    }
    writer.finish()
}
