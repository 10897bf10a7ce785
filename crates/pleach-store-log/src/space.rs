//! Room on the disk: the reserve, the quota, and which commits are taken when there is little left.
//!
//! A store that cannot write cannot delete either, and so could never get out of a full disk. The
//! reserve is a file of a few megabytes that is given back when the disk is full. From then on only
//! commits that help are taken, until there is room for the reserve again. The quota does the same
//! without a full disk, as etcd's does.
//!
//! Commits that help are deletes. Updates that hardly grow anything are taken as well, for a while: an
//! object with finalizers is deleted by updates.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use pleach_store::{Commit, Key, StoreError};

use crate::{disk::Disk, log::is_no_space};

/// The name of the reserve.
pub(crate) const NAME: &str = "RESERVE";
/// The smallest reserve worth having, and the usual one.
const LEAST: u64 = 64 << 10;
const USUAL: u64 = 4 << 20;
/// How much an update may add when there is little room: setting a deletion timestamp does.
const HARDLY: u64 = 512;

/// How much room there is.
#[derive(Debug)]
pub(crate) struct Space {
    state: Mutex<State>,
    /// Whether commits are looked at.
    short: AtomicBool,
    /// Zero: any number of bytes.
    quota: u64,
    /// The largest reserve; zero: none.
    most: u64,
}

#[derive(Debug, Default)]
struct State {
    /// The size of the reserve, as far as there is one.
    reserve: u64,
    /// What the store's files take.
    used: u64,
    full: Option<Full>,
}

/// The disk is full.
#[derive(Debug)]
struct Full {
    why: StoreError,
    /// What the reserve gave.
    given: u64,
    /// What was written since.
    spent: u64,
}

