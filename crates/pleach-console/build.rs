//! Lists the files of the built console in `console/dist`, to be embedded.
//!
//! If there are none, or their sources in `console` have changed since, and npm is there, `scripts/build-console.sh` builds
//! them first. The WebAssembly module, which takes minutes, is not built: one that is there already stays. Without npm, or with `PLEACH_CONSOLE=none`, the list is empty and everything else builds as well.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use std::{env, fs};

/// The sources of the files, in `console`.
const SOURCES: [&str; 7] =
    ["src", "public", "scripts", "index.html", "package.json", "package-lock.json", "vite.config.ts"];

/// The time of the newest file.
fn newest(files: &[PathBuf]) -> Option<SystemTime> {
    files.iter().filter_map(|file| fs::metadata(file).ok()?.modified().ok()).max()
}

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    // The directory exists without a build, with a .gitignore: cargo would build anew every time if it did not.
    let dist = Path::new(&manifest).join("../../console/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-env-changed=PLEACH_CONSOLE");
    let wanted = env::var_os("PLEACH_CONSOLE").is_none_or(|choice| choice != "none");
    let console = Path::new(&manifest).join("../../console");
    let mut sources = Vec::new();
    for name in SOURCES {
        let path = console.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        if path.is_dir() { list(&path, &mut sources) } else { sources.push(path) }
    }
    let mut files = Vec::new();
    list(&dist, &mut files);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "gz"));
    let is_stale = newest(&files).is_none_or(|built| newest(&sources).is_some_and(|changed| changed > built));
    if is_stale && wanted && !sources.is_empty() {
        let before = SystemTime::now() - Duration::from_secs(10);
        let before = newest(&sources).map_or(before, |changed| changed.max(before));
        build(&Path::new(&manifest).join("../../scripts"));
        files.clear();
        list(&dist, &mut files);
        // Cargo would run this again because the files are newer than its start, and build the server once more.
        for path in files.iter().flat_map(|file| file.ancestors().take_while(|path| path.starts_with(&dist)))
        {
            let _ = fs::File::open(path).and_then(|file| file.set_modified(before));
        }
    }
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

/// Builds the console, if there is an npm. That it cannot be built, without a network perhaps, is a warning.
fn build(scripts: &Path) {
    let has_npm =
        Command::new(scripts.join("node-path.sh")).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !has_npm.is_ok_and(|status| status.success()) {
        return;
    }
    let built = Command::new(scripts.join("build-console.sh")).env("PLEACH_WASM", "none").output();
    let error = match built {
        Ok(output) if output.status.success() => return,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().replace('\n', " "),
        Err(error) => error.to_string(),
    };
    println!("cargo::warning=the web console was not built (scripts/build-console.sh): {error}");
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
