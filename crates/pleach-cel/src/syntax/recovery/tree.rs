//! Parse trees with missing parts.

use crate::syntax::lexer::Token;
use crate::syntax::recovery::grammar::{Label, Rule};

/// The tree of a rule.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) rule: Rule,
    /// The alternative, from 1; 0 if unknown.
    pub(super) alternative: usize,
    /// Where it begins, in code points.
    pub(super) offset: u32,
    pub(super) items: Vec<(Label, Item)>,
}

/// A child of a tree.
#[derive(Debug)]
pub(super) enum Item {
    Token(Token),
    Tree(Tree),
}

impl Tree {
    pub(super) fn token(&self, label: Label) -> Option<&Token> {
        self.tokens(label).next()
    }

    pub(super) fn tokens(&self, label: Label) -> impl Iterator<Item = &Token> {
        self.items.iter().filter(move |(l, _)| *l == label).filter_map(|(_, item)| match item {
            Item::Token(token) => Some(token),
            Item::Tree(_) => None,
        })
    }

    pub(super) fn tree(&self, label: Label) -> Option<&Tree> {
        self.trees(label).next()
    }

    pub(super) fn trees(&self, label: Label) -> impl Iterator<Item = &Tree> {
        self.items.iter().filter(move |(l, _)| *l == label).filter_map(|(_, item)| match item {
            Item::Tree(tree) => Some(tree),
            Item::Token(_) => None,
        })
    }
}
