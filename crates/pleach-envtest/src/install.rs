//! Installs the programs into a directory, as `KUBEBUILDER_ASSETS` names one.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::Program;

/// The file beside the programs that says which version they emulate.
const EMULATED_VERSION: &str = "emulated-version";

/// Stands in for kubectl where none was found.
const NO_KUBECTL: &str = "\
#!/bin/sh
echo 'kubectl: there was no kubectl in PATH when pleach envtest install ran; install one and run it again' >&2
exit 1
";

/// Where the `kubectl` of an installation comes from.
#[derive(Debug, PartialEq, Eq)]
pub enum Kubectl {
    /// A real one.
    Found(PathBuf),
    /// A script that says that there is none.
    Missing,
}

/// Writes `kube-apiserver`, `etcd` and `kubectl` into a directory. The first two are this binary: hard links where
/// the file system allows it, else copies. With `version` (1.34) kube-apiserver emulates that version of Kubernetes.
pub fn install(
    binary: &Path,
    directory: &Path,
    path: Option<&std::ffi::OsStr>,
    version: Option<&str>,
) -> io::Result<Kubectl> {
    fs::create_dir_all(directory)?;
    match version {
        Some(version) => fs::write(directory.join(EMULATED_VERSION), format!("{version}\n"))?,
        None => remove(&directory.join(EMULATED_VERSION))?,
    }
    for program in Program::ALL {
        let target = directory.join(program.name());
        remove(&target)?;
        if fs::hard_link(binary, &target).is_err() {
            fs::copy(binary, &target)?;
        }
    }
    let kubectl = find_kubectl(directory, path);
    let target = directory.join("kubectl");
    remove(&target)?;
    match &kubectl {
        Kubectl::Found(found) => symlink(found, &target)?,
        Kubectl::Missing => {
            fs::write(&target, NO_KUBECTL)?;
            fs::set_permissions(&target, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(kubectl)
}

/// The version that the programs beside this one were installed to emulate.
pub fn emulated_version(program: &Path) -> Option<String> {
    let text = fs::read_to_string(program.parent()?.join(EMULATED_VERSION)).ok()?;
    Some(text.trim().to_owned()).filter(|version| !version.is_empty())
}

/// The content of the file that says which version is emulated.
pub(crate) fn emulated_version_file(version: &str) -> (&'static str, Vec<u8>) {
    (EMULATED_VERSION, format!("{version}\n").into_bytes())
}

/// The first kubectl in PATH that does not lie in the directory itself.
pub fn find_kubectl(directory: &Path, path: Option<&std::ffi::OsStr>) -> Kubectl {
    let own = fs::canonicalize(directory).ok();
    let candidates = path.map(std::env::split_paths).into_iter().flatten();
    let found = candidates
        .filter_map(|entry| fs::canonicalize(entry).ok())
        .filter(|entry| Some(entry) != own.as_ref());
    let found = found.map(|entry| entry.join("kubectl")).find(|file| {
        fs::metadata(file).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    });
    found.map_or(Kubectl::Missing, Kubectl::Found)
}

/// The content of the `kubectl` of an archive.
pub(crate) fn kubectl_content(kubectl: &Kubectl) -> io::Result<Vec<u8>> {
    match kubectl {
        Kubectl::Found(path) => fs::read(path),
        Kubectl::Missing => Ok(NO_KUBECTL.into()),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_installed_again_over_older_ones() {
        let home = tempfile::tempdir().unwrap();
        let binary = home.path().join("pleach");
        let assets = home.path().join("assets");
        for content in ["old", "new"] {
            let _ = fs::remove_file(&binary);
            fs::write(&binary, content).unwrap();
            assert_eq!(install(&binary, &assets, None, None).unwrap(), Kubectl::Missing);
            for name in ["kube-apiserver", "etcd"] {
                assert_eq!(fs::read_to_string(assets.join(name)).unwrap(), content);
            }
        }
        // The assets are often in PATH themselves.
        let tools = home.path().join("tools");
        fs::create_dir(&tools).unwrap();
        let kubectl = tools.join("kubectl");
        fs::write(&kubectl, "").unwrap();
        let path = std::env::join_paths([&assets, &tools]).unwrap();
        assert_eq!(
            install(&binary, &assets, Some(&path), Some("1.34")).unwrap(),
            Kubectl::Missing,
            "it cannot be executed"
        );
        fs::set_permissions(&kubectl, fs::Permissions::from_mode(0o755)).unwrap();
        let found = fs::canonicalize(&kubectl).unwrap();
        assert_eq!(
            install(&binary, &assets, Some(&path), Some("1.34")).unwrap(),
            Kubectl::Found(found.clone())
        );
        assert_eq!(fs::read_link(assets.join("kubectl")).unwrap(), found);
        assert_eq!(emulated_version(&assets.join("kube-apiserver")).as_deref(), Some("1.34"));
        install(&binary, &assets, Some(&path), None).unwrap();
        assert_eq!(
            emulated_version(&assets.join("kube-apiserver")),
            None,
            "installed again without a version"
        );
    }
}
