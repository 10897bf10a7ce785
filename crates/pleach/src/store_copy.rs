//! `pleach store copy`: all objects from a data directory or an etcd cluster to another.
//!
//! Objects that exist already and are equal are skipped, so that a copy that was interrupted continues where it
//! was. Afterwards every object is read again on both sides and compared. Resource versions are the new store's.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pleach_encryption::Encryption;
use pleach_engine::keys;
use pleach_engine::record::Record;
use pleach_json::Value;
use pleach_storage::StorageCodec;
use pleach_store::{Commit, Expect, RangeQuery, Store, StoreError, Versioned};
use pleach_store_etcd::EtcdStore;
use pleach_store_log::LogStore;
use tokio::task::JoinSet;

use crate::data_dir::DataDir;
use crate::encryption;
use crate::storage::EtcdOptions;

/// How many objects are read at once, and written at the same time.
const PAGE: usize = 256;

/// The result of a copy.
#[derive(Debug, Default)]
struct Report {
    copied: u64,
    equal: u64,
}

/// How stores are read and written.
pub(crate) struct Access {
    /// Connections to etcd.
    pub etcd: EtcdOptions,
    /// After how long Events that are written to etcd expire.
    pub event_ttl: Option<Duration>,
    /// The form of values.
    pub encryption: Option<Arc<Encryption>>,
}

/// Writes what would be encrypted differently now once more.
pub(crate) fn rewrite(place: &str, access: &Access) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        if !place.contains("://") {
            open_directory(place, access, false)?.rewrite()?;
            writeln_out!("all objects in {place} were written once more");
            return Ok(());
        }
        let (store, codec) = open_etcd(place, access).await?;
        // Connecting begins with past versions: a read waits until the cache has the current ones.
        store.range(RangeQuery::prefix(keys::ROOT).limit(1)).await?;
        let mut written = 0;
        for key in codec.stale_keys() {
            // Another server may write it, with the key it has.
            while codec.is_stale(&key)
                && let Some(found) = store.get(&key, None).await?
            {
                let commit = Commit::put(key.clone(), Expect::At(found.revision), found.value);
                match store.commit(commit).await {
                    Ok(_) => {
                        written += 1;
                        break;
                    }
                    Err(StoreError::Conflict { .. }) => {}
                    Err(error) => return Err(format!("{key}: {error}").into()),
                }
            }
        }
        writeln_out!("{written} objects were written once more");
        Ok(())
    })
}

/// Copies everything.
pub(crate) fn run(from: &str, to: &str, overwrite: bool, access: &Access) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let source = open(from, access, false).await?;
        let target = open(to, access, true).await?;
        let report = copy(&source, &target, overwrite).await?;
        let verified = verify(&source, &target).await?;
        writeln_out!(
            "copied {} objects, {} were there already; {verified} verified; resource versions are new",
            report.copied,
            report.equal
        );
        Ok(())
    })
}

/// A store by its place: URLs of etcd servers, or a data directory.
async fn open(place: &str, access: &Access, create: bool) -> Result<Arc<dyn Store>, Box<dyn Error>> {
    if place.contains("://") {
        return Ok(open_etcd(place, access).await?.0);
    }
    Ok(Arc::new(open_directory(place, access, create)?))
}

async fn open_etcd(
    place: &str,
    access: &Access,
) -> Result<(Arc<EtcdStore>, Arc<StorageCodec>), Box<dyn Error>> {
    let servers: Vec<String> = place.split(',').map(str::to_owned).collect();
    let codec =
        StorageCodec::new(&access.etcd.prefix, access.event_ttl).with_encryption(access.encryption.clone());
    let codec = Arc::new(codec);
    let store = access.etcd.connect(&servers, codec.clone(), |_| {}).await?;
    Ok((Arc::new(store), codec))
}

