//! Lists the files that `scripts/build-console.sh` left in `console/dist`, to be embedded.
//!
//! Without them, or without Node, the list is empty and everything else builds as well.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    // The directory exists without a build, with a .gitignore: cargo would build anew every time if it did not.
    let dist = Path::new(&manifest).join("../../console/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    list(&dist, &mut files);
    files.sort();
    let mut code = String::from("&[\n");
    for path in files {
        let name = path.strip_prefix(&dist).expect("it was found there").to_string_lossy();
        if let Some(name) = name.strip_suffix(".gz") {
            let path = path.canonicalize().expect("it was found there");
            let path = path.to_str().expect("a path in UTF-8");
            writeln!(code, "    ({name:?}, include_bytes!({path:?})),").expect("a string takes everything");
        }
    }
    code.push(']');
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("files.rs");
    fs::write(out, code).expect("the output directory is writable");
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            list(&path, files);
        } else {
            files.push(path);
        }
    }
}
