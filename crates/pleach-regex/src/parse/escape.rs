//! Escapes.

use super::Parser;
use crate::ast::Look;
use crate::error::{Error, ErrorCode};

impl Parser<'_> {
    /// Reads an escape outside brackets.
    pub(super) fn escape(&mut self) -> Result<(), Error> {
        let look = match self.rest.as_bytes().get(1) {
            Some(b'A') => Some(Look::TextStart),
            Some(b'z') => Some(Look::TextEnd),
            Some(b'b') => Some(Look::WordBoundary),
            Some(b'B') => Some(Look::NotWordBoundary),
            Some(b'Q') => return self.quoted(),
            _ => None,
        };
        if let Some(look) = look {
            self.advance(2);
            return self.look(look);
        }
        if let Some(class) = self.class_escape()? {
            return self.push_class(&class);
        }
        let point = self.char_escape()?;
        self.literal(point)
    }

    /// `\Q`: everything up to `\E` or the end is literal.
    fn quoted(&mut self) -> Result<(), Error> {
        self.advance(2);
        let (text, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
        self.rest = rest;
        text.chars().try_for_each(|c| self.literal(u32::from(c)))
    }

    /// Parses an escape of one code point, surrogates included.
    pub(super) fn char_escape(&mut self) -> Result<u32, Error> {
        let before = self.rest;
        self.advance(1);
        let Some(c) = self.next() else {
            return Err(Error::new(ErrorCode::TrailingBackslash, ""));
        };
        let point = match c {
            // A single digit would be a backreference.
            '1'..='7' if !self.rest.starts_with(|c: char| c.is_digit(8)) => None,
            '0'..='7' => {
                let mut point = c as u32 - u32::from(b'0');
                for _ in 0..2 {
                    let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else {
                        break;
                    };
                    self.advance(1);
                    point = point * 8 + digit;
                }
                Some(point)
            }
            'x' => self.hexadecimal(),
            'a' => Some(0x07),
            'f' => Some(0x0c),
            'n' => Some(0x0a),
            'r' => Some(0x0d),
            't' => Some(0x09),
            'v' => Some(0x0b),
            _ if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(u32::from(c)),
            _ => None,
        };
        point.ok_or_else(|| Error::new(ErrorCode::InvalidEscape, self.since(before)))
    }

    /// The rest of `\x`: two digits, or any number of them in braces. Stops after what is wrong, which
    /// the error quotes.
    fn hexadecimal(&mut self) -> Option<u32> {
        let c = self.next()?;
        if c != '{' {
            let high = c.to_digit(16);
            let low = self.next()?.to_digit(16)?;
            return Some(high? * 16 + low);
        }
        let (mut point, mut digits) = (0, 0);
        loop {
            let c = self.next()?;
            if c == '}' {
                return (digits > 0).then_some(point);
            }
            point = point * 16 + c.to_digit(16)?;
            digits += 1;
            if point > 0x10_ffff {
                return None;
            }
        }
    }
}
