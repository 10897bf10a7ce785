//! The body of an answer: read to its end, unpacked, and never more than a bound.

use std::io::Read as _;

use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::words;

/// What an answer may have in any case. Upstream reads without a bound; an answer is about as long as
/// its question, so a long question allows a longer one.
const ROOM: usize = 16 << 20;
const TIMES_SENT: usize = 8;

/// The whole body; the error is the reason alone.
pub(crate) async fn read(mut body: Incoming, headers: &HeaderMap, sent: usize) -> Result<Bytes, String> {
    let bound = ROOM.max(sent.saturating_mul(TIMES_SENT));
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| words::of_body(&error))?;
        if let Ok(data) = frame.into_data() {
            if all.len() + data.len() > bound {
                return Err(too_large(bound));
            }
            all.extend_from_slice(&data);
        }
    }
    let packed = headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"gzip"));
    if packed && !all.is_empty() { unpack(&all, bound) } else { Ok(all.freeze()) }
}

/// What a caller is told of a body that could not be read.
pub(crate) fn unreadable(reason: &str) -> String {
    format!("unexpected error when reading response body. Please retry. Original error: {reason}")
}

fn too_large(bound: usize) -> String {
    format!("the body is larger than the {bound} bytes that are allowed")
}

fn unpack(packed: &[u8], bound: usize) -> Result<Bytes, String> {
    const HEADER: [u8; 3] = [0x1f, 0x8b, 8];
    if packed.len() >= 10 && !packed.starts_with(&HEADER) {
        return Err("gzip: invalid header".to_owned());
    }
    let mut out = Vec::new();
    MultiGzDecoder::new(packed).take(bound as u64 + 1).read_to_end(&mut out).map_err(|error| {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "unexpected EOF",
            _ if packed.len() < 10 => "unexpected EOF",
            _ => "gzip: invalid checksum",
        }
        .to_owned()
    })?;
    if out.len() > bound {
        return Err(too_large(bound));
    }
    Ok(out.into())
}
