//! Disk space: the reserve file, the quota, and which commits are allowed when space is low.
//!
//! A store that cannot write cannot delete either, and could never recover from a full disk. So a
//! reserve file of a few megabytes is removed when the disk is full, and from then on only commits that
//! free space are allowed, until the reserve fits again. The quota works the same, as etcd's does.
//!
//! Besides deletes, updates that hardly grow are allowed for a while: an object with finalizers is
//! deleted by updates.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use pleach_store::{Commit, Key, StoreError};

use crate::{disk::Disk, log::is_no_space};

/// The name of the reserve file.
pub(crate) const NAME: &str = "RESERVE";
/// The smallest useful reserve, and the default.
const MIN_RESERVE: u64 = 64 << 10;
const DEFAULT_RESERVE: u64 = 4 << 20;
/// How much an update may grow a value when space is low: enough for a deletion timestamp.
const SMALL_GROWTH: u64 = 512;

/// Accounting of disk space.
#[derive(Debug)]
pub(crate) struct Space {
    state: Mutex<State>,
    /// Only commits that free space are allowed.
    low: AtomicBool,
    /// Zero: no quota.
    quota: u64,
    /// The largest reserve; zero: none.
    max_reserve: u64,
}

#[derive(Debug, Default)]
struct State {
    /// The size of the reserve file.
    reserve: u64,
    /// Bytes of the store's files.
    used: u64,
    full: Option<Full>,
}

/// The disk was found full.
#[derive(Debug)]
struct Full {
    error: StoreError,
    /// Bytes of the reserve that were released.
    released: u64,
    /// Bytes written since.
    written: u64,
}

