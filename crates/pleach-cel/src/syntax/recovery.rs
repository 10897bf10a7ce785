//! Syntax errors, with the texts of the API server's ANTLR parser.
//!
//! Which token was "extraneous", which were "expected", and which errors follow depend on ANTLR's
//! prediction and recovery. This module models them: the grammar as a transition network ([`grammar`]),
//! lookahead ([`predict`]), parsing with recovery ([`interpreter`]) and errors in what was parsed
//! ([`visit`]). It runs only for expressions with errors.

mod grammar;
mod interpreter;
mod next_tokens;
mod predict;
mod tree;
mod visit;

use crate::issues::Issues;
use crate::syntax::builder::Builder;
use crate::syntax::lexer::{Token, Unrecognized};
use crate::syntax::recovery::grammar::Label;
use crate::syntax::recovery::interpreter::Interpreter;
use std::sync::Arc;

/// All errors of `source`.
pub(super) fn diagnose(
    source: &Arc<str>,
    tokens: &[Token],
    unrecognized: &[Unrecognized],
    minor: u32,
) -> Issues {
    let mut interpreter = Interpreter::new(Builder::new(source, minor), tokens, unrecognized);
    if let Ok(tree) = interpreter.run() {
        visit::visit(&mut interpreter.builder, tree.tree(Label::E));
    }
    if interpreter.builder.error_count() == 0 {
        // The two parsers disagree: refuse the expression.
        interpreter.builder.error(0, "Syntax error: not an expression");
    }
    interpreter.builder.into_issues()
}
