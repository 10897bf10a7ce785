//! Unparser: an AST as source with minimal parentheses.
//!
//! The output parses to the same AST: macros are printed as calls, not as their expansions. Comments,
//! spaces and literal notation are lost. Used by fuzzing only.
//!
//! Odd: chains of `&&` and `||` are balanced trees. One with the shape that the parser gives to a chain
//! is printed as a chain, others with parentheses.

use crate::ast::{Ast, Expr, ExprId, Literal, MacroCall};
use crate::function::operators as op;
use pleach_json::grow_stack;
use std::fmt::{self, Write};

/// How tightly a form binds, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Conditional,
    Or,
    And,
    Relation,
    Sum,
    Product,
    Unary,
    Member,
}

impl fmt::Display for Ast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { ast: self, out: f }.print(self.root(), Level::Conditional)
    }
}

struct Printer<'a, 'f, 'b> {
    ast: &'a Ast,
    out: &'f mut fmt::Formatter<'b>,
}

impl<'a> Printer<'a, '_, '_> {
    /// Prints a node where precedence `least` is required.
    fn print(&mut self, id: ExprId, least: Level) -> fmt::Result {
        grow_stack(|| {
            if self.level(id) >= least {
                return self.form(id);
            }
            self.out.write_str("(")?;
            self.form(id)?;
            self.out.write_str(")")
        })
    }

    fn level(&self, id: ExprId) -> Level {
        if self.ast.macro_call(id).is_some() {
            return Level::Member;
        }
        match self.ast.expr(id) {
            // A sign would be an operator.
            Expr::Literal(Literal::Int(i)) if *i < 0 => Level::Unary,
            Expr::Literal(Literal::Double(d)) if d.is_sign_negative() => Level::Unary,
            Expr::Call { target: None, function, args } => {
                operator(function, args.len()).map_or(Level::Member, |o| o.0)
            }
            _ => Level::Member,
        }
    }

    fn form(&mut self, id: ExprId) -> fmt::Result {
        let ast = self.ast;
        if let Some(MacroCall { target, name, args }) = ast.macro_call(id) {
            self.print(*target, Level::Member)?;
            return self.arguments(".", name, args);
        }
        match ast.expr(id) {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Ident(name) => self.out.write_str(name),
            Expr::Select { operand, field, test_only } => {
                self.out.write_str(if *test_only { "has(" } else { "" })?;
                self.print(*operand, Level::Member)?;
                write!(self.out, ".{field}")?;
                self.out.write_str(if *test_only { ")" } else { "" })
            }
            Expr::Call { target: Some(target), function, args } => {
                self.print(*target, Level::Member)?;
                self.arguments(".", function, args)
            }
            Expr::Call { target: None, function, args } => match operator(function, args.len()) {
                Some((level, symbol)) => self.operator(id, level, symbol, args),
                None => self.call(function, args),
            },
            Expr::List { elements, optional } => {
                self.out.write_str("[")?;
                for (i, element) in elements.iter().enumerate() {
                    self.out.write_str(if i > 0 { ", " } else { "" })?;
                    self.out.write_str(if optional.binary_search(&(i as u32)).is_ok() { "?" } else { "" })?;
                    self.print(*element, Level::Conditional)?;
                }
                self.out.write_str("]")
            }
            Expr::Map(entries) => {
                self.out.write_str("{")?;
                for (i, entry) in entries.iter().enumerate() {
                    self.out.write_str(if i > 0 { ", " } else { "" })?;
                    self.out.write_str(if entry.optional { "?" } else { "" })?;
                    self.print(entry.key, Level::Conditional)?;
                    self.out.write_str(": ")?;
                    self.print(entry.value, Level::Conditional)?;
                }
                self.out.write_str("}")
            }
            Expr::Struct { name, fields } => {
                write!(self.out, "{name}{{")?;
                for (i, field) in fields.iter().enumerate() {
                    self.out.write_str(if i > 0 { ", " } else { "" })?;
                    write!(self.out, "{}{}: ", if field.optional { "?" } else { "" }, field.name)?;
                    self.print(field.value, Level::Conditional)?;
                }
                self.out.write_str("}")
            }
            // Comprehensions are part of macro calls, which are printed as calls.
            Expr::Comprehension(_) => self.out.write_str("…"),
        }
    }

