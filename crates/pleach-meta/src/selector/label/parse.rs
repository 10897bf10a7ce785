//! Parsing label selectors from text.
//!
//! `in` and `notin` are words like any other where a key or a value stands, and operators between.

use pleach_json::Str;

use super::{Operator, Requirement, key_errors};
use crate::field_error::aggregate;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'a str),
    End,
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Word(text) | Self::Symbol(text) => text,
            Self::End => "",
        }
    }
}

struct Tokens<'a> {
    rest: &'a str,
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_symbol(b: u8) -> bool {
    matches!(b, b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<')
}

impl<'a> Tokens<'a> {
    fn peek(&self) -> Token<'a> {
        Tokens { rest: self.rest }.next()
    }

    fn next(&mut self) -> Token<'a> {
        let rest = self.rest.trim_start_matches(|c| u8::try_from(c).is_ok_and(is_space));
        let Some(&first) = rest.as_bytes().first() else {
            self.rest = rest;
            return Token::End;
        };
        let symbol = is_symbol(first);
        let length = if symbol {
            if rest.starts_with("==") || rest.starts_with("!=") { 2 } else { 1 }
        } else {
            rest.bytes().position(|b| is_space(b) || is_symbol(b)).unwrap_or(rest.len())
        };
        let (token, rest) = rest.split_at(length);
        self.rest = rest;
        if symbol { Token::Symbol(token) } else { Token::Word(token) }
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut tokens = Tokens { rest: text };
    let mut requirements = Vec::new();
    loop {
        match tokens.peek() {
            Token::Word(_) | Token::Symbol("!") => {
                let requirement = requirement(&mut tokens);
                requirements.push(requirement.map_err(|e| format!("unable to parse requirement: {e}"))?);
                match tokens.next() {
                    Token::End => return Ok(requirements),
                    Token::Symbol(",") => match tokens.peek() {
                        Token::Word(_) | Token::Symbol("!") => {}
                        other => {
                            return Err(format!("found '{}', expected: identifier after ','", other.text()));
                        }
                    },
                    other => {
                        return Err(format!("found '{}', expected: ',' or 'end of string'", other.text()));
                    }
                }
            }
            Token::End => return Ok(requirements),
            Token::Symbol(found) => {
                return Err(format!("found '{found}', expected: !, identifier, or 'end of string'"));
            }
        }
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, String> {
    let mut token = tokens.next();
    let negated = token == Token::Symbol("!");
    if negated {
        token = tokens.next();
    }
    let Token::Word(key) = token else {
        return Err(format!("found '{}', expected: identifier", token.text()));
    };
    let errors = key_errors(key);
    if !errors.is_empty() {
        return Err(aggregate(&errors));
    }
    if negated {
        return Requirement::new(key, Operator::DoesNotExist, Vec::new());
    }
    if matches!(tokens.peek(), Token::End | Token::Symbol(",")) {
        return Requirement::new(key, Operator::Exists, Vec::new());
    }
    let operator = match tokens.next() {
        Token::Word("in") => Operator::In,
        Token::Word("notin") => Operator::NotIn,
        Token::Symbol("=") => Operator::Equals,
        Token::Symbol("==") => Operator::DoubleEquals,
        Token::Symbol("!=") => Operator::NotEquals,
        Token::Symbol(">") => Operator::GreaterThan,
        Token::Symbol("<") => Operator::LessThan,
        other => return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text())),
    };
    let values = match operator {
        Operator::In | Operator::NotIn => values(tokens)?,
        _ => vec![exact_value(tokens)?],
    };
    Requirement::new(key, operator, values)
}

/// The one value of a comparison; nothing is the empty value.
fn exact_value(tokens: &mut Tokens<'_>) -> Result<Str, String> {
    if matches!(tokens.peek(), Token::End | Token::Symbol(",")) {
        return Ok(Str::default());
    }
    match tokens.next() {
        Token::Word(value) => Ok(value.into()),
        other => Err(format!("found '{}', expected: identifier", other.text())),
    }
}

/// The values in parentheses; a comma with nothing beside it makes an empty one.
fn values(tokens: &mut Tokens<'_>) -> Result<Vec<Str>, String> {
    match tokens.next() {
        Token::Symbol("(") => {}
        other => return Err(format!("found '{}' expected: '('", other.text())),
    }
    match tokens.peek() {
        Token::Word(_) | Token::Symbol(",") => {}
        Token::Symbol(")") => {
            tokens.next();
            return Ok(vec![Str::default()]);
        }
        other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
    }
    let mut values: Vec<Str> = Vec::new();
    loop {
        match tokens.next() {
            Token::Word(value) => {
                values.push(value.into());
                match tokens.peek() {
                    Token::Symbol(",") => {}
                    Token::Symbol(")") => break,
                    other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                }
            }
            Token::Symbol(",") => {
                if values.is_empty() {
                    values.push(Str::default());
                }
                match tokens.peek() {
                    Token::Symbol(")") => {
                        values.push(Str::default());
                        break;
                    }
                    Token::Symbol(",") => values.push(Str::default()),
                    _ => {}
                }
            }
            other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
        }
    }
    tokens.next();
    Ok(values)
}
