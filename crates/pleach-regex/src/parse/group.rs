//! Parentheses: groups, alternatives, names and flags.

use super::{DOT_NEWLINE, FOLD, Frame, MULTI_LINE, Parser, UNGREEDY};
use crate::error::{Error, ErrorCode};
use crate::parse::piece::Piece;

impl Parser<'_> {
    /// Opens a group; `self.flags` must still be those outside.
    pub(super) fn open_group(&mut self, capture: Option<u32>) {
        let frame = Frame::open(capture, self.flags);
        self.outer.push(std::mem::replace(&mut self.frame, frame));
    }

    /// Ends an alternative.
    pub(super) fn close_branch(&mut self) -> Result<(), Error> {
        let branch = Piece::concat(std::mem::take(&mut self.frame.items));
        self.check(&branch)?;
        self.frame.branches.push(branch);
        Ok(())
    }

    /// Ends the last alternative of the current group and gives the whole of it.
    pub(super) fn close_alternatives(&mut self) -> Result<Piece, Error> {
        self.close_branch()?;
        let whole = Piece::alternate(std::mem::take(&mut self.frame.branches));
        self.check(&whole)?;
        Ok(whole)
    }

    pub(super) fn close_group(&mut self) -> Result<(), Error> {
        let inside = self.close_alternatives()?;
        let Some(outer) = self.outer.pop() else {
            return Err(Error::new(ErrorCode::UnexpectedParen, self.pattern));
        };
        self.advance(1);
        let frame = std::mem::replace(&mut self.frame, outer);
        self.flags = frame.flags;
        self.push(match frame.capture {
            Some(index) => Piece::capture(index, inside),
            None => inside,
        })
    }

    /// Reads what starts with `(?`.
    pub(super) fn perl_group(&mut self) -> Result<(), Error> {
        let before = self.rest;
        for prefix in ["(?P<", "(?<"] {
            // A name needs at least one more character, else it is read as flags.
            if before.len() > prefix.len() && before.starts_with(prefix) {
                return self.named_group(prefix);
            }
        }
        self.advance(2);
        let mut flags = self.flags;
        // Whether flags are being turned off, and whether one was named since that began.
        let (mut off, mut named) = (false, false);
        while let Some(c) = self.next() {
            let flag = match c {
                'i' => FOLD,
                'm' => MULTI_LINE,
                's' => DOT_NEWLINE,
                'U' => UNGREEDY,
                '-' if !off => {
                    (off, named) = (true, false);
                    continue;
                }
                ':' | ')' if !off || named => {
                    if c == ':' {
                        self.open_group(None);
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => break,
            };
            named = true;
            if off {
                flags &= !flag;
            } else {
                flags |= flag;
            }
        }
        Err(Error::new(ErrorCode::InvalidPerlOp, self.since(before)))
    }

    fn named_group(&mut self, prefix: &str) -> Result<(), Error> {
        let before = self.rest;
        let Some(end) = before.find('>') else {
            return Err(Error::new(ErrorCode::InvalidNamedCapture, before));
        };
        let name = &before[prefix.len()..end];
        let valid = |b: u8| b == b'_' || b.is_ascii_alphanumeric();
        if name.is_empty() || !name.bytes().all(valid) {
            return Err(Error::new(ErrorCode::InvalidNamedCapture, &before[..=end]));
        }
        self.advance(end + 1);
        self.names.push(Some(name.into()));
        self.open_group(Some(self.names.len() as u32 - 1));
        Ok(())
    }
}
