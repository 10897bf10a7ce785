//! Parsing: from source text to an AST.
//!
//! `parser` is a recursive descent parser that stops at the first syntax error. Then `recovery`
//! parses again like the API server's ANTLR parser, with its predictions and error recovery, to report
//! the same errors. Both use the `builder`, which expands macros and reports other errors: reserved
//! words, numbers out of range, misused macros.
//!
//! Limits: 100 000 code points, 250 levels of any one grammar rule.

mod builder;
pub(crate) mod lexer;
mod literal;
mod macros;
mod parser;
mod print;
mod recovery;

use crate::ast::Ast;
use crate::issues::{Issue, Issues};
use std::sync::Arc;

/// The most code points an expression may have.
const MAX_CODE_POINTS: usize = 100_000;
/// The maximum recursion depth of each grammar rule.
const MAX_DEPTH: u32 = 250;

/// Parses `source` with the macros and syntax of Kubernetes 1.`minor`.
pub fn parse(source: &str, minor: u32) -> Result<Ast, Issues> {
    let shared: Arc<str> = source.into();
    let code_points = if source.len() > MAX_CODE_POINTS { source.chars().count() } else { 0 };
    if code_points > MAX_CODE_POINTS {
        let message =
            format!("expression code point size exceeds limit: size: {code_points}, limit {MAX_CODE_POINTS}");
        return Err(Issues::new(shared, vec![Issue { line: -1, column: -1, message }]));
    }
    let (tokens, unrecognized) = lexer::lex(source);
    if unrecognized.is_empty()
        && let Ok(result) = parser::parse(&shared, &tokens, minor)
    {
        return result;
    }
    Err(recovery::diagnose(&shared, &tokens, &unrecognized, minor))
}
