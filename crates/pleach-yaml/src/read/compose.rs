//! The composer: from nodes to a value.
//!
//! Expands aliases within go-yaml's budget: the larger a document, the smaller the share of nodes that
//! may come from aliases. The bytes of aliased text are limited as well, or one long text could be
//! repeated a million times.

use std::collections::HashSet;

use pleach_json::{Map, Str, Value, grow_stack};

use super::nodes::{Kind, MAX_NODES, Node, NodeId, Nodes};
use super::resolve::{Scalar, resolve};
use crate::error::{DuplicateKey, DuplicateKeys, Place, Stage, YamlError};
use crate::go;
use crate::spans::{Children, Span, SpanTree, Spans};

/// Builds spans beside the value, or nothing.
trait Track {
    type Tree;
    /// Whether spans are recorded.
    const KEPT: bool;
    fn leaf(span: &Span) -> Self::Tree;
    fn sequence(span: &Span, items: Vec<Self::Tree>) -> Self::Tree;
    fn mapping(span: &Span, members: Vec<(Str, Self::Tree)>) -> Self::Tree;
    fn set_key(tree: &mut Self::Tree, key: &Span);
}

struct NoSpans;

impl Track for NoSpans {
    type Tree = ();
    const KEPT: bool = false;
    fn leaf(_: &Span) {}
    fn sequence(_: &Span, _: Vec<()>) {}
    fn mapping(_: &Span, _: Vec<(Str, ())>) {}
    fn set_key((): &mut (), _: &Span) {}
}

struct WithSpans;

impl Track for WithSpans {
    type Tree = SpanTree;
    const KEPT: bool = true;

    fn leaf(span: &Span) -> SpanTree {
        SpanTree::leaf(span.clone())
    }

    fn sequence(span: &Span, items: Vec<SpanTree>) -> SpanTree {
        SpanTree { spans: Spans { key: None, value: span.clone() }, children: Children::Sequence(items) }
    }

    fn mapping(span: &Span, mut members: Vec<(Str, SpanTree)>) -> SpanTree {
        // Stable, so the last of equal keys comes last; that one is kept.
        members.sort_by(|a, b| a.0.cmp(&b.0));
        members.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
        SpanTree { spans: Spans { key: None, value: span.clone() }, children: Children::Mapping(members) }
    }

    fn set_key(tree: &mut SpanTree, key: &Span) {
        tree.spans.key = Some(key.clone());
    }
}

/// A mapping being put together.
struct Members<T: Track> {
    values: Vec<(Str, Value)>,
    trees: Vec<(Str, T::Tree)>,
    /// The keys so far, to find duplicates.
    seen: HashSet<KeyOf>,
}

/// A key as an element of a set: `1` and `"1"` differ, `1` and `0x1` do not.
#[derive(PartialEq, Eq, Hash)]
enum KeyOf {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(u64),
    Text(Str),
}

impl From<Scalar> for KeyOf {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Null => Self::Null,
            Scalar::Bool(b) => Self::Bool(b),
            Scalar::Int(int) => Self::Int(int),
            Scalar::Uint(int) => Self::Uint(int),
            Scalar::Float(float) => Self::Float(float.to_bits()),
            Scalar::Text(text) => Self::Text(text),
            Scalar::Merge => Self::Text("<<".into()),
        }
    }
}

/// The most bytes of text that may come from aliases.
const MAX_ALIAS_BYTES: usize = 8 << 20;

/// The maximum number of bytes of reported duplicate keys.
const MAX_DUPLICATE_BYTES: usize = 1 << 20;

/// Turns the nodes of one document into a value.
pub(super) struct Composer<'a, 'n> {
    text: &'a str,
    nodes: &'n Nodes<'a>,
    strict: bool,
    duplicates: Vec<DuplicateKey>,
    duplicate_bytes: usize,
    /// Aliases that are being expanded.
    expanding: HashSet<NodeId>,
    decoded: usize,
    decoded_in_alias: usize,
    alias_bytes: usize,
    /// The first key that JSON cannot have. go-yaml reports it after everything else.
    bad_key: Option<String>,
    not_finite: bool,
}

impl<'a, 'n> Composer<'a, 'n> {
    pub(super) fn new(text: &'a str, nodes: &'n Nodes<'a>, strict: bool) -> Self {
        Self {
            text,
            nodes,
            strict,
            duplicates: Vec::new(),
            duplicate_bytes: 0,
            expanding: HashSet::new(),
            decoded: 0,
            decoded_in_alias: 0,
            alias_bytes: 0,
            bad_key: None,
            not_finite: false,
        }
    }

    pub(super) fn into_duplicates(self) -> DuplicateKeys {
        DuplicateKeys(self.duplicates)
    }

    /// The document.
    pub(super) fn value(&mut self) -> Result<Value, YamlError> {
        let (value, ()) = self.node::<NoSpans>(self.nodes.root())?;
        self.check(value)
    }

