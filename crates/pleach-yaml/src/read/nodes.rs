//! Node tree: built from the parser's events.
//!
//! The nodes of a document are in one vector, children by index. Aliases are expanded by the composer,
//! which has the budget.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Options, Parser, ScalarStyle, StructureStyle, Tag};
use pleach_work::charge;

use super::go_yaml_errors;
use crate::error::{Place, Stage, YamlError};
use crate::spans::Span;

/// The maximum nesting.
const MAX_DEPTH: usize = 10_000;

/// The maximum number of nodes of a document. Each takes at least two bytes in the store, so a larger
/// document could not be stored with the default limit.
pub(super) const MAX_NODES: usize = 800_000;

/// The work of reading a node, besides its text.
const STEPS_PER_NODE: u64 = 16;

/// A node by its index in [`Nodes`].
pub(super) type NodeId = u32;

pub(super) struct Node<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) tag: Option<Box<str>>,
    /// Counted from one. `u32`s, because there may be many.
    line: u32,
    start: u32,
    end: u32,
}

impl<'a> Node<'a> {
    fn new(kind: Kind<'a>, tag: Option<Box<str>>, line: usize, span: Span) -> Self {
        Self { kind, tag, line: line as u32, start: span.start as u32, end: span.end as u32 }
    }

    /// The line it starts on, counted from one.
    pub(super) fn line(&self) -> usize {
        self.line as usize
    }

    /// Where it is in the text.
    pub(super) fn span(&self) -> Span {
        self.start as usize..self.end as usize
    }
}

pub(super) enum Kind<'a> {
    Scalar {
        text: Cow<'a, str>,
        plain: bool,
    },
    Sequence(Box<[NodeId]>),
    /// Keys and values in turn.
    Mapping(Box<[NodeId]>),
    Alias(NodeId),
    /// A collection that is still open: an alias to it would be recursive.
    Open,
}

/// The nodes of a document.
pub(super) struct Nodes<'a> {
    all: Vec<Node<'a>>,
    root: NodeId,
}

impl<'a> Nodes<'a> {
    pub(super) fn get(&self, id: NodeId) -> &Node<'a> {
        &self.all[id as usize]
    }

    pub(super) fn root(&self) -> NodeId {
        self.root
    }

    /// Whether there is nothing between the document markers.
    pub(super) fn is_empty_document(&self) -> bool {
        let root = self.get(self.root);
        root.tag.is_none() && matches!(&root.kind, Kind::Scalar { text, plain: true } if text.is_empty())
    }
}

/// The documents of a text, one after the other.
pub(super) struct Stream<'a> {
    text: &'a str,
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    /// After the first document only the tokens matter.
    first_only: bool,
    started: bool,
    ended: bool,
    /// After an error: the text without it, if go-yaml does not report it.
    repaired: Option<String>,
}

impl<'a> Stream<'a> {
    pub(super) fn new(text: &'a str, first_only: bool) -> Self {
        let options: Options = granit_parser::options! {
            emit_comments: false,
            emit_unresolved_aliases: true,
            emit_anchor_events: true,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
        };
        Self {
            text,
            parser: Parser::new_from_str_with_options(text, options),
            first_only,
            started: false,
            ended: false,
            repaired: None,
        }
    }

    /// After an error that go-yaml does not report: an equivalent text without it.
    pub(super) fn take_repaired(&mut self) -> Option<String> {
        self.repaired.take()
    }

    /// Skips to the next document after an error.
    pub(super) fn recover(&mut self) {
        self.ended = !self.parser.proceed_next_document().unwrap_or(false);
    }

    /// The first dash of a block sequence: of one that is not indented the parser names what
    /// follows the dash.
    fn dash_of(&self, start: usize) -> usize {
        let before = self.text[..start].trim_end_matches(' ');
        if before.ends_with('-') && !self.text[start..].starts_with('-') { before.len() - 1 } else { start }
    }

