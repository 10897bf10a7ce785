//! Numbers: an integer where the text is one and fits 64 bits, else a float.

use super::Parser;
use crate::Value;
use crate::error::{Context, ParseError};

impl Parser<'_, '_> {
    /// Reads a number, standing at its first character.
    pub(super) fn number(&mut self) -> Result<Value, ParseError> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        if negative {
            self.at += 1;
        }
        let digits = self.at;
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.unexpected(Context::Number)),
        }
        let mut integral = true;
        if self.peek() == Some(b'.') {
            integral = false;
            self.at += 1;
            self.some_digits(Context::Fraction)?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integral = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits(Context::Exponent)?;
        }
        if integral && self.at - digits <= 18 {
            let magnitude =
                self.bytes[digits..self.at].iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
            return Ok(Value::Int(if negative { -magnitude } else { magnitude }));
        }
        let text = &self.text[start..self.at];
        if integral && let Ok(int) = text.parse() {
            return Ok(Value::Int(int));
        }
        let float: f64 = text.parse().unwrap_or(f64::INFINITY);
        if float.is_finite() {
            return Ok(Value::Float(float));
        }
        self.out_of_range.get_or_insert_with(|| ParseError::out_of_range(self.at, text));
        Ok(Value::Null)
    }

    fn some_digits(&mut self, context: Context) -> Result<(), ParseError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected(context));
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }
}
