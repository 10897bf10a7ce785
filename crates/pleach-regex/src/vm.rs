//! Pike VM over characters, for patterns that are too large for `regex-automata`.
//!
//! A few legal patterns, such as `\pL{0,1000}`, are too large for `regex-automata`, which works on
//! bytes and expands a class at each use. Here classes are shared, so every pattern can run, in time
//! linear in program times text.

use crate::ast::{Look, Node, Parsed, Repeat};
use crate::class::Range;
use crate::metered::{Exhausted, spend};
use std::sync::Arc;

/// An index into the program.
type Pc = u32;

enum Inst {
    Char(char),
    Class(Arc<[Range]>),
    /// Tries the first, then the second.
    Split(Pc, Pc),
    Jump(Pc),
    Save(u32),
    Look(Look),
    Match,
}

/// A compiled pattern.
pub(crate) struct Program {
    insts: Vec<Inst>,
}

/// An unmatched group.
const UNSET: u32 = u32::MAX;

impl Program {
    pub(crate) fn new(parsed: &Parsed) -> Self {
        let mut program = Self { insts: Vec::new() };
        program.emit(&parsed.root);
        program.insts.push(Inst::Match);
        program
    }

    pub(crate) fn memory(&self) -> usize {
        self.insts.capacity() * size_of::<Inst>()
    }

    fn here(&self) -> Pc {
        self.insts.len() as Pc
    }

    /// Adds an instruction to be patched later.
    fn hole(&mut self) -> usize {
        self.insts.push(Inst::Match);
        self.insts.len() - 1
    }

    fn fill_split(&mut self, hole: usize, go: Pc, skip: Pc, greedy: bool) {
        self.insts[hole] = if greedy { Inst::Split(go, skip) } else { Inst::Split(skip, go) };
    }

    fn emit(&mut self, node: &Node) {
        match node {
            Node::Empty => {}
            Node::Char(c) => self.insts.push(Inst::Char(*c)),
            Node::Class(ranges) => self.insts.push(Inst::Class(Arc::clone(ranges))),
            Node::Look(look) => self.insts.push(Inst::Look(*look)),
            Node::Capture(index, sub) => {
                self.insts.push(Inst::Save(2 * index));
                self.emit(sub);
                self.insts.push(Inst::Save(2 * index + 1));
            }
            Node::Concat(nodes) => nodes.iter().for_each(|node| self.emit(node)),
            Node::Alternate(nodes) => self.alternate(nodes),
            Node::Repeat(repeat) => self.repeat(repeat),
        }
    }

    fn alternate(&mut self, nodes: &[Node]) {
        let mut jumps = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            if at + 1 == nodes.len() {
                self.emit(node);
                break;
            }
            let split = self.hole();
            self.emit(node);
            jumps.push(self.hole());
            self.fill_split(split, split as Pc + 1, self.here(), true);
        }
        let end = self.here();
        for jump in jumps {
            self.insts[jump] = Inst::Jump(end);
        }
    }

    fn repeat(&mut self, Repeat { min, max, greedy, sub }: &Repeat) {
        if let Some(max) = max {
            (0..*min).for_each(|_| self.emit(sub));
            let mut skips = Vec::new();
            for _ in *min..*max {
                skips.push(self.hole());
                self.emit(sub);
            }
            let end = self.here();
            for skip in skips {
                self.fill_split(skip, skip as Pc + 1, end, *greedy);
            }
            return;
        }
        (1..*min).for_each(|_| self.emit(sub));
        // `x*` is `(x+)?`: what matches the empty text runs once and is not lost.
        let skip = (*min == 0).then(|| self.hole());
        let start = self.here();
        self.emit(sub);
        let again = self.hole();
        let end = self.here();
        self.fill_split(again, start, end, *greedy);
        if let Some(skip) = skip {
            self.fill_split(skip, start, end, *greedy);
        }
    }

    /// Searches from byte `from` and fills `slots` with the bounds of each group; whether there is a
    /// match. Without slots the first sign of a match is enough.
    pub(crate) fn search(&self, text: &str, from: usize, slots: &mut [Option<usize>]) -> bool {
        self.search_within(text, from, slots, &mut { u64::MAX }).unwrap_or_default()
    }

    /// The same within a number of steps.
    pub(crate) fn search_within(
        &self,
        text: &str,
        from: usize,
        slots: &mut [Option<usize>],
        left: &mut u64,
    ) -> Result<bool, Exhausted> {
        spend(left, 1 + self.insts.len() as u64 / 8)?;
        let mut current = Threads::new(self.insts.len(), slots.len());
        let mut next = Threads::new(self.insts.len(), slots.len());
        let mut scratch = vec![UNSET; slots.len()];
        let mut found = None;
        let mut at = from;
        loop {
            // The threads of the last step and what was visited.
            spend(left, 1 + current.visited + current.active.len() as u64)?;
            current.visited = 0;
            if found.is_none() {
                scratch.fill(UNSET);
                if let Some(start) = scratch.first_mut() {
                    *start = at as u32;
                }
                self.follow(&mut current, 0, text, at, &mut scratch);
            }
            if current.active.is_empty() && found.is_some() {
                break;
            }
            let c = text[at..].chars().next();
            let end = at + c.map_or(0, char::len_utf8);
            for order in 0..current.active.len() {
                let pc = current.active[order];
                let step = match &self.insts[pc as usize] {
                    Inst::Match => {
                        let mut groups = current.slots(order).to_vec();
                        if let Some(last) = groups.get_mut(1) {
                            *last = at as u32;
                        }
                        found = Some(groups);
                        break;
                    }
                    Inst::Char(want) => c == Some(*want),
                    Inst::Class(ranges) => c.is_some_and(|c| contains(ranges, u32::from(c))),
                    _ => false,
                };
                if step {
                    scratch.copy_from_slice(current.slots(order));
                    self.follow(&mut next, pc + 1, text, end, &mut scratch);
                }
            }
            std::mem::swap(&mut current, &mut next);
            next.clear();
            if c.is_none() || (slots.is_empty() && found.is_some()) {
                break;
            }
            at = end;
        }
        let Some(groups) = found else { return Ok(false) };
        for (slot, value) in slots.iter_mut().zip(groups) {
            *slot = (value != UNSET).then_some(value as usize);
        }
        Ok(true)
    }

    /// Adds the instructions reachable from `pc` without consuming anything, by priority.
    fn follow(&self, threads: &mut Threads, pc: Pc, text: &str, at: usize, slots: &mut [u32]) {
        let mut todo = std::mem::take(&mut threads.todo);
        todo.push(Todo::Visit(pc));
        while let Some(step) = todo.pop() {
            let mut pc = match step {
                Todo::Visit(pc) => pc,
                Todo::Restore(slot, value) => {
                    slots[slot as usize] = value;
                    continue;
                }
            };
            while threads.enter(pc) {
                match &self.insts[pc as usize] {
                    Inst::Jump(to) => pc = *to,
                    Inst::Split(first, second) => {
                        todo.push(Todo::Visit(*second));
                        pc = *first;
                    }
                    Inst::Save(slot) => {
                        if let Some(value) = slots.get_mut(*slot as usize) {
                            todo.push(Todo::Restore(*slot, *value));
                            *value = at as u32;
                        }
                        pc += 1;
                    }
                    Inst::Look(look) if holds(*look, text, at) => pc += 1,
                    Inst::Look(_) => break,
                    Inst::Char(_) | Inst::Class(_) | Inst::Match => {
                        threads.add(pc, slots);
                        break;
                    }
                }
            }
        }
        threads.todo = todo;
    }
}

