//! Matching engines, and when each is built.
//!
//! A server has thousands of patterns, most of them unused, so engines are built on first use. For
//! `is_match` a small pattern gets a full DFA of about two kilobytes, without scratch memory or locks.
//! To find matches, or if the DFA would be too large, the meta engine of `regex-automata` is used, and
//! for patterns beyond its limits our Pike VM.

use crate::ast::Parsed;
use crate::hir::translate;
use crate::metered::{Exhausted, Metered, spend};
use crate::vm::Program;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::captures::Captures;
use regex_automata::{Anchored, Input, MatchKind, meta};
use std::sync::OnceLock;

/// Heavier patterns get no full DFA.
const DFA_WEIGHT: u64 = 4_000;
/// The size limit of a full DFA.
const DFA_BYTES: usize = 32 << 10;
/// Scratch memory for building it.
const DETERMINIZE_BYTES: usize = 256 << 10;
/// Heavier patterns use the Pike VM.
const META_WEIGHT: u64 = 150_000;
/// The size limit of an NFA.
const NFA_BYTES: usize = 4 << 20;
/// The cache capacity of a lazy DFA.
const LAZY_BYTES: usize = 256 << 10;
/// Steps per unit of weight to build an automaton.
pub(crate) const STEPS_PER_WEIGHT: u64 = 16;
/// Higher ASTs are compiled with a larger stack.
const SHALLOW: u32 = 64;
const DEEP_STACK: usize = 16 << 20;

/// The engine of `is_match`.
pub(crate) enum Matcher {
    Dfa(Box<dense::DFA<Vec<u32>>>),
    /// Uses the finder.
    Finder,
}

/// The engine of `find`.
pub(crate) enum Finder {
    /// The engine, and the metered automaton that bounds its searches.
    Meta(Box<meta::Regex>, OnceLock<Option<Box<Metered>>>),
    Vm(Box<Program>),
}

/// Runs `build` with enough stack for the height of the AST.
fn with_stack<T>(parsed: &Parsed, build: impl FnOnce() -> T) -> T {
    if parsed.height <= SHALLOW { build() } else { stacker::grow(DEEP_STACK, build) }
}

impl Matcher {
    pub(crate) fn new(parsed: &Parsed) -> Self {
        if parsed.weight > DFA_WEIGHT {
            return Self::Finder;
        }
        with_stack(parsed, || dfa(parsed)).map_or(Self::Finder, |dfa| Self::Dfa(Box::new(dfa)))
    }

    /// The result, unless the finder is needed.
    pub(crate) fn is_match(&self, text: &str) -> Option<bool> {
        match self {
            Self::Dfa(dfa) => {
                let input = Input::new(text).earliest(true);
                dfa.try_search_fwd(&input).ok().map(|end| end.is_some())
            }
            Self::Finder => None,
        }
    }

    /// Whether it has an engine of its own.
    pub(crate) fn is_built(&self) -> bool {
        matches!(self, Self::Dfa(_))
    }

    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Dfa(dfa) => dfa.memory_usage() + size_of::<dense::DFA<Vec<u32>>>(),
            Self::Finder => 0,
        }
    }
}

fn dfa(parsed: &Parsed) -> Option<dense::DFA<Vec<u32>>> {
    let nfa = thompson::Compiler::new()
        .configure(
            thompson::Config::new().nfa_size_limit(Some(NFA_BYTES)).which_captures(WhichCaptures::None),
        )
        .build_from_hir(&translate(&parsed.root, false))
        .ok()?;
    dense::Builder::new()
        .configure(
            dense::Config::new()
                .start_kind(StartKind::Unanchored)
                .match_kind(MatchKind::LeftmostFirst)
                .accelerate(false)
                .dfa_size_limit(Some(DFA_BYTES))
                .determinize_size_limit(Some(DETERMINIZE_BYTES)),
        )
        .build_from_nfa(&nfa)
        .ok()
}

/// The metered automaton, built on first use.
fn metered_engine<'m>(
    metered: &'m OnceLock<Option<Box<Metered>>>,
    parsed: impl FnOnce() -> Parsed,
    left: &mut u64,
) -> Result<Option<&'m Metered>, Exhausted> {
    if let Some(metered) = metered.get() {
        return Ok(metered.as_deref());
    }
    let parsed = parsed();
    spend(left, STEPS_PER_WEIGHT * parsed.weight)?;
    let made = || with_stack(&parsed, || Metered::new(&parsed, NFA_BYTES, LAZY_BYTES)).map(Box::new);
    Ok(metered.get_or_init(made).as_deref())
}

