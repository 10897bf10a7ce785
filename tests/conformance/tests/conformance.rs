//! Every recorded conversation against the real server binary, and the figures per area.
//!
//! Cases that are known to differ stand in `known-differences.txt` with the reason. The list may
//! only shrink: a case that is not on it must agree, and one that is must still differ.
//!
//! `PLEACH_CASES=pruning cargo test -p pleach-conformance --test conformance` plays one area and
//! shows what differs.
//!
//! Every tenth case is played on a server with an etcd as well; with `PLEACH_ETCD=all` all of them are, and on
//! nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use pleach_conformance::etcd::Etcd;
use pleach_conformance::{AS_RECORDED, Case, HookServer, Outcome, TestServer, behaviours};

/// Cases wait for the server most of the time, so more are played at once than there are cores.
const PLAYERS: usize = 12;

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--list") {
        println!("conformance: test");
        return ExitCode::SUCCESS;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wanted = std::env::var("PLEACH_CASES").unwrap_or_default();
    let webhook = HookServer::start(0, behaviours::answer).expect("the webhook starts");
    let cases: Vec<Case> = read_cases(&root.join("cases"), webhook.port())
        .into_iter()
        .filter(|case| wanted.split(',').any(|wanted| case.name.starts_with(wanted)))
        .collect();
    let known = known_differences(&root.join("known-differences.txt"));
    let everything = wanted.is_empty();
    if std::env::var("PLEACH_ETCD").is_ok_and(|cases| cases == "all") {
        return play_on_etcd(&cases, &known, everything);
    }
    let server = TestServer::start(&binary(), &AS_RECORDED).expect("the server starts");
    let embedded = report(&play_all(&cases, &server), &known, everything);
    drop(server);
    let some: Vec<Case> = cases.into_iter().step_by(10).collect();
    let on_etcd = play_on_etcd(&some, &known, false);
    if embedded == ExitCode::SUCCESS { on_etcd } else { embedded }
}

/// Plays cases on a server whose objects are in an etcd of its own.
fn play_on_etcd(cases: &[Case], known: &BTreeMap<String, String>, all: bool) -> ExitCode {
    println!("on etcd:");
    let etcd = Etcd::start(1);
    let server = etcd.serve(&binary(), &AS_RECORDED[1..]).expect("the server starts");
    report(&play_all(cases, &server), known, all)
}

fn play_all<'a>(cases: &'a [Case], server: &TestServer) -> BTreeMap<&'a str, Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<BTreeMap<&str, Outcome>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..PLAYERS {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = play(case, server);
                    outcomes.lock().expect("no player panics").insert(&case.name, outcome);
                }
            });
        }
    });
    outcomes.into_inner().expect("no player panics")
}

/// Plays a case. Managers are listed in order of their times, which are whole seconds: where one ended in the
/// midst of a case and none did when it was recorded, or the other way round, it is played once more.
fn play(case: &Case, server: &TestServer) -> Outcome {
    let is_of_managers = |outcome: &Outcome| outcome.iter().any(|problem| problem.contains("managedFields"));
    let first = case.play(&server.endpoint);
    // Between the end of a CRD and the end of its paths there is a moment, on etcd a longer one.
    let is_of_paths =
        |outcome: &Outcome| outcome.iter().any(|problem| problem.contains("404 page not found"));
    if !is_of_managers(&first) && !is_of_paths(&first) {
        return first;
    }
    println!("PLAYED AGAIN {}: {}", case.name, first.first().map_or("", String::as_str));
    case.play(&server.endpoint)
}

/// Prints the figures and whatever is not as the list says.
fn report(outcomes: &BTreeMap<&str, Outcome>, known: &BTreeMap<String, String>, all: bool) -> ExitCode {
    let mut areas: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    let mut unexpected = 0;
    for (name, outcome) in outcomes {
        let area = name.split('/').next().unwrap_or_default();
        let (agree, listed, total) = areas.entry(area).or_default();
        *total += 1;
        match (outcome.is_empty(), known.get(*name)) {
            (true, None) => *agree += 1,
            (false, Some(_)) => *listed += 1,
            (true, Some(reason)) => {
                unexpected += 1;
                println!("AGREES {name}: take it off the list of known differences ({reason})");
            }
            (false, None) => {
                unexpected += 1;
                println!("DIFFERS {name}");
                outcome.iter().take(3).for_each(|problem| println!("    {problem}"));
            }
        }
    }
    if all {
        for name in known.keys().filter(|name| !outcomes.contains_key(name.as_str())) {
            unexpected += 1;
            println!("UNKNOWN {name}: there is no such case, take it off the list");
        }
    }
    println!("{:<16} {:>6} {:>6} {:>6}", "area", "agree", "listed", "cases");
    for (area, (agree, listed, total)) in &areas {
        println!("{area:<16} {agree:>6} {listed:>6} {total:>6}");
    }
    let agree: usize = areas.values().map(|(agree, _, _)| agree).sum();
    let listed: usize = areas.values().map(|(_, listed, _)| listed).sum();
    println!("conformance: {agree} agree, {listed} known to differ, {unexpected} not as listed");
    if unexpected == 0 && agree > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The cases, which name the webhook's port as it was when they were recorded.
fn read_cases(directory: &Path, webhook: u16) -> Vec<Case> {
    let (recorded, webhook) = (format!(":{}/", behaviours::RECORDED_PORT), format!(":{webhook}/"));
    let mut cases = Vec::new();
    for area in sorted(directory) {
        for file in sorted(&area) {
            let name = format!("{}/{}", stem(&area), stem(&file));
            let text =
                std::fs::read_to_string(&file).expect("a case can be read").replace(&recorded, &webhook);
            cases.push(Case::parse(&name, &text).unwrap_or_else(|error| panic!("{name}: {error}")));
        }
    }
    cases
}

fn sorted(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the recorded cases are there");
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// `area/case: reason`, one a line.
fn known_differences(path: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path).expect("the list of known differences is there");
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (name, reason) = line.split_once(": ").unwrap_or_else(|| panic!("no reason: {line}"));
            (name.to_owned(), reason.to_owned())
        })
        .collect()
}

/// The server binary beside this test, or the one that `PLEACH_BIN` names.
fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("PLEACH_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("this test is a file");
    let target = test.parent().and_then(Path::parent).expect("tests lie in target/<profile>/deps");
    let binary = target.join("pleach");
    assert!(binary.exists(), "{} is not built: cargo build -p pleach", binary.display());
    binary
}
