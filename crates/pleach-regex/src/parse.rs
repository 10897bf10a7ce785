//! Parser of Go's regular expression syntax.
//!
//! One pass with a stack of open groups instead of recursion. The flags are those of `regexp.Compile`:
//! Perl syntax with `^` and `$` at the ends of the text, `[^a]` matching a newline, and Unicode
//! classes. Errors, their order and the fragment they quote are Go's; the limits are in `piece`,
//! brackets and escapes in `class` and `escape`.

mod class;
mod escape;
mod group;
mod piece;

use crate::ast::{Look, Node, Parsed};
use crate::class::{ClassBuilder, Range};
use crate::error::{Error, ErrorCode};
use crate::unicode;
use piece::{Excess, MAX_REPEAT, Op, Piece, Shape};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The maximum number of range bounds in all classes of a pattern: Go's limit.
const MAX_RUNES: usize = (128 << 20) / 4;
/// The maximum number of ranges in distinct classes of a pattern: 16 MB, our own limit.
const MAX_DISTINCT_RANGES: usize = 2 << 20;

const FOLD: u8 = 1;
const MULTI_LINE: u8 = 2;
const DOT_NEWLINE: u8 = 4;
const UNGREEDY: u8 = 8;

/// A group that is still open; the whole pattern is the first.
struct Frame {
    /// The finished alternatives.
    branches: Vec<Piece>,
    /// The alternative being read.
    items: Vec<Piece>,
    /// The number of a capturing group.
    capture: Option<u32>,
    /// The flags outside the group.
    flags: u8,
}

impl Frame {
    fn open(capture: Option<u32>, flags: u8) -> Self {
        Self { branches: Vec::new(), items: Vec::new(), capture, flags }
    }
}

struct Parser<'p> {
    pattern: &'p str,
    /// The rest of the pattern.
    rest: &'p str,
    flags: u8,
    outer: Vec<Frame>,
    frame: Frame,
    names: Vec<Option<Box<str>>>,
    runes: usize,
    distinct_ranges: usize,
    /// All classes so far, to share equal ones.
    classes: HashSet<Arc<[Range]>>,
    /// `\p` classes so far, by their text and whether case is ignored.
    named: HashMap<(&'p str, bool), ClassBuilder>,
}

/// Parses a pattern; errors are Go's.
pub(crate) fn parse(pattern: &str) -> Result<Parsed, Error> {
    let mut parser = Parser {
        pattern,
        rest: pattern,
        flags: 0,
        outer: Vec::new(),
        frame: Frame::open(None, 0),
        names: vec![None],
        runes: 0,
        distinct_ranges: 0,
        classes: HashSet::new(),
        named: HashMap::new(),
    };
    parser.run()?;
    let root = parser.close_alternatives()?;
    if !parser.outer.is_empty() {
        return Err(Error::new(ErrorCode::MissingParen, pattern));
    }
    Ok(Parsed {
        height: root.measure.height,
        weight: root.measure.weight,
        root: root.node,
        names: parser.names,
    })
}

