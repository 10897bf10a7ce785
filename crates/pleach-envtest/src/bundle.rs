//! The archive and the index that `setup-envtest` downloads from.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha512};

use crate::install::{Kubectl, emulated_version_file, find_kubectl, kubectl_content};
use crate::{KUBERNETES_VERSION, Program};

/// The name of the index.
pub const INDEX: &str = "envtest-releases.yaml";

/// A bundle that was made.
#[derive(Debug)]
pub struct Bundle {
    /// The archive.
    pub archive: PathBuf,
    /// The index.
    pub index: PathBuf,
    /// The kubectl in it.
    pub kubectl: Kubectl,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Writes the archive and its index into a directory. `base_url` is where the directory will be served; with `version`
/// (1.34) the archive is of that version, and kube-apiserver emulates it.
pub fn bundle(
    binary: &Path,
    directory: &Path,
    base_url: &str,
    path: Option<&std::ffi::OsStr>,
    version: Option<&str>,
) -> io::Result<Bundle> {
    fs::create_dir_all(directory)?;
    let release = version.map_or_else(|| KUBERNETES_VERSION.to_owned(), |version| format!("v{version}.0"));
    let name = format!("envtest-{release}-{}-{}.tar.gz", os(), architecture());
    let archive = directory.join(&name);
    let content = fs::read(binary)?;
    let kubectl = find_kubectl(directory, path);
    let hashed = Hashed { file: File::create(&archive)?, hash: Sha512::new() };
    let mut tar = tar::Builder::new(GzEncoder::new(hashed, Compression::fast()));
    for program in Program::ALL {
        append(&mut tar, program.name(), &content)?;
    }
    append(&mut tar, "kubectl", &kubectl_content(&kubectl)?)?;
    if let Some(version) = version {
        let (name, content) = emulated_version_file(version);
        append(&mut tar, name, &content)?;
    }
    let Hashed { file, hash } = tar.into_inner()?.finish()?;
    file.sync_all()?;
    let hash = hex(&hash.finalize());
    let link = format!("{}/{name}", base_url.trim_end_matches('/'));
    let index = directory.join(INDEX);
    let text =
        format!("releases:\n  {release}:\n    {name}:\n      hash: {hash}\n      selfLink: \"{link}\"\n");
    fs::write(&index, text)?;
    Ok(Bundle { archive, index, kubectl })
}

fn append<W: Write>(tar: &mut tar::Builder<W>, name: &str, content: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o755);
    header.set_cksum();
    tar.append_data(&mut header, format!("controller-tools/envtest/{name}"), content)
}

/// A file, and the hash of its content.
struct Hashed {
    file: File,
    hash: Sha512,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The operating system in the words of Go.
fn os() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    }
}

/// The architecture in the words of Go.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        architecture => architecture,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_has_the_hash_of_the_archive() {
        let home = tempfile::tempdir().unwrap();
        let binary = home.path().join("pleach");
        fs::write(&binary, "a binary").unwrap();
        let made =
            bundle(&binary, &home.path().join("out"), "https://example.com/envtest/", None, Some("1.34"))
                .unwrap();
        let archive = fs::read(&made.archive).unwrap();
        let hash = hex(&Sha512::digest(&archive));
        let index = fs::read_to_string(&made.index).unwrap();
        let name = made.archive.file_name().unwrap().to_str().unwrap();
        assert!(index.contains(&format!("hash: {hash}\n")), "{index}");
        assert!(index.contains(&format!("selfLink: \"https://example.com/envtest/{name}\"")), "{index}");
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(&archive[..]));
        let names: Vec<_> = tar
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().file_name().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["etcd", "kube-apiserver", "kubectl", "emulated-version"]);
        assert!(name.starts_with("envtest-v1.34.0-") && index.contains("  v1.34.0:\n"), "{index}");
    }
}
