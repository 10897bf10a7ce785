//! Encryption at rest as the flags ask for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pleach_encryption::Encryption;
use pleach_storage::EncryptedValues;
use pleach_store_log::ValueCodec;

use crate::cli::EncryptionOptions;
use crate::files::{at, read};

/// How often the configuration is looked at.
const INTERVAL: Duration = Duration::from_secs(5);

/// Reads the configuration, if there is one. Errors keep the server from starting.
pub(crate) fn open(options: &EncryptionOptions) -> Result<Option<Arc<Encryption>>, String> {
    options.encryption_provider_config.as_deref().map(open_file).transpose()
}

/// Reads a configuration.
pub(crate) fn open_file(path: &Path) -> Result<Arc<Encryption>, String> {
    let encryption = Encryption::parse(&read(path)?);
    Ok(Arc::new(encryption.map_err(|error| at(path, &error))?))
}

/// The form of values in the embedded store.
pub(crate) fn codec(encryption: Option<&Arc<Encryption>>) -> Option<Arc<dyn ValueCodec>> {
    encryption.map(|encryption| Arc::new(EncryptedValues::new(encryption.clone())) as Arc<dyn ValueCodec>)
}

/// Reads the configuration again when it changes. Runs until it is dropped.
pub(crate) async fn follow(path: PathBuf, encryption: Arc<Encryption>) {
    let mut seen = changed(&path);
    loop {
        tokio::time::sleep(INTERVAL).await;
        let now = changed(&path);
        if now == seen {
            continue;
        }
        seen = now;
        match read(&path).and_then(|text| encryption.replace(&text)) {
            Ok(()) => tracing::info!("encryption configuration read again"),
            // The configuration that is in use stays in use.
            Err(error) => tracing::error!(error, "cannot read the encryption configuration again"),
        }
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|found| found.modified()).ok()
}
