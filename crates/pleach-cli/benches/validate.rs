//! How fast objects in files are checked on one core: reading, checking, and both.
//!
//! Prints documents per second and what part of the time reading takes. Uses the corpus where it is
//! found (`$PLEACH_SHARED` or beside the workspace), else the made-up objects of the tests.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pleach_cli::catalog::{Catalog, Definition, Lookup};
use pleach_cli::document::{self, Document};
use pleach_cli::input::{Found, Source, find};
use pleach_cli::object;
use pleach_schema::Record;

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
    document::read(Source { name: String::new(), path: None, text: text.to_owned() }).1
}

fn check(catalog: &Catalog, document: &Document) -> usize {
    let Lookup::Found(definition, version) = catalog.lookup(document) else { return 0 };
    match object::decode(definition, version, document.value.clone(), Record::Unknown) {
        Ok(mut decoded) => object::create(definition, version, &mut decoded.value).errors.len(),
        Err(_) => 1,
    }
}

fn timed(mut work: impl FnMut()) -> Duration {
    work();
    let start = Instant::now();
    work();
    start.elapsed()
}

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared =
        std::env::var_os("PLEACH_SHARED").map_or_else(|| here.join("../../../shared"), PathBuf::from);
    let corpus = shared.join("corpus");
    let (crds, objects) = if corpus.is_dir() {
        (texts(&corpus.join("crds")), texts(&corpus.join("objects")))
    } else {
        eprintln!("no corpus: made-up objects are measured");
        let inputs = here.join("tests/golden/inputs");
        (texts(&inputs.join("widgets.yaml")), texts(&inputs.join("good.yaml")))
    };
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
    let reading = timed(|| texts.iter().for_each(|text| drop(black_box(read(text)))));
    let checking = timed(|| {
        documents.iter().for_each(|document| {
            black_box(check(&catalog, document));
        });
    });
    let rate = |time: Duration| count as f64 / time.as_secs_f64();
    println!("{count} objects of {} texts, one core", texts.len());
    println!("reading YAML with spans  {:>10.0} documents/s", rate(reading));
    println!("checking                 {:>10.0} documents/s", rate(checking));
    println!("both                     {:>10.0} documents/s", rate(reading + checking));
    println!(
        "reading is {:.0} % of the time",
        reading.as_secs_f64() * 100.0 / (reading + checking).as_secs_f64()
    );
}
