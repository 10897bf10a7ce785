//! AST construction, used by both parsers.
//!
//! Errors here do not stop parsing: a node that cannot be built is a `null`, and an expression with
//! errors is refused in the end.

use crate::ast::{Ast, Expr, ExprId, Literal, MacroCall, MapEntry, StructField};
use crate::function::operators;
use crate::issues::{Issue, Issues, SourceLines};
use crate::names::is_reserved;
use crate::syntax::lexer::{Token, TokenKind};
use crate::syntax::literal;
use pleach_json::Str;
use std::sync::Arc;

/// The version with optional syntax: `a.?b`, `a[?b]`, `[?a]`, `{?a: b}`.
const OPTIONAL_SYNTAX: u32 = 28;

pub(super) struct Builder {
    source: Arc<str>,
    ast: Ast,
    places: SourceLines,
    issues: Vec<Issue>,
    minor: u32,
    /// By node, its height in operators and members.
    heights: Vec<u32>,
}

/// The maximum height of an expression.
const MAX_HEIGHT: u32 = 250;

impl Builder {
    pub(super) fn new(source: &Arc<str>, minor: u32) -> Self {
        let (ast, places) = (Ast::new(Arc::clone(source)), SourceLines::of(source));
        Self { source: Arc::clone(source), ast, places, issues: Vec::new(), minor, heights: Vec::new() }
    }

    /// The tree, or all issues.
    pub(super) fn finish(mut self, root: ExprId) -> Result<Ast, Issues> {
        if self.height(root) > MAX_HEIGHT {
            // Other errors are dropped then.
            self.issues.clear();
            self.error_too_deep();
        }
        if self.issues.is_empty() {
            self.ast.set_root(root);
            return Ok(self.ast);
        }
        Err(self.into_issues())
    }

    pub(super) fn into_issues(self) -> Issues {
        Issues::new(self.source, self.issues)
    }

    pub(super) fn text(&self, token: &Token) -> &str {
        &self.source[token.bytes.clone()]
    }

    pub(super) fn slice(&self, bytes: &std::ops::Range<usize>) -> &str {
        &self.source[bytes.clone()]
    }

    pub(super) fn version(&self) -> u32 {
        self.minor
    }

    /// Adds a node with the height of its children.
    pub(super) fn push(&mut self, expr: Expr, offset: u32) -> ExprId {
        let id = self.ast.push(expr, offset);
        let height = self.ast.children(id).into_iter().map(|child| self.height(child)).max();
        self.heights.push(height.unwrap_or(0));
        id
    }

    /// Records the macro call that `id` is the expansion of.
    pub(super) fn set_macro_call(&mut self, id: ExprId, call: MacroCall) {
        self.ast.set_macro_call(id, call);
    }

    /// Makes a node one level higher than `parts`.
    fn raise(&mut self, id: ExprId, parts: &[ExprId]) -> ExprId {
        let height = parts.iter().map(|part| self.height(*part)).max();
        self.heights[id.index()] = height.unwrap_or(0) + 1;
        id
    }

    fn height(&self, id: ExprId) -> u32 {
        self.heights[id.index()]
    }

    /// Reports that the expression is too high.
    pub(super) fn error_too_deep(&mut self) {
        self.error_without_place("max recursion depth exceeded");
    }

    pub(super) fn expr(&self, id: ExprId) -> &Expr {
        self.ast.expr(id)
    }

    pub(super) fn offset(&self, id: ExprId) -> u32 {
        self.ast.offset(id)
    }

    /// Reports an error; the node stands in for what could not be built.
    pub(super) fn error(&mut self, offset: u32, message: impl Into<String>) -> ExprId {
        self.issues.push(self.places.issue(offset, message));
        self.push(Expr::Literal(Literal::Null), offset)
    }

    /// How many errors there are, for [`Builder::forget_since`].
    pub(super) fn error_count(&self) -> usize {
        self.issues.len()
    }

    /// Drops errors of a part that is ignored.
    pub(super) fn forget_since(&mut self, count: usize) {
        self.issues.truncate(count);
    }

    /// Reports an error without a location.
    pub(super) fn error_without_place(&mut self, message: impl Into<String>) {
        self.issues.push(Issue { line: -1, column: -1, message: message.into() });
    }

    pub(super) fn literal(&mut self, sign: Option<&Token>, token: &Token) -> ExprId {
        let offset = sign.unwrap_or(token).offset;
        match literal::literal(token.kind, self.text(token), sign.is_some()) {
            Ok(literal) => self.push(Expr::Literal(literal), offset),
            Err(message) => self.error(offset, message),
        }
    }

    /// A variable or type name.
    pub(super) fn ident(&mut self, dot: Option<&Token>, name: &Token) -> ExprId {
        match self.free_name(dot, name) {
            Ok(text) => self.push(Expr::Ident(text), name.offset),
            Err(error) => error,
        }
    }

    /// `name(args)`; errors in the arguments, found since there were `errors`, do not count if
    /// the name is reserved.
    pub(super) fn call(
        &mut self,
        dot: Option<&Token>,
        name: &Token,
        paren: &Token,
        args: Vec<ExprId>,
        errors: usize,
    ) -> ExprId {
        if is_reserved(self.text(name)) {
            self.forget_since(errors);
        }
        let function = match self.free_name(dot, name) {
            Ok(text) => text,
            Err(error) => return error,
        };
        if let Some(expanded) = self.expand_macro(&function, None, &args, paren.offset) {
            return expanded;
        }
        self.push(Expr::Call { target: None, function, args }, paren.offset)
    }

