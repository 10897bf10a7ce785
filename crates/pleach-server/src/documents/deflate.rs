//! Compressing pieces so that they can be put side by side.
//!
//! A piece ends on a byte with its last block not marked as the last, and refers to nothing before
//! it. Any sequence of such pieces, with an empty last block after them, is one valid stream of one
//! member; its checksum is computed from the checksums of the pieces.

use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress};

/// A compressed piece.
#[derive(Clone, Debug)]
pub(super) struct Deflated {
    bytes: Bytes,
    checksum: u32,
    /// The factor by which a checksum of the bytes before this piece is multiplied.
    shift: u32,
    length: u32,
}

/// Compresses one piece after the other.
pub(super) struct Deflater {
    compress: Compress,
    out: Vec<u8>,
}

impl Default for Deflater {
    fn default() -> Self {
        Self { compress: Compress::new(Compression::fast(), false), out: Vec::new() }
    }
}

impl Deflater {
    /// Compresses a piece.
    pub(super) fn piece(&mut self, piece: &[u8]) -> Deflated {
        self.compress.reset();
        self.out.clear();
        let mut rest = piece;
        loop {
            self.out.reserve(rest.len() / 4 + 64);
            let before = self.compress.total_in();
            self.compress
                .compress_vec(rest, &mut self.out, FlushCompress::Sync)
                .expect("compressing to memory that is there does not fail");
            rest = &rest[(self.compress.total_in() - before) as usize..];
            // Room that is left says that nothing waits to be written.
            if rest.is_empty() && self.out.len() < self.out.capacity() {
                break;
            }
        }
        Deflated {
            bytes: Bytes::copy_from_slice(&self.out),
            checksum: crc32fast::hash(piece),
            shift: shift_by(piece.len()),
            length: piece.len() as u32,
        }
    }
}

/// A compressed document that grows by pieces.
pub(super) struct Gzip {
    pieces: Vec<Bytes>,
    checksum: u32,
    length: u32,
    comma: Deflated,
}

impl Default for Gzip {
    fn default() -> Self {
        // Deflate, no name, no time, unknown system.
        let head = Bytes::from_static(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
        let comma = Deflated {
            // One byte as it is.
            bytes: Bytes::from_static(&[0, 1, 0, 0xfe, 0xff, b',']),
            checksum: crc32fast::hash(b","),
            shift: shift_by(1),
            length: 1,
        };
        Self { pieces: vec![head], checksum: 0, length: 0, comma }
    }
}

impl Gzip {
    /// Adds a piece.
    pub(super) fn piece(&mut self, piece: &Deflated) {
        self.pieces.push(piece.bytes.clone());
        self.checksum = times(self.checksum, piece.shift) ^ piece.checksum;
        self.length = self.length.wrapping_add(piece.length);
    }

    /// Adds a comma.
    pub(super) fn comma(&mut self) {
        let comma = self.comma.clone();
        self.piece(&comma);
    }

    /// The whole.
    pub(super) fn finish(mut self) -> Vec<Bytes> {
        // An empty block that is the last.
        let mut tail = vec![3, 0];
        tail.extend_from_slice(&self.checksum.to_le_bytes());
        tail.extend_from_slice(&self.length.to_le_bytes());
        self.pieces.push(tail.into());
        self.pieces
    }
}

// A checksum is a polynomial over the field of two elements, its highest bit the coefficient of x⁰,
// modulo the polynomial of CRC-32. Bytes that follow multiply it by x⁸ each.

const ONE: u32 = 1 << 31;
const X8: u32 = ONE >> 8;

/// The product of two polynomials.
fn times(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    for bit in (0..32).rev() {
        product ^= b & 0_u32.wrapping_sub((a >> bit) & 1);
        b = (b >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(b & 1));
    }
    product
}

/// The factor for so many bytes.
fn shift_by(mut bytes: usize) -> u32 {
    let (mut product, mut power) = (ONE, X8);
    while bytes > 0 {
        if bytes & 1 == 1 {
            product = times(product, power);
        }
        power = times(power, power);
        bytes >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn read(pieces: Vec<Bytes>) -> String {
        let mut read = String::new();
        // This reader takes one member, as the least capable clients do, and checks its sum.
        flate2::read::GzDecoder::new(&pieces.concat()[..]).read_to_string(&mut read).unwrap();
        read
    }

    #[test]
    fn pieces_side_by_side_are_one_stream() {
        let texts = ["{\"a\":".to_owned(), "x".repeat(100_000), String::new(), "}".to_owned()];
        let (mut gzip, mut deflater) = (Gzip::default(), Deflater::default());
        for text in &texts {
            gzip.comma();
            gzip.piece(&deflater.piece(text.as_bytes()));
        }
        let want: String = texts.iter().flat_map(|text| [",", text.as_str()]).collect();
        assert_eq!(read(gzip.finish()), want);
        assert_eq!(read(Gzip::default().finish()), "", "nothing is a stream too");
    }

    #[test]
    fn incompressible_bytes_have_room() {
        let mut random = 1_u32;
        let noise: String = (0..200_000)
            .map(|_| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                char::from((random >> 25) as u8)
            })
            .collect();
        let mut gzip = Gzip::default();
        gzip.piece(&Deflater::default().piece(noise.as_bytes()));
        assert_eq!(read(gzip.finish()), noise);
    }

    #[test]
    fn checksums_are_those_of_the_whole() {
        let (head, tail) = (b"A garden is a place".as_slice(), b" where hedges grow.".as_slice());
        let whole = times(crc32fast::hash(head), shift_by(tail.len())) ^ crc32fast::hash(tail);
        assert_eq!(whole, crc32fast::hash(&[head, tail].concat()));
    }
}
