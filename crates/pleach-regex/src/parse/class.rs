//! Character classes: brackets, `\d` and its kin, `[:alpha:]`, `\p`.

use super::{FOLD, Parser};
use crate::class::{ClassBuilder, Range};
use crate::error::{Error, ErrorCode};
use crate::unicode;

const DIGIT: &[Range] = &[(0x30, 0x39)];
const WORD: &[Range] = &[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];
/// Without the vertical tab, unlike `[:space:]`.
const SPACE: &[Range] = &[(0x09, 0x0a), (0x0c, 0x0d), (0x20, 0x20)];

const POSIX: &[(&str, &[Range])] = &[
    ("alnum", &[(0x30, 0x39), (0x41, 0x5a), (0x61, 0x7a)]),
    ("alpha", &[(0x41, 0x5a), (0x61, 0x7a)]),
    ("ascii", &[(0x00, 0x7f)]),
    ("blank", &[(0x09, 0x09), (0x20, 0x20)]),
    ("cntrl", &[(0x00, 0x1f), (0x7f, 0x7f)]),
    ("digit", DIGIT),
    ("graph", &[(0x21, 0x7e)]),
    ("lower", &[(0x61, 0x7a)]),
    ("print", &[(0x20, 0x7e)]),
    ("punct", &[(0x21, 0x2f), (0x3a, 0x40), (0x5b, 0x60), (0x7b, 0x7e)]),
    ("space", &[(0x09, 0x0d), (0x20, 0x20)]),
    ("upper", &[(0x41, 0x5a)]),
    ("word", WORD),
    ("xdigit", &[(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)]),
];

impl Parser<'_> {
    /// Reads `[…]`.
    pub(super) fn bracket(&mut self) -> Result<ClassBuilder, Error> {
        let before = self.rest;
        self.advance(1);
        let negated = self.take("^");
        let mut class = ClassBuilder::default();
        let mut first = true;
        // A `]` directly after `[` is a member.
        while first || !self.rest.starts_with(']') {
            first = false;
            if let Some(named) = self.posix()? {
                class.push_class(&named);
                continue;
            }
            if let Some(escaped) = self.class_escape()? {
                class.push_class(&escaped);
                continue;
            }
            self.bracket_range(before, &mut class)?;
        }
        self.advance(1);
        class.canonicalize();
        if negated {
            class.negate();
        }
        Ok(class)
    }

    /// Reads one character or a range of them.
    fn bracket_range(&mut self, bracket: &str, class: &mut ClassBuilder) -> Result<(), Error> {
        let before = self.rest;
        let low = self.bracket_char(bracket)?;
        let mut high = low;
        if self.rest.starts_with('-') && self.rest.len() > 1 && !self.rest.starts_with("-]") {
            self.advance(1);
            high = self.bracket_char(bracket)?;
            if high < low {
                return Err(Error::new(ErrorCode::InvalidCharRange, self.since(before)));
            }
        }
        if self.flags & FOLD == 0 {
            class.push(low, high);
        } else {
            let mut folded = ClassBuilder::default();
            folded.push(low, high);
            unicode::fold(&mut folded);
            class.push_class(&folded);
        }
        Ok(())
    }

    fn bracket_char(&mut self, bracket: &str) -> Result<u32, Error> {
        if self.rest.starts_with('\\') {
            return self.char_escape();
        }
        match self.next() {
            Some(c) => Ok(u32::from(c)),
            None => Err(Error::new(ErrorCode::MissingBracket, bracket)),
        }
    }

    /// Reads `[:name:]` inside brackets.
    fn posix(&mut self) -> Result<Option<ClassBuilder>, Error> {
        let Some(inside) = self.rest.strip_prefix("[:") else { return Ok(None) };
        let Some(end) = inside.find(":]") else { return Ok(None) };
        let before = self.rest;
        let (name, negated) = match inside[..end].strip_prefix('^') {
            Some(name) => (name, true),
            None => (&inside[..end], false),
        };
        self.advance(end + 4);
        match POSIX.iter().find(|(known, _)| *known == name) {
            Some((_, ranges)) => Ok(Some(self.ascii_class(ranges, negated))),
            None => Err(Error::new(ErrorCode::InvalidCharRange, self.since(before))),
        }
    }

    /// Parses an escaped class, if there is one.
    pub(super) fn class_escape(&mut self) -> Result<Option<ClassBuilder>, Error> {
        let mut bytes = self.rest.bytes();
        let (Some(b'\\'), Some(letter)) = (bytes.next(), bytes.next()) else { return Ok(None) };
        let ranges = match letter.to_ascii_lowercase() {
            b'd' => DIGIT,
            b's' => SPACE,
            b'w' => WORD,
            b'p' => return self.unicode_class().map(Some),
            _ => return Ok(None),
        };
        self.advance(2);
        Ok(Some(self.ascii_class(ranges, letter.is_ascii_uppercase())))
    }

    fn ascii_class(&self, ranges: &[Range], negated: bool) -> ClassBuilder {
        let mut class = ClassBuilder::default();
        for &(first, last) in ranges {
            class.push(first, last);
        }
        if self.flags & FOLD != 0 {
            unicode::fold(&mut class);
        }
        if negated {
            class.negate();
        }
        class
    }

    /// Reads `\pL`, `\p{Name}`, `\p{^Name}` and the same with `\P`.
    fn unicode_class(&mut self) -> Result<ClassBuilder, Error> {
        let before = self.rest;
        let mut negated = before.starts_with("\\P");
        self.advance(2);
        let invalid = |text: &str| Error::new(ErrorCode::InvalidCharRange, text);
        let letter = self.rest;
        let mut name = match self.next() {
            None => return Err(invalid(before)),
            Some('{') => {
                let end = self.rest.find('}').ok_or_else(|| invalid(before))?;
                let name = &self.rest[..end];
                self.advance(end + 1);
                name
            }
            Some(_) => self.since(letter),
        };
        if let Some(rest) = name.strip_prefix('^') {
            negated = !negated;
            name = rest;
        }
        let fold = self.flags & FOLD != 0;
        let mut class = if let Some(known) = self.named.get(&(name, fold)) {
            known.clone()
        } else {
            let class = unicode::class_named(name, fold);
            let class = class.ok_or_else(|| invalid(self.since(before)))?;
            self.named.insert((name, fold), class.clone());
            class
        };
        if negated {
            class.negate();
        }
        Ok(class)
    }
}
