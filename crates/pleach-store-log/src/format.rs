//! The file format: headers, frames, log entries and checkpoint items.
//!
//! Every file is a header followed by frames. A frame is valid as a whole or not at all:
//!
//! ```text
//! header  magic[8] version:u32 kind:u32 revision:u64 salt:u32 crc:u32   32 bytes
//! frame   magic:u32 size:u32 crc:u32 body[size]        magic of the salt, crc over salt, size and body
//!
//! log         a frame is one group commit: base:u64, then entries
//!               1 revision:u64 count:u32 (key:u32+bytes, value:u32+bytes | u32::MAX for a delete)…
//!               2 oldest:u64                            compaction
//! checkpoint  frames of items (key, created:u64, revision:u64, value), then one closing frame:
//!               u32::MAX items:u64
//! ```
//!
//! Integers are little-endian. `base` is the revision before the frame, so that a missing frame is
//! noticed. The salt is random per file, so that no stored value can pass for a frame, or the start of
//! one, when a damaged file is searched. In version 1, which is still read and appended to, the magic
//! is the same in all files. An unknown `version` is refused. No IO here.

use std::hash::{BuildHasher, Hasher};

use bytes::Bytes;
use pleach_store::{Batch, Key, Revision, StoreError, Versioned};

/// The format version written here, and the newest that is read.
pub(crate) const VERSION: u32 = 2;
/// How long a header is.
pub(crate) const HEADER: usize = 32;
/// How long a frame is before its body.
pub(crate) const FRAME: usize = 12;
/// No frame body is longer; a longer size is damage.
pub(crate) const FRAME_LIMIT: usize = 1 << 30;

const MAGIC: [u8; 8] = *b"pleach\0\n";
/// The magic of frames in files of version 1.
const FRAME_MAGIC: [u8; 4] = [0xf5, b'P', b'L', 0x0a];
const COMMIT: u8 = 1;
const COMPACTED: u8 = 2;
const DELETE: u32 = u32::MAX;

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Commits after the header's revision.
    Log,
    /// Everything that exists at the header's revision.
    Checkpoint,
}

/// Random per file; checksums and magic of its frames depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Salt {
    seed: u32,
    magic: [u8; 4],
}

impl Salt {
    /// An unpredictable salt.
    pub(crate) fn draw() -> Self {
        // The standard library's hasher has a random seed; the hash of nothing exposes it.
        let seed = std::collections::hash_map::RandomState::new().build_hasher().finish() as u32;
        Self::of(seed, VERSION)
    }

    fn of(seed: u32, version: u32) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(b"frame");
        hasher.update(&seed.to_le_bytes());
        // Never zero, which is what unwritten parts of a file hold.
        let magic = if version == 1 { FRAME_MAGIC } else { (hasher.finalize() | 1).to_le_bytes() };
        Self { seed, magic }
    }

    fn crc(self, size: u32, body: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.seed.to_le_bytes());
        hasher.update(&size.to_le_bytes());
        hasher.update(body);
        hasher.finalize()
    }
}

