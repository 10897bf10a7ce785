//! Where in the text each part of a document stands.
//!
//! A tree beside the value: same keys, same indices, byte ranges of the key and of the value.
//! Parts that came through an alias or a merge key point to where they are written down.

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

/// Where a value stands, and its key if it is a member of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spans {
    /// The key.
    pub key: Option<Span>,
    /// The value. Empty, just behind the colon, where the text leaves the value out.
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

    /// The tree of a text in which this one's text starts `by` bytes further on.
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

    /// The spans of what stands at `path`.
    pub fn get<'a>(&self, path: impl IntoIterator<Item = Step<'a>>) -> Option<&Spans> {
        path.into_iter().try_fold(self, |tree, step| tree.child(step)).map(SpanTree::spans)
    }

    /// The spans of what stands at `path`, or of its nearest ancestor that is there, and how many
    /// steps lead to that one.
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
        // Only a tree of several levels recurses; then there must be room for all of them.
        match &mut self.children {
            Children::None => {}
            Children::Sequence(items) => pleach_json::grow_stack_to_drop(|| items.clear()),
            Children::Mapping(members) => pleach_json::grow_stack_to_drop(|| members.clear()),
        }
    }
}
