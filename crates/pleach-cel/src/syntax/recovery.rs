//! Diagnoses.
use crate::issues::Issues;
use crate::syntax::builder::Builder;
use crate::syntax::lexer::{Token, Unrecognized};
use std::sync::Arc;

pub(super) fn diagnose(
    source: &Arc<str>,
    tokens: &[Token],
    unrecognized: &[Unrecognized],
    minor: u32,
) -> Issues {
    let mut builder = Builder::new(source, minor);
    for skipped in unrecognized {
        builder.error(
            skipped.offset,
            format!("Syntax error: token recognition error at: '{}'", &source[skipped.bytes.clone()]),
        );
    }
    if unrecognized.is_empty() {
        builder.error(tokens[tokens.len() - 1].offset, "Syntax error");
        builder.error_without_place("x");
    }
    builder.into_issues()
}
