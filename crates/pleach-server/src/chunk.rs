//! Chunks of a response body: contiguous bytes, or a stored object with its resource version inserted.
//!
//! A stored object lacks its resource version, which is known only after it was stored. It is not copied to
//! put it in: a response is a few slices of stored bytes, and encryption is the first to copy them.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};
use pleach_engine::record::Record;
use pleach_json::Str;

/// A part of a body.
#[derive(Debug)]
pub enum Chunk {
    /// Bytes in one place.
    Whole(Bytes),
    /// A stored object.
    Stored(Stored),
    /// Chunks that are sent in one write.
    Joined(Joined),
}

/// Chunks one behind the other, none of them empty.
#[derive(Debug, Default)]
pub struct Joined {
    chunks: VecDeque<Chunk>,
    remaining: usize,
}

impl Chunk {
    /// This chunk and others, in one write.
    #[must_use]
    pub fn followed_by(self, mut others: VecDeque<Self>) -> Self {
        if others.is_empty() {
            return self;
        }
        others.push_front(self);
        others.retain(Buf::has_remaining);
        let remaining = others.iter().map(Buf::remaining).sum();
        Self::Joined(Joined { chunks: others, remaining })
    }
}

impl Buf for Joined {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        self.chunks.front().map(Buf::chunk).unwrap_or_default()
    }

    fn chunks_vectored<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        let mut count = 0;
        for chunk in &self.chunks {
            // A chunk in several places may not have had room for all of them: nothing may follow it then.
            if count == out.len() {
                break;
            }
            count += chunk.chunks_vectored(&mut out[count..]);
        }
        count
    }

    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.remaining, "there is not so much left");
        self.remaining -= count;
        while let Some(first) = self.chunks.front_mut() {
            let length = first.remaining();
            if count < length {
                first.advance(count);
                return;
            }
            count -= length;
            self.chunks.pop_front();
        }
    }
}

impl From<Bytes> for Chunk {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes)
    }
}

/// A stored object with its resource version put in, and the bytes before and behind it.
#[derive(Clone, Debug)]
pub struct Stored {
    before: &'static [u8],
    head: Bytes,
    /// The resource version.
    member: Str,
    tail: Bytes,
    behind: &'static [u8],
    /// How much has been sent.
    sent: usize,
    /// Where it ends.
    end: usize,
}

impl Stored {
    /// An object that is sendable as it is stored, and the end of the line.
    pub fn new(record: &Record) -> Self {
        Self::within(record, b"", b"\n")
    }

    /// An object that is sendable as it is stored, between other text.
    pub fn within(record: &Record, before: &'static [u8], behind: &'static [u8]) -> Self {
        let (head, member, tail) = record.pieces();
        let end = before.len() + head.len() + member.len() + tail.len() + behind.len();
        Self { before, head, member: member.into(), tail, behind, sent: 0, end }
    }

    /// Takes some off the front.
    #[must_use]
    pub fn split_to(&mut self, length: usize) -> Self {
        let end = self.end.min(self.sent + length);
        let front = Self { end, ..self.clone() };
        self.sent = end;
        front
    }

    fn parts(&self) -> [&[u8]; 5] {
        [self.before, &self.head, self.member.as_bytes(), &self.tail, self.behind]
    }

    /// The rest of each part.
    fn left(&self) -> impl Iterator<Item = &[u8]> {
        let (mut sent, mut left) = (self.sent, self.end - self.sent);
        self.parts().into_iter().filter_map(move |part| {
            let gone = sent.min(part.len());
            sent -= gone;
            let part = &part[gone..];
            let part = &part[..left.min(part.len())];
            left -= part.len();
            Some(part).filter(|part| !part.is_empty())
        })
    }
}

impl Buf for Stored {
    fn remaining(&self) -> usize {
        self.end - self.sent
    }

    fn chunk(&self) -> &[u8] {
        self.left().next().unwrap_or_default()
    }

    fn chunks_vectored<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        let mut count = 0;
        for (place, left) in out.iter_mut().zip(self.left()) {
            *place = IoSlice::new(left);
            count += 1;
        }
        count
    }

    fn advance(&mut self, count: usize) {
        assert!(count <= self.remaining(), "there is not so much left");
        self.sent += count;
    }
}

