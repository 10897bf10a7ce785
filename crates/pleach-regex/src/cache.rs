//! Pattern cache: one compiled form per pattern.
//!
//! Entries are weak: dropping the last user of a pattern frees its automata, and the entry is removed
//! when its shard is swept next. A shard is swept when it has doubled since the last time, so look-ups
//! have amortized constant cost.

use crate::error::Error;
use crate::regex::{Regex, Shared};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError, Weak};

const SHARDS: usize = 16;
/// Smaller shards are not swept.
const SMALL: usize = 32;

/// Returns clones of one [`Regex`] for equal patterns.
///
/// ```
/// let cache = pleach_regex::Cache::new();
/// let regex = cache.get("^a+$")?;
/// assert_eq!(cache.len(), 1);
/// assert_eq!(cache.get("^a+$")?, regex);
/// assert_eq!(cache.len(), 1);
/// # Ok::<(), pleach_regex::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Cache {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    entries: HashMap<Arc<str>, Weak<Shared>>,
    sweep_at: usize,
}

impl Cache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The expression of a pattern. Errors are not cached.
    pub fn get(&self, pattern: &str) -> Result<Regex, Error> {
        let shard = &self.shards[self.hasher.hash_one(pattern) as usize % SHARDS];
        // Nothing under the lock can leave the map half changed.
        let lock = || shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().entries.get(pattern).and_then(Weak::upgrade) {
            return Ok(Regex(known));
        }
        // Parsed without the lock: a large pattern delays nothing else.
        let regex = Regex::new(pattern)?;
        let mut shard = lock();
        if let Some(known) = shard.entries.get(pattern).and_then(Weak::upgrade) {
            return Ok(Regex(known));
        }
        if shard.entries.len() >= shard.sweep_at.max(SMALL) {
            shard.entries.retain(|_, entry| entry.strong_count() > 0);
            shard.sweep_at = 2 * shard.entries.len();
        }
        shard.entries.insert(Arc::clone(regex.pattern()), Arc::downgrade(&regex.0));
        Ok(regex)
    }

    /// How many different patterns are in use.
    pub fn len(&self) -> usize {
        let live = |shard: &Mutex<Shard>| {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.entries.values().filter(|entry| entry.strong_count() > 0).count()
        };
        self.shards.iter().map(live).sum()
    }

    /// Whether no pattern is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn equal_patterns_are_one_until_dropped() {
        let cache = Cache::new();
        let first = cache.get("a|b").unwrap();
        let second = cache.get("a|b").unwrap();
        assert!(Arc::ptr_eq(&first.0, &second.0));
        drop((first, second));
        assert!(cache.is_empty(), "unused entries are swept");
        assert!(cache.get("(").is_err());
        assert!(cache.is_empty());
    }

    #[test]
    fn dead_entries_are_swept() {
        let cache = Cache::new();
        for n in 0..10_000 {
            cache.get(&format!("x{n}")).unwrap();
        }
        let entries: usize = cache.shards.iter().map(|s| s.lock().unwrap().entries.len()).sum();
        assert!(entries <= SHARDS * SMALL, "{entries} entries left");
    }
}
