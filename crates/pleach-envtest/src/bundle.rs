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
    let entry = format!("    {name}:\n      hash: {hash}\n      selfLink: \"{link}\"\n");
    let known = match fs::read_to_string(&index) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        known => known?,
    };
    fs::write(&index, merge(&known, &release, &name, &entry))?;
    Ok(Bundle { archive, index, kubectl })
}

/// An index with the entry of an archive among those that it has. Other lines are kept as they are.
fn merge(index: &str, release: &str, archive: &str, entry: &str) -> String {
    let (release, archive) = (format!("  {release}:"), format!("    {archive}:"));
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut lines = Vec::new();
    let mut in_archive = false;
    for line in index.lines().filter(|line| *line != "releases:") {
        in_archive = line == archive || in_archive && depth(line) > 4;
        if !in_archive {
            lines.push(line);
        }
    }
    let entry = entry.trim_end();
    match lines.iter().position(|line| *line == release) {
        Some(at) => lines.insert(at + 1, entry),
        None => lines.extend([release.as_str(), entry]),
    }
    format!("releases:\n{}\n", lines.join("\n"))
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

        let out = home.path().join("out");
        let again = |url: &str, version| {
            bundle(&binary, &out, url, None, Some(version)).unwrap();
            fs::read_to_string(out.join(INDEX)).unwrap()
        };
        let (rest, other) = (&name["envtest-v1.34.0".len()..], hash.clone());
        let entry = |version: &str, host: &str| {
            format!(
                "  v{version}.0:\n    envtest-v{version}.0{rest}:\n      hash: {other}\n      \
                 selfLink: \"https://{host}/envtest-v{version}.0{rest}\"\n"
            )
        };
        let (first, second) = (entry("1.34", "example.com/envtest"), again("https://b", "1.34"));
        assert_eq!(index, format!("releases:\n{first}"));
        assert_eq!(second, format!("releases:\n{}", entry("1.34", "b")), "an archive that is made again");
        let third = again("https://b", "1.35");
        let hash = third.lines().rev().find_map(|line| line.trim().strip_prefix("hash: ")).unwrap();
        let added = entry("1.35", "b").replace(&other, hash);
        assert_eq!(third, format!("{second}{added}"), "another version");
    }
}
