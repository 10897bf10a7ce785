//! Finds the keys that a document sets more than once.
//!
//! Runs only over texts that were read without error and in which some object lost a member to
//! its namesake, so the parser itself keeps no record of where it is.

use std::collections::HashSet;

use super::Parser;
use crate::Str;

/// How many paths are reported at most.
const LIMIT: usize = 100;

enum Frame {
    Array { index: usize },
    Object { seen: HashSet<Str>, key: Str },
}

/// Paths of keys that are set again, in document order, each once.
pub(super) fn find(text: &str) -> Vec<String> {
    let mut tokens = Parser::new(text);
    let mut frames: Vec<Frame> = Vec::new();
    let mut found = Vec::new();
    let mut reported = HashSet::new();
    while let Some(token) = tokens.next_token() {
        match token {
            b'{' => {
                tokens.at += 1;
                frames.push(Frame::Object { seen: HashSet::new(), key: Str::default() });
                if tokens.next_token() == Some(b'"') {
                    take_key(&mut tokens, &mut frames, &mut found, &mut reported);
                }
            }
            b'[' => {
                tokens.at += 1;
                frames.push(Frame::Array { index: 0 });
            }
            b'}' | b']' => {
                tokens.at += 1;
                frames.pop();
            }
            b',' => {
                tokens.at += 1;
                tokens.next_token();
                match frames.last_mut() {
                    Some(Frame::Array { index }) => *index += 1,
                    _ => take_key(&mut tokens, &mut frames, &mut found, &mut reported),
                }
            }
            b'"' => {
                if tokens.escaped_string().is_err() {
                    return found;
                }
            }
            _ => tokens.at += 1,
        }
        if found.len() == LIMIT {
            break;
        }
    }
    found
}

fn take_key(
    tokens: &mut Parser<'_>,
    frames: &mut [Frame],
    found: &mut Vec<String>,
    reported: &mut HashSet<String>,
) {
    if tokens.key().is_err() {
        return;
    }
    let name = Str::from(std::mem::take(&mut tokens.key));
    let Some(Frame::Object { seen, key }) = frames.last_mut() else { return };
    key.clone_from(&name);
    if seen.insert(name) {
        return;
    }
    let path = path(frames);
    if reported.insert(path.clone()) {
        found.push(path);
    }
}

fn path(frames: &[Frame]) -> String {
    let mut path = String::new();
    for (depth, frame) in frames.iter().enumerate() {
        match frame {
            Frame::Array { index } => {
                path.push('[');
                path.push_str(&index.to_string());
                path.push(']');
            }
            Frame::Object { key, .. } => {
                if depth > 0 {
                    path.push('.');
                }
                path.push_str(key);
            }
        }
    }
    path
}
