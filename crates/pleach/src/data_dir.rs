//! The data directory: CA, store, kubeconfig.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use pleach_jwt::key::SigningKey;
use pleach_server::tls::{Authority, Leaf};

/// The file of the admin's token.
pub(crate) const TOKEN: &str = "token";

/// The files of the CA.
pub(crate) const CA: [&str; 2] = ["ca.crt", "ca.key"];

/// A data directory, or a temporary one for an in-memory server.
pub(crate) struct DataDir {
    path: PathBuf,
    /// Removed with the server.
    _temporary: Option<tempfile::TempDir>,
}

impl DataDir {
    /// Opens a directory; it is created, with mode 0700, if it does not exist.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot make the directory {}: {error}", path.display()))
        })?;
        make_private(path);
        Ok(Self { path: path.to_owned(), _temporary: None })
    }

    /// A temporary directory, removed with the server.
    pub(crate) fn temporary() -> io::Result<Self> {
        let temporary = tempfile::Builder::new().prefix("pleach-").tempdir()?;
        Ok(Self { path: temporary.path().to_owned(), _temporary: Some(temporary) })
    }

    /// The default data directory: the user's.
    pub(crate) fn default_path() -> PathBuf {
        if let Some(data) = std::env::var_os("XDG_DATA_HOME").filter(|path| !path.is_empty()) {
            return PathBuf::from(data).join("pleach");
        }
        match std::env::var_os("HOME").filter(|path| !path.is_empty()) {
            Some(home) => PathBuf::from(home).join(".local/share/pleach"),
            None => PathBuf::from("pleach-data"),
        }
    }

    /// The directory of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    /// The default path of the kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    /// The CA of this directory, created if there is none. Half of one is refused: clients trust the
    /// other half, and a new CA would lock them out.
    pub(crate) fn authority(&self) -> io::Result<Authority> {
        let (certificate, key) = (self.path.join("ca.crt"), self.path.join("ca.key"));
        match (read_if_there(&certificate)?, read_if_there(&key)?) {
            (Some(certificate), Some(key)) => self.pair(Authority { certificate, key }),
            (None, None) => {
                let authority = Authority::generate()?;
                // The certificate gets its name last, so that a stopped server leaves both or neither.
                write_new(&certificate, &authority.certificate)?;
                write_private(&key, &authority.key)?;
                fs::rename(new_name(&certificate), &certificate)?;
                Ok(authority)
            }
            (Some(_), None) => Err(self.half("ca.key", "ca.crt")),
            (None, Some(key)) => match read_if_there(&new_name(&certificate))? {
                Some(made) => {
                    let authority = self.pair(Authority { certificate: made, key })?;
                    fs::rename(new_name(&certificate), &certificate)?;
                    Ok(authority)
                }
                None => Err(self.half("ca.crt", "ca.key")),
            },
        }
    }

    /// The CA of this directory, if it has one.
    pub(crate) fn existing_authority(&self) -> io::Result<Option<Authority>> {
        if CA.iter().any(|name| self.path.join(name).exists()) {
            self.authority().map(Some)
        } else {
            Ok(None)
        }
    }

    /// The admin's client certificate: the one of this directory until it nears its end.
    pub(crate) fn admin(&self, authority: &Authority) -> io::Result<Leaf> {
        let (certificate, key) = (self.path.join("admin.crt"), self.path.join("admin.key"));
        if let (Some(certificate), Some(key)) = (read_if_there(&certificate)?, read_if_there(&key)?) {
            let kept = Leaf { certificate, key };
            if !kept.is_to_be_renewed() && kept.is_signed_by(authority) && kept.is_pair() {
                return Ok(kept);
            }
        }
        let made = authority.client("admin", Some("system:masters"))?;
        // Without room it lives until the server ends.
        for (path, text) in [(&key, &made.key), (&certificate, &made.certificate)] {
            if let Err(error) = write_private(path, text) {
                tracing::error!(%error, "cannot keep the admin's certificate");
                break;
            }
        }
        Ok(made)
    }

    /// The key that signs service account tokens, created if there is none.
    pub(crate) fn token_signing_key(&self) -> io::Result<String> {
        let path = self.path.join("sa.key");
        if let Some(key) = read_if_there(&path)? {
            return Ok(key);
        }
        let key = SigningKey::generate().map_err(io::Error::other)?;
        write_private(&path, &key)?;
        Ok(key)
    }

    /// The admin's token, if the directory has one.
    pub(crate) fn token(&self) -> io::Result<Option<String>> {
        let token = read_if_there(&self.path.join(TOKEN))?.map(|token| token.trim().to_owned());
        Ok(token.filter(|token| !token.is_empty()))
    }

    /// Writes the admin's token.
    pub(crate) fn write_token(&self, token: &str) -> io::Result<()> {
        write_private(&self.path.join(TOKEN), token)
    }

    /// Refuses a directory without one of these files, which servers on one etcd cluster must share.
    pub(crate) fn check_shared(&self, needed: &[&str]) -> io::Result<()> {
        match needed.iter().find(|name| !self.path.join(name).exists()) {
            Some(missing) => Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!(
                    "{0} has no {missing}: servers on one etcd cluster share their CA, keys and token; make them once \
                     with `pleach credentials {0}` and give every server the same files",
                    self.path.display()
                ),
            )),
            None => Ok(()),
        }
    }

    /// The CA, if certificate and key belong together.
    fn pair(&self, authority: Authority) -> io::Result<Authority> {
        let why = match authority.is_pair() {
            Ok(true) => return Ok(authority),
            Ok(false) => "ca.key is not the key of ca.crt".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(self.refusal(&why))
    }

    fn half(&self, missing: &str, there: &str) -> io::Error {
        self.refusal(&format!("{missing} is missing, and {there} is there"))
    }

    fn refusal(&self, why: &str) -> io::Error {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!(
                "the CA in {} is not whole: {why}; put back what is missing from a backup, or remove both ca.crt \
                 and ca.key to have a new one made, which no client of the old one will trust",
                self.path.display()
            ),
        )
    }
}

