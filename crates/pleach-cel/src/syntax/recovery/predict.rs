//! Adaptive prediction (ANTLR's ALL(*), in SLL mode).
//!
//! All alternatives are simulated at once, token by token, until one is left or a conflict is found;
//! then the first is chosen. After the end of the deciding rule any caller is possible.
//!
//! If no alternative matches, one that reached the end of the rule is chosen: the caller then finds the
//! error. That is why the error of `a b` is about `b` at the end.

use crate::syntax::lexer::TokenKind as K;
use crate::syntax::recovery::grammar::{At, Atn, Edge, Kind};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A stack of return states, as an index in [`Stacks`].
type Stack = u32;
/// How many recent configurations are compared with the next.
const RECENT: usize = 8;
/// The empty stack: any caller.
const EMPTY: Stack = 0;

/// Interned stacks.
#[derive(Debug)]
struct Stacks {
    /// Top and rest; the first is [`EMPTY`].
    list: Vec<(At, Stack)>,
    known: HashMap<(At, Stack), Stack>,
}

impl Stacks {
    fn new() -> Self {
        Self { list: vec![(0, EMPTY)], known: HashMap::new() }
    }

    fn push(&mut self, rest: Stack, top: At) -> Stack {
        *self.known.entry((top, rest)).or_insert_with(|| {
            self.list.push((top, rest));
            (self.list.len() - 1) as Stack
        })
    }

    fn pop(&self, stack: Stack) -> Option<(At, Stack)> {
        (stack != EMPTY).then(|| self.list[stack as usize])
    }

    /// Whether `short` is the top of `long`, which it then subsumes.
    fn is_top_of(&self, mut short: Stack, mut long: Stack) -> bool {
        loop {
            pleach_work::charge(1);
            match (self.pop(short), self.pop(long)) {
                (None, Some(_)) => return true,
                (Some((a, short_rest)), Some((b, long_rest))) if a == b => {
                    (short, long) = (short_rest, long_rest);
                }
                _ => return false,
            }
        }
    }
}

/// A configuration: state, alternative, stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Config {
    at: At,
    alternative: u16,
    stack: Stack,
    /// Whether it left the deciding rule.
    left: bool,
    /// Whether it left the rule for good, not only an operand of it.
    left_for_good: bool,
}

/// The result of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prediction {
    Alternative(usize),
    /// No viable alternative; the number of tokens read.
    Nothing(usize),
}

/// Predicts, and caches decisions of one or two tokens.
#[derive(Debug)]
pub(super) struct Predictor<'n> {
    network: &'n Atn,
    stacks: Stacks,
    decided: HashMap<(At, u8, K, Option<K>), Prediction>,
}

impl<'n> Predictor<'n> {
    pub(super) fn new(network: &'n Atn) -> Self {
        Self { network, stacks: Stacks::new(), decided: HashMap::new() }
    }

    /// Drops the state that is only valid for one text.
    pub(super) fn forget_stacks(&mut self) {
        self.stacks = Stacks::new();
    }

    /// The alternative to take at the state `decision`, of which the first is 1.
    ///
    /// `token(n)` is the n-th token ahead from 0, `precedence` what the rule was called with.
    pub(super) fn predict(&mut self, decision: At, precedence: u8, token: &dyn Fn(usize) -> K) -> Prediction {
        let key = (decision, precedence, token(0), None);
        let longer = (decision, precedence, token(0), Some(token(1)));
        if let Some(known) = self.decided.get(&key).or_else(|| self.decided.get(&longer)) {
            return *known;
        }
        // Lookahead over a long name repeats configurations.
        let mut places = vec![self.start(decision, precedence)];
        let mut steps: HashMap<(usize, K), usize> = HashMap::new();
        let (mut at, mut ahead) = (0, 0);
        loop {
            pleach_work::charge(1);
            let next_token = token(ahead);
            at = match steps.get(&(at, next_token)) {
                // Repeated configurations continue as before.
                Some(next) => *next,
                None => {
                    let next = self.advance(&places[at], next_token);
                    let outcome = if next.is_empty() {
                        let finished = Self::finished(self.network, &places[at]);
                        Some(finished.unwrap_or(Prediction::Nothing(ahead)))
                    } else {
                        unique(&next).or_else(|| self.conflict(&next)).map(Prediction::Alternative)
                    };
                    if let Some(outcome) = outcome {
                        match ahead {
                            0 => self.decided.insert(key, outcome),
                            1 => self.decided.insert(longer, outcome),
                            _ => None,
                        };
                        return outcome;
                    }
                    let recent = places.len().saturating_sub(RECENT);
                    let known = places[recent..].iter().position(|place| *place == next);
                    let known = known.map_or(places.len(), |known| recent + known);
                    if known == places.len() {
                        places.push(next);
                    }
                    steps.insert((at, next_token), known);
                    known
                }
            };
            if next_token != K::Eof {
                ahead += 1;
            }
        }
    }