    /// An index, an optional selection, or a function.
    fn call(&mut self, function: &str, args: &[ExprId]) -> fmt::Result {
        let open = match (function, args) {
            (op::INDEX, [_, _]) => "[",
            (op::OPT_INDEX, [_, _]) => "[?",
            (op::OPT_SELECT, [operand, field]) => {
                self.print(*operand, Level::Member)?;
                let Expr::Literal(Literal::String(field)) = self.ast.expr(*field) else {
                    return Err(fmt::Error);
                };
                return write!(self.out, ".?{field}");
            }
            _ => return self.arguments("", function, args),
        };
        self.print(args[0], Level::Member)?;
        self.out.write_str(open)?;
        self.print(args[1], Level::Conditional)?;
        self.out.write_str("]")
    }

    fn arguments(&mut self, dot: &str, function: &str, args: &[ExprId]) -> fmt::Result {
        write!(self.out, "{dot}{function}(")?;
        for (i, arg) in args.iter().enumerate() {
            self.out.write_str(if i > 0 { ", " } else { "" })?;
            self.print(*arg, Level::Conditional)?;
        }
        self.out.write_str(")")
    }

    fn operator(&mut self, id: ExprId, level: Level, symbol: &str, args: &[ExprId]) -> fmt::Result {
        match (level, args) {
            (Level::Conditional, [condition, then, otherwise]) => {
                self.print(*condition, Level::Or)?;
                self.out.write_str(" ? ")?;
                self.print(*then, Level::Or)?;
                self.out.write_str(" : ")?;
                self.print(*otherwise, Level::Conditional)
            }
            (Level::Unary, [operand]) => {
                self.out.write_str(symbol)?;
                // A sign before a number would be part of it, and double signs cancel out.
                let number =
                    matches!(self.ast.expr(*operand), Expr::Literal(Literal::Int(_) | Literal::Double(_)));
                if number && self.level(*operand) == Level::Member {
                    self.out.write_str("(")?;
                    self.form(*operand)?;
                    return self.out.write_str(")");
                }
                self.print(*operand, Level::Member)
            }
            (Level::And | Level::Or, [left, right]) => {
                let tighter = if level == Level::And { Level::Relation } else { Level::And };
                let mut terms = Vec::new();
                self.flatten(id, level, &mut terms);
                if self.is_chain(id, level, terms.len()) {
                    return self.chain(&terms, symbol, tighter);
                }
                self.chain(&[*left, *right], symbol, tighter)
            }
            (_, [left, right]) => {
                self.print(*left, level)?;
                write!(self.out, " {symbol} ")?;
                let tighter = match level {
                    Level::Relation => Level::Sum,
                    Level::Sum => Level::Product,
                    _ => Level::Unary,
                };
                self.print(*right, tighter)
            }
            _ => Err(fmt::Error),
        }
    }

    fn chain(&mut self, terms: &[ExprId], symbol: &str, least: Level) -> fmt::Result {
        for (i, term) in terms.iter().enumerate() {
            if i > 0 {
                write!(self.out, " {symbol} ")?;
            }
            self.print(*term, least)?;
        }
        Ok(())
    }

    /// The operands of a logical operator, if it is one of `level`.
    fn operands(&self, id: ExprId, level: Level) -> Option<(ExprId, ExprId)> {
        match self.ast.expr(id) {
            Expr::Call { target: None, args, .. } if self.level(id) == level => {
                Some((*args.first()?, *args.get(1)?))
            }
            _ => None,
        }
    }

    /// All terms below `id` that are joined by operators of `level`.
    fn flatten(&self, id: ExprId, level: Level, terms: &mut Vec<ExprId>) {
        match self.operands(id, level) {
            Some((left, right)) => grow_stack(|| {
                self.flatten(left, level, terms);
                self.flatten(right, level, terms);
            }),
            None => terms.push(id),
        }
    }

    /// Whether the tree has the shape the parser gives to a chain of so many terms.
    fn is_chain(&self, id: ExprId, level: Level, terms: usize) -> bool {
        match (self.operands(id, level), terms.checked_sub(2)) {
            (None, None) => terms == 1,
            (Some((left, right)), Some(last)) => {
                let of_left = last.div_ceil(2) + 1;
                self.is_chain(left, level, of_left) && self.is_chain(right, level, terms - of_left)
            }
            _ => false,
        }
    }

