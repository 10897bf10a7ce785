//! The files of a server: its CA, its store, its kubeconfig.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use pleach_server::tls::Authority;

/// A data directory, or a temporary one for a server that keeps nothing.
pub(crate) struct DataDir {
    path: PathBuf,
    /// Removed with the server.
    _temporary: Option<tempfile::TempDir>,
}

impl DataDir {
    /// Opens a directory; it is made, for its owner only, if it does not exist.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot make the directory {}: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), _temporary: None })
    }

    /// A directory that goes away with the server.
    pub(crate) fn temporary() -> io::Result<Self> {
        let temporary = tempfile::Builder::new().prefix("pleach-").tempdir()?;
        Ok(Self { path: temporary.path().to_owned(), _temporary: Some(temporary) })
    }

    /// Where data goes if nobody says: the user's data directory.
    pub(crate) fn default_path() -> PathBuf {
        if let Some(data) = std::env::var_os("XDG_DATA_HOME").filter(|path| !path.is_empty()) {
            return PathBuf::from(data).join("pleach");
        }
        match std::env::var_os("HOME").filter(|path| !path.is_empty()) {
            Some(home) => PathBuf::from(home).join(".local/share/pleach"),
            None => PathBuf::from("pleach-data"),
        }
    }

    /// Where the store keeps its files.
    pub(crate) fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    /// Where the kubeconfig goes if nobody says.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    /// The CA of this directory, made if there is none.
    pub(crate) fn authority(&self) -> io::Result<Authority> {
        let (certificate, key) = (self.path.join("ca.crt"), self.path.join("ca.key"));
        match (fs::read_to_string(&certificate), fs::read_to_string(&key)) {
            (Ok(certificate), Ok(key)) => Ok(Authority { certificate, key }),
            (Err(error), _) | (_, Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => {
                let authority = Authority::generate()?;
                write_private(&key, &authority.key)?;
                write_private(&certificate, &authority.certificate)?;
                Ok(authority)
            }
        }
    }
}

/// Writes a file that only its owner can read, whole or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let write = || {
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(|error| io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display())))
}
