//! Memory of a store, as the kernel counts it.

use std::{path::Path, process::Command};

use pleach_store_log::Options;

/// Makes this program open the store in a directory and print its memory.
const OPEN: &str = "BENCH_STORE_TO_OPEN";

/// Bytes of memory it takes to open a store, in a process that does nothing else.
pub(crate) fn of_opening(directory: &Path) -> f64 {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program).env(OPEN, directory).output().expect("a process");
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(f64::NAN)
}

/// Opens a store and says what that took, if that is what this process is for.
pub(crate) fn was_asked_to_open() -> bool {
    let Some(directory) = std::env::var_os(OPEN) else { return false };
    let before = in_use();
    let store = Options::new().open(directory).expect("a store");
    println!("{}", in_use() - before);
    drop(store);
    true
}

fn in_use() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) * 1024.0
}
