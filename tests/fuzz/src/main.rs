//! Writes the seeds of every target to `<directory>/<target>/`, as corpora for libFuzzer.

use std::{env, fs, io, path::PathBuf};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::args().nth(1).unwrap_or_else(|| "fuzz/corpus".into()));
    for target in pleach_fuzz_targets::TARGETS {
        let directory = root.join(target.name);
        fs::create_dir_all(&directory)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            fs::write(directory.join(format!("seed-{number:03}")), seed)?;
        }
    }
    Ok(())
}
