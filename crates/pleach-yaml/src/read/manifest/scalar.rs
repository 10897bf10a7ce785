//! Scalars: plain and quoted on one line, and literal blocks.

use pleach_json::{Str, Value};

use super::{Manifests, NeedsFullParser};
use crate::read::resolve::{Scalar, resolve};

impl Manifests<'_> {
    /// A plain scalar up to the end of its line, a comment, or a colon that makes it a key.
    pub(super) fn plain(&mut self) -> Result<Scalar, NeedsFullParser> {
        match (self.peek(), self.ahead(1)) {
            (
                b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"'
                | b'%' | b'@' | b'`' | b'?' | b':' | b'\n',
                _,
            )
            | (b'-', b' ' | b'\n') => return Err(NeedsFullParser),
            _ => {}
        }
        let start = self.at;
        let mut end = start;
        for (i, &byte) in self.bytes[start..].iter().enumerate() {
            let here = start + i;
            match byte {
                b'\n' => break,
                b'\t' => return Err(NeedsFullParser),
                b' ' => continue,
                b'#' if end < here => break,
                b':' if matches!(self.bytes.get(here + 1), None | Some(b' ' | b'\n')) => {
                    // A blank before the colon is unusual.
                    if end < here {
                        return Err(NeedsFullParser);
                    }
                    break;
                }
                _ => {}
            }
            end = here + 1;
        }
        self.at = end;
        resolve(None, &self.text[start..end], true).map_err(|_| NeedsFullParser)
    }

    /// A double-quoted scalar with common escapes.
    pub(super) fn double_quoted(&mut self) -> Result<Str, NeedsFullParser> {
        self.at += 1;
        let mut unescaped = String::new();
        loop {
            let rest = &self.bytes[self.at..];
            let stop = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'\n' | b'\t'));
            let stop = self.at + stop.ok_or(NeedsFullParser)?;
            let piece = &self.text[self.at..stop];
            self.at = stop + 1;
            match self.bytes[stop] {
                b'"' if unescaped.is_empty() => return Ok(piece.into()),
                b'"' => {
                    unescaped.push_str(piece);
                    return Ok(unescaped.into());
                }
                b'\\' => {
                    unescaped.push_str(piece);
                    unescaped.push(match self.peek() {
                        b'n' => '\n',
                        b't' => '\t',
                        b'"' => '"',
                        b'\\' => '\\',
                        _ => return Err(NeedsFullParser),
                    });
                    self.at += 1;
                }
                _ => return Err(NeedsFullParser),
            }
        }
    }

    /// A single-quoted scalar.
    pub(super) fn single_quoted(&mut self) -> Result<Str, NeedsFullParser> {
        self.at += 1;
        let mut unescaped = String::new();
        loop {
            let rest = &self.bytes[self.at..];
            let stop = rest.iter().position(|byte| matches!(byte, b'\'' | b'\n' | b'\t'));
            let stop = self.at + stop.ok_or(NeedsFullParser)?;
            if self.bytes[stop] != b'\'' {
                return Err(NeedsFullParser);
            }
            let piece = &self.text[self.at..stop];
            self.at = stop + 1;
            if self.peek() == b'\'' {
                unescaped.push_str(piece);
                unescaped.push('\'');
                self.at += 1;
            } else if unescaped.is_empty() {
                return Ok(piece.into());
            } else {
                unescaped.push_str(piece);
                return Ok(unescaped.into());
            }
        }
    }

    /// A literal block in a collection at column `parent`, from its `|` on.
    pub(super) fn literal(&mut self, parent: usize) -> Result<Value, NeedsFullParser> {
        self.at += 1;
        let chomp = self.peek();
        if matches!(chomp, b'-' | b'+') {
            self.at += 1;
        }
        self.end_of_line()?;
        let mut out = String::new();
        let mut indent = None;
        // Line breaks that count only if more text follows, or if the block keeps them.
        let mut breaks = 0_usize;
        while !self.is_at_end() {
            let line = &self.bytes[self.at..];
            let blanks = line.iter().take_while(|&&byte| byte == b' ').count();
            match line.get(blanks) {
                None | Some(b'\t') => return Err(NeedsFullParser),
                Some(b'\n') => {
                    // Blanks beyond the indentation, which is not known yet.
                    if blanks > indent.unwrap_or(parent) {
                        return Err(NeedsFullParser);
                    }
                    breaks += 1;
                    self.at += blanks + 1;
                    continue;
                }
                Some(_) => {}
            }
            if blanks <= parent {
                break;
            }
            let indent = *indent.get_or_insert(blanks);
            if blanks < indent {
                return Err(NeedsFullParser);
            }
            let end = line.iter().position(|&byte| byte == b'\n').ok_or(NeedsFullParser)?;
            out.extend(std::iter::repeat_n('\n', breaks));
            out.push_str(&self.text[self.at + indent..self.at + end]);
            breaks = 1;
            self.at += end + 1;
        }
        if indent.is_none() {
            return Err(NeedsFullParser);
        }
        match chomp {
            b'-' => {}
            b'+' => out.extend(std::iter::repeat_n('\n', breaks)),
            _ => out.push('\n'),
        }
        Ok(Value::String(out.into()))
    }
}
