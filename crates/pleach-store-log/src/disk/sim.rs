//! Simulated disk: in memory, with injected faults and crashes.
//!
//! Calls that change something are counted. From a chosen call on the disk can fail, once or for good,
//! and a failing write may be partial. A *crash* gives a disk with what could be left: everything
//! synced; of the rest, any sectors of any writes, and any of the creations, renames and removals.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard},
};

use pleach_store::contract::TestRng;

use super::{Disk, DiskFile};

const SECTOR: usize = 512;

/// When and how the disk fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The number of the call that fails, counted from zero.
    pub(crate) at: u64,
    /// Whether all later ones fail, too.
    pub(crate) sticky: bool,
    /// How much of a failing write is written, in percent.
    pub(crate) torn: usize,
    /// The `errno` of the failure; other errors if not given.
    pub(crate) code: Option<i32>,
}

#[derive(Debug, Clone)]
pub(crate) struct SimDisk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    inodes: Vec<Inode>,
    names: BTreeMap<String, usize>,
    synced_names: BTreeMap<String, usize>,
    /// Changes to names since they were synced, oldest first.
    unsynced_names: Vec<NameChange>,
    calls: u64,
    fault: Option<Fault>,
    /// The `errno` of creating a file, if that fails.
    no_create: Option<i32>,
    /// The capacity in bytes.
    capacity: Option<u64>,
    /// Reserved space, by name.
    reserved: BTreeMap<String, u64>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Set(String, usize),
    Rename(String, String),
    Remove(String),
}

#[derive(Debug, Clone, Default)]
struct Inode {
    content: Vec<u8>,
    synced: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write(offset, bytes) => {
                let end = offset + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*offset..end].copy_from_slice(bytes);
            }
            Self::Truncate(size) => content.resize(*size, 0),
        }
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Set(name, inode) => {
                names.insert(name.clone(), *inode);
            }
            Self::Rename(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
            Self::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

fn broken(fault: Fault) -> io::Error {
    fault.code.map_or_else(|| io::Error::other("simulated failure"), io::Error::from_raw_os_error)
}

fn full() -> io::Error {
    io::Error::from(io::ErrorKind::StorageFull)
}

fn missing() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

impl State {
    /// Counts a call, and fails it if it is the chosen one.
    fn call(&mut self) -> Result<(), Fault> {
        let number = self.calls;
        self.calls += 1;
        match self.fault {
            Some(fault) if fault.at == number || (fault.sticky && number > fault.at) => Err(fault),
            _ => Ok(()),
        }
    }

    fn free(&self) -> u64 {
        let files: u64 = self.names.values().map(|&inode| self.inodes[inode].content.len() as u64).sum();
        let used = files + self.reserved.values().sum::<u64>();
        self.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(used))
    }

    fn rename(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.unsynced_names.push(change);
    }
}

impl SimDisk {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Sets a fault; calls are counted from zero again.
    pub(crate) fn set_fault(&self, fault: Option<Fault>) {
        let mut state = self.lock();
        state.fault = fault;
        state.calls = 0;
    }

    /// Sets the capacity.
    pub(crate) fn set_capacity(&self, bytes: Option<u64>) {
        self.lock().capacity = bytes;
    }

    /// The free space.
    pub(crate) fn room(&self) -> u64 {
        self.lock().free()
    }

    /// The `errno` that creating a file fails with from now on.
    pub(crate) fn set_no_create(&self, code: Option<i32>) {
        self.lock().no_create = code;
    }

    /// The bytes of all files.
    pub(crate) fn total(&self) -> u64 {
        let state = self.lock();
        state.names.values().map(|&inode| state.inodes[inode].content.len() as u64).sum()
    }

    /// How many calls changed something since the fault was set.
    pub(crate) fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// A disk as a crash now could leave it.
    pub(crate) fn crash(&self, rng: &mut TestRng) -> Self {
        let state = self.lock();
        let mut names = state.synced_names.clone();
        // Most file systems keep a prefix; some keep any subset.
        let in_order = rng.below(2) == 0;
        let kept = rng.below(state.unsynced_names.len() as u64 + 1) as usize;
        for (number, change) in state.unsynced_names.iter().enumerate() {
            if if in_order { number < kept } else { rng.below(2) == 0 } {
                change.apply(&mut names);
            }
        }
        let inodes = state.inodes.iter().map(|inode| inode.crash(rng)).collect();
        Self(Arc::new(Mutex::new(State { inodes, synced_names: names.clone(), names, ..State::default() })))
    }

    /// The bytes of a file, to be read or changed without the store's knowledge.
    pub(crate) fn with_file<T>(&self, name: &str, body: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let mut state = self.lock();
        let inode = state.names[name];
        let result = body(&mut state.inodes[inode].content);
        state.inodes[inode].synced = state.inodes[inode].content.clone();
        result
    }