    /// How many lines above its content a block scalar starts.
    fn lines_of_header(&self, style: ScalarStyle, start: usize) -> usize {
        if !matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
            return 0;
        }
        let before = &self.text[..start];
        before[before.trim_end().len()..].matches('\n').count()
    }

    /// The text and span of a scalar as in go-yaml.
    fn settle(&self, text: Cow<'a, str>, style: ScalarStyle, mut range: Span) -> (Cow<'a, str>, Span) {
        match style {
            // The parser reports an omitted scalar as `~`.
            ScalarStyle::Plain if range.is_empty() => (Cow::Borrowed(""), range),
            ScalarStyle::Literal | ScalarStyle::Folded => {
                // A last line without a line break gets none.
                let cut = range.end >= self.text.len() && !self.text.ends_with('\n');
                let text = match text.strip_suffix('\n') {
                    Some(line) if cut => Cow::Owned(line.to_owned()),
                    _ => text,
                };
                let written = self.text.get(range.clone()).unwrap_or_default();
                range.end = range.start + written.trim_end_matches(['\n', '\r', ' ']).len();
                (text, range)
            }
            _ if text.contains(FAR_BREAKS) && self.breaks_are_written(&range) => {
                (folded(&text).into(), range)
            }
            _ => (text, range),
        }
    }

    /// Whether line breaks in a scalar are those of its text, and not made by escapes.
    fn breaks_are_written(&self, range: &Span) -> bool {
        let written = self.text.get(range.clone()).unwrap_or_default();
        written.contains(FAR_BREAKS)
            && !["\\L", "\\P", "\\u202"].iter().any(|escape| written.contains(escape))
    }

    /// The next document.
    pub(super) fn document(&mut self) -> Result<Option<Nodes<'a>>, YamlError> {
        if self.ended {
            return Ok(None);
        }
        if !std::mem::replace(&mut self.started, true) {
            go_yaml_errors::check_directives(self.text)?;
        }
        let mut builder = Builder::default();
        loop {
            let Some(event) = self.parser.next_event() else {
                self.ended = true;
                return Ok(None);
            };
            let (event, span) = match event {
                Ok(event) => event,
                Err(error) => {
                    self.repaired =
                        if self.first_only { go_yaml_errors::repair(&error, self.text) } else { None };
                    let error = go_yaml_errors::explain(&error, self.text);
                    if self.first_only && builder.is_whole() && error.is_structural() {
                        self.ended = true;
                        return Ok(builder.finish());
                    }
                    return Err(error);
                }
            };
            // A node starts with its tag, if it has one.
            let from = |line: usize| span.tag_start().map_or(line, |tag| tag.line().min(line));
            let line = from(span.start.line());
            let range = span.byte_range().unwrap_or(0..0);
            match event {
                Event::StreamEnd => {
                    self.ended = true;
                    return Ok(None);
                }
                Event::DocumentStart(_, Some(version)) if (version.major, version.minor) != (1, 1) => {
                    return Err(YamlError::new(Stage::Scanner, "found incompatible YAML document", None));
                }
                Event::DocumentEnd => return Ok(builder.finish()),
                Event::Alias(anchor) => {
                    let target = builder.anchors.get(&anchor).copied().unwrap_or_default();
                    builder.add(Node::new(Kind::Alias(target), None, line, range))?;
                }
                Event::UnresolvedAlias(name) => {
                    let name = name.split(|c| !go_yaml_errors::is_name(c)).next().unwrap_or_default();
                    let place = Place {
                        line,
                        column: span.start.col() + 1,
                        offset: span.start.byte_offset().unwrap_or_default(),
                    };
                    let message = format!("unknown anchor '{name}' referenced");
                    return Err(YamlError::new(Stage::Decode, message, Some(place)));
                }
                Event::Anchor(_, name) => {
                    go_yaml_errors::check_anchor(self.text, &name, range.start)?;
                    builder.starts_on(line);
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let plain = style == ScalarStyle::Plain;
                    let line = from(span.start.line() - self.lines_of_header(style, range.start));
                    let (text, range) = self.settle(text, style, range);
                    if style == ScalarStyle::DoubleQuoted {
                        go_yaml_errors::check_escapes(self.text, range.start, range.end)?;
                    }
                    if !builder.in_flow() {
                        go_yaml_errors::check_tab(self.text, range.start)?;
                    }
                    let node = Node::new(Kind::Scalar { text, plain }, short(tag), line, range);
                    let id = builder.add(node)?;
                    builder.anchor(anchor, id);
                }
                Event::SequenceStart(style, anchor, tag) => {
                    let start =
                        if style == StructureStyle::Block { self.dash_of(range.start) } else { range.start };
                    builder.start(style, anchor, short(tag), line, start..range.end)?;
                }
                Event::MappingStart(style, anchor, tag) => {
                    builder.start(style, anchor, short(tag), line, range)?;
                }
                Event::SequenceEnd => builder.close(range.end, Kind::Sequence),
                Event::MappingEnd => {
                    if let Some(offset) = builder.left_out_key(self.text) {
                        return Err(go_yaml_errors::no_key(self.text, offset, builder.in_flow()));
                    }
                    builder.close(range.end, Kind::Mapping);
                }
                _ => {}
            }
        }
    }
}

