//! The `SYNCED` file: which revision of the log is known to be durable.
//!
//! A broken frame at the end of the log is either a write that a crash interrupted, which was never
//! acknowledged, or an acknowledged commit that is damaged. The log alone cannot tell them apart, nor
//! that its newest segment is missing. So each sync of the log is followed by a write of the durable
//! revision here. This file is synced only when the store is closed: the kernel writes it back within
//! seconds, and it survives a killed process. A stale marker says less, never too much.
//!
//! Two slots in sectors of their own, written in turn: at least one is intact.
//!
//! ```text
//! slot    magic[8] version:u32 number:u64 revision:u64 segment:u64 offset:u64 crc:u32    48 bytes
//! ```

use std::io;

use pleach_store::Revision;

use crate::disk::{Disk, DiskFile};

/// The name of the file.
pub(crate) const NAME: &str = "SYNCED";
const MAGIC: [u8; 8] = *b"plsynced";
const VERSION: u32 = 1;
const SLOT: usize = 48;
const SLOTS: [u64; 2] = [0, 512];

/// The durable part of the log when the marker was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SyncedPosition {
    /// The newest commit.
    pub(crate) revision: Revision,
    /// The segment it is in, and the segment's size.
    pub(crate) segment: Revision,
    pub(crate) offset: u64,
}

/// The open marker file.
#[derive(Debug, Default)]
pub(crate) struct SyncMarker {
    file: Option<Box<dyn DiskFile>>,
    number: u64,
}

impl SyncMarker {
    /// Records the durable position. After a failure the older marker stays, which is true as well.
    pub(crate) fn write(&mut self, disk: &dyn Disk, synced: SyncedPosition) {
        let _ = self.try_write(disk, synced);
    }

    fn try_write(&mut self, disk: &dyn Disk, synced: SyncedPosition) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let (file, number) = match disk.open(NAME) {
                    Ok(file) => {
                        let number = newest(&*file)?.map_or(0, |(number, _)| number);
                        (file, number)
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => (disk.create(NAME)?, 0),
                    Err(error) => return Err(error),
                };
                self.number = number;
                none.insert(file)
            }
        };
        self.number += 1;
        file.write_at(&encode(self.number, synced), SLOTS[(self.number % 2) as usize])
    }

    /// Syncs the marker; an error is ignored.
    pub(crate) fn sync(&mut self) {
        if let Some(file) = &mut self.file {
            let _ = file.sync();
        }
    }
}

/// The marker on a disk; `None` if there is none, or none that is intact.
pub(crate) fn read(disk: &dyn Disk) -> io::Result<Option<SyncedPosition>> {
    match disk.open(NAME) {
        Ok(file) => Ok(newest(&*file)?.map(|(_, synced)| synced)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn newest(file: &dyn DiskFile) -> io::Result<Option<(u64, SyncedPosition)>> {
    let mut newest: Option<(u64, SyncedPosition)> = None;
    for offset in SLOTS {
        let mut slot = [0; SLOT];
        if !file.fill_at(&mut slot, offset)? {
            continue;
        }
        if let Some(found) = decode(&slot)
            && newest.is_none_or(|(number, _)| number < found.0)
        {
            newest = Some(found);
        }
    }
    Ok(newest)
}

fn encode(number: u64, synced: SyncedPosition) -> [u8; SLOT] {
    let mut slot = [0; SLOT];
    slot[..8].copy_from_slice(&MAGIC);
    slot[8..12].copy_from_slice(&VERSION.to_le_bytes());
    for (at, field) in [number, synced.revision.0, synced.segment.0, synced.offset].into_iter().enumerate() {
        slot[12 + at * 8..20 + at * 8].copy_from_slice(&field.to_le_bytes());
    }
    let crc = crc32fast::hash(&slot[..SLOT - 4]);
    slot[SLOT - 4..].copy_from_slice(&crc.to_le_bytes());
    slot
}

fn decode(slot: &[u8; SLOT]) -> Option<(u64, SyncedPosition)> {
    let (content, crc) = slot.split_last_chunk::<4>()?;
    let version = content.strip_prefix(&MAGIC)?.first_chunk()?;
    if u32::from_le_bytes(*version) != VERSION || u32::from_le_bytes(*crc) != crc32fast::hash(content) {
        return None;
    }
    let field = |at: usize| Some(u64::from_le_bytes(*content.get(12 + at * 8..)?.first_chunk()?));
    let synced =
        SyncedPosition { revision: Revision(field(1)?), segment: Revision(field(2)?), offset: field(3)? };
    Some((field(0)?, synced))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::SimDisk;

    fn at(revision: u64) -> SyncedPosition {
        SyncedPosition { revision: Revision(revision), segment: Revision(1), offset: revision * 10 }
    }

    #[test]
    fn the_newest_valid_slot_counts() {
        let disk = SimDisk::new();
        assert_eq!(read(&disk).expect("no file is no marker"), None);
        let mut marker = SyncMarker::default();
        for revision in 2..9 {
            marker.write(&disk, at(revision));
            assert_eq!(read(&disk).expect("a marker"), Some(at(revision)));
        }
        // A second writer goes on with the numbers of the first.
        let mut marker = SyncMarker::default();
        marker.write(&disk, at(9));
        assert_eq!(read(&disk).expect("a marker"), Some(at(9)));
        for byte in 0..SLOT {
            let copy = disk.copy();
            copy.with_file(NAME, |bytes| bytes[byte] ^= 1);
            let found = read(&copy).expect("a marker");
            assert!(found == Some(at(8)) || found == Some(at(9)), "byte {byte}: {found:?}");
        }
        disk.with_file(NAME, Vec::clear);
        assert_eq!(read(&disk).expect("an empty file is no marker"), None);
    }
}
