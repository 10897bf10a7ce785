//! The AST of a pattern.
//!
//! Made by `parse`, read by `hir` and `vm`. Its depth is at most Go's nesting limit (1000), because
//! the parser refuses more and joins nested sequences; walks over it may recurse.

use crate::class::Range;
use std::sync::Arc;

/// A position that is matched without consuming anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordBoundary,
    NotWordBoundary,
}

/// One node.
#[derive(Debug)]
pub(crate) enum Node {
    Empty,
    Char(char),
    /// A set without surrogates; equal sets of one pattern are shared.
    Class(Arc<[Range]>),
    Look(Look),
    Capture(u32, Box<Node>),
    Repeat(Box<Repeat>),
    Concat(Vec<Node>),
    Alternate(Vec<Node>),
}

/// A repetition.
#[derive(Debug)]
pub(crate) struct Repeat {
    pub(crate) min: u32,
    /// `None`: unbounded.
    pub(crate) max: Option<u32>,
    pub(crate) greedy: bool,
    pub(crate) sub: Node,
}

/// A whole pattern.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) root: Node,
    /// The name of each group, the whole match first.
    pub(crate) names: Vec<Option<Box<str>>>,
    /// The height of the AST.
    pub(crate) height: u32,
    /// Approximate number of byte transitions with all repetitions expanded.
    pub(crate) weight: u64,
}
