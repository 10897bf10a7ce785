//! Translation of an AST to the HIR of `regex-syntax`.

use crate::ast::{Look, Node};
use regex_syntax::hir;

/// Translates a pattern. `captures` keeps its groups; without them the automaton is smaller.
pub(crate) fn translate(node: &Node, captures: bool) -> hir::Hir {
    match node {
        Node::Empty => hir::Hir::empty(),
        Node::Char(c) => hir::Hir::literal(c.encode_utf8(&mut [0; 4]).as_bytes()),
        Node::Class(ranges) => {
            let ranges = ranges.iter().filter_map(|&(first, last)| {
                Some(hir::ClassUnicodeRange::new(char::from_u32(first)?, char::from_u32(last)?))
            });
            hir::Hir::class(hir::Class::Unicode(hir::ClassUnicode::new(ranges)))
        }
        Node::Look(look) => hir::Hir::look(match look {
            Look::TextStart => hir::Look::Start,
            Look::TextEnd => hir::Look::End,
            Look::LineStart => hir::Look::StartLF,
            Look::LineEnd => hir::Look::EndLF,
            Look::WordBoundary => hir::Look::WordAscii,
            Look::NotWordBoundary => hir::Look::WordAsciiNegate,
        }),
        Node::Capture(_, sub) if !captures => translate(sub, captures),
        // Nameless: Go allows a name twice, `regex-automata` does not.
        Node::Capture(index, sub) => hir::Hir::capture(hir::Capture {
            index: *index,
            name: None,
            sub: Box::new(translate(sub, captures)),
        }),
        Node::Repeat(repeat) => hir::Hir::repetition(hir::Repetition {
            min: repeat.min,
            max: repeat.max,
            greedy: repeat.greedy,
            sub: Box::new(translate(&repeat.sub, captures)),
        }),
        Node::Concat(nodes) => hir::Hir::concat(nodes.iter().map(|node| translate(node, captures)).collect()),
        Node::Alternate(nodes) => {
            hir::Hir::alternation(nodes.iter().map(|node| translate(node, captures)).collect())
        }
    }
}
