//! Template parser.
//!
//! Upstream's dialect with all its quirks: `['a.b']` is parsed again as `.a.b`, a filter is split at
//! its first run of `!<>=` whether quoted or not, tabs are not blanks. Errors come in upstream's order.

mod bracket;

use crate::error::ParseError;
use crate::node::{Part, Step};
use pleach_go::strconv::unquote;
use pleach_json::Value;

type Result<T> = std::result::Result<T, ParseError>;

/// Parses a whole template: text with actions in braces.
pub(crate) fn parse(template: &str) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        if open > 0 {
            parts.push(Part::Text(Value::from(&rest[..open])));
        }
        let mut action = Action { input: rest, at: open + 1 };
        parts.push(Part::Action(action.steps()?));
        rest = &rest[action.at..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(Value::from(rest)));
    }
    Ok(parts)
}

/// Parses text as if in braces. Text after a closing brace is ignored.
fn parse_inside(text: &str) -> Result<Vec<Step>> {
    let input = format!("{{{text}}}");
    match parse(&input)?.into_iter().next() {
        Some(Part::Action(steps)) => Ok(steps),
        _ => unreachable!("the text starts with a brace"),
    }
}

/// An action being parsed.
struct Action<'t> {
    input: &'t str,
    /// The next byte.
    at: usize,
}

impl Action<'_> {
    fn rest(&self) -> &str {
        &self.input[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Parses up to and including the closing brace.
    fn steps(&mut self) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        loop {
            if self.rest().starts_with("[?(") {
                steps.push(self.filter()?);
                continue;
            }
            if self.rest().starts_with("..") {
                if matches!(steps.last(), Some(Step::Recursive)) {
                    return Err(ParseError::new("invalid multiple recursive descent"));
                }
                self.at += 2;
                steps.push(Step::Recursive);
                if self.peek().is_some_and(is_alphanumeric) {
                    steps.push(self.field());
                }
                continue;
            }
            match self.peek() {
                None | Some('\r' | '\n') => return Err(ParseError::new("unclosed action")),
                Some('}') => {
                    self.at += 1;
                    return Ok(steps);
                }
                // `@` is the start of a path anyway.
                Some(' ' | '@' | '$') => self.at += 1,
                Some('[') => self.bracket(&mut steps)?,
                Some(quote @ ('"' | '\'')) => steps.push(self.quoted(quote)?),
                Some('.') => {
                    self.at += 1;
                    steps.push(self.field());
                }
                Some('+' | '-' | '0'..='9') => steps.push(self.number()?),
                Some(c) if is_alphanumeric(c) => steps.push(self.identifier()),
                Some(c) => {
                    let message = format!("unrecognized character in action: {}", code_point(c));
                    return Err(ParseError::new(message));
                }
            }
        }
    }

    /// A name up to its end; a backslash escapes the next character.
    fn field(&mut self) -> Step {
        let start = self.at;
        loop {
            match self.peek() {
                Some('\\') => {
                    self.at += 1;
                    self.next();
                }
                Some(c) if !ends_word(c) => self.at += c.len_utf8(),
                _ => break,
            }
        }
        match &self.input[start..self.at] {
            "*" => Step::Wildcard,
            name => Step::Field(name.replace('\\', "").into()),
        }
    }

    fn identifier(&mut self) -> Step {
        let rest = self.rest();
        let word = &rest[..rest.find(ends_word).unwrap_or(rest.len())];
        let step = match word {
            "true" => Step::Literal(Value::Bool(true)),
            "false" => Step::Literal(Value::Bool(false)),
            _ => Step::Identifier(word.to_owned()),
        };
        self.at += word.len();
        step
    }

    fn number(&mut self) -> Result<Step> {
        let rest = self.rest();
        let digits = rest[1..].find(|c: char| c != '.' && !is_digit(c));
        let text = &rest[..digits.map_or(rest.len(), |end| end + 1)];
        let value = if let Ok(int) = text.parse::<i64>() {
            Value::Int(int)
        } else {
            match text.parse::<f64>() {
                Ok(float) if float.is_finite() => Value::Float(float),
                _ => return Err(ParseError::new(format!("cannot parse number {text}"))),
            }
        };
        self.at += text.len();
        Ok(Step::Literal(value))
    }

    fn quoted(&mut self, quote: char) -> Result<Step> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.next() {
                None | Some('\n') => return Err(ParseError::new("unterminated quoted string")),
                Some(c) if c == quote && self.input.as_bytes()[self.at - 2] != b'\\' => break,
                Some(_) => {}
            }
        }
        let text = &self.input[start..self.at];
        match unquote(text) {
            Some(text) => Ok(Step::Text(Value::from(text))),
            None => Err(ParseError::new(format!("unquote string {text} error invalid syntax"))),
        }
    }
}

/// Characters that end a name or a word.
fn ends_word(c: char) -> bool {
    matches!(c, '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}' | ' ' | '\t' | '\r' | '\n')
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphabetic() || is_digit(c)
}

fn is_digit(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { c.is_numeric() }
}

/// A character as Go's `%#U`: without the character itself if it is not printable.
fn code_point(c: char) -> String {
    let shown = c == ' ' || c.is_ascii_graphic() || (!c.is_ascii() && !c.escape_debug().any(|e| e == '\\'));
    let number = u32::from(c);
    if shown { format!("U+{number:04X} '{c}'") } else { format!("U+{number:04X}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_in_errors() {
        for (why, c, want) in [
            ("visible", '(', "U+0028 '('"),
            ("no shape", '\t', "U+0009"),
            ("more than four digits", '😀', "U+1F600 '😀'"),
            ("no shape beyond ASCII", '\u{a0}', "U+00A0"),
        ] {
            assert_eq!(code_point(c), want, "{why}");
        }
    }
}
