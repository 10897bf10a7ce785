//! Where the parts of a document stand, found out when somebody asks.
//!
//! Nearly all documents are fine, and nobody asks where in the text something is that is fine. So a
//! document that was read the short way only remembers its lines; they are read again, the long
//! way, for the first question.

use std::sync::{Arc, Mutex, PoisonError};

use super::compose::Composer;
use super::nodes::Stream;
use crate::spans::{Span, SpanTree};

/// The spans of a document, made when they are needed.
#[derive(Debug)]
pub struct Places {
    lines: Span,
    /// Whether the lines give the spans whenever they are read.
    again: bool,
    tree: Mutex<Option<Arc<SpanTree>>>,
}

impl Places {
    /// The places of the first document within these bytes of a text.
    pub fn within(lines: Span) -> Self {
        Self { lines, again: true, tree: Mutex::new(None) }
    }

    /// The bytes of the text that the document takes, with the lines around it that are its own.
    pub fn lines(&self) -> Span {
        self.lines.clone()
    }

    /// The spans; `text` is the text that the document was read from. Where the lines cannot be
    /// read as YAML, everything stands at the lines as a whole.
    pub fn tree(&self, text: &str) -> Arc<SpanTree> {
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tree.get_or_insert_with(|| Arc::new(read(text, self.lines.clone()))))
    }

    /// Gives the room back that the spans take, if they can be found out again.
    pub fn forget(&self) {
        if self.again {
            *self.tree.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

impl Clone for Places {
    fn clone(&self) -> Self {
        let tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { lines: self.lines.clone(), again: self.again, tree: Mutex::new(tree) }
    }
}

impl From<SpanTree> for Places {
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