    fn literal(&mut self, literal: &'a Literal) -> fmt::Result {
        match literal {
            Literal::Null => self.out.write_str("null"),
            Literal::Bool(b) => write!(self.out, "{b}"),
            Literal::Int(i) => write!(self.out, "{i}"),
            Literal::Uint(u) => write!(self.out, "{u}u"),
            Literal::Double(d) => write!(self.out, "{d:?}"),
            Literal::String(text) => {
                self.out.write_str("\"")?;
                for c in text.chars() {
                    match c {
                        '"' | '\\' => write!(self.out, "\\{c}")?,
                        c if c.is_control() => write!(self.out, "\\U{:08x}", u32::from(c))?,
                        c => self.out.write_char(c)?,
                    }
                }
                self.out.write_str("\"")
            }
            Literal::Bytes(bytes) => {
                self.out.write_str("b\"")?;
                for byte in &**bytes {
                    write!(self.out, "\\x{byte:02x}")?;
                }
                self.out.write_str("\"")
            }
        }
    }
}

/// How an operator binds, and its symbol; `None` for calls and indexes.
fn operator(function: &str, args: usize) -> Option<(Level, &'static str)> {
    Some(match (function, args) {
        (op::CONDITIONAL, 3) => (Level::Conditional, "?"),
        (op::OR, 2) => (Level::Or, "||"),
        (op::AND, 2) => (Level::And, "&&"),
        (op::EQUALS, 2) => (Level::Relation, "=="),
        (op::NOT_EQUALS, 2) => (Level::Relation, "!="),
        (op::LESS, 2) => (Level::Relation, "<"),
        (op::LESS_EQUALS, 2) => (Level::Relation, "<="),
        (op::GREATER, 2) => (Level::Relation, ">"),
        (op::GREATER_EQUALS, 2) => (Level::Relation, ">="),
        (op::IN, 2) => (Level::Relation, "in"),
        (op::ADD, 2) => (Level::Sum, "+"),
        (op::SUBTRACT, 2) => (Level::Sum, "-"),
        (op::MULTIPLY, 2) => (Level::Product, "*"),
        (op::DIVIDE, 2) => (Level::Product, "/"),
        (op::MODULO, 2) => (Level::Product, "%"),
        (op::NOT, 1) => (Level::Unary, "!"),
        (op::NEGATE, 1) => (Level::Unary, "-"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::syntax::parse;

    #[test]
    fn printed_expressions_parse_to_the_same_ast() {
        for (why, source, want) in [
            ("needless parentheses go", "((self.a) + (1 * 2))", "self.a + 1 * 2"),
            ("needed ones stay", "(1 + 2) * 3 - (4 - 5)", "(1 + 2) * 3 - (4 - 5)"),
            ("a chain stays a chain", "a && b && c && d", "a && b && c && d"),
            ("one that was put together differently", "a && (b && (c && d))", "a && (b && (c && d))"),
            ("or in and", "(a || b) && c || d", "(a || b) && c || d"),
            ("conditions nest on the right", "a ? b : c ? d : e", "a ? b : c ? d : e"),
            ("and not in the middle", "(a ? b : c) ? (a ? b : c) : d", "(a ? b : c) ? (a ? b : c) : d"),
            ("signs before numbers are part of them", "-1 + -(1) - -(-1)", "-1 + -(1) - -(-1)"),
            ("not twice is nothing", "!!a && !(!a)", "a && !(!a)"),
            (
                "macros as they were called",
                "self.all(x, x.exists(y, has(y.z)))",
                "self.all(x, x.exists(y, has(y.z)))",
            ),
            ("chains of macros", "a.?b.optMap(x, x).optMap(y, [?y])", "a.?b.optMap(x, x).optMap(y, [?y])"),
            ("indexes and maps", "{'a': 1, ?'b': c}[?'x'][0]", "{\"a\": 1, ?\"b\": c}[?\"x\"][0]"),
            ("messages", "a.B{c: 1, ?d: 2}", "a.B{c: 1, ?d: 2}"),
            (
                "literals",
                "[1.0, 1e300, 7u, null, b'\\x00a', r'\\n']",
                "[1.0, 1e300, 7u, null, b\"\\x00\\x61\", \"\\\\n\"]",
            ),
            ("line breaks in strings", "'a\\n\\u0000'", "\"a\\U0000000a\\U00000000\""),
            ("absolute names", ".a.b(.c)", ".a.b(.c)"),
            ("membership", "(a in b) == (c in d)", "a in b == (c in d)"),
        ] {
            let ast = parse(source, 36).unwrap_or_else(|issues| panic!("{why}: {issues}"));
            let printed = ast.to_string();
            assert_eq!(printed, want, "{why}");
            let again = parse(&printed, 36).unwrap_or_else(|issues| panic!("{why}: {issues}"));
            assert!(again.is_same(&ast), "{why}");
        }
    }
}
