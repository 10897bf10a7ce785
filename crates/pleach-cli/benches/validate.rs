//! How fast objects in files are checked on one core: reading, checking, both, and the whole command.
//!
//! Prints documents per second of one core's time, and how many times as long as `serde_json` needs to parse the same
//! objects as JSON. Uses the corpus where it is found (`$PLEACH_SHARED` or beside the workspace),
//! else the made-up objects of the tests.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args as _, FromArgMatches as _};
use pleach_cli::Terminal;
use pleach_cli::catalog::{Catalog, Definition, Lookup};
use pleach_cli::cmd::validate;
use pleach_cli::document::{self, Document};
use pleach_cli::input::{Found, Source, find};
use pleach_cli::object;
use pleach_schema::Record;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const OBJECTS: usize = 10_000;

fn texts(path: &Path) -> Vec<String> {
    let (found, _) = find(&[path.display().to_string()]);
    let files = found.iter().filter_map(|found| match found {
        Found::File(path) => fs::read_to_string(path).ok(),
        Found::Stdin => None,
    });
    files.collect()
}

fn read(text: &str) -> Vec<Document> {
    document::read(Source::new("", None, text)).1
}

fn check(catalog: &Catalog, document: &Document) -> usize {
    let Lookup::Found(_, version) = catalog.lookup(document) else { return 0 };
    match object::decode(version, document.value.clone(), Record::Unknown) {
        Ok(mut decoded) => object::create(version, &mut decoded.value).errors.len(),
        Err(_) => 1,
    }
}

/// CPU time of this thread where the system reports it, which other load on the machine changes little; wall time
/// elsewhere.
fn now(start: Instant) -> Duration {
    let on_core = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = on_core.as_deref().and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// The best of a few runs, each long enough for a clock that ticks every few milliseconds.
fn timed(mut work: impl FnMut()) -> Duration {
    let zero = Instant::now();
    work();
    let times = (200 / zero.elapsed().as_millis().max(1)).clamp(1, 20) as u32;
    let once = |_| {
        let start = now(zero);
        (0..times).for_each(|_| work());
        now(zero).saturating_sub(start) / times
    };
    (0..3).map(once).min().unwrap_or_default()
}

/// Runs `pleach validate` in this process.
fn command(crds: &Path, objects: &Path) {
    let (crds, objects) = (crds.display().to_string(), objects.display().to_string());
    let line = validate::Options::augment_args(clap::Command::new("validate"));
    let matches = line.get_matches_from(["validate", "--crds", &crds, &objects]);
    let options = validate::Options::from_arg_matches(&matches).expect("a command line");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut terminal = Terminal {
        input: &mut std::io::empty(),
        out: &mut out,
        err: &mut err,
        color: false,
        interactive: false,
    };
    let exit = validate::run(&options, &mut terminal).expect("a result");
    black_box(exit);
}

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared =
        std::env::var_os("PLEACH_SHARED").map_or_else(|| here.join("../../../shared"), PathBuf::from);
    let corpus = shared.join("corpus");
    let (crd_files, objects) = if corpus.is_dir() {
        (corpus.join("crds"), texts(&corpus.join("objects")))
    } else {
        eprintln!("no corpus: made-up objects are measured");
        let inputs = here.join("tests/golden/inputs");
        (inputs.join("widgets.yaml"), texts(&inputs.join("good.yaml")))
    };
    let crds = texts(&crd_files);
    let mut catalog = Catalog::default();
    for document in crds.iter().flat_map(|text| read(text)).filter(Document::is_crd) {
        if let Ok(definition) = Definition::read(&document.value) {
            catalog.add(definition);
        }
    }
    let known = |text: &&String| read(text).iter().all(|d| matches!(catalog.lookup(d), Lookup::Found(..)));
    let objects: Vec<&String> = objects.iter().filter(known).collect();
    let mut texts = Vec::new();
    let mut count = 0;
    for text in objects.iter().cycle() {
        if count >= OBJECTS {
            break;
        }
        count += read(text).len();
        texts.push(*text);
    }
    let documents: Vec<Document> = texts.iter().flat_map(|text| read(text)).collect();
    let json: Vec<String> = documents.iter().map(|document| document.value.to_string()).collect();
    let parsing = timed(|| {
        for text in &json {
            black_box(serde_json::from_str::<serde_json::Value>(text).expect("JSON"));
        }
    });
    let reading = timed(|| texts.iter().for_each(|text| drop(black_box(read(text)))));
    let placing = timed(|| {
        for text in &texts {
            for document in read(text) {
                black_box(document.locate("spec"));
            }
        }
    });
    let checking = timed(|| {
        documents.iter().for_each(|document| {
            black_box(check(&catalog, document));
        });
    });
    let directory = tempfile::tempdir().expect("a directory");
    let stream = directory.path().join("objects.yaml");
    let all: Vec<&str> = texts.iter().map(|text| text.trim_end()).collect();
    fs::write(&stream, all.join("\n---\n")).expect("a file");
    let empty = directory.path().join("empty.yaml");
    fs::write(&empty, "# nothing\n").expect("a file");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    // Reading and compiling the CRDs is no part of what an object costs.
    let fixed = pool.install(|| timed(|| command(&crd_files, &empty)));
    let whole = pool.install(|| timed(|| command(&crd_files, &stream)));

    let size: usize = texts.iter().map(|text| text.len()).sum();
    println!("{count} objects of {} bytes on average, one core", size / count);
    let line = |what: &str, time: Duration| {
        let rate = count as f64 / time.as_secs_f64();
        let ratio = time.as_secs_f64() / parsing.as_secs_f64();
        println!("{what:<42} {rate:>9.0} documents/s {ratio:>6.1} x serde_json");
    };
    line("parsing the objects as JSON (serde_json)", parsing);
    line("reading YAML", reading);
    line("reading YAML and where everything stands", placing);
    line("checking", checking);
    line("reading YAML and checking", reading + checking);
    line("pleach validate, without reading the CRDs", whole.saturating_sub(fixed));
}
