//! A smoke run of every fuzz target: its seeds and some thousands of inputs made from them, the same every time.
//!
//! `FUZZ_TARGET=yaml FUZZ_INPUTS=100000 cargo test -p pleach-fuzz-targets -- --nocapture` runs one of them for longer
//! and prints what its dearest inputs took, which is what the bounds in `targets.rs` are chosen by; with
//! `FUZZ_UNBOUNDED=1` these do not count.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pleach_fuzz_targets::{TARGETS, Target, Work};

/// Inputs per target.
const INPUTS: usize = 2_000;
/// One in so many inputs is made long, to tell linear work from more.
const LONG: usize = 40;
const LONG_BYTES: usize = 8 << 10;

/// A generator of numbers, xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// A range of positions, mostly short.
    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        let most = if self.below(4) == 0 { len - start } else { (len - start).min(16) };
        start..start + self.below(most + 1)
    }
}

/// Bytes that mean something in most of the formats.
const TELLING: &[u8] = b"{}[]()\"'\\/,:;=!<>&*-+.0123456789eE \n\r\t#|%~@$?^\0\x01\x7f\x80\xc3\xff";

fn mutate(seeds: &[Vec<u8>], random: &mut Random, long: bool) -> Vec<u8> {
    let mut data = seeds[random.below(seeds.len())].clone();
    for _ in 0..random.below(5) {
        let range = random.range(data.len());
        match random.below(8) {
            0 | 1 if !data.is_empty() => {
                let at = random.below(data.len());
                data[at] = TELLING[random.below(TELLING.len())];
            }
            2 if !data.is_empty() => {
                let at = random.below(data.len());
                data[at] ^= 1 << random.below(8);
            }
            3 => drop(data.drain(range)),
            4 => data.insert(range.start, TELLING[random.below(TELLING.len())]),
            5 => drop(data.splice(range.end..range.end, data[range.clone()].to_vec())),
            6 => {
                let other = &seeds[random.below(seeds.len())];
                let part = other[random.range(other.len())].to_vec();
                drop(data.splice(range, part));
            }
            _ => data.truncate(range.end),
        }
    }
    if long {
        let range = repeatable(&data, random);
        let part = data[range.clone()].to_vec();
        let times = LONG_BYTES / part.len().max(1);
        drop(data.splice(range.end..range.end, part.repeat(if part.is_empty() { 0 } else { times })));
    }
    data
}

/// A range that can often be repeated without harm to the syntax: from one separator to another of its kind.
fn repeatable(data: &[u8], random: &mut Random) -> std::ops::Range<usize> {
    let separator = b",,,\n& [{(./"[random.below(11)];
    let places: Vec<usize> = (0..data.len()).filter(|at| data[*at] == separator).collect();
    if places.len() < 2 {
        return random.range(data.len());
    }
    let first = random.below(places.len() - 1);
    let last = (first + 1 + random.below(4)).min(places.len() - 1);
    places[first]..places[last]
}

fn smoke(target: &Target, inputs: usize) -> Result<(), String> {
    let seeds = (target.seeds)();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let calibrating = std::env::var_os("FUZZ_UNBOUNDED").is_some();
    let mut dearest = [Work::default(); 2];
    for number in 0..seeds.len() + inputs {
        let long = number % LONG == LONG - 1;
        let data = match seeds.get(number) {
            Some(seed) => seed.clone(),
            None => mutate(&seeds, &mut random, long),
        };
        let check = || if calibrating { target.measure(&data) } else { target.check(&data) };
        let Ok(work) = catch_unwind(AssertUnwindSafe(check)) else {
            let shown: String = String::from_utf8_lossy(&data).chars().take(2_000).collect();
            return Err(format!("{}: input {number} of {} bytes: {shown:?}", target.name, data.len()));
        };
        let long = usize::from(data.len() > LONG_BYTES / 2);
        let per = [1, data.len().max(1) as u64][long];
        dearest[long].steps = dearest[long].steps.max(work.steps / per);
        dearest[long].allocated = dearest[long].allocated.max(work.allocated / per);
    }
    let [short, long] = dearest;
    println!("{:16} short inputs {short:?}, per byte of long ones {long:?}", target.name);
    Ok(())
}

#[test]
fn every_target_holds_for_inputs_made_from_its_seeds() {
    let chosen = std::env::var("FUZZ_TARGET").ok();
    let inputs = std::env::var("FUZZ_INPUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(INPUTS);
    let targets = TARGETS.iter().filter(|target| chosen.as_ref().is_none_or(|chosen| chosen == target.name));
    let wrong: Vec<String> = targets.filter_map(|target| smoke(target, inputs).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_target_is_run_by_libfuzzer_too() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    for Target { name, .. } in TARGETS {
        let source = std::fs::read_to_string(root.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(source.contains(&format!("run(\"{name}\", data)")), "{name}");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        assert!(readme.contains(&format!("| `{name}` |")), "{name}");
    }
}
