//! The events in the bytes of a watch: lines of JSON, or frames with their length in front.

use bytes::{Bytes, BytesMut};

/// How the events of a watch follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// JSON, a line each.
    Lines,
    /// Protobuf, with the length in four bytes in front.
    Lengths,
    /// CBOR, whose items say themselves where they end: the server sends one at a time.
    Items,
}

/// Takes events out of the bytes of a watch.
#[derive(Debug)]
pub(crate) struct WatchEvents {
    framing: Framing,
    /// The beginning of an event.
    partial: BytesMut,
}

impl WatchEvents {
    /// No bytes so far, of a watch with this media type.
    pub(crate) fn new(content_type: &str) -> Self {
        let framing = match content_type {
            kind if kind.contains("json") => Framing::Lines,
            kind if kind.contains("cbor") => Framing::Items,
            _ => Framing::Lengths,
        };
        Self { framing, partial: BytesMut::new() }
    }

    /// Adds bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
    }

    /// The next complete event.
    pub(crate) fn next(&mut self) -> Option<Bytes> {
        let length = match self.framing {
            Framing::Lines => self.partial.iter().position(|byte| *byte == b'\n')? + 1,
            Framing::Lengths => u32::from_be_bytes(*self.partial.first_chunk()?) as usize + 4,
            Framing::Items => Some(self.partial.len()).filter(|length| *length > 0)?,
        };
        (length <= self.partial.len()).then(|| self.partial.split_to(length).freeze())
    }
}

/// Where the type of an event is in its bytes, at the latest.
const TYPE: usize = 64;

/// Whether an event is a bookmark.
pub(crate) fn is_bookmark(event: &[u8]) -> bool {
    let beginning = &event[..event.len().min(TYPE)];
    match event.first() {
        Some(b'{') => event.starts_with(br#"{"type":"BOOKMARK""#),
        _ => beginning.windows(8).any(|part| part == b"BOOKMARK"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_out_of_parts() {
        let lines: &[&[u8]] = &[b"{\"type\":\"ADDED\"}\n{\"ty", b"pe\":\"BOOKMARK\",\"object\":{}}", b"\n"];
        let lengths: &[&[u8]] = &[b"\0\0\0\x05ADDED\0\0", b"\0\x0ck8s\0BOOKMARK"];
        for (kind, parts) in [("application/json", lines), ("application/vnd.kubernetes.protobuf", lengths)] {
            let mut events = WatchEvents::new(kind);
            let mut bookmarks = Vec::new();
            for part in parts {
                events.push(part);
                while let Some(event) = events.next() {
                    bookmarks.push(is_bookmark(&event));
                }
            }
            assert_eq!(bookmarks, [false, true], "{kind}");
        }
        assert!(!is_bookmark(br#"{"type":"ADDED","object":{"data":{"a":"BOOKMARK"}}}"#));
    }
}
