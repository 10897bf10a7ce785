//! The parser: recursive descent, one function per grammar rule.
//!
//! It builds the AST of a valid expression, or fails; [`super::recovery`] reports the errors.
//!
//! Depth is counted per rule as ANTLR's parser does: the right operand of an operator is one level
//! deeper than its chain.

use crate::ast::{Ast, ExprId, MapEntry, StructField};
use crate::function::operators;
use crate::issues::Issues;
use crate::syntax::MAX_DEPTH;
use crate::syntax::builder::{Builder, binary};
use crate::syntax::lexer::{Token, TokenKind};
use pleach_json::grow_stack;
use std::sync::Arc;

/// A syntax error, or nesting beyond the limit.
pub(super) struct SyntaxError;

type Parsed<T> = Result<T, SyntaxError>;

/// The tree, or issues that are not about syntax.
pub(super) fn parse(source: &Arc<str>, tokens: &[Token], minor: u32) -> Parsed<Result<Ast, Issues>> {
    let mut parser = Parser { tokens, at: 0, builder: Builder::new(source, minor), depth: [0; 3] };
    let root = parser.expr()?;
    parser.expect(TokenKind::Eof)?;
    Ok(parser.builder.finish(root))
}

/// Rules that nest in themselves.
#[derive(Clone, Copy)]
enum Rule {
    Expr,
    Relation,
    Calc,
}

struct Parser<'s> {
    tokens: &'s [Token],
    at: usize,
    builder: Builder,
    depth: [u32; 3],
}

