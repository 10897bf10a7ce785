//! Finds the keys that a document sets more than once.
//!
//! Runs only over texts that were read without error and in which some object lost a member to
//! its namesake, so the parser itself keeps no record of where it is.
//!
//! A path may be met again and again (an object that is set twice has all its paths twice), so
//! paths are known by number and spelled out only when they are reported.

use std::collections::{HashMap, HashSet};

use super::Parser;
use crate::Str;

/// How many paths are reported at most.
const LIMIT: usize = 100;

/// How many bytes they may have together, but for the last one.
const MAX_BYTES: usize = 1 << 20;

/// One step of a path.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Step {
    Index(usize),
    Key(Str),
}

/// A container that is still open.
struct Frame {
    /// Its path, by number.
    path: usize,
    /// Where in it the reader stands.
    step: Step,
    /// The keys so far, if it is an object.
    seen: HashSet<Str>,
}

struct Finder<'a> {
    tokens: Parser<'a, 'a>,
    frames: Vec<Frame>,
    /// The number of a path by the number of its parent and its last step.
    numbers: HashMap<(usize, Step), usize>,
    reported: HashSet<usize>,
    found: Vec<String>,
    bytes: usize,
}

/// Paths of keys that are set again, in document order, each once.
pub(super) fn find(text: &str) -> Vec<String> {
    let mut finder = Finder {
        tokens: Parser::new(text, None),
        frames: Vec::new(),
        numbers: HashMap::new(),
        reported: HashSet::new(),
        found: Vec::new(),
        bytes: 0,
    };
    while let Some(token) = finder.tokens.next_token()
        && finder.found.len() < LIMIT
        && finder.bytes < MAX_BYTES
    {
        finder.take(token);
    }
    finder.found
}

impl Finder<'_> {
    fn take(&mut self, token: u8) {
        match token {
            b'"' => {
                if self.tokens.escaped_value().is_err() {
                    // The text has been read before: there is no such string.
                    self.tokens.at = self.tokens.bytes.len();
                }
                return;
            }
            b'{' | b'[' => {
                let path = match self.frames.last() {
                    Some(frame) => {
                        let step = frame.step.clone();
                        self.number(frame.path, step)
                    }
                    None => 0,
                };
                self.frames.push(Frame { path, step: Step::Index(0), seen: HashSet::new() });
                self.tokens.at += 1;
                if token == b'{' && self.tokens.next_token() == Some(b'"') {
                    self.key();
                }
                return;
            }
            b'}' | b']' => _ = self.frames.pop(),
            b',' => {
                self.tokens.at += 1;
                if let Some(Frame { step: Step::Index(index), .. }) = self.frames.last_mut() {
                    *index += 1;
                } else {
                    self.tokens.next_token();
                    self.key();
                }
                return;
            }
            _ => {}
        }
        self.tokens.at += 1;
    }

    fn key(&mut self) {
        let Ok(key) = self.tokens.key() else { return };
        let name = Str::new(self.tokens.key_text(key));
        let Some(frame) = self.frames.last_mut() else { return };
        frame.step = Step::Key(name.clone());
        if frame.seen.insert(name.clone()) {
            return;
        }
        let path = frame.path;
        let number = self.number(path, Step::Key(name));
        if self.reported.insert(number) {
            let path = self.spelled_out();
            self.bytes += path.len();
            self.found.push(path);
        }
    }

    fn number(&mut self, parent: usize, step: Step) -> usize {
        let next = self.numbers.len() + 1;
        *self.numbers.entry((parent, step)).or_insert(next)
    }

    /// The path to where the reader stands.
    fn spelled_out(&self) -> String {
        let mut path = String::new();
        for (depth, frame) in self.frames.iter().enumerate() {
            match &frame.step {
                Step::Index(index) => {
                    path.push('[');
                    path.push_str(&index.to_string());
                    path.push(']');
                }
                Step::Key(key) => {
                    if depth > 0 {
                        path.push('.');
                    }
                    path.push_str(key);
                }
            }
        }
        path
    }
}
