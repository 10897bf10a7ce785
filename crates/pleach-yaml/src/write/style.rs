//! Scalar styles: plain, quoted, or block.

use crate::read::reads_as_text;

/// A way to write a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// The style for a value.
pub(super) fn of_value(text: &str) -> Style {
    choose(text, false)
}

/// The style for a key that stands before its colon on one line.
pub(super) fn of_key(text: &str) -> Style {
    choose(text, true)
}

/// Whether a key fits before its colon.
pub(super) fn is_simple_key(key: &str) -> bool {
    key.len() <= 128 && !key.contains(is_break)
}

fn choose(text: &str, key: bool) -> Style {
    let shape = Shape::of(text);
    if text.contains('\n') {
        return if shape.block_allowed() && !key { Style::Literal } else { Style::Double };
    }
    if !reads_as_text(text) || is_sexagesimal(text) {
        return Style::Double;
    }
    if shape.plain_allowed() {
        Style::Plain
    } else if shape.single_allowed() {
        Style::Single
    } else {
        Style::Double
    }
}

/// Properties of a text that exclude a style.
#[derive(Default)]
struct Shape {
    indicators: bool,
    breaks: bool,
    special: bool,
    /// A blank or break at either end.
    edge: bool,
    trailing_space: bool,
    break_then_space: bool,
    space_then_break: bool,
}

impl Shape {
    fn of(text: &str) -> Self {
        let mut shape = Self {
            indicators: text.starts_with("---") || text.starts_with("..."),
            edge: text.starts_with([' '])
                || text.ends_with([' '])
                || text.starts_with(is_break)
                || text.ends_with(is_break),
            trailing_space: text.ends_with(' '),
            ..Self::default()
        };
        let mut previous = None;
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let before_blank = rest.as_str().chars().next().is_none_or(is_blank);
            shape.indicators |= match c {
                '#' => previous.is_none_or(is_blank),
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                    previous.is_none()
                }
                '?' | '-' => previous.is_none() && before_blank,
                ':' => before_blank,
                _ => false,
            };
            shape.special |= !is_printable(c);
            shape.breaks |= is_break(c);
            shape.break_then_space |= c == ' ' && previous.is_some_and(is_break);
            shape.space_then_break |= is_break(c) && previous == Some(' ');
            previous = Some(c);
        }
        shape
    }

    fn plain_allowed(&self) -> bool {
        !(self.indicators || self.breaks || self.special || self.edge)
    }

    fn single_allowed(&self) -> bool {
        !(self.special || self.space_then_break || self.break_then_space)
    }

    fn block_allowed(&self) -> bool {
        !(self.special || self.space_then_break || self.trailing_space)
    }
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t' || is_break(c)
}

/// Characters that need no escape. Not tabs, nor characters of more than 16 bits.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}')
}

/// Whether YAML 1.1 resolves a sexagesimal number: `1:30`, `-190:20:30.5`.
fn is_sexagesimal(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = text.split(':');
    let is_part = |part: &str| match part.as_bytes() {
        [digit] | [b'0'..=b'5', digit] => digit.is_ascii_digit(),
        _ => false,
    };
    let mut whole = parts.next().unwrap_or_default().bytes();
    whole.next().is_some_and(|digit| digit.is_ascii_digit())
        && whole.all(|byte| byte.is_ascii_digit() || byte == b'_')
        && text.contains(':')
        && parts.all(is_part)
        && fraction.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
}