impl Buf for Chunk {
    #[inline]
    fn remaining(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::Stored(stored) => stored.remaining(),
            Self::Joined(joined) => joined.remaining(),
        }
    }

    #[inline]
    fn chunk(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Stored(stored) => stored.chunk(),
            Self::Joined(joined) => joined.chunk(),
        }
    }

    #[inline]
    fn chunks_vectored<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        match self {
            Self::Whole(bytes) => bytes.chunks_vectored(out),
            Self::Stored(stored) => stored.chunks_vectored(out),
            Self::Joined(joined) => joined.chunks_vectored(out),
        }
    }

    #[inline]
    fn advance(&mut self, count: usize) {
        match self {
            Self::Whole(bytes) => bytes.advance(count),
            Self::Stored(stored) => stored.advance(count),
            Self::Joined(joined) => joined.advance(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pleach_store::Revision;

    fn stored(revision: u64) -> (Stored, Vec<u8>) {
        let mut object =
            pleach_json::json!({"kind": "Foo", "metadata": {"name": "x", "uid": "u"}, "spec": {"a": 1}});
        let bytes = pleach_engine::record::encode(&mut object, 9, &pleach_json::InternedObjects::default());
        let record = Record::open(bytes, Revision(revision)).unwrap();
        let mut whole = Vec::new();
        record.write_to(&mut whole);
        whole.push(b'\n');
        (Stored::new(&record), whole)
    }

    #[test]
    fn it_is_what_would_be_copied() {
        for revision in [1, 4_711, u64::MAX] {
            for step in [1, 2, 7, 40, 1000] {
                let (mut stored, whole) = stored(revision);
                let mut read = Vec::new();
                while stored.has_remaining() {
                    let mut slices = [IoSlice::new(&[]); 4];
                    let count = stored.chunks_vectored(&mut slices);
                    let all: Vec<u8> =
                        slices[..count].iter().flat_map(|slice| slice.iter().copied()).collect();
                    assert_eq!(all, whole[read.len()..]);
                    let next = stored.chunk();
                    let next = next[..step.min(next.len())].to_vec();
                    read.extend_from_slice(&next);
                    stored.advance(next.len());
                    assert_eq!(stored.remaining(), whole.len() - read.len());
                }
                assert_eq!(read, whole);
            }
        }
        let (stored, whole) = stored(12);
        assert_eq!(Chunk::Stored(stored).copy_to_bytes(whole.len()), whole);
    }

    #[test]
    fn parts_of_it_are_what_it_is() {
        for length in [1, 3, 10, 50] {
            let (mut stored, whole) = stored(4_711);
            let mut all = Vec::new();
            while stored.has_remaining() {
                let mut part = stored.split_to(length);
                let size = part.remaining();
                assert!(size <= length);
                all.extend_from_slice(&part.copy_to_bytes(size));
            }
            assert_eq!(all, whole);
        }
    }

    #[test]
    fn joined_chunks_are_read_one_behind_the_other() {
        for (step, room) in [(1, 1), (2, 3), (7, 4), (40, 16), (1000, 64)] {
            let (first, first_bytes) = stored(4_711);
            let (last, last_bytes) = stored(12);
            let between = Bytes::from_static(b"between\n");
            let whole = [&first_bytes[..], &between, &last_bytes].concat();
            let others = [between.into(), Bytes::new().into(), Chunk::Stored(last)];
            let mut joined = Chunk::Stored(first).followed_by(others.into());
            let mut read = Vec::new();
            while joined.has_remaining() {
                assert_eq!(joined.remaining(), whole.len() - read.len());
                let mut slices = vec![IoSlice::new(&[]); room];
                let count = joined.chunks_vectored(&mut slices);
                let all: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.iter().copied()).collect();
                assert!(!all.is_empty() && whole[read.len()..].starts_with(&all));
                let taken = step.min(all.len());
                read.extend_from_slice(&all[..taken]);
                joined.advance(taken);
            }
            assert_eq!(read, whole);
            assert!(joined.chunk().is_empty());
        }
        let alone = Chunk::from(Bytes::from_static(b"x")).followed_by(VecDeque::new());
        assert!(matches!(alone, Chunk::Whole(_)));
    }

    #[test]
    fn few_slices_are_filled_as_far_as_they_go() {
        let (mut stored, whole) = stored(12);
        stored.advance(3);
        let mut slices = [IoSlice::new(&[]); 2];
        assert_eq!(stored.chunks_vectored(&mut slices), 2);
        assert!(whole[3..].starts_with(&[&slices[0][..], &slices[1][..]].concat()));
    }
}
