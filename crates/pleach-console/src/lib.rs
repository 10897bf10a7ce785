//! The files of the web console, compressed with gzip.
//!
//! They are what `scripts/build-console.sh` made of `console/`. `cargo build` runs it where Node is installed and the sources
//! have changed; without Node there are none, everything else builds, and the server says how to get them.

/// Each file's path below `/console/`, and its bytes, compressed with gzip.
pub static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));