    fn start(&mut self, decision: At, precedence: u8) -> Vec<Config> {
        let state = &self.network.states[decision as usize];
        // Operator loops: their precedence predicates decide.
        let guarded = state.kind == Kind::StarLoopEntry && !state.one_token && self.has_guards(decision);
        let mut closure = Closure {
            network: self.network,
            stacks: &mut self.stacks,
            precedence: Some(precedence),
            operators: guarded.then_some(state.rule as usize),
            out: Vec::new(),
            seen: HashSet::new(),
        };
        for (i, edge) in state.edges.iter().enumerate() {
            let Edge::Free(to) = edge else { continue };
            let alternative = i as u16 + 1;
            closure.add(Config { at: *to, alternative, stack: EMPTY, left: false, left_for_good: false }, 0);
        }
        let mut configs = closure.out;
        if guarded {
            let entered: HashSet<(At, Stack)> =
                configs.iter().filter(|c| c.alternative == 1).map(|c| (c.at, c.stack)).collect();
            configs.retain(|c| c.alternative == 1 || c.left_for_good || !entered.contains(&(c.at, c.stack)));
        }
        configs
    }

    fn has_guards(&self, entry: At) -> bool {
        let Some(Edge::Free(block)) = self.network.states[entry as usize].edges.first() else { return false };
        let Some(Edge::Free(first)) = self.network.states[*block as usize].edges.first() else {
            return false;
        };
        matches!(self.network.states[*first as usize].edges.first(), Some(Edge::Precedence(..)))
    }

    /// The configurations after `token`.
    fn advance(&mut self, configs: &[Config], token: K) -> Vec<Config> {
        let network = self.network;
        let mut stopped = Vec::new();
        let mut closure = Closure {
            network,
            stacks: &mut self.stacks,
            precedence: None,
            operators: None,
            out: Vec::new(),
            seen: HashSet::new(),
        };
        for config in configs {
            let state = &network.states[config.at as usize];
            if state.kind == Kind::RuleStop && token == K::Eof {
                stopped.push(*config);
                continue;
            }
            for edge in &state.edges {
                if let Edge::Match { tokens, to, .. } = edge
                    && tokens.contains(token)
                {
                    closure.add(Config { at: *to, ..*config }, 0);
                }
            }
        }
        let mut out = closure.out;
        let is_stop = |c: &Config| network.states[c.at as usize].kind == Kind::RuleStop;
        if token == K::Eof {
            // Nothing can come after the end.
            out.retain(|c| is_stop(c));
        }
        out.extend(stopped);
        out
    }

    /// The alternative that reached the end of the deciding rule before `configs` got stuck.
    fn finished(network: &Atn, configs: &[Config]) -> Option<Prediction> {
        let ended = |c: &&Config| {
            c.left || (network.states[c.at as usize].kind == Kind::RuleStop && c.stack == EMPTY)
        };
        configs.iter().filter(ended).map(|c| Prediction::Alternative(c.alternative as usize)).min_by_key(
            |p| match p {
                Prediction::Alternative(n) | Prediction::Nothing(n) => *n,
            },
        )
    }