impl<'s> Parser<'s> {
    fn token(&self) -> &'s Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> TokenKind {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> TokenKind {
        self.tokens.get(self.at + ahead).map_or(TokenKind::Eof, |t| t.kind)
    }

    fn next(&mut self) -> &'s Token {
        let token = &self.tokens[self.at.min(self.tokens.len() - 1)];
        self.at += 1;
        token
    }

    fn accept(&mut self, kind: TokenKind) -> Option<&'s Token> {
        (self.peek() == kind).then(|| self.next())
    }

    fn expect(&mut self, kind: TokenKind) -> Parsed<&'s Token> {
        self.accept(kind).ok_or(SyntaxError)
    }

    /// One level deeper in `rule`, until [`Parser::leave`].
    fn enter(&mut self, rule: Rule) -> Parsed<()> {
        let depth = &mut self.depth[rule as usize];
        *depth += 1;
        if *depth > MAX_DEPTH { Err(SyntaxError) } else { Ok(()) }
    }

    fn leave(&mut self, rule: Rule) {
        self.depth[rule as usize] -= 1;
    }

    fn expr(&mut self) -> Parsed<ExprId> {
        self.enter(Rule::Expr)?;
        let parsed = grow_stack(|| {
            let condition = self.or()?;
            let Some(question) = self.accept(TokenKind::QuestionMark) else { return Ok(condition) };
            let yes = self.or()?;
            self.expect(TokenKind::Colon)?;
            let no = self.expr()?;
            Ok(self.builder.operator(operators::CONDITIONAL, vec![condition, yes, no], question))
        });
        self.leave(Rule::Expr);
        parsed
    }

    fn or(&mut self) -> Parsed<ExprId> {
        self.logical(TokenKind::Or, operators::OR, Self::and)
    }

    fn and(&mut self) -> Parsed<ExprId> {
        self.logical(TokenKind::And, operators::AND, Self::relation)
    }

    fn logical(
        &mut self,
        kind: TokenKind,
        name: &'static str,
        term: fn(&mut Self) -> Parsed<ExprId>,
    ) -> Parsed<ExprId> {
        let first = term(self)?;
        if self.peek() != kind {
            return Ok(first);
        }
        let (mut terms, mut ops) = (vec![first], Vec::new());
        while let Some(op) = self.accept(kind) {
            ops.push(op);
            terms.push(term(self)?);
        }
        Ok(self.builder.logical(name, &terms, &ops))
    }

    fn relation(&mut self) -> Parsed<ExprId> {
        use TokenKind as K;
        self.enter(Rule::Relation)?;
        let mut left = self.calc(0)?;
        while matches!(
            self.peek(),
            K::Less | K::LessEquals | K::GreaterEquals | K::Greater | K::EqualsEquals | K::NotEquals | K::In
        ) {
            let op = self.next();
            // The right operand is a relation too, though one without operators.
            self.enter(Rule::Relation)?;
            let right = self.calc(0)?;
            self.leave(Rule::Relation);
            let name = binary(op.kind).ok_or(SyntaxError)?;
            left = self.builder.operator(name, vec![left, right], op);
        }
        self.leave(Rule::Relation);
        Ok(left)
    }

    /// A chain of operators that bind at least as tightly as `floor`: 0 for sums, 1 for products.
    fn calc(&mut self, floor: u8) -> Parsed<ExprId> {
        self.enter(Rule::Calc)?;
        let mut left = self.unary()?;
        loop {
            let precedence = match self.peek() {
                TokenKind::Plus | TokenKind::Minus => 0,
                TokenKind::Star | TokenKind::Slash | TokenKind::Percent => 1,
                _ => break,
            };
            if precedence < floor {
                break;
            }
            let op = self.next();
            let right = self.calc(precedence + 1)?;
            let name = binary(op.kind).ok_or(SyntaxError)?;
            left = self.builder.operator(name, vec![left, right], op);
        }
        self.leave(Rule::Calc);
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<ExprId> {
        let (kind, name) = match self.peek() {
            TokenKind::Not => (TokenKind::Not, operators::NOT),
            TokenKind::Minus if !self.at_signed_number() => (TokenKind::Minus, operators::NEGATE),
            _ => return self.member(),
        };
        let first = self.next();
        let mut count = 1;
        // A sign directly before a number is an operator here, unless the operators are of the other
        // kind.
        while self.accept(kind).is_some() {
            count += 1;
        }
        let operand = self.member()?;
        // An even number cancels out.
        Ok(if count % 2 == 0 { operand } else { self.builder.operator(name, vec![operand], first) })
    }

    fn at_signed_number(&self) -> bool {
        self.peek() == TokenKind::Minus && matches!(self.peek_at(1), TokenKind::Int | TokenKind::Float)
    }

    fn member(&mut self) -> Parsed<ExprId> {
        let mut left = self.primary()?;
        loop {
            left = match self.peek() {
                TokenKind::Dot => {
                    let dot = self.next();
                    let optional = self.accept(TokenKind::QuestionMark).is_some();
                    let field = self.next();
                    match (field.kind, self.peek()) {
                        (TokenKind::Identifier, TokenKind::LeftParen) if !optional => {
                            let paren = self.next();
                            let args = self.arguments()?;
                            self.builder.member_call(left, field, paren, args)
                        }
                        (TokenKind::Identifier | TokenKind::EscapedIdentifier, _) => {
                            let name = self.builder.field_name(field, field.offset).unwrap_or_default();
                            self.builder.select(left, dot, optional, name, field.offset)
                        }
                        _ => return Err(SyntaxError),
                    }
                }
                TokenKind::LeftBracket => {
                    let bracket = self.next();
                    let optional = self.accept(TokenKind::QuestionMark).is_some();
                    let index = self.expr()?;
                    self.expect(TokenKind::RightBracket)?;
                    self.builder.index(left, bracket, optional, index)
                }
                _ => break,
            };
        }
        Ok(left)
    }

    /// The arguments after `(`, and the `)`.
    fn arguments(&mut self) -> Parsed<Vec<ExprId>> {
        let mut args = Vec::new();
        if self.accept(TokenKind::RightParen).is_some() {
            return Ok(args);
        }
        loop {
            args.push(self.expr()?);
            if self.accept(TokenKind::Comma).is_none() {
                break;
            }
        }
        self.expect(TokenKind::RightParen)?;
        Ok(args)
    }

    fn primary(&mut self) -> Parsed<ExprId> {
        match self.peek() {
            TokenKind::Dot | TokenKind::Identifier => self.named(),
            TokenKind::LeftParen => {
                self.next();
                let inner = self.expr()?;
                self.expect(TokenKind::RightParen)?;
                Ok(inner)
            }
            TokenKind::LeftBracket => self.list(),
            TokenKind::LeftBrace => self.map(),
            TokenKind::Minus if self.at_signed_number() => {
                let sign = self.next();
                let number = self.next();
                Ok(self.builder.literal(Some(sign), number))
            }
            TokenKind::Int
            | TokenKind::Uint
            | TokenKind::Float
            | TokenKind::String
            | TokenKind::Bytes
            | TokenKind::True
            | TokenKind::False
            | TokenKind::Null => {
                let token = self.next();
                Ok(self.builder.literal(None, token))
            }
            _ => Err(SyntaxError),
        }
    }

    /// A variable, a call or a message.
    fn named(&mut self) -> Parsed<ExprId> {
        let dot = self.accept(TokenKind::Dot);
        let mut last = 0;
        while self.peek_at(last) == TokenKind::Identifier && self.peek_at(last + 1) == TokenKind::Dot {
            last += 2;
        }
        if self.peek_at(last) == TokenKind::Identifier && self.peek_at(last + 1) == TokenKind::LeftBrace {
            return self.structure(dot.is_some(), last);
        }
        let name = self.expect(TokenKind::Identifier)?;
        let Some(paren) = self.accept(TokenKind::LeftParen) else { return Ok(self.builder.ident(dot, name)) };
        let errors = self.builder.error_count();
        let args = self.arguments()?;
        Ok(self.builder.call(dot, name, paren, args, errors))
    }

    /// `a.b{field: value}`; the last part of the name is `last` tokens ahead.
    fn structure(&mut self, leading_dot: bool, last: usize) -> Parsed<ExprId> {
        let mut name = String::from(if leading_dot { "." } else { "" });
        for _ in 0..=last {
            let token = self.next();
            name.push_str(self.builder.text(token));
        }
        let brace = self.expect(TokenKind::LeftBrace)?;
        let mut fields = Vec::new();
        let start = self.token().offset;
        let mut another = self.at_element(TokenKind::RightBrace);
        while another {
            let question = self.accept(TokenKind::QuestionMark);
            let field = self.next();
            if !matches!(field.kind, TokenKind::Identifier | TokenKind::EscapedIdentifier) {
                return Err(SyntaxError);
            }
            let colon = self.expect(TokenKind::Colon)?;
            let optional = self.builder.optional_mark(question);
            let refused = question.is_some() && !optional;
            let name = if refused { None } else { self.builder.field_name(field, start) };
            let errors = self.builder.error_count();
            let value = self.expr()?;
            match name {
                Some(name) => fields.push(StructField { name, value, optional, offset: colon.offset }),
                None => self.builder.forget_since(errors),
            }
            another = self.more(TokenKind::RightBrace);
        }
        self.close(TokenKind::RightBrace)?;
        Ok(self.builder.structure(name, brace, fields))
    }

    fn list(&mut self) -> Parsed<ExprId> {
        let bracket = self.expect(TokenKind::LeftBracket)?;
        let (mut elements, mut marked) = (Vec::new(), Vec::new());
        let mut another = self.at_element(TokenKind::RightBracket);
        while another {
            let question = self.accept(TokenKind::QuestionMark);
            let element = self.expr()?;
            if self.builder.optional_mark(question) {
                marked.push(elements.len() as u32);
            }
            elements.push(element);
            another = self.more(TokenKind::RightBracket);
        }
        self.close(TokenKind::RightBracket)?;
        Ok(self.builder.list(bracket, elements, marked))
    }

    fn map(&mut self) -> Parsed<ExprId> {
        let brace = self.expect(TokenKind::LeftBrace)?;
        let mut entries = Vec::new();
        let mut another = self.at_element(TokenKind::RightBrace);
        while another {
            let question = self.accept(TokenKind::QuestionMark);
            let optional = self.builder.optional_mark(question);
            let errors = self.builder.error_count();
            let key = self.expr()?;
            let colon = self.expect(TokenKind::Colon)?;
            let value = self.expr()?;
            if question.is_some() && !optional {
                // An entry whose mark was refused is ignored.
                self.builder.forget_since(errors);
            }
            entries.push(MapEntry { key, value, optional, offset: colon.offset });
            another = self.more(TokenKind::RightBrace);
        }
        self.close(TokenKind::RightBrace)?;
        Ok(self.builder.map(brace, entries))
    }

    /// Whether a literal that was just opened has elements; an empty one may have a comma.
    fn at_element(&self, end: TokenKind) -> bool {
        self.peek() != TokenKind::Comma && self.peek() != end
    }

    /// Goes past the comma before another element; a last comma is left for [`Parser::close`].
    fn more(&mut self, end: TokenKind) -> bool {
        if self.peek() != TokenKind::Comma || self.peek_at(1) == end {
            return false;
        }
        self.next();
        true
    }

    /// The end of a literal, before which one comma may stand.
    fn close(&mut self, end: TokenKind) -> Parsed<()> {
        self.accept(TokenKind::Comma);
        self.expect(end).map(drop)
    }
}
