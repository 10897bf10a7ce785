//! The JSON of a list, written while it is sent.
//!
//! A small list is one piece. A large one is made a piece at a time as the client takes it, so that a
//! list of any size costs the memory of its objects, which the store has anyway, and of one piece.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use pleach_engine::object::Object;

/// The size of a piece. Also the size from which answers are compressed.
pub const PIECE: usize = 128 * 1024;

/// The pieces of a list, in order.
pub struct Pieces {
    head: Vec<u8>,
    items: std::vec::IntoIter<Object>,
    tail: Vec<u8>,
    /// Members that are left out of each item.
    without: &'static [&'static str],
    /// An item before they are.
    whole: Vec<u8>,
    begun: bool,
    ended: bool,
}

impl Pieces {
    /// `head` comes before the items, `tail` after them; commas are put in here.
    pub fn new(head: Vec<u8>, items: Vec<Object>, tail: Vec<u8>) -> Self {
        let items = items.into_iter();
        Self { head, items, tail, without: &[], whole: Vec::new(), begun: false, ended: false }
    }

    /// Leaves members out of each item.
    #[must_use]
    pub fn without(self, members: &'static [&'static str]) -> Self {
        Self { without: members, ..self }
    }

    /// Whether everything has been handed out.
    pub fn is_done(&self) -> bool {
        self.ended
    }
}

impl Iterator for Pieces {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        let mut out = std::mem::take(&mut self.head);
        while out.len() < PIECE {
            let Some(item) = self.items.next() else {
                out.append(&mut self.tail);
                self.ended = true;
                break;
            };
            if std::mem::replace(&mut self.begun, true) {
                out.push(b',');
            }
            if self.without.is_empty() {
                item.write_json(&mut out);
            } else {
                self.whole.clear();
                item.write_json(&mut self.whole);
                pleach_json::copy_without(&self.whole, self.without, &mut out);
            }
        }
        Some(out)
    }
}

/// Pieces, compressed as they come.
pub struct Compressed<I> {
    pieces: I,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<I: Iterator<Item = Vec<u8>>> Compressed<I> {
    /// Compresses fast rather than well, as upstream does.
    pub fn new(pieces: I) -> Self {
        Self { pieces, encoder: Some(GzEncoder::new(Vec::new(), Compression::fast())) }
    }
}

impl<I: Iterator<Item = Vec<u8>>> Iterator for Compressed<I> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut encoder = self.encoder.take()?;
        for piece in self.pieces.by_ref() {
            encoder.write_all(&piece).expect("writing to memory does not fail");
            // The encoder keeps some back, and may have nothing to show for a piece.
            if !encoder.get_ref().is_empty() {
                let out = std::mem::take(encoder.get_mut());
                self.encoder = Some(encoder);
                return Some(out);
            }
        }
        Some(encoder.finish().expect("writing to memory does not fail"))
    }
}

/// Pieces as a body takes them.
pub type Stream = Box<dyn Iterator<Item = Bytes> + Send>;

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use pleach_json::json;

    use super::*;

    fn pieces(count: usize) -> Pieces {
        let text = "x".repeat(1000);
        let items =
            (0..count as i64).map(|i| Object::Value(json!({"i": (i), "text": (text.as_str())}))).collect();
        Pieces::new(b"[".to_vec(), items, b"]\n".to_vec())
    }

    #[test]
    fn members_are_left_out_of_items() {
        let items = vec![
            Object::Value(json!({"apiVersion": "v1", "kind": "A", "x": {"kind": "B"}})),
            Object::Value(json!({"kind": "A"})),
        ];
        let pieces = Pieces::new(b"[".to_vec(), items, b"]".to_vec()).without(&["apiVersion", "kind"]);
        let all: Vec<Vec<u8>> = pieces.collect();
        assert_eq!(String::from_utf8(all.concat()).unwrap(), r#"[{"x":{"kind":"B"}},{}]"#);
    }

    #[test]
    fn pieces_together_are_the_list() {
        for (count, least) in [(0, 1), (1, 1), (100, 1), (1000, 7)] {
            let all: Vec<Vec<u8>> = pieces(count).collect();
            assert!(all.len() >= least, "{count} items came in {} pieces", all.len());
            assert!(all.iter().all(|piece| piece.len() < PIECE + 2048), "a piece is bounded");
            let list = pleach_json::parse(&all.concat()).unwrap();
            let numbers: Vec<i64> =
                list.as_array().unwrap().iter().filter_map(|item| item.get("i")?.as_int()).collect();
            assert_eq!(numbers, (0..count as i64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn compressed_pieces_are_one_stream() {
        let compressed = Compressed::new(pieces(1000)).collect::<Vec<_>>().concat();
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&compressed[..]).read_to_end(&mut text).unwrap();
        assert_eq!(text, pieces(1000).collect::<Vec<_>>().concat());
    }
}
