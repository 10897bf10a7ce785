//! Streamed response bodies, made a piece at a time as the client reads them.
//!
//! A response that waits to be sent takes the memory of its source, which [`Pieces`] reports. Stored
//! objects are shared with the store; text is made from them in pieces of [`PIECE`] bytes, indented or compressed
//! on the way. A source that fails in the middle ends the response without its regular end, so that no client
//! takes half an answer for a whole one.

use std::io::Write as _;

use bytes::{Buf, Bytes};
use flate2::Compression;
use flate2::write::GzEncoder;
use pleach_engine::rejection::Rejection;
use pleach_json::{Indenter, Value};

/// The size of a piece.
pub const PIECE: usize = 32 * 1024;

/// Roughly the memory of a compressor.
const COMPRESSOR: usize = 320 * 1024;
/// About how many times its JSON a parsed value takes.
const PARSED: usize = 8;

/// A body that is made a piece at a time.
pub trait Pieces: Send {
    /// The next piece; `None` is the end. Pieces are not empty and about [`PIECE`] bytes long.
    fn next(&mut self) -> Option<Result<Bytes, Rejection>>;

    /// About how much memory it holds that is not the store's.
    fn held(&self) -> usize;
}

impl Pieces for Box<dyn Pieces> {
    fn next(&mut self) -> Option<Result<Bytes, Rejection>> {
        (**self).next()
    }

    fn held(&self) -> usize {
        (**self).held()
    }
}

/// Bytes that are there, in pieces; they are not copied where that can be avoided.
pub struct Slices<B>(pub B);

impl<B: Buf + Send> Pieces for Slices<B> {
    fn next(&mut self) -> Option<Result<Bytes, Rejection>> {
        let length = self.0.remaining().min(PIECE);
        (length > 0).then(|| Ok(self.0.copy_to_bytes(length)))
    }

    fn held(&self) -> usize {
        self.0.remaining()
    }
}

/// A piece that was made already, and the remaining pieces.
pub struct Begun<P> {
    /// The first piece.
    pub first: Bytes,
    /// The remaining pieces.
    pub rest: P,
}

impl<P: Pieces> Pieces for Begun<P> {
    fn next(&mut self) -> Option<Result<Bytes, Rejection>> {
        if self.first.is_empty() { self.rest.next() } else { Some(Ok(std::mem::take(&mut self.first))) }
    }

    fn held(&self) -> usize {
        self.first.len() + self.rest.held()
    }
}

/// JSON, indented as it comes.
pub struct Indented<P> {
    compact: P,
    /// Text that has not been indented yet.
    left: Bytes,
    indenter: Indenter,
}

impl<P: Pieces> Indented<P> {
    /// Two blanks for each level, as upstream.
    pub fn new(compact: P) -> Self {
        Self { compact, left: Bytes::new(), indenter: Indenter::new(2) }
    }
}

impl<P: Pieces> Pieces for Indented<P> {
    fn next(&mut self) -> Option<Result<Bytes, Rejection>> {
        let mut out = Vec::new();
        while out.len() < PIECE {
            if self.left.is_empty() {
                match self.compact.next() {
                    Some(Ok(piece)) => self.left = piece,
                    Some(Err(rejection)) => return Some(Err(rejection)),
                    None => break,
                }
            }
            if out.capacity() == 0 {
                out.reserve(PIECE.min(self.left.len() * 2 + 64));
            }
            let used = self.indenter.write(&self.left, &mut out, PIECE);
            self.left.advance(used);
        }
        (!out.is_empty()).then(|| Ok(out.into()))
    }

    fn held(&self) -> usize {
        self.compact.held() + self.left.len()
    }
}

