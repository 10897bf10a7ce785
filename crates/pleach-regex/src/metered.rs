//! Searches with bounded work.
//!
//! Finding one match is linear in the text, but finding all is not: each may scan all remaining text
//! before it settles for a short match, as `x*y|x` does on a text of `x`. And a lazy DFA can take time
//! proportional to the pattern for one byte. So the extent of every search is found first, by an
//! automaton that is stepped and counted; the engine then searches within the extent.
//!
//! **Invariant:** the result of a search depends only on its extent, and on `\b` and `$` right at its
//! end.

use crate::ast::Parsed;
use crate::hir::translate;
use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use std::sync::{Mutex, PoisonError};

/// The step budget is exhausted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the search takes too many steps")
    }
}

impl std::error::Error for Exhausted {}

/// Takes steps from the budget, and charges them to the request, which may unwind.
pub(crate) fn spend(left: &mut u64, steps: u64) -> Result<(), Exhausted> {
    match left.checked_sub(steps) {
        Some(rest) => {
            *left = rest;
            pleach_work::charge(steps);
            Ok(())
        }
        None => {
            *left = 0;
            Err(Exhausted)
        }
    }
}

/// Bytes per step: one scan here, one by the engine.
const BYTES_PER_STEP: usize = 4;
/// Bytes between two checks of the budget.
const BATCH: usize = 256;
/// NFA states per step when a DFA state is built of them.
const STATES_PER_STEP: usize = 4;
/// How many caches are kept for concurrent searches.
const MOST_CACHES: usize = 4;

/// The extent of a search.
pub(crate) struct Extent {
    /// The end of the scanned text.
    pub(crate) end: usize,
    /// Whether there is a match, possibly inside a character.
    pub(crate) found: bool,
}

/// The automaton that finds extents.
pub(crate) struct Metered {
    dfa: DFA,
    /// Steps for building a new state.
    state_steps: u64,
    caches: Mutex<Vec<Cache>>,
}

impl Metered {
    /// `None` if the pattern is too large, with the memory that each cache may use.
    pub(crate) fn new(parsed: &Parsed, nfa_bytes: usize, lazy_bytes: usize) -> Option<Self> {
        let config =
            thompson::Config::new().nfa_size_limit(Some(nfa_bytes)).which_captures(WhichCaptures::None);
        let nfa = thompson::Compiler::new()
            .configure(config)
            .build_from_hir(&translate(&parsed.root, true))
            .ok()?;
        let state_steps = 1 + (nfa.states().len() / STATES_PER_STEP) as u64;
        let config = DFA::config().cache_capacity(lazy_bytes).skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        Some(Self { dfa, state_steps, caches: Mutex::default() })
    }

    /// Whether the pattern matches the empty text, so that matches inside characters must be left out.
    pub(crate) fn matches_empty(&self) -> bool {
        self.dfa.get_nfa().has_empty()
    }

    pub(crate) fn memory(&self) -> usize {
        self.dfa.memory_usage()
    }

    /// The extent of the search from byte `from`. With `earliest` the first sign of a match ends it.
    pub(crate) fn extent(
        &self,
        text: &str,
        from: usize,
        earliest: bool,
        left: &mut u64,
    ) -> Result<Extent, Exhausted> {
        let caches = || self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = caches().pop();
        let mut cache = kept.unwrap_or_else(|| self.dfa.create_cache());
        let extent = self.walk(&mut cache, text, from, earliest, left);
        let mut caches = caches();
        if caches.len() < MOST_CACHES {
            caches.push(cache);
        }
        drop(caches);
        extent
    }

    fn walk(
        &self,
        cache: &mut Cache,
        text: &str,
        from: usize,
        earliest: bool,
        left: &mut u64,
    ) -> Result<Extent, Exhausted> {
        let bytes = text.as_bytes();
        // The automaton is not configured to give up or quit on a byte. If it did, the whole text would
        // be the extent.
        let whole = |left: &mut u64| {
            spend(left, (bytes.len() - from) as u64)?;
            Ok(Extent { end: bytes.len(), found: true })
        };
        spend(left, 1)?;
        let Ok(mut state) = self.dfa.start_state_forward(cache, &Input::new(text).range(from..)) else {
            return whole(left);
        };
        let mut found = false;
        for start in (from..bytes.len()).step_by(BATCH) {
            let end = bytes.len().min(start + BATCH);
            spend(left, ((end - start) / BYTES_PER_STEP) as u64)?;
            for (at, byte) in bytes[start..end].iter().enumerate() {
                let known = if state.is_tagged() {
                    None
                } else {
                    Some(self.dfa.next_state_untagged(cache, state, *byte)).filter(|next| !next.is_unknown())
                };
                state = match known {
                    Some(next) => next,
                    None => {
                        let (was_known, before) = (state.is_tagged(), cache.memory_usage());
                        let Ok(next) = self.dfa.next_state(cache, state, *byte) else { return whole(left) };
                        // Whether a state is new can only be told by the memory usage.
                        let made = !was_known || cache.memory_usage() != before;
                        spend(left, if made { self.state_steps } else { 1 })?;
                        next
                    }
                };
                if state.is_tagged() {
                    if state.is_match() {
                        found = true;
                        if earliest {
                            return Ok(Extent { end: start + at + 1, found });
                        }
                    } else if state.is_dead() {
                        return Ok(Extent { end: start + at + 1, found });
                    } else if state.is_quit() {
                        return whole(left);
                    }
                }
            }
        }
        spend(left, self.state_steps)?;
        match self.dfa.next_eoi_state(cache, state) {
            Ok(last) => Ok(Extent { end: bytes.len(), found: found || last.is_match() }),
            Err(_) => whole(left),
        }
    }
}