impl Space {
    pub(crate) fn new(quota: u64, max_reserve: u64, used: u64) -> Self {
        let space = Self {
            state: Mutex::new(State { used, ..State::default() }),
            low: false.into(),
            quota,
            max_reserve,
        };
        space.update_low(&space.lock());
        space
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over_quota(&self, state: &State) -> bool {
        self.quota > 0 && state.used > self.quota
    }

    fn update_low(&self, state: &State) {
        self.low.store(state.full.is_some() || self.over_quota(state), Relaxed);
    }

    /// Whether only commits that free space are allowed.
    pub(crate) fn is_low(&self) -> bool {
        self.low.load(Relaxed)
    }

    /// Why only commits that free space are allowed (etcd: the NOSPACE alarm).
    pub(crate) fn alarm(&self) -> Option<Arc<str>> {
        let state = self.lock();
        self.refusal(&state).map(|why| why.to_string().into())
    }

    fn refusal(&self, state: &State) -> Option<StoreError> {
        if let Some(full) = &state.full {
            return Some(full.error.clone());
        }
        self.over_quota(state).then_some(StoreError::QuotaExceeded { used: state.used, quota: self.quota })
    }

    /// Whether a commit is allowed. `size` is the current size of a key's value.
    pub(crate) fn admit(
        &self,
        commit: &Commit,
        size: impl Fn(&Key) -> Option<u64>,
    ) -> Result<(), StoreError> {
        if !self.is_low() {
            return Ok(());
        }
        let state = self.lock();
        let Some(refusal) = self.refusal(&state) else { return Ok(()) };
        let taken = match growth(commit, size) {
            Growth::Shrinks => true,
            Growth::AboutSame => match &state.full {
                Some(full) => full.written < full.released / 2,
                None => state.used - self.quota < self.quota / 8,
            },
            Growth::Grows => false,
        };
        if taken { Ok(()) } else { Err(refusal) }
    }

    /// Records the size of the files, after `written` bytes were added.
    pub(crate) fn record_usage(&self, used: u64, written: u64) {
        if self.quota == 0 && !self.is_low() {
            return;
        }
        let mut state = self.lock();
        let before = self.over_quota(&state);
        state.used = used;
        if let Some(full) = &mut state.full {
            full.written += written;
        }
        match (before, self.over_quota(&state)) {
            (false, true) => {
                tracing::error!(
                    used,
                    quota = self.quota,
                    "the store is over its quota; only deletes are allowed"
                );
            }
            (true, false) => tracing::info!(used, quota = self.quota, "the store is within its quota again"),
            _ => {}
        }
        self.update_low(&state);
    }

    /// Whether the files should be made smaller, if possible.
    pub(crate) fn should_shrink(&self, used: u64) -> bool {
        (self.quota > 0 && used > self.quota / 4 * 3) || (self.is_low() && self.is_full())
    }

    pub(crate) fn is_full(&self) -> bool {
        self.lock().full.is_some()
    }

    /// Whether shrinking the files to size `then` would clear the alarm.
    pub(crate) fn would_clear_alarm(&self, used: u64, then: u64) -> bool {
        self.quota > 0 && used > self.quota && then <= self.quota
    }

    /// Handles a failed write. If the disk is full, releases the reserve and returns its size.
    pub(crate) fn failed(&self, error: &StoreError, disk: &dyn Disk) -> u64 {
        let StoreError::Io { source, .. } = error else { return 0 };
        if !is_no_space(source) {
            return 0;
        }
        let mut state = self.lock();
        let released = std::mem::take(&mut state.reserve);
        let freed = if released > 0 && disk.remove(NAME).is_ok() { released } else { 0 };
        match &mut state.full {
            Some(full) => full.released += freed,
            none => {
                tracing::error!(%error, reserve = freed, "the disk is full; only deletes are allowed");
                *none = Some(Full { error: error.clone(), released: freed, written: 0 });
            }
        }
        self.update_low(&state);
        freed
    }

    /// Keeps the reserve large enough for a checkpoint of this size. Clears the alarm when the reserve
    /// fits again.
    pub(crate) fn maintain_reserve(&self, disk: &dyn Disk, checkpoint: u64) {
        let mut state = self.lock();
        let free = disk.free();
        let wanted = (checkpoint + (1 << 20)).max(DEFAULT_RESERVE).min(self.max_reserve);
        let wanted = match &state.full {
            // As much as before, so that the alarm does not flap.
            Some(full) if full.released > 0 => full.released,
            Some(_) => wanted.min(DEFAULT_RESERVE),
            None => wanted.min(free.map_or(u64::MAX, |free| (free + state.reserve) / 8)),
        };
        let was_full = state.full.is_some();
        if was_full && free.is_some_and(|free| free < wanted + wanted / 2) {
            return;
        }
        // A slightly smaller reserve is left alone.
        if wanted >= MIN_RESERVE && state.reserve < wanted / 4 * 3 {
            match disk.reserve(NAME, wanted) {
                Ok(()) => state.reserve = wanted,
                Err(error) => {
                    tracing::debug!(%error, "cannot write the reserve file");
                    state.reserve = 0;
                    let _ = disk.remove(NAME);
                    return;
                }
            }
        }
        if was_full {
            tracing::info!("disk space is available again");
            state.full = None;
            self.update_low(&state);
        }
    }

    /// Takes over the reserve file of an earlier process.
    pub(crate) fn adopt(&self, disk: &dyn Disk) {
        let found = disk.open(NAME).and_then(|file| file.size());
        match found {
            Ok(size) if self.max_reserve > 0 => self.lock().reserve = size,
            Ok(_) => {
                let _: io::Result<()> = disk.remove(NAME);
            }
            Err(_) => {}
        }
    }
}

/// How a commit changes the size of what is stored.
#[derive(Debug, PartialEq, Eq)]
enum Growth {
    /// Only deletes.
    Shrinks,
    /// Adds no key, and at most [`SMALL_GROWTH`] bytes.
    AboutSame,
    /// Anything else.
    Grows,
}

fn growth(commit: &Commit, size: impl Fn(&Key) -> Option<u64>) -> Growth {
    let (mut before, mut after, mut puts) = (0, 0, false);
    for op in &commit.ops {
        let now = size(&op.key);
        if let Some(value) = &op.value {
            puts = true;
            after += value.len() as u64;
            if now.is_none() {
                return Growth::Grows;
            }
        }
        before += now.unwrap_or(0);
    }
    match puts {
        false => Growth::Shrinks,
        true if after <= before + SMALL_GROWTH => Growth::AboutSame,
        true => Growth::Grows,
    }
}