/// Pieces, compressed as they come.
pub struct Compressed<P> {
    pieces: P,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<P: Pieces> Compressed<P> {
    /// Compresses fast rather than well, as upstream does.
    pub fn new(pieces: P) -> Self {
        Self { pieces, encoder: Some(GzEncoder::new(Vec::new(), Compression::fast())) }
    }
}

impl<P: Pieces> Pieces for Compressed<P> {
    fn next(&mut self) -> Option<Result<Bytes, Rejection>> {
        let mut encoder = self.encoder.take()?;
        while let Some(piece) = self.pieces.next() {
            let written = match piece {
                Ok(piece) => encoder.write_all(&piece),
                Err(rejection) => return Some(Err(rejection)),
            };
            if let Err(error) = written {
                return Some(Err(Rejection::internal(error.to_string())));
            }
            // The encoder keeps some back, and may have nothing to show for a piece.
            if encoder.get_ref().len() >= PIECE / 2 {
                let out = std::mem::take(encoder.get_mut());
                self.encoder = Some(encoder);
                return Some(Ok(out.into()));
            }
        }
        Some(encoder.finish().map(Bytes::from).map_err(|error| Rejection::internal(error.to_string())))
    }

    fn held(&self) -> usize {
        self.pieces.held() + if self.encoder.is_some() { COMPRESSOR } else { 0 }
    }
}

/// A value as YAML.
pub struct Yaml {
    writer: Option<pleach_yaml::Writer>,
    /// Roughly the memory of the value.
    size: usize,
}

impl Yaml {
    /// `json` is the length of the value's JSON, or about that.
    pub fn new(value: Value, json: usize) -> Self {
        Self { writer: Some(pleach_yaml::Writer::new(value)), size: json * PARSED }
    }
}

impl Pieces for Yaml {
    fn next(&mut self) -> Option<Result<Bytes, Rejection>> {
        let writer = self.writer.as_mut()?;
        let mut out = String::new();
        if !writer.write(&mut out, PIECE) {
            self.writer = None;
        }
        Some(Ok(out.into_bytes().into()))
    }

    fn held(&self) -> usize {
        if self.writer.is_some() { self.size } else { 0 }
    }
}

#[cfg(test)]
pub(crate) fn all(mut pieces: impl Pieces) -> Vec<Bytes> {
    std::iter::from_fn(|| pieces.next()).map(|piece| piece.unwrap()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use pleach_json::json;

    use super::*;

    /// Many lines at a depth that only few objects have.
    fn deep() -> Value {
        let mut value = Value::from(vec![Value::Int(1); 20_000]);
        for _ in 0..9_000 {
            value = json!({"k": value});
        }
        value
    }

    #[test]
    fn indented_and_compressed_pieces_are_the_whole() {
        let value = deep();
        let json = Bytes::from(pleach_json::to_vec(&value));
        let want = pleach_json::to_string_pretty(&value, 2);
        let pieces = all(Indented::new(Slices(json.clone())));
        assert!(pieces.iter().all(|piece| piece.len() < PIECE + 1024), "a piece is bounded");
        assert!(pieces.concat() == want.as_bytes());
        let compressed = all(Compressed::new(Indented::new(Slices(json)))).concat();
        let mut text = String::new();
        flate2::read::GzDecoder::new(&compressed[..]).read_to_string(&mut text).unwrap();
        assert!(text == want);
    }

    #[test]
    fn yaml_comes_in_pieces() {
        let value = json!({"a": (deep()), "b": (vec![Value::from("x y"); 100_000])});
        let pieces = all(Yaml::new(value.clone(), 1));
        assert!(pieces.len() > 10 && pieces.iter().all(|piece| piece.len() < PIECE + 1024));
        assert!(pieces.concat() == pleach_yaml::to_yaml(&value).as_bytes());
    }

    #[test]
    fn bytes_are_not_copied() {
        let bytes = Bytes::from(vec![b'x'; 3 * PIECE]);
        let pieces = all(Slices(bytes.clone()));
        assert_eq!(pieces.len(), 3);
        assert_eq!(pieces[1].as_ptr(), bytes[PIECE..].as_ptr());
    }
}
