//! Spans: byte ranges of the parts of a document.
//!
//! A tree parallel to the value: same keys, same indices, ranges of keys and values. Parts from an
//! alias or a merge key point to their definition.

use std::ops::Range;

use pleach_json::Str;

/// A range of bytes in the text.
pub type Span = Range<usize>;

/// One step of a path into a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Into a mapping.
    Key(&'a str),
    /// Into a sequence.
    Index(usize),
}

impl<'a> From<&'a str> for Step<'a> {
    fn from(key: &'a str) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// The range of a value, and of its key in a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spans {
    /// The key.
    pub key: Option<Span>,
    /// The value. Empty, after the colon, if it is omitted.
    pub value: Span,
}

/// The spans of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanTree {
    pub(crate) spans: Spans,
    pub(crate) children: Children,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Children {
    None,
    Sequence(Vec<SpanTree>),
    /// Sorted by key.
    Mapping(Vec<(Str, SpanTree)>),
}

impl SpanTree {
    pub(crate) fn leaf(value: Span) -> Self {
        Self { spans: Spans { key: None, value }, children: Children::None }
    }

    /// The tree shifted by `by` bytes.
    pub(crate) fn shift(&mut self, by: usize) {
        if by == 0 {
            return;
        }
        let Spans { key, value } = &mut self.spans;
        for span in key.iter_mut().chain([value]) {
            *span = span.start + by..span.end + by;
        }
        match &mut self.children {
            Children::None => {}
            Children::Sequence(items) => {
                pleach_json::grow_stack(|| items.iter_mut().for_each(|item| item.shift(by)));
            }
            Children::Mapping(members) => {
                pleach_json::grow_stack(|| members.iter_mut().for_each(|(_, member)| member.shift(by)));
            }
        }
    }

    /// The spans of this node.
    pub fn spans(&self) -> &Spans {
        &self.spans
    }

    /// The tree one step down.
    pub fn child(&self, step: Step<'_>) -> Option<&SpanTree> {
        match (&self.children, step) {
            (Children::Sequence(items), Step::Index(index)) => items.get(index),
            (Children::Mapping(members), Step::Key(key)) => {
                let i = members.binary_search_by(|(k, _)| k.as_str().cmp(key)).ok()?;
                Some(&members[i].1)
            }
            _ => None,
        }
    }

    /// The spans at `path`.
    pub fn get<'a>(&self, path: impl IntoIterator<Item = Step<'a>>) -> Option<&Spans> {
        path.into_iter().try_fold(self, |tree, step| tree.child(step)).map(SpanTree::spans)
    }

    /// The spans at `path`, or of its nearest existing ancestor, and the length of the path to it.
    pub fn nearest<'a>(&self, path: impl IntoIterator<Item = Step<'a>>) -> (&Spans, usize) {
        let mut tree = self;
        let mut taken = 0;
        for step in path {
            let Some(child) = tree.child(step) else { break };
            tree = child;
            taken += 1;
        }
        (&tree.spans, taken)
    }
}

impl Drop for SpanTree {
    fn drop(&mut self) {
        // Only a tree of several levels recurses.
        match &mut self.children {
            Children::None => {}
            Children::Sequence(items) => pleach_json::grow_stack_to_drop(|| items.clear()),
            Children::Mapping(members) => pleach_json::grow_stack_to_drop(|| members.clear()),
        }
    }
}
