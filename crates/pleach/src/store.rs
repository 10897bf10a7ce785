//! `pleach store`: backup, restore, check and repair.

use std::error::Error;
use std::time::Duration;

use pleach_engine::record::Record;
use pleach_store::{Key, Versioned};
use pleach_store_log::{Repair, RepairReport};

use crate::cli::StoreCommand;
use crate::data_dir::DataDir;
use crate::encryption;
use crate::store_copy::{self, Access};

/// Runs a store command.
pub(crate) fn run(command: StoreCommand) -> Result<(), Box<dyn Error>> {
    match command {
        StoreCommand::Backup { data_dir, file } => {
            let report = pleach_store_log::backup(data_dir.join("store"), &file)?;
            writeln_out!("wrote {}: {}", file.display(), sentence(&report));
        }
        StoreCommand::Restore { data_dir, file, skip_revisions } => {
            let directory = DataDir::open(&data_dir)?;
            let report = pleach_store_log::restore(&file, directory.store(), skip_revisions)?;
            writeln_out!("restored {}: {}", data_dir.display(), sentence(&report));
        }
        StoreCommand::Repair { data_dir, dry_run, delete_key, skip_revisions } => {
            let plan = Repair {
                dry_run,
                delete_keys: delete_key.into_iter().map(Key::new).collect(),
                skip: skip_revisions,
            };
            let inner = data_dir.join("store");
            let directory = if inner.is_dir() { inner } else { data_dir };
            let repaired = pleach_store_log::repair(&directory, &plan, decode)?;
            write_out!("{}", account(&repaired, dry_run));
            if !repaired.unknown.is_empty() {
                return Err("some keys to delete are not there".into());
            }
        }
        StoreCommand::Copy { from, to, overwrite, event_ttl, etcd, encryption } => {
            let encryption = encryption::open(&encryption)?;
            store_copy::run(&from, &to, overwrite, &Access { etcd, event_ttl: ttl(event_ttl), encryption })?;
        }
        StoreCommand::Rewrite { place, encryption_provider_config, event_ttl, etcd } => {
            let encryption = Some(encryption::open_file(&encryption_provider_config)?);
            store_copy::rewrite(&place, &Access { etcd, event_ttl: ttl(event_ttl), encryption })?;
        }
        StoreCommand::Check { path } => {
            let inner = path.join("store");
            let path = if inner.is_dir() { inner } else { path };
            let report = pleach_store_log::check(&path)?;
            writeln_out!("{}: {}", path.display(), sentence(&report));
        }
    }
    Ok(())
}

/// A time to live; none if it is zero.
fn ttl(given: Duration) -> Option<Duration> {
    Some(given).filter(|ttl| !ttl.is_zero())
}

/// Why the server cannot decode a stored object.
fn decode(item: &Versioned) -> Result<(), String> {
    // Only the server has the keys.
    if pleach_encryption::is_encrypted(&item.value) {
        return Ok(());
    }
    let parsed = Record::open(item.value.clone(), item.revision).and_then(|record| record.parse());
    parsed.map(drop).map_err(|error| error.to_string())
}

/// Prints the report of a repair.
fn account(repaired: &RepairReport, dry_run: bool) -> String {
    let mut text = String::new();
    let mut say = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for damage in &repaired.damage {
        say(format!("damaged: {damage}"));
    }
    for (first, last) in &repaired.lost {
        say(format!("lost: commits {first} to {last}; what they changed is as it was before them"));
    }
    for (key, why) in &repaired.undecodable {
        say(format!("cannot be decoded: {key}: {why}; --delete-key {key} takes it away"));
    }
    let done = if dry_run { "would be deleted" } else { "deleted" };
    for key in &repaired.deleted {
        say(format!("{done}: {key}"));
    }
    for key in &repaired.unknown {
        say(format!("not there: {key}"));
    }
    if repaired.damage.is_empty() {
        say("the store is sound".to_owned());
    }
    let (keys, revision) = (repaired.keys, repaired.revision);
    match &repaired.kept_in {
        Some(path) => say(format!(
            "{keys} keys are left, at revision {revision}; what was there before is in {}",
            path.display()
        )),
        None if dry_run => say(format!("{keys} keys would be left; nothing was changed")),
        None => say(format!("{keys} keys, at revision {revision}; nothing was changed")),
    }
    text
}

/// Prints statistics.
fn sentence(report: &pleach_store_log::Report) -> String {
    format!(
        "{} keys, {} bytes of values, {} bytes on disk; revision {}, compacted up to {}",
        report.keys, report.value_bytes, report.disk_bytes, report.revision, report.oldest
    )
}