/// The header of a file.
pub(crate) fn header(kind: FileKind, revision: Revision, salt: Salt) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&(kind as u32).to_le_bytes());
    bytes[16..24].copy_from_slice(&revision.0.to_le_bytes());
    bytes[24..28].copy_from_slice(&salt.seed.to_le_bytes());
    let crc = crc32fast::hash(&bytes[..28]);
    bytes[28..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// The revision and salt of a header, if it is valid, of this kind, and of a known version.
pub(crate) fn read_header(
    bytes: &[u8; HEADER],
    kind: FileKind,
    name: &str,
) -> Result<(Revision, Salt), StoreError> {
    let mut reader = Reader(&bytes[8..]);
    if bytes[..8] != MAGIC {
        return Err(StoreError::damaged(format!("{name} does not begin like a file of this store")));
    }
    let version = reader.u32().unwrap_or_default();
    // Before the checksum: a newer format may have that elsewhere.
    if version > VERSION {
        return Err(StoreError::damaged(format!(
            "{name} has format version {version}, and this program reads up to {VERSION}: use a newer program"
        )));
    }
    let found = reader.u32();
    let revision = Revision(reader.u64().unwrap_or_default());
    let salt = Salt::of(reader.u32().unwrap_or_default(), version);
    if reader.u32() != Some(crc32fast::hash(&bytes[..28])) {
        return Err(StoreError::damaged(format!("the header of {name} has a wrong checksum")));
    }
    // So that a next revision exists.
    if revision.0 > u64::MAX / 2 {
        return Err(StoreError::damaged(format!("the header of {name} has an impossible revision")));
    }
    if found != Some(kind as u32) {
        return Err(StoreError::damaged(format!("{name} is not the kind of file its name says")));
    }
    Ok((revision, salt))
}

/// The salt of a header that may be damaged elsewhere.
pub(crate) fn salt_of(bytes: &[u8; HEADER]) -> Salt {
    let mut reader = Reader(&bytes[8..]);
    let version = reader.u32().unwrap_or_default();
    let seed = Reader(&bytes[24..]).u32().unwrap_or_default();
    Salt::of(seed, if version == 1 { 1 } else { VERSION })
}

/// The version of an undamaged header that is newer than [`VERSION`].
pub(crate) fn newer_version(bytes: &[u8; HEADER]) -> Option<u32> {
    let version = Reader(&bytes[8..]).u32()?;
    // A large number is damage.
    (bytes[..8] == MAGIC && version > VERSION && version < VERSION + 100).then_some(version)
}

/// Starts a frame at the end of `buffer`; the result is for [`finish_frame`].
pub(crate) fn begin_frame(buffer: &mut Vec<u8>) -> usize {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; FRAME]);
    start
}

/// Fills in the magic, size and checksum of the frame started at `start`.
pub(crate) fn finish_frame(buffer: &mut [u8], start: usize, salt: Salt) {
    let size = (buffer.len() - start - FRAME) as u32;
    buffer[start..start + 4].copy_from_slice(&salt.magic);
    buffer[start + 4..start + 8].copy_from_slice(&size.to_le_bytes());
    let crc = salt.crc(size, &buffer[start + FRAME..]);
    buffer[start + 8..start + 12].copy_from_slice(&crc.to_le_bytes());
}

/// The size and checksum in a frame's header; `None` if it is not one.
pub(crate) fn frame_head(bytes: &[u8; FRAME], salt: Salt) -> Option<(usize, u32)> {
    let mut reader = Reader(bytes.strip_prefix(&salt.magic)?);
    let size = reader.u32()? as usize;
    let crc = reader.u32()?;
    (size <= FRAME_LIMIT).then_some((size, crc))
}

/// Whether the body matches its frame's checksum.
pub(crate) fn frame_holds(salt: Salt, crc: u32, body: &[u8]) -> bool {
    salt.crc(body.len() as u32, body) == crc
}

/// The result of a search for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    /// A valid frame starts at this offset.
    Found(usize),
    /// There is none.
    Nothing,
    /// Too many candidates: in version 1 a client can store values that look like frames.
    GaveUp,
}

/// Searches `bytes` for a valid frame, at every offset. The work is linear in the size.
pub(crate) fn find_frame(bytes: &[u8], salt: Salt) -> Search {
    let (mut from, mut budget) = (0, bytes.len().saturating_mul(16));
    while let Some(at) = bytes[from..].windows(salt.magic.len()).position(|window| window == salt.magic) {
        let start = from + at;
        let head = bytes[start..].first_chunk::<FRAME>().and_then(|head| frame_head(head, salt));
        if let Some((size, crc)) = head
            && let Some(body) = bytes.get(start + FRAME..start + FRAME + size)
        {
            let Some(left) = budget.checked_sub(size) else { return Search::GaveUp };
            budget = left;
            if frame_holds(salt, crc, body) {
                return Search::Found(start);
            }
        }
        from = start + 1;
    }
    Search::Nothing
}

/// Begins the body of a log frame.
pub(crate) fn put_base(buffer: &mut Vec<u8>, base: Revision) {
    buffer.extend_from_slice(&base.0.to_le_bytes());
}

