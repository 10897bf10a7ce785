//! Next-token sets (ANTLR's LL1Analyzer).

use crate::syntax::recovery::grammar::{At, Atn, Edge, Kind, Tokens};
use std::collections::HashSet;

impl Atn {
    /// The tokens that can come next at a state, within its rule.
    pub(super) fn look(&self, at: At) -> Tokens {
        let mut walk = Walk { network: self, found: Tokens::default(), seen: HashSet::new(), guarded: false };
        walk.from(at, &mut Vec::new(), Beyond::Nothing);
        walk.found
    }

    /// The same, continuing after the end of the rule with `callers`, the return states, innermost
    /// last.
    pub(super) fn look_in(&self, at: At, callers: &[At]) -> Tokens {
        let mut walk = Walk { network: self, found: Tokens::default(), seen: HashSet::new(), guarded: false };
        walk.from(at, &mut callers.to_vec(), Beyond::Callers);
        walk.found
    }

    /// The same, continuing with any caller; `None` if that depends on precedence.
    pub(super) fn look_anywhere(&self, at: At) -> Option<Tokens> {
        let mut walk = Walk { network: self, found: Tokens::default(), seen: HashSet::new(), guarded: false };
        walk.from(at, &mut Vec::new(), Beyond::Anywhere);
        (!walk.guarded).then_some(walk.found)
    }
}

/// The tokens after the end of the first rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beyond {
    Nothing,
    Callers,
    Anywhere,
}

struct Walk<'n> {
    network: &'n Atn,
    found: Tokens,
    seen: HashSet<(At, Vec<At>)>,
    guarded: bool,
}

impl Walk<'_> {
    fn from(&mut self, at: At, stack: &mut Vec<At>, beyond: Beyond) {
        // No rule calls itself without consuming a token, so recursion is shallow.
        if !self.seen.insert((at, stack.clone())) {
            return;
        }
        let state = &self.network.states[at as usize];
        if state.kind == Kind::RuleStop {
            if let Some(back) = stack.pop() {
                self.from(back, stack, beyond);
                stack.push(back);
                return;
            }
            match beyond {
                Beyond::Nothing => self.found = self.found.union(Tokens::END_OF_RULE),
                Beyond::Callers => {}
                Beyond::Anywhere => {
                    for back in &self.network.returns[state.rule as usize] {
                        self.from(back.to, stack, beyond);
                    }
                }
            }
            return;
        }
        for edge in &state.edges {
            match edge {
                Edge::Free(to) => self.from(*to, stack, beyond),
                Edge::Precedence(_, to) => {
                    self.guarded = true;
                    self.from(*to, stack, beyond);
                }
                Edge::Match { tokens, .. } => self.found = self.found.union(*tokens),
                Edge::Call { rule, follow, .. } => {
                    stack.push(*follow);
                    self.from(self.network.starts[*rule as usize], stack, beyond);
                    stack.pop();
                }
            }
        }
    }
}