    /// Stacks by state and alternative, without subsumed ones.
    fn contexts(&self, configs: &[Config]) -> BTreeMap<(At, u16), BTreeSet<Stack>> {
        let mut contexts: BTreeMap<(At, u16), BTreeSet<Stack>> = BTreeMap::new();
        for config in configs {
            contexts.entry((config.at, config.alternative)).or_default().insert(config.stack);
        }
        for stacks in contexts.values_mut() {
            let all: Vec<Stack> = stacks.iter().copied().collect();
            stacks.retain(|long| !all.iter().any(|short| self.stacks.is_top_of(*short, *long)));
        }
        contexts
    }

    /// Conflicting alternatives: same state and same stacks.
    fn subsets(&self, configs: &[Config]) -> Vec<(At, BTreeSet<u16>)> {
        let mut subsets: BTreeMap<(At, BTreeSet<Stack>), BTreeSet<u16>> = BTreeMap::new();
        for ((at, alternative), stacks) in self.contexts(configs) {
            subsets.entry((at, stacks)).or_default().insert(alternative);
        }
        subsets.into_iter().map(|((at, _), alternatives)| (at, alternatives)).collect()
    }

    /// The first alternative of a conflict.
    fn conflict(&self, configs: &[Config]) -> Option<usize> {
        let stuck = configs.iter().all(|c| self.network.states[c.at as usize].kind == Kind::RuleStop) || {
            let subsets = self.subsets(configs);
            let mut by_state: BTreeMap<At, BTreeSet<u16>> = BTreeMap::new();
            for (at, alternatives) in &subsets {
                by_state.entry(*at).or_default().extend(alternatives);
            }
            subsets.iter().any(|(_, alternatives)| alternatives.len() > 1)
                && !by_state.values().any(|alternatives| alternatives.len() == 1)
        };
        if stuck { configs.iter().map(|c| c.alternative as usize).min() } else { None }
    }
}

fn unique(configs: &[Config]) -> Option<usize> {
    let first = configs.first()?.alternative;
    configs.iter().all(|c| c.alternative == first).then_some(first as usize)
}

/// The closure over epsilon transitions.
struct Closure<'a> {
    network: &'a Atn,
    stacks: &'a mut Stacks,
    /// Precedence predicates of the deciding rule are evaluated with this, at the start only.
    precedence: Option<u8>,
    /// The rule, if its operator loop is being decided.
    operators: Option<usize>,
    out: Vec<Config>,
    seen: HashSet<(Config, bool)>,
}

impl Closure<'_> {
    /// `depth` is the number of nested calls; below zero it left the rule.
    fn add(&mut self, config: Config, depth: i32) {
        pleach_work::charge(1);
        if !self.seen.insert((config, depth == 0)) {
            return;
        }
        let network = self.network;
        let state = &network.states[config.at as usize];
        if state.kind == Kind::RuleStop {
            if let Some((to, stack)) = self.stacks.pop(config.stack) {
                return self.add(Config { at: to, stack, ..config }, depth - 1);
            }
            let returns = &network.returns[state.rule as usize];
            if returns.is_empty() {
                self.out.push(config);
                return;
            }
            for back in returns {
                let for_good = back.outermost && self.operators == Some(state.rule as usize);
                let left_for_good = config.left_for_good || for_good;
                self.add(Config { at: back.to, left: true, left_for_good, ..config }, (depth - 1).min(-1));
            }
            return;
        }
        let mut consumes = false;
        for edge in &state.edges {
            match edge {
                Edge::Free(to) => self.add(Config { at: *to, ..config }, depth),
                Edge::Precedence(needed, to) => {
                    let shut = depth == 0 && self.precedence.is_some_and(|asked| *needed < asked);
                    if !shut {
                        self.add(Config { at: *to, ..config }, depth);
                    }
                }
                Edge::Call { rule, follow, .. } => {
                    let stack = self.stacks.push(config.stack, *follow);
                    let deeper = if depth >= 0 { depth + 1 } else { depth };
                    self.add(Config { at: network.starts[*rule as usize], stack, ..config }, deeper);
                }
                Edge::Match { .. } => consumes = true,
            }
        }
        if consumes {
            self.out.push(config);
        }
    }
}