/// A commit, as a log entry. Values are written as `encoded` has them, if it does.
pub(crate) fn put_commit(buffer: &mut Vec<u8>, batch: &Batch, encoded: &[(Key, Bytes)]) {
    buffer.push(COMMIT);
    buffer.extend_from_slice(&batch.revision().0.to_le_bytes());
    buffer.extend_from_slice(&(batch.len() as u32).to_le_bytes());
    for event in batch {
        put_bytes(buffer, event.key.as_str().as_bytes());
        match &event.value {
            Some(value) => {
                let encoded = encoded.iter().find(|(key, _)| *key == event.key);
                put_bytes(buffer, encoded.map_or(&value.value, |(_, encoded)| encoded));
            }
            None => buffer.extend_from_slice(&DELETE.to_le_bytes()),
        }
    }
}

/// A compaction, as a log entry.
pub(crate) fn put_compacted(buffer: &mut Vec<u8>, oldest: Revision) {
    buffer.push(COMPACTED);
    buffer.extend_from_slice(&oldest.0.to_le_bytes());
}

/// The size of a checkpoint of this many keys, whose keys and values have this many bytes.
pub(crate) fn checkpoint_bytes(keys: u64, bytes: u64) -> u64 {
    let items = bytes + keys * 24;
    let frames = items / crate::checkpoint::FRAME_BYTES as u64 + 2;
    HEADER as u64 + items + frames * FRAME as u64 + 12
}

/// An item of a checkpoint.
pub(crate) fn put_item(buffer: &mut Vec<u8>, item: &Versioned) {
    put_bytes(buffer, item.key.as_str().as_bytes());
    buffer.extend_from_slice(&item.created.0.to_le_bytes());
    buffer.extend_from_slice(&item.revision.0.to_le_bytes());
    put_bytes(buffer, &item.value);
}

/// The end of a checkpoint, in a frame of its own.
pub(crate) fn put_end(buffer: &mut Vec<u8>, items: u64) {
    buffer.extend_from_slice(&DELETE.to_le_bytes());
    buffer.extend_from_slice(&items.to_le_bytes());
}

fn put_bytes(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    buffer.extend_from_slice(bytes);
}

/// An entry of the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A commit: the new values of the keys it changed.
    Commit {
        /// Its revision.
        revision: Revision,
        /// Keys and their new values; `None`: deleted.
        changes: Vec<(Key, Option<Bytes>)>,
    },
    /// A compaction: history before this revision is gone.
    Compacted(Revision),
}

/// Decodes the body of a log frame: its base and its entries. `None` if it is malformed.
pub(crate) fn read_log_frame(body: &[u8]) -> Option<(Revision, Vec<Entry>)> {
    let mut reader = Reader(body);
    let base = Revision(reader.u64()?);
    let mut entries = Vec::new();
    while !reader.0.is_empty() {
        entries.push(match reader.take(1)?[0] {
            COMMIT => {
                let revision = Revision(reader.u64()?);
                let count = reader.u32()?;
                let mut changes = Vec::new();
                for _ in 0..count {
                    let key = reader.key()?;
                    let value = match reader.u32()? {
                        DELETE => None,
                        size => Some(Bytes::copy_from_slice(reader.take(size as usize)?)),
                    };
                    changes.push((key, value));
                }
                Entry::Commit { revision, changes }
            }
            COMPACTED => Entry::Compacted(Revision(reader.u64()?)),
            _ => return None,
        });
    }
    Some((base, entries))
}

/// The body of a checkpoint frame.
pub(crate) enum Items {
    /// Some of the items.
    Some(Vec<Versioned>),
    /// The last frame, with the number of items.
    End(u64),
}

/// Decodes the body of a checkpoint frame. `None` if it is malformed.
pub(crate) fn read_items(body: &[u8]) -> Option<Items> {
    let mut reader = Reader(body);
    if let Some(mut end) = body.strip_prefix(&DELETE.to_le_bytes()).map(Reader) {
        return Some(Items::End(end.u64()?));
    }
    let mut items = Vec::new();
    while !reader.0.is_empty() {
        let key = reader.key()?;
        let (created, revision) = (Revision(reader.u64()?), Revision(reader.u64()?));
        let size = reader.u32()?;
        let value = Bytes::copy_from_slice(reader.take(size as usize)?);
        items.push(Versioned { key, value, created, revision });
    }
    Some(Items::Some(items))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }

    fn key(&mut self) -> Option<Key> {
        let size = self.u32()?;
        Some(Key::new(std::str::from_utf8(self.take(size as usize)?).ok()?))
    }
}