/// Line breaks of YAML 1.1 that the parser treats as text.
const FAR_BREAKS: [char; 2] = ['\u{2028}', '\u{2029}'];

/// A text without the blanks around such breaks, which are the indentation of its lines.
fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at_start = false;
    for c in text.chars() {
        let blank = matches!(c, ' ' | '\t');
        if FAR_BREAKS.contains(&c) {
            out.truncate(out.trim_end_matches([' ', '\t']).len());
            at_start = true;
        } else if !blank {
            at_start = false;
        }
        if !(at_start && blank) {
            out.push(c);
        }
    }
    out
}

/// A tag in its short form: `!!str` for YAML's own, the whole of it for others.
fn short(tag: Option<Cow<'_, Tag>>) -> Option<Box<str>> {
    let tag = tag?;
    let (handle, suffix) = tag.parts();
    let whole = format!("{handle}{suffix}");
    Some(match whole.strip_prefix("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}").into(),
        None => whole.into(),
    })
}

/// A document being built.
#[derive(Default)]
struct Builder<'a> {
    all: Vec<Node<'a>>,
    open: Vec<Open>,
    children: Vec<NodeId>,
    anchors: HashMap<usize, NodeId>,
}

/// An open collection.
struct Open {
    id: NodeId,
    /// Where its children start among those that wait for their parent.
    first_child: usize,
    flow: bool,
}

impl<'a> Builder<'a> {
    fn add(&mut self, node: Node<'a>) -> Result<NodeId, YamlError> {
        charge(STEPS_PER_NODE);
        if self.all.len() >= MAX_NODES {
            let message = format!("document has more than {MAX_NODES} nodes");
            return Err(YamlError::new(Stage::Decode, message, None));
        }
        if self.all.len() == self.all.capacity() {
            // Grows by less than a factor of two: the tree is the largest allocation.
            self.all.reserve_exact(16 + self.all.len() / 8);
        }
        let id = self.all.len() as NodeId;
        self.all.push(node);
        self.children.push(id);
        Ok(id)
    }

    fn start(
        &mut self,
        style: StructureStyle,
        anchor: usize,
        tag: Option<Box<str>>,
        line: usize,
        span: Span,
    ) -> Result<(), YamlError> {
        let flow = self.in_flow() || style == StructureStyle::Flow;
        let id = self.add(Node::new(Kind::Open, tag, line, span))?;
        self.anchor(anchor, id);
        self.open.push(Open { id, first_child: self.children.len(), flow });
        Ok(())
    }

    /// The last node starts on `line` because its properties do.
    fn starts_on(&mut self, line: usize) {
        if let Some(node) = self.all.last_mut() {
            node.line = node.line.min(line as u32);
        }
    }

    fn anchor(&mut self, anchor: usize, id: NodeId) {
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
    }

    /// Whether the document is complete.
    fn is_whole(&self) -> bool {
        self.open.is_empty() && !self.children.is_empty()
    }

    fn in_flow(&self) -> bool {
        self.open.last().is_some_and(|open| open.flow)
    }

    /// Where the mapping that ends has a colon without a key.
    fn left_out_key(&self, text: &str) -> Option<usize> {
        let keys = self.children[self.open.last()?.first_child..].iter().step_by(2);
        keys.map(|&key| &self.all[key as usize]).find_map(|key| {
            let empty = matches!(&key.kind, Kind::Scalar { text, plain: true } if text.is_empty());
            let start = key.start as usize;
            let left_out = empty
                && key.tag.is_none()
                && text[start..].starts_with(':')
                && !text[..start].trim_end().ends_with(['?', '&'])
                && !text[..start].ends_with(go_yaml_errors::is_name);
            left_out.then_some(start)
        })
    }

    fn close(&mut self, end: usize, kind: fn(Box<[NodeId]>) -> Kind<'a>) {
        let Some(open) = self.open.pop() else { return };
        let children: Box<[NodeId]> = self.children.drain(open.first_child..).collect();
        // The parser reports the end of a block collection at the next token; it is after its last
        // child.
        let end = match children.last() {
            Some(&last) if !open.flow => self.all[last as usize].end as usize,
            _ => end,
        };
        let node = &mut self.all[open.id as usize];
        node.end = (end as u32).max(node.start);
        node.kind = kind(children);
    }

    fn finish(self) -> Option<Nodes<'a>> {
        let root = *self.children.first()?;
        Some(Nodes { all: self.all, root })
    }
}