    /// `target.name(args)`
    pub(super) fn member_call(
        &mut self,
        target: ExprId,
        name: &Token,
        paren: &Token,
        args: Vec<ExprId>,
    ) -> ExprId {
        let function = Str::new(self.text(name));
        let mut parts = args.clone();
        parts.push(target);
        let id = match self.expand_macro(&function, Some(target), &args, paren.offset) {
            Some(expanded) => expanded,
            None => self.push(Expr::Call { target: Some(target), function, args }, paren.offset),
        };
        self.raise(id, &parts)
    }

    /// A name without a receiver, which must not be reserved.
    fn free_name(&mut self, dot: Option<&Token>, name: &Token) -> Result<Str, ExprId> {
        let text = self.text(name);
        if is_reserved(text) {
            let message = format!("reserved identifier: {text}");
            return Err(self.error(dot.unwrap_or(name).offset, message));
        }
        Ok(if dot.is_some() { format!(".{text}").into() } else { text.into() })
    }

    /// `operand.field` or `operand.?field`; the field's name is at the code point `at`.
    pub(super) fn select(
        &mut self,
        operand: ExprId,
        dot: &Token,
        optional: bool,
        name: Str,
        at: u32,
    ) -> ExprId {
        if !optional {
            let id = self.push(Expr::Select { operand, field: name, test_only: false }, dot.offset);
            return self.raise(id, &[operand]);
        }
        if self.minor < OPTIONAL_SYNTAX {
            return self.error(dot.offset, "unsupported syntax '.?'");
        }
        let name = self.push(Expr::Literal(Literal::String(name)), at);
        self.operator(operators::OPT_SELECT, vec![operand, name], dot)
    }

    /// A field's name; quoting it in backticks is not allowed and reported at `offset`.
    pub(super) fn field_name(&mut self, token: &Token, offset: u32) -> Option<Str> {
        if token.kind == TokenKind::EscapedIdentifier {
            self.error(offset, "unsupported syntax: '`'");
            return None;
        }
        Some(self.text(token).into())
    }

    /// `operand[index]` or `operand[?index]`
    pub(super) fn index(
        &mut self,
        operand: ExprId,
        bracket: &Token,
        optional: bool,
        index: ExprId,
    ) -> ExprId {
        if optional && self.minor < OPTIONAL_SYNTAX {
            return self.error(bracket.offset, "unsupported syntax '[?'");
        }
        let name = if optional { operators::OPT_INDEX } else { operators::INDEX };
        self.operator(name, vec![operand, index], bracket)
    }

    /// Whether `?` may stand before an element; reports it if not.
    pub(super) fn optional_mark(&mut self, question: Option<&Token>) -> bool {
        match question {
            Some(token) if self.minor < OPTIONAL_SYNTAX => {
                self.error(token.offset, "unsupported syntax '?'");
                false
            }
            mark => mark.is_some(),
        }
    }

    /// An operator's call.
    pub(super) fn operator(&mut self, name: &'static str, args: Vec<ExprId>, at: &Token) -> ExprId {
        let parts = args.clone();
        let id = self.push(Expr::Call { target: None, function: Str::new_static(name), args }, at.offset);
        // Signs and logical operators do not count: chains of them are handled iteratively.
        let flat = matches!(name, operators::AND | operators::OR | operators::NOT | operators::NEGATE);
        if flat { id } else { self.raise(id, &parts) }
    }

    pub(super) fn list(&mut self, bracket: &Token, elements: Vec<ExprId>, optional: Vec<u32>) -> ExprId {
        self.push(Expr::List { elements, optional }, bracket.offset)
    }

    pub(super) fn map(&mut self, brace: &Token, entries: Vec<MapEntry>) -> ExprId {
        self.push(Expr::Map(entries), brace.offset)
    }

    pub(super) fn structure(&mut self, name: String, brace: &Token, fields: Vec<StructField>) -> ExprId {
        self.push(Expr::Struct { name: name.into(), fields }, brace.offset)
    }

    /// `terms[0] op terms[1] op …`, as a balanced tree: long chains stay shallow.
    pub(super) fn logical(&mut self, name: &'static str, terms: &[ExprId], ops: &[&Token]) -> ExprId {
        let Some(middle) = ops.len().checked_sub(1).map(|last| last.div_ceil(2)) else {
            return terms[0];
        };
        let left = self.logical(name, &terms[..=middle], &ops[..middle]);
        let right = self.logical(name, &terms[middle + 1..], &ops[middle + 1..]);
        self.operator(name, vec![left, right], ops[middle])
    }
}

/// The function of a binary operator.
pub(super) fn binary(kind: TokenKind) -> Option<&'static str> {
    Some(match kind {
        TokenKind::Less => operators::LESS,
        TokenKind::LessEquals => operators::LESS_EQUALS,
        TokenKind::Greater => operators::GREATER,
        TokenKind::GreaterEquals => operators::GREATER_EQUALS,
        TokenKind::EqualsEquals => operators::EQUALS,
        TokenKind::NotEquals => operators::NOT_EQUALS,
        TokenKind::In => operators::IN,
        TokenKind::Plus => operators::ADD,
        TokenKind::Minus => operators::SUBTRACT,
        TokenKind::Star => operators::MULTIPLY,
        TokenKind::Slash => operators::DIVIDE,
        TokenKind::Percent => operators::MODULO,
        _ => return None,
    })
}
