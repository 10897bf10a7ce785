//! Cost of a pattern: checking, compiling, matching, and memory.

use divan::{Bencher, black_box};
use pleach_regex::{Cache, Regex};

/// Patterns of real CRDs, each with a text.
const TYPICAL: &[(&str, &str)] = &[
    (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "my-deployment-name"),
    (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", "some.longer.name.example.com"),
    (
        r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        "512Mi",
    ),
    (r"^(http|https)://.+$", "https://example.com/path"),
    (r"^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$", "1h30m"),
    (r"^((?i)sun|mon|tues|wednes|thurs|fri|satur)day(?:((:(sun|mon)day)$)|$)", "Monday"),
    (r"^\p{L}+$", "Grüße"),
    (r"^https?:\/\/(www\.)?[-a-zA-Z0-9@:%._\+~#=]{1,256}$", "https://www.example.com"),
];

fn main() {
    for (pattern, text) in TYPICAL {
        let regex = Regex::new(pattern).expect("a valid pattern");
        regex.is_match(text);
        let asked = regex.memory();
        regex.find(text);
        let located = regex.memory() - asked;
        println!("{asked:>7} bytes to match, {located:>7} more to locate: {pattern}");
    }
    divan::main();
}

#[divan::bench(args = 0..TYPICAL.len())]
fn check(pattern: usize) -> Regex {
    Regex::new(black_box(TYPICAL[pattern].0)).expect("a valid pattern")
}

#[divan::bench(args = 0..TYPICAL.len())]
fn build(bencher: Bencher<'_, '_>, pattern: usize) {
    let (pattern, text) = TYPICAL[pattern];
    bencher
        .with_inputs(|| Regex::new(pattern).expect("a valid pattern"))
        .bench_values(|regex| regex.is_match(black_box(text)));
}

#[divan::bench(args = 0..TYPICAL.len())]
fn is_match(bencher: Bencher<'_, '_>, pattern: usize) {
    let (pattern, text) = TYPICAL[pattern];
    let regex = Regex::new(pattern).expect("a valid pattern");
    bencher.bench(|| regex.is_match(black_box(text)));
}

#[divan::bench(args = 0..TYPICAL.len())]
fn find(bencher: Bencher<'_, '_>, pattern: usize) {
    let (pattern, text) = TYPICAL[pattern];
    let regex = Regex::new(pattern).expect("a valid pattern");
    bencher.bench(|| regex.find(black_box(text)));
}

#[divan::bench]
fn cached(bencher: Bencher<'_, '_>) {
    let cache = Cache::new();
    let kept = cache.get(TYPICAL[0].0);
    bencher.bench(|| cache.get(black_box(TYPICAL[0].0)));
    drop(kept);
}