    /// The names of all files.
    pub(crate) fn list_names(&self) -> Vec<String> {
        self.lock().names.keys().cloned().collect()
    }

    /// A disk with the same files, all synced.
    pub(crate) fn copy(&self) -> Self {
        let state = self.lock();
        let inodes = state.inodes.iter().map(|inode| Inode {
            content: inode.content.clone(),
            synced: inode.content.clone(),
            unsynced: Vec::new(),
        });
        let (inodes, names) = (inodes.collect(), state.names.clone());
        Self(Arc::new(Mutex::new(State { inodes, synced_names: names.clone(), names, ..State::default() })))
    }
}

impl Inode {
    fn crash(&self, rng: &mut TestRng) -> Self {
        let mut content = self.synced.clone();
        // Sometimes everything is kept, sometimes nothing.
        let luck = rng.below(4);
        for change in &self.unsynced {
            match change {
                _ if luck == 0 => {}
                change if luck == 1 => change.apply(&mut content),
                Change::Truncate(_) => {
                    if rng.below(2) == 0 {
                        change.apply(&mut content);
                    }
                }
                Change::Write(offset, bytes) => {
                    for (sector, part) in bytes.chunks(SECTOR).enumerate() {
                        if rng.below(3) > 0 {
                            Change::Write(offset + sector * SECTOR, part.to_vec()).apply(&mut content);
                        }
                    }
                }
            }
        }
        Self { synced: content.clone(), content, unsynced: Vec::new() }
    }
}

impl Disk for SimDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.lock().names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.lock();
        if let Some(code) = state.no_create {
            return Err(io::Error::from_raw_os_error(code));
        }
        state.call().map_err(broken)?;
        state.inodes.push(Inode::default());
        let inode = state.inodes.len() - 1;
        state.rename(NameChange::Set(name.into(), inode));
        Ok(Box::new(SimFile { disk: self.clone(), inode }))
    }

    fn reserve(&self, name: &str, bytes: u64) -> io::Result<()> {
        let mut state = self.lock();
        state.reserved.remove(name);
        if state.free() < bytes {
            return Err(full());
        }
        state.reserved.insert(name.into(), bytes);
        Ok(())
    }

    fn free(&self) -> Option<u64> {
        let state = self.lock();
        state.capacity.map(|_| state.free())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let inode = *self.lock().names.get(name).ok_or_else(missing)?;
        Ok(Box::new(SimFile { disk: self.clone(), inode }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.call().map_err(broken)?;
        if !state.names.contains_key(from) {
            return Err(missing());
        }
        state.rename(NameChange::Rename(from.into(), to.into()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        if state.reserved.remove(name).is_some() {
            return Ok(());
        }
        state.call().map_err(broken)?;
        if !state.names.contains_key(name) {
            return Err(missing());
        }
        state.rename(NameChange::Remove(name.into()));
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.call().map_err(broken)?;
        state.synced_names = state.names.clone();
        state.unsynced_names.clear();
        Ok(())
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    inode: usize,
}

impl SimFile {
    fn change(&self, change: Change) -> io::Result<()> {
        let mut state = self.disk.lock();
        let failed = state.call().err();
        let room = state.free();
        let inode = &mut state.inodes[self.inode];
        if let (None, Change::Write(offset, bytes)) = (failed, &change)
            && (offset + bytes.len()).saturating_sub(inode.content.len()) as u64 > room
        {
            // As much as fits, as file systems do.
            let fits = (inode.content.len().saturating_sub(*offset) + room as usize).min(bytes.len());
            let part = Change::Write(*offset, bytes[..fits].to_vec());
            part.apply(&mut inode.content);
            inode.unsynced.push(part);
            return Err(full());
        }
        let done = match (failed, change) {
            (None, change) => change,
            (Some(fault), Change::Write(offset, bytes)) => {
                Change::Write(offset, bytes[..bytes.len() * fault.torn / 100].to_vec())
            }
            (Some(fault), _) => return Err(broken(fault)),
        };
        done.apply(&mut inode.content);
        inode.unsynced.push(done);
        failed.map_or(Ok(()), |fault| Err(broken(fault)))
    }
}

impl DiskFile for SimFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.disk.lock().inodes[self.inode].content.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.lock();
        let content = &state.inodes[self.inode].content;
        let from = content.get(offset as usize..).unwrap_or_default();
        let size = from.len().min(buffer.len());
        buffer[..size].copy_from_slice(&from[..size]);
        Ok(size)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.change(Change::Write(offset as usize, bytes.to_vec()))
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        self.change(Change::Truncate(size as usize))
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.lock();
        // After a failed sync the data is neither durable nor known to be lost.
        state.call().map_err(broken)?;
        let inode = &mut state.inodes[self.inode];
        inode.synced = inode.content.clone();
        inode.unsynced.clear();
        Ok(())
    }
}