impl Space {
    pub(crate) fn new(quota: u64, most: u64, used: u64) -> Self {
        let space =
            Self { state: Mutex::new(State { used, ..State::default() }), short: false.into(), quota, most };
        space.settle(&space.lock());
        space
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over_quota(&self, state: &State) -> bool {
        self.quota > 0 && state.used > self.quota
    }

    fn settle(&self, state: &State) {
        self.short.store(state.full.is_some() || self.over_quota(state), Relaxed);
    }

    /// Whether only commits that help are taken.
    pub(crate) fn is_short(&self) -> bool {
        self.short.load(Relaxed)
    }

    /// Why only commits that help are taken.
    pub(crate) fn alarm(&self) -> Option<Arc<str>> {
        let state = self.lock();
        self.refusal(&state).map(|why| why.to_string().into())
    }

    fn refusal(&self, state: &State) -> Option<StoreError> {
        if let Some(full) = &state.full {
            return Some(full.why.clone());
        }
        self.over_quota(state).then_some(StoreError::QuotaExceeded { used: state.used, quota: self.quota })
    }

    /// Whether a commit is taken with the room there is. `size` is what a key's value takes now.
    pub(crate) fn judge(
        &self,
        commit: &Commit,
        size: impl Fn(&Key) -> Option<u64>,
    ) -> Result<(), StoreError> {
        if !self.is_short() {
            return Ok(());
        }
        let state = self.lock();
        let Some(refusal) = self.refusal(&state) else { return Ok(()) };
        let taken = match growth(commit, size) {
            Growth::Less => true,
            Growth::Hardly => match &state.full {
                Some(full) => full.spent < full.given / 2,
                None => state.used - self.quota < self.quota / 8,
            },
            Growth::More => false,
        };
        if taken { Ok(()) } else { Err(refusal) }
    }

    /// Notes what the files take now, `written` bytes more than before.
    pub(crate) fn note(&self, used: u64, written: u64) {
        if self.quota == 0 && !self.is_short() {
            return;
        }
        let mut state = self.lock();
        let before = self.over_quota(&state);
        state.used = used;
        if let Some(full) = &mut state.full {
            full.spent += written;
        }
        match (before, self.over_quota(&state)) {
            (false, true) => {
                tracing::error!(
                    used,
                    quota = self.quota,
                    "the store is over its quota; only deletes are taken"
                );
            }
            (true, false) => tracing::info!(used, quota = self.quota, "the store is within its quota again"),
            _ => {}
        }
        self.settle(&state);
    }

    /// Whether the files should be made smaller, if they can be.
    pub(crate) fn is_pressed(&self, used: u64) -> bool {
        (self.quota > 0 && used > self.quota / 4 * 3) || (self.is_short() && self.is_full())
    }

    pub(crate) fn is_full(&self) -> bool {
        self.lock().full.is_some()
    }

    /// Whether making the files smaller, to this size, would end an alarm.
    pub(crate) fn would_end(&self, used: u64, then: u64) -> bool {
        self.quota > 0 && used > self.quota && then <= self.quota
    }

    /// Takes note of a failure; when it was for want of room, gives the reserve back: its size.
    pub(crate) fn failed(&self, error: &StoreError, disk: &dyn Disk) -> u64 {
        let StoreError::Io { source, .. } = error else { return 0 };
        if !is_no_space(source) {
            return 0;
        }
        let mut state = self.lock();
        let given = std::mem::take(&mut state.reserve);
        let freed = if given > 0 && disk.remove(NAME).is_ok() { given } else { 0 };
        match &mut state.full {
            Some(full) => full.given += freed,
            none => {
                tracing::error!(%error, reserve = freed, "the disk is full; only deletes are taken");
                *none = Some(Full { why: error.clone(), given: freed, spent: 0 });
            }
        }
        self.settle(&state);
        freed
    }

    /// Looks after the reserve, which should be large enough for a checkpoint of this size. Ends the
    /// alarm when there is room for it again.
    pub(crate) fn look_after_reserve(&self, disk: &dyn Disk, checkpoint: u64) {
        let mut state = self.lock();
        let free = disk.free();
        let wanted = (checkpoint + (1 << 20)).max(USUAL).min(self.most);
        let wanted = match &state.full {
            // What there was, so that the alarm does not come and go.
            Some(full) if full.given > 0 => full.given,
            Some(_) => wanted.min(USUAL),
            None => wanted.min(free.map_or(u64::MAX, |free| (free + state.reserve) / 8)),
        };
        let was_full = state.full.is_some();
        if was_full && free.is_some_and(|free| free < wanted + wanted / 2) {
            return;
        }
        // A little less than wanted is left as it is.
        if wanted >= LEAST && state.reserve < wanted / 4 * 3 {
            match disk.reserve(NAME, wanted) {
                Ok(()) => state.reserve = wanted,
                Err(error) => {
                    tracing::debug!(%error, "no room is held back on the disk");
                    state.reserve = 0;
                    let _ = disk.remove(NAME);
                    return;
                }
            }
        }
        if was_full {
            tracing::info!("there is room on the disk again");
            state.full = None;
            self.settle(&state);
        }
    }

    /// Finds the reserve that an earlier process left.
    pub(crate) fn adopt(&self, disk: &dyn Disk) {
        let found = disk.open(NAME).and_then(|file| file.size());
        match found {
            Ok(size) if self.most > 0 => self.lock().reserve = size,
            Ok(_) => {
                let _: io::Result<()> = disk.remove(NAME);
            }
            Err(_) => {}
        }
    }
}

/// What a commit does to the number of bytes that exist.
#[derive(Debug, PartialEq, Eq)]
enum Growth {
    /// It only deletes.
    Less,
    /// It adds no key, and hardly a byte.
    Hardly,
    /// It adds.
    More,
}

fn growth(commit: &Commit, size: impl Fn(&Key) -> Option<u64>) -> Growth {
    let (mut before, mut after, mut puts) = (0, 0, false);
    for op in &commit.ops {
        let now = size(&op.key);
        if let Some(value) = &op.value {
            puts = true;
            after += value.len() as u64;
            if now.is_none() {
                return Growth::More;
            }
        }
        before += now.unwrap_or(0);
    }
    match puts {
        false => Growth::Less,
        true if after <= before + HARDLY => Growth::Hardly,
        true => Growth::More,
    }
}