enum Todo {
    Visit(Pc),
    Restore(u32, u32),
}

/// The active threads, by priority.
struct Threads {
    active: Vec<Pc>,
    /// The slots of each thread.
    groups: Vec<u32>,
    width: usize,
    /// The step in which an instruction was last entered.
    seen: Vec<u32>,
    round: u32,
    /// How often an instruction was entered or tried since it was last counted.
    visited: u64,
    todo: Vec<Todo>,
}

impl Threads {
    fn new(places: usize, width: usize) -> Self {
        let (active, groups, todo) = (Vec::new(), Vec::new(), Vec::new());
        Self { active, groups, width, seen: vec![0; places], round: 1, visited: 0, todo }
    }

    fn enter(&mut self, pc: Pc) -> bool {
        self.visited += 1;
        let seen = &mut self.seen[pc as usize];
        let new = *seen != self.round;
        *seen = self.round;
        new
    }

    fn add(&mut self, pc: Pc, slots: &[u32]) {
        self.active.push(pc);
        self.groups.extend_from_slice(slots);
    }

    fn slots(&self, order: usize) -> &[u32] {
        &self.groups[order * self.width..(order + 1) * self.width]
    }

    fn clear(&mut self) {
        self.active.clear();
        self.groups.clear();
        if self.round == u32::MAX {
            self.seen.fill(0);
            self.round = 0;
        }
        self.round += 1;
    }
}

fn contains(ranges: &[Range], point: u32) -> bool {
    let at = ranges.partition_point(|range| range.1 < point);
    ranges.get(at).is_some_and(|range| range.0 <= point)
}

fn holds(look: Look, text: &str, at: usize) -> bool {
    let before = at.checked_sub(1).map(|at| text.as_bytes()[at]);
    let after = text.as_bytes().get(at).copied();
    let word = |b: Option<u8>| b.is_some_and(|b| b == b'_' || b.is_ascii_alphanumeric());
    match look {
        Look::TextStart => before.is_none(),
        Look::TextEnd => after.is_none(),
        Look::LineStart => before.is_none_or(|b| b == b'\n'),
        Look::LineEnd => after.is_none_or(|b| b == b'\n'),
        Look::WordBoundary => word(before) != word(after),
        Look::NotWordBoundary => word(before) == word(after),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::parse::parse;
    use serde_json::Value;

    #[test]
    fn finds_what_go_finds() {
        let mut compared = 0;
        for line in include_str!("../tests/data/go.jsonl").lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let pattern = row["p"].as_str().unwrap();
            let Ok(parsed) = parse(pattern) else { continue };
            let program = Program::new(&parsed);
            for (at, text) in row["i"].as_array().into_iter().flatten().enumerate() {
                let text = text.as_str().unwrap();
                let mut slots = vec![None; 2 * parsed.names.len()];
                let found = program.search(text, 0, &mut slots);
                let ours: Vec<i64> = slots.iter().map(|s| s.map_or(-1, |s| s as i64)).collect();
                match row["m"][at].get(0) {
                    Some(want) => assert_eq!(serde_json::json!(ours), *want, "{pattern:?} on {text:?}"),
                    None => assert!(!found, "{pattern:?} on {text:?}"),
                }
                assert_eq!(program.search(text, 0, &mut []), found, "{pattern:?} on {text:?}");
                compared += 1;
            }
        }
        assert!(compared > 1000);
    }
}
