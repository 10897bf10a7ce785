//! Builds an AST of a parse tree with missing parts.
//!
//! The AST is discarded; only the errors count, which are reported beside the syntax errors. A missing
//! part is a `null`.

use crate::ast::{Expr, ExprId, Literal, MapEntry, StructField};
use crate::function::operators;
use crate::issues::NO_LOCATION;
use crate::syntax::builder::{Builder, binary};
use crate::syntax::lexer::Token;
use crate::syntax::recovery::grammar::{Label, Rule};
use crate::syntax::recovery::tree::Tree;
use pleach_json::{Str, grow_stack};

/// How many levels of operators and members are visited.
const MAX_HEIGHT: u32 = 250;

/// Builds `tree`.
pub(super) fn visit(builder: &mut Builder, tree: Option<&Tree>) {
    let mut visitor = Visitor { builder, height: 0, stopped: None };
    visitor.visit(tree);
    if let Some(errors) = visitor.stopped {
        builder.forget_since(errors);
        builder.error_too_deep();
    }
}

struct Visitor<'b> {
    builder: &'b mut Builder,
    height: u32,
    /// The number of errors when it got too high; later ones are dropped.
    stopped: Option<usize>,
}

impl Visitor<'_> {
    fn visit(&mut self, tree: Option<&Tree>) -> ExprId {
        let Some(tree) = tree.filter(|_| self.stopped.is_none()) else {
            return self.builder.push(Expr::Literal(Literal::Null), NO_LOCATION);
        };
        let counts = match tree.rule {
            Rule::Expr | Rule::Relation | Rule::Calc => tree.token(Label::Op).is_some(),
            Rule::Member => tree.alternative != 0,
            _ => false,
        };
        self.height += u32::from(counts);
        if self.height > MAX_HEIGHT {
            self.stopped = Some(self.builder.error_count());
        }
        let id = grow_stack(|| self.tree(tree));
        self.height -= u32::from(counts);
        id
    }

    /// A missing part: at the start of its rule, or without a location if the rule is unknown.
    fn hole(&mut self, tree: &Tree) -> ExprId {
        let unknown = tree.alternative == 0 && !matches!(tree.rule, Rule::Member | Rule::Unary);
        self.builder.push(Expr::Literal(Literal::Null), if unknown { NO_LOCATION } else { tree.offset })
    }

    fn tree(&mut self, tree: &Tree) -> ExprId {
        match tree.rule {
            Rule::Expr => {
                let Some(op) = tree.token(Label::Op) else { return self.visit(tree.tree(Label::E)) };
                let condition = self.visit(tree.tree(Label::E));
                let yes = self.visit(tree.tree(Label::E1));
                let no = self.visit(tree.tree(Label::E2));
                self.builder.operator(operators::CONDITIONAL, vec![condition, yes, no], op)
            }
            Rule::Or => self.logical(tree, operators::OR),
            Rule::And => self.logical(tree, operators::AND),
            Rule::Relation | Rule::Calc => {
                let Some(op) = tree.token(Label::Op) else { return self.visit(tree.tree(Label::E)) };
                let Some(name) = binary(op.kind) else {
                    return self.builder.error(tree.offset, "operator not found");
                };
                let left = self.visit(tree.tree(Label::E));
                let right = self.visit(tree.tree(Label::E1));
                self.builder.operator(name, vec![left, right], op)
            }
            Rule::Unary => self.unary(tree),
            Rule::Member => self.member(tree),
            Rule::Primary => self.primary(tree),
            Rule::Literal => match tree.token(Label::Tok) {
                Some(token) if !token.bytes.is_empty() => {
                    self.builder.literal(tree.token(Label::Sign), token)
                }
                _ => self.hole(tree),
            },
            _ => self.visit(tree.tree(Label::E)),
        }
    }

    fn logical(&mut self, tree: &Tree, name: &'static str) -> ExprId {
        let first = self.visit(tree.tree(Label::E));
        let ops: Vec<&Token> = tree.tokens(Label::Op).collect();
        let mut terms = vec![first];
        let mut rest = tree.trees(Label::E1);
        for _ in &ops {
            let Some(term) = rest.next() else {
                let sign = if name == operators::OR { "||" } else { "&&" };
                return self.builder.error(tree.offset, format!("unexpected character, wanted '{sign}'"));
            };
            terms.push(self.visit(Some(term)));
        }
        self.builder.logical(name, &terms, &ops)
    }

    fn unary(&mut self, tree: &Tree) -> ExprId {
        let name = match tree.alternative {
            1 => return self.visit(tree.tree(Label::E)),
            2 => operators::NOT,
            3 => operators::NEGATE,
            _ => return self.hole(tree),
        };
        let ops: Vec<&Token> = tree.tokens(Label::Op).collect();
        let operand = self.visit(tree.tree(Label::E));
        match ops.first() {
            Some(first) if ops.len() % 2 == 1 => self.builder.operator(name, vec![operand], first),
            _ => operand,
        }
    }

    fn member(&mut self, tree: &Tree) -> ExprId {
        let left = self.visit(tree.tree(Label::E));
        let op = tree.token(Label::Op);
        match tree.alternative {
            1 => {
                let (Some(op), Some(id)) = (op, tree.tree(Label::Id)) else { return self.hole(tree) };
                let name = self.name(id, id.offset).unwrap_or_default();
                self.builder.select(left, op, tree.token(Label::Opt).is_some(), name, id.offset)
            }
            2 => {
                let Some(id) = tree.token(Label::Id) else { return self.hole(tree) };
                let args = self.arguments(tree.tree(Label::Args));
                self.builder.member_call(left, id, tree.token(Label::Open).unwrap_or(id), args)
            }
            3 => {
                let Some(op) = op else { return self.hole(tree) };
                let index = self.visit(tree.tree(Label::E1));
                self.builder.index(left, op, tree.token(Label::Opt).is_some(), index)
            }
            _ => left,
        }
    }

    /// A field's name; errors are reported at `offset`.
    fn name(&mut self, tree: &Tree, offset: u32) -> Option<Str> {
        if let Some(token) = tree.token(Label::Id) {
            return self.builder.field_name(token, offset);
        }
        self.builder.error(offset, "unsupported ident kind");
        None
    }

    fn arguments(&mut self, list: Option<&Tree>) -> Vec<ExprId> {
        let Some(list) = list else { return Vec::new() };
        list.trees(Label::E).map(|arg| self.visit(Some(arg))).collect()
    }

    fn primary(&mut self, tree: &Tree) -> ExprId {
        let op = tree.token(Label::Op);
        let inner = tree.tree(Label::E);
        match (tree.alternative, op) {
            (1, _) => match tree.token(Label::Id) {
                Some(id) => self.builder.ident(tree.token(Label::Dot), id),
                None => self.hole(tree),
            },
            (2, _) => {
                let Some(id) = tree.token(Label::Id) else { return self.hole(tree) };
                let errors = self.builder.error_count();
                let args = self.arguments(tree.tree(Label::Args));
                self.builder.call(tree.token(Label::Dot), id, op.unwrap_or(id), args, errors)
            }
            (3 | 7, _) => self.visit(inner),
            (4, Some(op)) => self.list(op, inner),
            (5, Some(op)) => self.map(op, inner),
            (6, Some(op)) => self.structure(tree, op, inner),
            _ => self.hole(tree),
        }
    }

    fn list(&mut self, op: &Token, list: Option<&Tree>) -> ExprId {
        let (mut elements, mut marked) = (Vec::new(), Vec::new());
        for element in list.into_iter().flat_map(|list| list.trees(Label::E)) {
            let id = self.visit(element.tree(Label::E));
            if self.builder.optional_mark(element.token(Label::Opt)) {
                marked.push(elements.len() as u32);
            }
            elements.push(id);
        }
        self.builder.list(op, elements, marked)
    }

    fn map(&mut self, op: &Token, list: Option<&Tree>) -> ExprId {
        let mut entries = Vec::new();
        if let Some(list) = list {
            let mut values = list.trees(Label::Value);
            for (key, colon) in list.trees(Label::Key).zip(list.tokens(Label::Colon)) {
                let value = values.next();
                let question = key.token(Label::Opt);
                let optional = self.builder.optional_mark(question);
                if question.is_some() && !optional {
                    continue;
                }
                let (key, value) = (self.visit(key.tree(Label::E)), self.visit(value));
                entries.push(MapEntry { key, value, optional, offset: colon.offset });
            }
        }
        self.builder.map(op, entries)
    }

    fn structure(&mut self, tree: &Tree, op: &Token, list: Option<&Tree>) -> ExprId {
        let mut fields = Vec::new();
        if let Some(list) = list {
            let parts = list.tokens(Label::Colon).zip(list.trees(Label::Value));
            for (field, (colon, value)) in list.trees(Label::Key).zip(parts) {
                let question = field.token(Label::Opt);
                let optional = self.builder.optional_mark(question);
                if question.is_some() && !optional {
                    continue;
                }
                let Some(name) = field.tree(Label::Id).and_then(|id| self.name(id, list.offset)) else {
                    continue;
                };
                let value = self.visit(Some(value));
                fields.push(StructField { name, value, optional, offset: colon.offset });
            }
        }
        let mut name = String::new();
        for id in tree.token(Label::Dot).into_iter().chain(tree.tokens(Label::Id)) {
            name.push_str(self.builder.text(id));
        }
        self.builder.structure(name, op, fields)
    }
}
