//! Bytes that lie in many places and are sent one after the other.
//!
//! A document of a hundred megabytes is not put together to be sent: the pieces it is made of are
//! handed out as they are, and only small ones are gathered, when the client is ready for them.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

/// A piece of this size is worth a frame of its own.
const LARGE: usize = 16 * 1024;
/// Small pieces are gathered until they are so many bytes.
const FRAME: usize = 64 * 1024;

/// Bytes in order, as an iterator over frames.
#[derive(Clone, Debug)]
pub struct Rope {
    pieces: Arc<[Bytes]>,
    /// The piece that comes next.
    at: usize,
    left: usize,
}

impl Rope {
    /// The pieces, one after the other.
    pub fn new(pieces: Vec<Bytes>) -> Self {
        let left = pieces.iter().map(Bytes::len).sum();
        Self { pieces: pieces.into(), at: 0, left }
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.left
    }
}

impl Iterator for Rope {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut end = self.at;
        let mut length = 0;
        while let Some(piece) = self.pieces.get(end)
            && (end == self.at || (piece.len() < LARGE && length + piece.len() <= FRAME))
        {
            length += piece.len();
            end += 1;
            if length >= LARGE && end == self.at + 1 {
                break;
            }
        }
        let frame = match &self.pieces[self.at..end] {
            [] => return None,
            [one] => one.clone(),
            many => {
                let mut frame = BytesMut::with_capacity(length);
                many.iter().for_each(|piece| frame.extend_from_slice(piece));
                frame.freeze()
            }
        };
        self.at = end;
        self.left -= length;
        // An empty slice is no frame.
        if frame.is_empty() { self.next() } else { Some(frame) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pieces_are_gathered_and_large_ones_are_not() {
        let of = |size: usize| Bytes::from(vec![b'x'; size]);
        for (sizes, frames, why) in [
            (vec![], vec![], "nothing"),
            (vec![0, 0], vec![], "nothing, in two pieces"),
            (vec![1, 2, 3], vec![6], "all are small"),
            (vec![LARGE, 1, LARGE], vec![LARGE, 1, LARGE], "large ones stand alone"),
            (vec![1, LARGE, 1, 1], vec![1, LARGE, 2], "a large one ends what is gathered"),
            (vec![LARGE - 1; 5], vec![4 * (LARGE - 1), LARGE - 1], "a frame has its limit"),
            (vec![10 * FRAME], vec![10 * FRAME], "a piece is never cut"),
        ] {
            let rope = Rope::new(sizes.iter().map(|size| of(*size)).collect());
            assert_eq!(rope.left(), sizes.iter().sum::<usize>(), "{why}");
            assert_eq!(rope.map(|frame| frame.len()).collect::<Vec<_>>(), frames, "{why}");
        }
    }

    #[test]
    fn large_pieces_are_not_copied() {
        let piece = Bytes::from(vec![b'x'; LARGE]);
        let mut rope = Rope::new(vec![Bytes::from_static(b"{"), piece.clone()]);
        assert_eq!(rope.next().as_deref(), Some(&b"{"[..]));
        assert_eq!(rope.left(), LARGE);
        assert_eq!(rope.next().map(|frame| frame.as_ptr()), Some(piece.as_ptr()));
        assert_eq!(rope.left(), 0);
    }
}
