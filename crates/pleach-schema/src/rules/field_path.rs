//! Field paths of rules (`fieldPath`) and selectable fields (`jsonPath`): `.name` and `['name']`, resolved
//! in a schema.
//!
//! A step through `properties` must name one of them, a step through `additionalProperties` may
//! name anything. There is no way into arrays.

use std::fmt;

use pleach_json::Str;

use crate::props::JSONSchemaProps;

/// A resolved path.
#[derive(Debug)]
pub struct FieldPath<'a> {
    /// The path as errors print it: properties as `.name`, map keys as `[key]`.
    pub text: String,
    /// The names on the way.
    pub names: Vec<Str>,
    /// The schema it leads to; `None` below `additionalProperties: true`.
    pub schema: Option<&'a JSONSchemaProps>,
}

/// Why a path leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldPathError {
    /// Brackets where only dots may be.
    ArrayNotation,
    /// It ends in the middle of a step.
    UnexpectedEnd,
    /// There is no such field.
    NoSuchField,
    /// Neither `.` nor `[`.
    ExpectedStep(String),
    /// No quoted name after `[`.
    ExpectedQuoted(String),
    /// No `]` after the name.
    ExpectedBracket(String),
    /// An escape that there is not.
    InvalidEscape(char),
}

impl fmt::Display for FieldPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ArrayNotation => f.write_str("array notation is not allowed"),
            Self::UnexpectedEnd => f.write_str("unexpected end of JSON path"),
            Self::NoSuchField => f.write_str("does not refer to a valid field"),
            Self::ExpectedStep(token) => write!(f, "expected [ or . but got: {token}"),
            Self::ExpectedQuoted(token) => write!(f, "expected single quoted string but got {token}"),
            Self::ExpectedBracket(token) => write!(f, "expected ] but got {token}"),
            Self::InvalidEscape(c) => write!(f, "invalid string literal: invalid escape char {c}"),
        }
    }
}

/// Follows the `fieldPath` of a rule from the schema of its node.
pub fn resolve_field_path<'a>(
    path: &str,
    schema: &'a JSONSchemaProps,
) -> Result<FieldPath<'a>, FieldPathError> {
    resolve(path, schema, true)
}

/// Follows the `jsonPath` of a selectable field from the root: no brackets there.
pub fn resolve_selectable_field<'a>(
    path: &str,
    root: &'a JSONSchemaProps,
) -> Result<FieldPath<'a>, FieldPathError> {
    resolve(path, root, false)
}

fn resolve<'a>(
    path: &str,
    schema: &'a JSONSchemaProps,
    brackets: bool,
) -> Result<FieldPath<'a>, FieldPathError> {
    let mut tokens = Tokens { rest: path };
    let mut out = FieldPath { text: String::new(), names: Vec::new(), schema: Some(schema) };
    let mut first = true;
    loop {
        let name = match tokens.next() {
            None if first => return Err(FieldPathError::UnexpectedEnd),
            None => return Ok(out),
            Some(".") => Str::from(tokens.next().ok_or(FieldPathError::UnexpectedEnd)?),
            Some("[") if !brackets => return Err(FieldPathError::ArrayNotation),
            Some("[") => {
                let token = tokens.next().ok_or(FieldPathError::UnexpectedEnd)?;
                let name = unquote(token)?;
                match tokens.next() {
                    Some("]") => name,
                    Some(other) => return Err(FieldPathError::ExpectedBracket(other.to_owned())),
                    None => return Err(FieldPathError::UnexpectedEnd),
                }
            }
            Some(other) => return Err(FieldPathError::ExpectedStep(other.to_owned())),
        };
        first = false;
        step(&mut out, name)?;
    }
}

fn step(at: &mut FieldPath<'_>, name: Str) -> Result<(), FieldPathError> {
    let Some(schema) = at.schema else { return Err(FieldPathError::NoSuchField) };
    if !schema.properties().is_empty() {
        at.schema = Some(schema.property(&name).ok_or(FieldPathError::NoSuchField)?);
        if !at.text.is_empty() {
            at.text.push('.');
        }
        at.text.push_str(&name);
    } else if schema.additional_properties.is_some() {
        at.schema = schema.additional_properties();
        at.text.push('[');
        at.text.push_str(&name);
        at.text.push(']');
    } else {
        return Err(FieldPathError::NoSuchField);
    }
    at.names.push(name);
    Ok(())
}

/// Splits a path into `.`, `[`, `]`, quoted names and runs of anything else.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let first = self.rest.chars().next()?;
        let length = match first {
            '.' | '[' | ']' => 1,
            '\'' => quoted_length(self.rest),
            _ => self.rest.find(['.', '[', ']', '\'']).unwrap_or(self.rest.len()),
        };
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(token)
    }
}

/// The bytes up to and with the closing quote; all of them if it is missing.
fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' => return i + 1,
            _ => {}
        }
    }
    text.len()
}

fn unquote(token: &str) -> Result<Str, FieldPathError> {
    let inner = token.strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
    let Some(inner) = inner.filter(|_| token.len() >= 2) else {
        return Err(FieldPathError::ExpectedQuoted(token.to_owned()));
    };
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('a') => out.push('\u{7}'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('v') => out.push('\u{b}'),
            Some(c @ ('\'' | '\\')) => out.push(c),
            Some(c) => return Err(FieldPathError::InvalidEscape(c)),
            None => return Err(FieldPathError::InvalidEscape('\\')),
        }
    }
    Ok(out.into())
}
