//! Lazily computed spans of a document.
//!
//! Spans are only needed for diagnostics. A document read by a fast path only has its range in the
//! text; it is read again by the full parser when spans are first requested.

use std::sync::{Arc, Mutex, PoisonError};

use super::compose::Composer;
use super::nodes::Stream;
use crate::spans::{Span, SpanTree};

/// The spans of a document, computed on demand.
#[derive(Debug)]
pub struct LazySpans {
    lines: Span,
    /// Whether they can be computed again.
    again: bool,
    tree: Mutex<Option<Arc<SpanTree>>>,
}

impl LazySpans {
    /// The spans of the first document within this range of a text.
    pub fn within(lines: Span) -> Self {
        Self { lines, again: true, tree: Mutex::new(None) }
    }

    /// The range of the document, including lines around it that belong to it.
    pub fn lines(&self) -> Span {
        self.lines.clone()
    }

    /// The spans; `text` is the text of the document. If it cannot be read as YAML, everything is at
    /// the range as a whole.
    pub fn tree(&self, text: &str) -> Arc<SpanTree> {
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tree.get_or_insert_with(|| Arc::new(read(text, self.lines.clone()))))
    }

    /// Frees the spans, if they can be computed again.
    pub fn forget(&self) {
        if self.again {
            *self.tree.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

impl Clone for LazySpans {
    fn clone(&self) -> Self {
        let tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { lines: self.lines.clone(), again: self.again, tree: Mutex::new(tree) }
    }
}

impl From<SpanTree> for LazySpans {
    fn from(tree: SpanTree) -> Self {
        let lines = tree.spans().value.clone();
        Self { lines, again: false, tree: Mutex::new(Some(Arc::new(tree))) }
    }
}

fn read(text: &str, lines: Span) -> SpanTree {
    let part = text.get(lines.clone()).unwrap_or_default();
    let mut stream = Stream::new(part, false);
    let nodes = std::iter::from_fn(|| stream.document().ok().flatten()).find(|n| !n.is_empty_document());
    let tree = nodes.and_then(|nodes| Composer::new(part, &nodes, false).value_with_spans().ok());
    match tree {
        Some((_, mut tree)) => {
            tree.shift(lines.start);
            tree
        }
        None => SpanTree::leaf(lines),
    }
}