fn open_directory(place: &str, access: &Access, create: bool) -> Result<LogStore, Box<dyn Error>> {
    let path = Path::new(place);
    if !create && !path.join("store").is_dir() {
        return Err(format!("{place} is no data directory: it has no store").into());
    }
    let directory = DataDir::open(path)?;
    let options = LogStore::options().value_bytes(u64::MAX);
    Ok(options.codec(encryption::codec(access.encryption.as_ref())).open(directory.store())?)
}

async fn copy(
    source: &Arc<dyn Store>,
    target: &Arc<dyn Store>,
    overwrite: bool,
) -> Result<Report, Box<dyn Error>> {
    let mut report = Report::default();
    let mut query = RangeQuery::prefix(keys::ROOT).limit(PAGE);
    loop {
        let page = source.range(query.clone()).await?;
        // All pages are of one state.
        query.at = Some(page.revision);
        let last = page.items.last().map(|item| item.key.clone());
        let mut writes = JoinSet::new();
        for item in page.items {
            writes.spawn(put(target.clone(), item, overwrite));
        }
        while let Some(written) = writes.join_next().await {
            if written?? {
                report.copied += 1;
            } else {
                report.equal += 1;
            }
        }
        eprintln!("{} objects done, {} to go", report.copied + report.equal, page.remaining);
        match last.filter(|_| page.more) {
            Some(last) => query = query.after(&last),
            None => return Ok(report),
        }
    }
}

/// Writes an object; `false` if it is there already.
async fn put(target: Arc<dyn Store>, item: Versioned, overwrite: bool) -> Result<bool, String> {
    let mut expect = Expect::Absent;
    loop {
        let commit = Commit::put(item.key.clone(), expect, item.value.clone());
        match target.commit(commit).await {
            Ok(_) => return Ok(true),
            Err(StoreError::Conflict { found: Some(found), .. }) if is_equal(&item, &found) => {
                return Ok(false);
            }
            Err(StoreError::Conflict { found: Some(found), .. }) if overwrite => {
                expect = Expect::At(found.revision);
            }
            Err(StoreError::Conflict { found: Some(_), .. }) => {
                return Err(format!("{} is there already, and different; --overwrite replaces it", item.key));
            }
            Err(StoreError::Conflict { found: None, .. }) => expect = Expect::Absent,
            Err(error) => return Err(format!("{}: {error}", item.key)),
        }
    }
}

/// Compares every object of the source; how many there are.
async fn verify(source: &Arc<dyn Store>, target: &Arc<dyn Store>) -> Result<u64, Box<dyn Error>> {
    let mut verified = 0;
    let mut query = RangeQuery::prefix(keys::ROOT).limit(PAGE);
    loop {
        let page = source.range(query.clone()).await?;
        query.at = Some(page.revision);
        let Some(last) = page.items.last().map(|item| item.key.clone()) else { return Ok(verified) };
        let next = query.clone().after(&last);
        let copied =
            RangeQuery { start: query.start.clone(), end: Some(next.start.clone()), limit: None, at: None };
        let copied = target.range(copied).await?.items;
        for item in &page.items {
            let found = copied.binary_search_by(|copy| copy.key.cmp(&item.key)).map(|at| &copied[at]);
            match found {
                Ok(found) if is_equal(item, found) => verified += 1,
                Ok(_) => return Err(format!("{} is not the same in both stores", item.key).into()),
                Err(_) => return Err(format!("{} was not copied", item.key).into()),
            }
        }
        if !page.more {
            return Ok(verified);
        }
        query = next;
    }
}

/// Whether two stores hold the same object. Metadata of the record may differ.
fn is_equal(one: &Versioned, other: &Versioned) -> bool {
    one.value == other.value
        || matches!((object(one), object(other)), (Some(one), Some(other)) if one == other)
}

fn object(item: &Versioned) -> Option<Value> {
    let record = Record::open(item.value.clone(), item.revision).ok()?;
    pleach_json::parse(record.json()).ok()
}
