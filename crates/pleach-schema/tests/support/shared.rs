//! Common code of several test files: the material beside the checkout.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

/// A folder of the shared material; says so loudly when it is not there.
pub fn folder(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PLEACH_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let folder = root.join(name);
    if folder.exists() {
        return Some(folder);
    }
    eprintln!("SKIPPED: {} is not there; set PLEACH_SHARED to the shared material", folder.display());
    None
}

/// All files below a folder that end like this, sorted.
pub fn files(name: &str, extension: &str) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder(name)?];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Some(found)
}