/// Makes a directory with keys readable by its owner only.
fn make_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(found) = fs::metadata(path) else { return };
    let of_others = found.permissions().mode() & 0o077;
    if of_others == 0 {
        return;
    }
    match fs::set_permissions(path, fs::Permissions::from_mode(0o700)) {
        Ok(()) => {
            tracing::warn!(path = %path.display(), "the data directory was readable by other users; its mode is 0700 now");
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "the data directory is readable by other users, and has keys in it");
        }
    }
}

/// The content of a file, if it exists.
fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display()))),
    }
}

/// The temporary name of a file.
fn new_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// Writes a file with mode 0600 under its temporary name.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(new_name(path))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Writes a file with mode 0600, atomically.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let write = || {
        write_new(path, text)?;
        fs::rename(new_name(path), path)
    };
    let written = write();
    if written.is_err() {
        // A full disk needs the space.
        let _ = fs::remove_file(new_name(path));
    }
    written.map_err(|error| io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_ca_is_refused() {
        let (home, other) = (DataDir::temporary().unwrap(), DataDir::temporary().unwrap());
        let made = home.authority().unwrap();
        other.authority().unwrap();
        assert_eq!(home.authority().unwrap().certificate, made.certificate);
        let file = |name: &str| home.path.join(name);
        for (name, why) in [
            ("ca.key", "ca.key is missing, and ca.crt is there"),
            ("ca.crt", "ca.crt is missing, and ca.key is there"),
        ] {
            let text = fs::read(file(name)).unwrap();
            fs::remove_file(file(name)).unwrap();
            let error = home.authority().err().unwrap().to_string();
            assert!(error.contains(why), "{error}");
            assert!(!file(name).exists(), "nothing is made up");
            for (wrong, why) in [
                (fs::read(other.path.join(name)).unwrap(), "ca.key is not the key of ca.crt"),
                (b"nonsense".to_vec(), "cannot be read"),
                (Vec::new(), "cannot be read"),
            ] {
                fs::write(file(name), wrong).unwrap();
                let error = home.authority().err().unwrap().to_string();
                assert!(error.contains(why), "{error}");
            }
            fs::write(file(name), text).unwrap();
            home.authority().unwrap();
        }
    }

    #[test]
    fn creating_a_ca_survives_interruption() {
        let home = DataDir::temporary().unwrap();
        let made = home.authority().unwrap();
        let certificate = home.path.join("ca.crt");
        fs::rename(&certificate, new_name(&certificate)).unwrap();
        assert_eq!(home.authority().unwrap().certificate, made.certificate);
        assert!(certificate.exists());
        // Stopped earlier: only the certificate was written, and it is created again.
        fs::rename(&certificate, new_name(&certificate)).unwrap();
        fs::remove_file(home.path.join("ca.key")).unwrap();
        assert_ne!(home.authority().unwrap().certificate, made.certificate);
        assert!(home.authority().unwrap().is_pair().unwrap());
    }

    #[test]
    fn the_admin_keeps_a_certificate() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let directory = DataDir::open(home.path()).unwrap();
        assert_eq!(fs::metadata(home.path()).unwrap().permissions().mode() & 0o777, 0o700);
        let authority = directory.authority().unwrap();
        let made = directory.admin(&authority).unwrap();
        assert_eq!(directory.admin(&authority).unwrap().certificate, made.certificate);
        directory.token_signing_key().unwrap();
        for entry in fs::read_dir(home.path()).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{:?}", entry.path());
        }
        let other = Authority::generate().unwrap();
        assert_ne!(directory.admin(&other).unwrap().certificate, made.certificate, "another CA");
        fs::write(home.path().join("admin.key"), "nonsense").unwrap();
        let anew = directory.admin(&other).unwrap();
        assert!(anew.is_pair());
    }
}
