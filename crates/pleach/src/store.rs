//! `pleach store`: backup, restore and check, on files.

use std::error::Error;

use crate::cli::StoreCommand;
use crate::data_dir::DataDir;

/// Runs a store command.
pub(crate) fn run(command: StoreCommand) -> Result<(), Box<dyn Error>> {
    match command {
        StoreCommand::Backup { data_dir, file } => {
            let report = pleach_store_log::backup(data_dir.join("store"), &file)?;
            println!("wrote {}: {}", file.display(), sentence(&report));
        }
        StoreCommand::Restore { data_dir, file, skip_revisions } => {
            let directory = DataDir::open(&data_dir)?;
            let report = pleach_store_log::restore(&file, directory.store(), skip_revisions)?;
            println!("restored {}: {}", data_dir.display(), sentence(&report));
        }
        StoreCommand::Check { path } => {
            let inner = path.join("store");
            let path = if inner.is_dir() { inner } else { path };
            let report = pleach_store_log::check(&path)?;
            println!("{}: {}", path.display(), sentence(&report));
        }
    }
    Ok(())
}

/// A report for a person.
fn sentence(report: &pleach_store_log::Report) -> String {
    format!(
        "{} keys, {} bytes of values, {} bytes on disk; revision {}, compacted up to {}",
        report.keys, report.value_bytes, report.disk_bytes, report.revision, report.oldest
    )
}
