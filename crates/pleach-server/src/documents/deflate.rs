//! Compressing pieces so that they can be put side by side.
//!
//! A piece ends on a byte with its last block not marked as the last, and refers to nothing before
//! it. Any sequence of such pieces, with an empty last block after them, is one valid stream; its
//! checksum follows from those of the pieces.

use bytes::Bytes;
use crc32fast::Hasher;
use flate2::{Compress, Compression, FlushCompress};

/// A compressed piece.
pub(super) struct Deflated {
    bytes: Vec<u8>,
    checksum: Hasher,
    length: u32,
}

impl Deflated {
    /// Compresses the parts as one piece.
    pub(super) fn new(parts: &[&[u8]]) -> Self {
        let mut compress = Compress::new(Compression::fast(), false);
        let mut checksum = Hasher::new();
        let mut bytes = Vec::new();
        let mut length = 0_u32;
        for (i, part) in parts.iter().enumerate() {
            checksum.update(part);
            length = length.wrapping_add(part.len() as u32);
            let flush = if i + 1 == parts.len() { FlushCompress::Sync } else { FlushCompress::None };
            let mut rest = *part;
            loop {
                bytes.reserve(rest.len() / 4 + 64);
                let before = compress.total_in();
                compress
                    .compress_vec(rest, &mut bytes, flush)
                    .expect("compressing to memory that is there does not fail");
                rest = &rest[(compress.total_in() - before) as usize..];
                // Room that is left says that nothing waits to be written.
                if rest.is_empty() && bytes.len() < bytes.capacity() {
                    break;
                }
            }
        }
        bytes.shrink_to_fit();
        Self { bytes, checksum, length }
    }
}

/// A compressed document that grows by pieces.
pub(super) struct Gzip {
    out: Vec<u8>,
    checksum: Hasher,
    length: u32,
}

impl Default for Gzip {
    fn default() -> Self {
        // Deflate, no name, no time, unknown system.
        let out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
        Self { out, checksum: Hasher::new(), length: 0 }
    }
}

impl Gzip {
    /// Adds a piece.
    pub(super) fn part(&mut self, piece: &Deflated) {
        self.out.extend_from_slice(&piece.bytes);
        self.checksum.combine(&piece.checksum);
        self.length = self.length.wrapping_add(piece.length);
    }

    /// Adds text that is used once.
    pub(super) fn text(&mut self, text: &[u8]) {
        self.part(&Deflated::new(&[text]));
    }

    /// The whole.
    pub(super) fn finish(mut self) -> Bytes {
        // An empty block that is the last.
        self.out.extend_from_slice(&[3, 0]);
        self.out.extend_from_slice(&self.checksum.finalize().to_le_bytes());
        self.out.extend_from_slice(&self.length.to_le_bytes());
        self.out.into()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn pieces_side_by_side_are_one_stream() {
        let texts = ["{\"a\":".to_owned(), "x".repeat(100_000), String::new(), "}".to_owned()];
        let mut gzip = Gzip::default();
        for text in &texts {
            gzip.part(&Deflated::new(&[b",", text.as_bytes()]));
        }
        let mut read = String::new();
        flate2::read::GzDecoder::new(&gzip.finish()[..]).read_to_string(&mut read).unwrap();
        let want: String = texts.iter().flat_map(|text| [",", text.as_str()]).collect();
        assert_eq!(read, want);
    }
}
