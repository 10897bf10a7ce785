//! What to say about a text that is not an expression.
//!
//! The API server's parser is generated from a grammar, and so are its messages: which token was
//! "extraneous", which were "expected", which further errors follow from a repair. To say the
//! same, this module is a small model of that parser: the grammar as a network of states
//! ([`grammar`]), lookahead over it ([`predict`]), the walk with its repairs ([`machine`]) and the
//! errors in what was understood ([`visit`]). It runs only for texts with errors.

mod grammar;
mod look;
mod machine;
mod predict;
mod tree;
mod visit;

use crate::issues::Issues;
use crate::syntax::builder::Builder;
use crate::syntax::lexer::{Token, Unrecognized};
use crate::syntax::recovery::grammar::Label;
use crate::syntax::recovery::machine::Machine;
use std::sync::Arc;

/// All that is wrong with `source`.
pub(super) fn diagnose(
    source: &Arc<str>,
    tokens: &[Token],
    unrecognized: &[Unrecognized],
    minor: u32,
) -> Issues {
    let mut machine = Machine::new(Builder::new(source, minor), tokens, unrecognized);
    if let Ok(tree) = machine.run() {
        visit::visit(&mut machine.builder, tree.tree(Label::E));
    }
    if machine.builder.error_count() == 0 {
        // The two parsers disagree; refuse rather than accept what was not understood.
        machine.builder.error(0, "Syntax error: not an expression");
    }
    machine.builder.into_issues()
}