impl<'p> Parser<'p> {
    fn run(&mut self) -> Result<(), Error> {
        // The start of the repetition that ended just before the current position.
        let mut last_repeat = None;
        while let Some(c) = self.rest.chars().next() {
            let before = self.rest;
            let mut repeat = None;
            match c {
                '(' if before[1..].starts_with('?') => self.perl_group()?,
                '(' => {
                    self.advance(1);
                    self.names.push(None);
                    self.open_group(Some(self.names.len() as u32 - 1));
                }
                '|' => {
                    self.advance(1);
                    self.close_branch()?;
                }
                ')' => self.close_group()?,
                '^' => {
                    self.advance(1);
                    let line = self.flags & MULTI_LINE != 0;
                    self.look(if line { Look::LineStart } else { Look::TextStart })?;
                }
                '$' => {
                    self.advance(1);
                    let line = self.flags & MULTI_LINE != 0;
                    self.look(if line { Look::LineEnd } else { Look::TextEnd })?;
                }
                '.' => {
                    self.advance(1);
                    let mut class = ClassBuilder::default();
                    if self.flags & DOT_NEWLINE == 0 {
                        class.push(u32::from(b'\n'), u32::from(b'\n'));
                    }
                    class.negate();
                    self.push_class(&class)?;
                }
                '[' => {
                    let class = self.bracket()?;
                    self.push_class(&class)?;
                }
                '*' | '+' | '?' => {
                    self.advance(1);
                    let op = match c {
                        '*' => Op::Star,
                        '+' => Op::Plus,
                        _ => Op::Quest,
                    };
                    self.repeat(op, before, last_repeat)?;
                    repeat = Some(before);
                }
                '{' => match self.counts() {
                    None => {
                        self.advance(1);
                        self.literal(u32::from(c))?;
                    }
                    Some(op) => {
                        self.repeat(op?, before, last_repeat)?;
                        repeat = Some(before);
                    }
                },
                '\\' => self.escape()?,
                _ => {
                    self.advance(c.len_utf8());
                    self.literal(u32::from(c))?;
                }
            }
            last_repeat = repeat;
        }
        Ok(())
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// Takes the next character.
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.advance(c.len_utf8());
        Some(c)
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The text between an earlier position and here.
    fn since(&self, before: &'p str) -> &'p str {
        &before[..before.len() - self.rest.len()]
    }

    fn push(&mut self, piece: Piece) -> Result<(), Error> {
        self.check(&piece)?;
        self.frame.items.push(piece);
        Ok(())
    }

    fn check(&self, piece: &Piece) -> Result<(), Error> {
        match piece.excess() {
            None => Ok(()),
            Some(Excess::Height) => Err(Error::new(ErrorCode::NestingDepth, self.pattern)),
            Some(Excess::Size) => Err(self.too_large()),
        }
    }

    fn too_large(&self) -> Error {
        Error::new(ErrorCode::Large, self.pattern)
    }

    fn look(&mut self, look: Look) -> Result<(), Error> {
        self.push(Piece::leaf(Node::Look(look), Shape::Other))
    }

    fn literal(&mut self, point: u32) -> Result<(), Error> {
        let fold = self.flags & FOLD != 0;
        let shape = Shape::Literal { fold };
        if fold && unicode::has_case(point) {
            let mut class = ClassBuilder::default();
            class.push(point, point);
            unicode::fold(&mut class);
            let node = self.class_node(&class)?;
            return self.push(Piece::leaf(node, shape));
        }
        let node = match char::from_u32(point) {
            Some(c) => Node::Char(c),
            None => self.class_node(&ClassBuilder::default())?,
        };
        self.push(Piece::leaf(node, shape))
    }

    fn push_class(&mut self, class: &ClassBuilder) -> Result<(), Error> {
        let one = match class.ranges() {
            &[(first, last)] if first == last => char::from_u32(first),
            _ => None,
        };
        if let Some(c) = one {
            return self.push(Piece::leaf(Node::Char(c), Shape::Literal { fold: false }));
        }
        let node = self.class_node(class)?;
        self.push(Piece::leaf(node, Shape::Other))
    }

    /// The node of a canonical class, shared with equal ones and counted.
    fn class_node(&mut self, class: &ClassBuilder) -> Result<Node, Error> {
        self.runes += 2 * class.ranges().len();
        if self.runes > MAX_RUNES {
            return Err(self.too_large());
        }
        let ranges = without_surrogates(class.ranges());
        if let Some(known) = self.classes.get(&ranges[..]) {
            return Ok(Node::Class(Arc::clone(known)));
        }
        self.distinct_ranges += ranges.len();
        if self.distinct_ranges > MAX_DISTINCT_RANGES {
            return Err(self.too_large());
        }
        let ranges: Arc<[Range]> = ranges.into();
        self.classes.insert(Arc::clone(&ranges));
        Ok(Node::Class(ranges))
    }

    /// Applies a repetition operator that was read from `before` to here.
    fn repeat(&mut self, op: Op, before: &'p str, last: Option<&'p str>) -> Result<(), Error> {
        let greedy = self.take("?") == (self.flags & UNGREEDY != 0);
        if let Some(last) = last {
            return Err(Error::new(ErrorCode::InvalidRepeatOp, self.since(last)));
        }
        let Some(sub) = self.frame.items.pop() else {
            return Err(Error::new(ErrorCode::MissingRepeatArgument, self.since(before)));
        };
        let piece = sub.repeat(op, greedy);
        self.check(&piece)?;
        if let Op::Counted(min, max) = op
            && (min >= 2 || max.is_some_and(|max| max >= 2))
            && !piece.counts_fit()
        {
            return Err(Error::new(ErrorCode::InvalidRepeatSize, self.since(before)));
        }
        self.frame.items.push(piece);
        Ok(())
    }

    /// Parses `{min}`, `{min,}` or `{min,max}`. `None` if `{` is literal; an error if the numbers are
    /// out of range.
    fn counts(&mut self) -> Option<Result<Op, Error>> {
        let before = self.rest;
        let (min, rest) = number(&before[1..])?;
        let (max, rest) = match rest.strip_prefix(',') {
            None => (Some(min), rest),
            Some(rest) if rest.starts_with('}') => (None, rest),
            Some(rest) => {
                let (max, rest) = number(rest)?;
                (Some(max), rest)
            }
        };
        self.rest = rest.strip_prefix('}')?;
        let fits = min <= MAX_REPEAT && max.is_none_or(|max| min <= max && max <= MAX_REPEAT);
        let op = fits.then_some(Op::Counted(min, max));
        Some(op.ok_or_else(|| Error::new(ErrorCode::InvalidRepeatSize, self.since(before))))
    }
}

/// A decimal number without leading zeros; one that is too long is out of any bounds.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}

fn without_surrogates(ranges: &[Range]) -> Vec<Range> {
    let mut kept = Vec::with_capacity(ranges.len() + 1);
    for &(first, last) in ranges {
        if last < 0xd800 || first > 0xdfff {
            kept.push((first, last));
            continue;
        }
        if first < 0xd800 {
            kept.push((first, 0xd7ff));
        }
        if last > 0xdfff {
            kept.push((0xe000, last));
        }
    }
    kept
}
