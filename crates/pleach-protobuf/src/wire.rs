//! The wire format: numbered fields in, numbered fields out. Knows no message.
//!
//! Errors are in the words of Go's generated code, which clients of the real thing see.

use std::fmt::Display;

/// The error about bytes that are no message.
pub type WireError = String;

/// A field's content.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    /// Four bytes or a group, which no message of the API has.
    Other(u8),
}

impl Content<'_> {
    /// The number of the wire type.
    pub(crate) fn wire_type(&self) -> u8 {
        match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Other(wire_type) => *wire_type,
        }
    }
}

fn cut_off() -> WireError {
    "unexpected EOF".into()
}

/// Reads the fields of a message.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    fn varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0;
        for (i, byte) in self.0.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                self.0 = &self.0[i + 1..];
                return Ok(value);
            }
        }
        Err(if self.0.len() < 10 { cut_off() } else { "proto: integer overflow".into() })
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], WireError> {
        let length = usize::try_from(length).map_err(|_| cut_off())?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(cut_off)?;
        self.0 = rest;
        Ok(taken)
    }

    fn fixed64(&mut self) -> Result<u64, WireError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or_else(cut_off)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    fn tag(&mut self) -> Result<(u32, u8), WireError> {
        let tag = self.varint()?;
        let wire_type = (tag & 7) as u8;
        match u32::try_from(tag >> 3) {
            Ok(0) | Err(_) => {
                Err(format!("proto: illegal tag {} (wire type {wire_type})", (tag >> 3) as i32))
            }
            Ok(number) => Ok((number, wire_type)),
        }
    }

    /// The next field's number and content; `None` at the end.
    pub(crate) fn field(&mut self) -> Result<Option<(u32, Content<'a>)>, WireError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let (number, wire_type) = self.tag()?;
        Ok(Some((number, self.content(wire_type)?)))
    }

    fn content(&mut self, wire_type: u8) -> Result<Content<'a>, WireError> {
        Ok(match wire_type {
            0 => Content::Varint(self.varint()?),
            1 => Content::Fixed64(self.fixed64()?),
            2 => {
                let length = self.varint()?;
                Content::Bytes(self.take(length)?)
            }
            3 => {
                self.skip_group()?;
                Content::Other(3)
            }
            4 => return Err("proto: wiretype end group for non-group".into()),
            5 => {
                self.take(4)?;
                Content::Other(5)
            }
            other => return Err(format!("proto: illegal wireType {other}")),
        })
    }

    /// Skips to the end of a group, and of the groups in it.
    fn skip_group(&mut self) -> Result<(), WireError> {
        let mut open = 1_usize;
        while open > 0 {
            if self.0.is_empty() {
                return Err(cut_off());
            }
            match self.tag()?.1 {
                3 => open += 1,
                4 => open -= 1,
                wire_type => drop(self.content(wire_type)?),
            }
        }
        Ok(())
    }
}

/// A text.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, WireError> {
    std::str::from_utf8(bytes).map_err(|_| "proto: string field contains invalid UTF-8".into())
}

/// A field of the wrong type.
pub(crate) fn wrong_type(content: &Content<'_>, go_name: impl Display) -> WireError {
    format!("proto: wrong wireType = {} for field {go_name}", content.wire_type())
}

/// Writes messages from their end to their beginning: the length of a part comes before it, and is known when the
/// part has been written.
#[derive(Default)]
pub(crate) struct Writer {
    buffer: Vec<u8>,
    /// The start of the written bytes.
    start: usize,
}

impl Writer {
    /// How much has been written.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Puts bytes before the written ones.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        if bytes.len() > self.start {
            self.grow(bytes.len());
        }
        self.start -= bytes.len();
        self.buffer[self.start..][..bytes.len()].copy_from_slice(bytes);
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let written = self.len();
        let size = (self.buffer.len() * 2).max(written + more).max(512);
        let mut larger = vec![0; size];
        larger[size - written..].copy_from_slice(&self.buffer[self.start..]);
        self.start = size - written;
        self.buffer = larger;
    }

    fn varint(&mut self, mut value: u64) {
        let mut bytes = [0; 10];
        let mut length = 0;
        loop {
            let more = value >= 0x80;
            bytes[length] = (value & 0x7f) as u8 | if more { 0x80 } else { 0 };
            length += 1;
            value >>= 7;
            if !more {
                break;
            }
        }
        self.put(&bytes[..length]);
    }

    /// A field of a number.
    pub(crate) fn int(&mut self, number: u32, value: i64) {
        self.varint(value as u64);
        self.varint(u64::from(number) << 3);
    }

    /// A field of eight bytes.
    pub(crate) fn double(&mut self, number: u32, value: f64) {
        self.put(&value.to_le_bytes());
        self.varint(u64::from(number) << 3 | 1);
    }

    /// A field of bytes.
    pub(crate) fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.put(bytes);
        self.close(number, self.len() - bytes.len());
    }

    /// Makes a field of the bytes written since `len()` was `before`.
    pub(crate) fn close(&mut self, number: u32, before: usize) {
        self.varint((self.len() - before) as u64);
        self.varint(u64::from(number) << 3 | 2);
    }

    /// All of it.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.buffer.drain(..self.start);
        self.buffer
    }
}
