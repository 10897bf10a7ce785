//! Scalar output: quotes, escapes, folding at 80 columns, block scalars.

use std::fmt::Write as _;

use super::style::{self, Style, is_break, is_printable};

/// A line is folded at the first blank after this column.
const WIDTH: usize = 80;

/// A text that could grow beyond this by indentation is written on one line.
const MOST_INDENTED: usize = 4 * 1024 * 1024;

/// Writes text and tracks the column.
pub(super) struct Emitter<'a> {
    out: &'a mut String,
    column: usize,
}

impl<'a> Emitter<'a> {
    /// Goes on in a column.
    pub(super) fn at(column: usize, out: &'a mut String) -> Self {
        Self { out, column }
    }

    /// The column it stands in.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// How much has been written.
    pub(super) fn written(&self) -> usize {
        self.out.len()
    }

    pub(super) fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn push(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    /// Ends the line, unless it has just been ended.
    pub(super) fn end_line(&mut self) {
        if self.column > 0 {
            self.new_line('\n');
        }
    }

    fn new_line(&mut self, with: char) {
        self.out.push(with);
        self.column = 0;
    }

    /// Goes to a column of a fresh line.
    pub(super) fn indent(&mut self, to: usize) {
        while self.column < to {
            self.push(' ');
        }
    }

    fn fold(&mut self, indent: usize) {
        self.new_line('\n');
        self.indent(indent);
    }

    /// A key, on one line whatever its length.
    pub(super) fn key(&mut self, text: &str) {
        self.styled(text, style::of_key(text), None);
    }

    /// A value, whose further lines start at `indent`.
    pub(super) fn text(&mut self, text: &str, indent: usize) {
        // Every byte may be a line, and every line is indented.
        if text.len().saturating_mul(indent + 1) > MOST_INDENTED {
            return self.quoted(text);
        }
        self.styled(text, style::of_value(text), Some(indent));
    }

    /// A text in double quotes, on one line.
    pub(super) fn quoted(&mut self, text: &str) {
        self.double(text, None);
    }

    fn styled(&mut self, text: &str, style: Style, indent: Option<usize>) {
        match style {
            Style::Plain => self.plain(text, indent),
            Style::Single => self.single(text, indent),
            Style::Double => self.double(text, indent),
            Style::Literal => self.literal(text, indent.unwrap_or(0)),
        }
    }

    fn plain(&mut self, text: &str, indent: Option<usize>) {
        let mut after_space = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match indent {
                Some(indent)
                    if c == ' ' && !after_space && self.column > WIDTH && chars.peek() != Some(&' ') =>
                {
                    self.fold(indent);
                }
                _ => self.push(c),
            }
            after_space = c == ' ';
        }
    }

    fn single(&mut self, text: &str, indent: Option<usize>) {
        self.push('\'');
        let mut after_space = false;
        let mut after_break = false;
        let mut chars = text.chars().enumerate().peekable();
        while let Some((i, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            match indent {
                _ if is_break(c) => self.new_line(c),
                Some(indent)
                    if c == ' '
                        && !after_space
                        && self.column > WIDTH
                        && i > 0
                        && next.is_some_and(|next| next != ' ') =>
                {
                    self.fold(indent);
                }
                _ => {
                    if after_break {
                        self.indent(indent.unwrap_or(0));
                    }
                    self.push(c);
                    if c == '\'' {
                        self.push(c);
                    }
                }
            }
            after_break = is_break(c);
            after_space = c == ' ';
        }
        self.push('\'');
    }

    fn double(&mut self, text: &str, indent: Option<usize>) {
        self.push('"');
        let mut after_space = false;
        let mut chars = text.chars().enumerate().peekable();
        while let Some((i, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            match indent {
                _ if !is_printable(c) || is_break(c) || c == '"' || c == '\\' => self.escape(c),
                Some(indent)
                    if c == ' ' && !after_space && self.column > WIDTH && i > 0 && next.is_some() =>
                {
                    self.fold(indent);
                    if next == Some(' ') {
                        self.push('\\');
                    }
                }
                _ => self.push(c),
            }
            after_space = c == ' ';
        }
        self.push('"');
    }

    fn escape(&mut self, c: char) {
        let short = match c {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' | '\\' => c,
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = u32::from(c);
                let start = self.out.len();
                let written = match code {
                    0..=0xFF => write!(self.out, "\\x{code:02X}"),
                    0x100..=0xFFFF => write!(self.out, "\\u{code:04X}"),
                    _ => write!(self.out, "\\U{code:08X}"),
                };
                written.unwrap_or_default();
                self.column += self.out.len() - start;
                return;
            }
        };
        self.push('\\');
        self.push(short);
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.push('|');
        // Leading blanks would be indentation.
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.push('2');
        }
        match text.strip_suffix(is_break) {
            None => self.push('-'),
            Some(body) if body.is_empty() || body.ends_with(is_break) => self.push('+'),
            Some(_) => {}
        }
        self.new_line('\n');
        let mut fresh = true;
        for c in text.chars() {
            if is_break(c) {
                self.new_line(c);
                fresh = true;
                continue;
            }
            if fresh {
                self.indent(indent);
                fresh = false;
            }
            self.push(c);
        }
    }
}
