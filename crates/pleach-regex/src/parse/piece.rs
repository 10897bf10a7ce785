//! A parsed part of a pattern, with its size for Go's limits.
//!
//! Height, size and repeat product are kept per part, so that checking a limit is one comparison; Go
//! walks the tree, with the same numbers.

use crate::ast::{Node, Repeat};

/// The most levels of nesting.
const MAX_HEIGHT: u32 = 1000;
/// The most instructions: 128 MB of Go's 40-byte instructions.
const MAX_SIZE: u64 = (128 << 20) / 40;
/// The largest count, also as a product of nested counts.
pub(super) const MAX_REPEAT: u32 = 1000;

/// How a part combines with its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Literal text; neighbours with the same case rule are one literal in Go's tree.
    Literal {
        fold: bool,
    },
    Other,
}

/// A repetition operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Star,
    Plus,
    Quest,
    /// `{min,max}`; the maximum may be unbounded.
    Counted(u32, Option<u32>),
}

/// The limit that is exceeded.
pub(super) enum Excess {
    Height,
    Size,
}

/// The sizes of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    /// The height of Go's tree.
    pub(super) height: u32,
    /// See [`crate::ast::Parsed::weight`].
    pub(super) weight: u64,
    /// Instructions of Go's program.
    size: u64,
    /// The largest product of nested counts.
    product: u32,
}

#[derive(Debug)]
pub(super) struct Piece {
    pub(super) node: Node,
    pub(super) measure: Measure,
    shape: Shape,
}

impl Piece {
    pub(super) fn leaf(node: Node, shape: Shape) -> Self {
        let weight = match &node {
            Node::Char(c) => c.len_utf8() as u64,
            // A range of non-ASCII characters becomes a few byte sequences.
            Node::Class(ranges) => ranges.iter().map(|&(_, last)| if last < 0x80 { 1 } else { 4 }).sum(),
            _ => 1,
        };
        Self { node, shape, measure: Measure { height: 1, weight, size: 1, product: 1 } }
    }

    /// The parts one after another.
    pub(super) fn concat(mut pieces: Vec<Piece>) -> Self {
        match pieces.len() {
            0 => return Self::leaf(Node::Empty, Shape::Other),
            1 => return pieces.remove(0),
            _ => {}
        }
        let first = pieces[0].shape;
        let one_literal =
            matches!(first, Shape::Literal { .. }) && pieces.iter().all(|piece| piece.shape == first);
        let (mut measure, nodes) = join(pieces, |node| match node {
            Node::Concat(inner) => Ok(inner),
            other => Err(other),
        });
        if one_literal {
            measure.height = 1;
        }
        let shape = if one_literal { first } else { Shape::Other };
        Self { node: Node::Concat(nodes), shape, measure }
    }

    /// The parts as alternatives, the first preferred.
    pub(super) fn alternate(mut pieces: Vec<Piece>) -> Self {
        if pieces.len() == 1 {
            return pieces.remove(0);
        }
        let bars = pieces.len() as u64 - 1;
        let (mut measure, nodes) = join(pieces, |node| match node {
            Node::Alternate(inner) => Ok(inner),
            other => Err(other),
        });
        measure.size = measure.size.saturating_add(bars);
        measure.weight = measure.weight.saturating_add(bars);
        Self { node: Node::Alternate(nodes), shape: Shape::Other, measure }
    }

    pub(super) fn capture(index: u32, sub: Piece) -> Self {
        let measure = Measure {
            height: sub.measure.height + 1,
            weight: sub.measure.weight.saturating_add(2),
            size: sub.measure.size.saturating_add(2),
            product: sub.measure.product,
        };
        Self { node: Node::Capture(index, Box::new(sub.node)), shape: Shape::Other, measure }
    }

    /// The part repeated.
    pub(super) fn repeat(self, op: Op, greedy: bool) -> Self {
        let (min, max) = match op {
            Op::Star => (0, None),
            Op::Plus => (1, None),
            Op::Quest => (0, Some(1)),
            Op::Counted(min, max) => (min, max),
        };
        let times = |n: u32, each: u64| u64::from(n).saturating_mul(each);
        let total = |each: u64| match (op, max) {
            (Op::Plus | Op::Quest, _) => each.saturating_add(1),
            (Op::Star, _) => each.saturating_add(2),
            (Op::Counted(..), None) if min == 0 => each.saturating_add(2),
            (Op::Counted(..), None) => times(min, each).saturating_add(1),
            (Op::Counted(..), Some(max)) => times(max, each).saturating_add(u64::from(max - min)),
        };
        let product = match op {
            Op::Counted(_, Some(0)) => 1,
            Op::Counted(min, max) => max.unwrap_or(min).max(1).saturating_mul(self.measure.product),
            _ => self.measure.product,
        };
        let measure = Measure {
            height: self.measure.height + 1,
            weight: total(self.measure.weight).max(1),
            size: total(self.measure.size).max(1),
            product,
        };
        let node = Node::Repeat(Box::new(Repeat { min, max, greedy, sub: self.node }));
        Self { node, shape: Shape::Other, measure }
    }

    /// Whether the product of nested counts is within bounds.
    pub(super) fn counts_fit(&self) -> bool {
        self.measure.product <= MAX_REPEAT
    }

    pub(super) fn excess(&self) -> Option<Excess> {
        if self.measure.size > MAX_SIZE {
            Some(Excess::Size)
        } else if self.measure.height > MAX_HEIGHT {
            Some(Excess::Height)
        } else {
            None
        }
    }
}

/// Adds up the parts of a sequence. `same` flattens a part of the same kind: it adds no level.
fn join(pieces: Vec<Piece>, same: impl Fn(Node) -> Result<Vec<Node>, Node>) -> (Measure, Vec<Node>) {
    let mut sum = Measure { height: 1, weight: 0, size: 0, product: 1 };
    let mut nodes = Vec::with_capacity(pieces.len());
    for Piece { node, shape, measure } in pieces {
        let mut height = measure.height + 1;
        match same(node) {
            Ok(members) => {
                nodes.extend(members);
                // A literal is a leaf in Go's tree, however long it is.
                if !matches!(shape, Shape::Literal { .. }) {
                    height = measure.height;
                }
            }
            Err(node) => nodes.push(node),
        }
        sum.height = sum.height.max(height);
        sum.weight = sum.weight.saturating_add(measure.weight);
        sum.size = sum.size.saturating_add(measure.size);
        sum.product = sum.product.max(measure.product);
    }
    (sum, nodes)
}