    /// The document and its spans.
    pub(super) fn value_with_spans(&mut self) -> Result<(Value, SpanTree), YamlError> {
        let (value, tree) = self.node::<WithSpans>(self.nodes.root())?;
        Ok((self.check(value)?, tree))
    }

    /// Errors that go-yaml reports after the whole document.
    fn check(&mut self, value: Value) -> Result<Value, YamlError> {
        if let Some(message) = self.bad_key.take() {
            return Err(YamlError::new(Stage::Convert, message, None));
        }
        if self.not_finite
            && let Some(float) = first_not_finite(&value)
        {
            let name = if float.is_nan() {
                "NaN"
            } else if float > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            };
            return Err(YamlError::new(Stage::Convert, format!("json: unsupported value: {name}"), None));
        }
        Ok(value)
    }

    fn node<T: Track>(&mut self, id: NodeId) -> Result<(Value, T::Tree), YamlError> {
        let nodes = self.nodes;
        let node = nodes.get(id);
        self.charge()?;
        match &node.kind {
            Kind::Scalar { .. } => {
                let scalar = self.scalar(node)?;
                self.not_finite |= matches!(&scalar, Scalar::Float(float) if !float.is_finite());
                Ok((scalar.into_value(), T::leaf(&node.span())))
            }
            Kind::Sequence(children) => grow_stack(|| {
                let mut items = Vec::with_capacity(children.len());
                let mut trees = Vec::new();
                for &child in children {
                    let (item, tree) = self.node::<T>(child)?;
                    items.push(item);
                    if T::KEPT {
                        trees.push(tree);
                    }
                }
                Ok((Value::from(items), T::sequence(&node.span(), trees)))
            }),
            Kind::Mapping(children) => grow_stack(|| {
                let mut members = Members::<T> {
                    values: Vec::with_capacity(children.len() / 2),
                    trees: Vec::new(),
                    seen: HashSet::new(),
                };
                self.mapping(children, &mut members)?;
                Ok((Value::Object(Map::from(members.values)), T::mapping(&node.span(), members.trees)))
            }),
            Kind::Alias(target) => {
                self.enter(*target, node)?;
                let result = self.node::<T>(*target);
                self.expanding.remove(target);
                result
            }
            Kind::Open => Err(self.decode_error("unfinished collection", node)),
        }
    }

    /// Adds the members of a mapping; those of merged mappings at the merge key.
    fn mapping<T: Track>(&mut self, children: &[NodeId], members: &mut Members<T>) -> Result<(), YamlError> {
        let nodes = self.nodes;
        for pair in children.chunks_exact(2) {
            let (key, value) = (nodes.get(pair[0]), nodes.get(pair[1]));
            if is_merge(key) {
                self.merge(value, pair[1], members)?;
                continue;
            }
            let name = self.key(pair[0])?;
            let (value_of, mut tree) = self.node::<T>(pair[1])?;
            if self.strict && !members.seen.insert(name.clone().into()) {
                self.note_duplicate(value.line(), &name);
            }
            T::set_key(&mut tree, &key.span());
            let name = self.key_text(name, &value_of);
            if T::KEPT {
                members.trees.push((name.clone(), tree));
            }
            members.values.push((name, value_of));
        }
        Ok(())
    }

    fn note_duplicate(&mut self, line: usize, name: &Scalar) {
        if self.duplicate_bytes < MAX_DUPLICATE_BYTES {
            let key = go::scalar(name);
            self.duplicate_bytes += key.len() + size_of::<DuplicateKey>();
            self.duplicates.push(DuplicateKey { line, key });
        }
    }

    fn merge<T: Track>(
        &mut self,
        value: &Node<'_>,
        id: NodeId,
        members: &mut Members<T>,
    ) -> Result<(), YamlError> {
        let nodes = self.nodes;
        let no_map = |this: &Self| {
            Err(this.decode_error("map merge requires map or sequence of maps as the value", value))
        };
        match &value.kind {
            Kind::Sequence(items) => {
                // The first of several mappings wins, so it goes in last.
                for &item in items.iter().rev() {
                    let mapping = match &nodes.get(item).kind {
                        Kind::Alias(target) => &nodes.get(*target).kind,
                        other => other,
                    };
                    if !matches!(mapping, Kind::Mapping(_) | Kind::Open) {
                        return no_map(self);
                    }
                    grow_stack(|| self.merge_one(item, members))?;
                }
                Ok(())
            }
            Kind::Alias(target) if !matches!(nodes.get(*target).kind, Kind::Mapping(_)) => no_map(self),
            Kind::Mapping(_) | Kind::Alias(_) => grow_stack(|| self.merge_one(id, members)),
            _ => no_map(self),
        }
    }

    fn merge_one<T: Track>(&mut self, id: NodeId, members: &mut Members<T>) -> Result<(), YamlError> {
        let nodes = self.nodes;
        self.charge()?;
        match &nodes.get(id).kind {
            Kind::Mapping(children) => self.mapping(children, members),
            Kind::Alias(target) => {
                self.enter(*target, nodes.get(id))?;
                let result = self.merge_one(*target, members);
                self.expanding.remove(target);
                result
            }
            _ => Ok(()),
        }
    }

    /// Reads a key; a collection cannot be one.
    fn key(&mut self, id: NodeId) -> Result<Scalar, YamlError> {
        let nodes = self.nodes;
        let mut node = nodes.get(id);
        if let Kind::Alias(target) = &node.kind {
            let alias = node;
            node = nodes.get(*target);
            if let Kind::Scalar { .. } = &node.kind {
                self.charge()?;
                self.enter(*target, alias)?;
                let scalar = self.scalar(node);
                self.expanding.remove(target);
                return scalar;
            }
            self.enter(*target, alias)?;
            self.expanding.remove(target);
        }
        if let Kind::Scalar { .. } = &node.kind {
            self.charge()?;
            return self.scalar(node);
        }
        let (value, ()) = self.node::<NoSpans>(id)?;
        Err(self.decode_error(&format!("invalid map key: {}", go::value(&value)), node))
    }

    /// The key as a JSON string.
    fn key_text(&mut self, key: Scalar, value: &Value) -> Str {
        let problem = match &key {
            Scalar::Null => "%!s(<nil>), key: <nil>".to_owned(),
            Scalar::Uint(int) => format!("uint64, key: {int:#x}"),
            _ => return go::key_text(key),
        };
        self.bad_key.get_or_insert_with(|| {
            let value = if value.is_null() { "<nil>".to_owned() } else { go::value(value) };
            format!("unsupported map key of type: {problem}, value: {value}")
        });
        Str::default()
    }

    fn scalar(&mut self, node: &Node<'_>) -> Result<Scalar, YamlError> {
        let Kind::Scalar { text, plain } = &node.kind else { return Ok(Scalar::Null) };
        if !self.expanding.is_empty() {
            self.alias_bytes += text.len();
            if self.alias_bytes > MAX_ALIAS_BYTES {
                return Err(excessive_aliasing());
            }
        }
        resolve(node.tag.as_deref(), text, *plain).map_err(|message| self.decode_error(&message, node))
    }

    /// Starts expanding an alias.
    fn enter(&mut self, target: NodeId, alias: &Node<'_>) -> Result<(), YamlError> {
        if self.expanding.insert(target) {
            return Ok(());
        }
        let name = self.text.get(alias.span()).unwrap_or_default().trim_start_matches('*');
        Err(self.decode_error(&format!("anchor '{name}' value contains itself"), alias))
    }

    /// Counts a node and stops when too many of them come from aliases.
    fn charge(&mut self) -> Result<(), YamlError> {
        pleach_work::charge(4);
        self.decoded += 1;
        if self.expanding.is_empty() {
            return Ok(());
        }
        self.decoded_in_alias += 1;
        if self.decoded > MAX_NODES {
            return Err(excessive_aliasing());
        }
        if self.decoded_in_alias > 100
            && self.decoded > 1000
            && self.decoded_in_alias as f64 / self.decoded as f64 > allowed_alias_ratio(self.decoded)
        {
            return Err(excessive_aliasing());
        }
        Ok(())
    }

    fn decode_error(&self, message: &str, node: &Node<'_>) -> YamlError {
        YamlError::new(Stage::Decode, message, Some(self.place(node)))
    }

    /// Where the document starts.
    pub(super) fn place_of_root(&self) -> Place {
        self.place(self.nodes.get(self.nodes.root()))
    }

    fn place(&self, node: &Node<'_>) -> Place {
        let before = &self.text[..node.span().start.min(self.text.len())];
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        Place { line: node.line(), column, offset: node.span().start }
    }
}

fn excessive_aliasing() -> YamlError {
    YamlError::new(Stage::Decode, "document contains excessive aliasing", None)
}

fn is_merge(key: &Node<'_>) -> bool {
    matches!(&key.kind, Kind::Scalar { text, plain: true } if text == "<<")
        && matches!(key.tag.as_deref(), None | Some("!!merge"))
}

/// In a small document nearly everything may come from aliases, in a huge one a tenth.
fn allowed_alias_ratio(decoded: usize) -> f64 {
    const SMALL: f64 = 400_000.0;
    const HUGE: f64 = 4_000_000.0;
    let position = (decoded as f64 - SMALL) / (HUGE - SMALL);
    0.99 - 0.89 * position.clamp(0.0, 1.0)
}

/// The first float, in document order, that JSON cannot have.
fn first_not_finite(value: &Value) -> Option<f64> {
    match value {
        Value::Float(float) if !float.is_finite() => Some(*float),
        Value::Array(items) => grow_stack(|| items.iter().find_map(first_not_finite)),
        Value::Object(map) => grow_stack(|| map.values().find_map(first_not_finite)),
        _ => None,
    }
}
