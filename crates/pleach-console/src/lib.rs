//! The files of the web console, compressed with gzip.
//!
//! They are what `scripts/build-console.sh` made of `console/`; without it there are none, and the server says how to
//! get them. Building them is not part of `cargo build`, which needs neither Node nor the network.

/// Each file's path below `/console/`, and its bytes, compressed with gzip.
pub static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));