impl Finder {
    pub(crate) fn new(parsed: &Parsed) -> Self {
        if parsed.weight <= META_WEIGHT {
            let config = meta::Config::new()
                .nfa_size_limit(Some(NFA_BYTES))
                .hybrid_cache_capacity(LAZY_BYTES)
                .onepass_size_limit(Some(LAZY_BYTES))
                .dfa(false);
            let built = with_stack(parsed, || {
                let hir = translate(&parsed.root, true);
                meta::Builder::new().configure(config).build_from_hir(&hir).ok()
            });
            if let Some(regex) = built {
                return Self::Meta(Box::new(regex), OnceLock::new());
            }
        }
        Self::Vm(Box::new(with_stack(parsed, || Program::new(parsed))))
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Meta(regex, _) => regex.is_match(text),
            Self::Vm(program) => program.search(text, 0, &mut []),
        }
    }

    /// The first match that starts at byte `from` or later; what is before counts for `\b` and `^`.
    pub(crate) fn find_at(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        match self {
            Self::Meta(regex, _) => {
                let input = Input::new(text).range(from..).anchored(Anchored::No);
                regex.search(&input).map(|found| (found.start(), found.end()))
            }
            Self::Vm(program) => {
                let mut slots = [None; 2];
                program.search(text, from, &mut slots);
                Some((slots[0]?, slots[1]?))
            }
        }
    }

    /// `is_match` within a number of steps.
    pub(crate) fn is_match_within(
        &self,
        text: &str,
        parsed: impl FnOnce() -> Parsed,
        left: &mut u64,
    ) -> Result<bool, Exhausted> {
        match self {
            Self::Meta(regex, metered) => match metered_engine(metered, parsed, left)? {
                Some(metered) => {
                    let extent = metered.extent(text, 0, true, left)?;
                    Ok(extent.found && (!metered.matches_empty() || regex.is_match(text)))
                }
                None => {
                    spend(left, text.len() as u64)?;
                    Ok(regex.is_match(text))
                }
            },
            Self::Vm(program) => program.search_within(text, 0, &mut [], left),
        }
    }

    /// `find_at` within a number of steps.
    pub(crate) fn find_within(
        &self,
        text: &str,
        from: usize,
        parsed: impl FnOnce() -> Parsed,
        left: &mut u64,
    ) -> Result<Option<(usize, usize)>, Exhausted> {
        match self {
            Self::Meta(regex, metered) => {
                let mut whole = Input::new(text).range(from..).anchored(Anchored::No);
                if let Some(metered) = metered_engine(metered, parsed, left)? {
                    let extent = metered.extent(text, from, false, left)?;
                    if !extent.found {
                        return Ok(None);
                    }
                    whole.set_end(extent.end);
                    if let Some(found) = regex.search(&whole) {
                        return Ok(Some((found.start(), found.end())));
                    }
                    // The match is inside a character; there may be others after it.
                    whole.set_end(text.len());
                }
                spend(left, (text.len() - from) as u64)?;
                Ok(regex.search(&whole).map(|found| (found.start(), found.end())))
            }
            Self::Vm(program) => {
                let mut slots = [None; 2];
                program.search_within(text, from, &mut slots, left)?;
                Ok(slots[0].zip(slots[1]))
            }
        }
    }

    /// `find_at` with the spans of `groups` groups. Empty if there is no match.
    pub(crate) fn groups_at(&self, text: &str, from: usize, groups: usize) -> Vec<Option<(usize, usize)>> {
        match self {
            Self::Meta(regex, _) => {
                let mut captures: Captures = regex.create_captures();
                regex.search_captures(&Input::new(text).range(from..), &mut captures);
                if !captures.is_match() {
                    return Vec::new();
                }
                let span = |group| captures.get_group(group).map(|span| (span.start, span.end));
                (0..groups).map(span).collect()
            }
            Self::Vm(program) => {
                let mut slots = vec![None; 2 * groups];
                if !program.search(text, from, &mut slots) {
                    return Vec::new();
                }
                slots.chunks(2).map(|pair| Some((pair[0]?, pair[1]?))).collect()
            }
        }
    }

    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Meta(regex, metered) => {
                regex.memory_usage() + metered.get().and_then(|m| m.as_deref()).map_or(0, Metered::memory)
            }
            Self::Vm(program) => program.memory(),
        }
    }
}
