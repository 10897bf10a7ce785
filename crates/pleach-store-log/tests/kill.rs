//! `kill -9` of a real process: acknowledged commits are there, and nothing else.
//!
//! As a child, this program opens the store and writes from several threads, reporting each commit once
//! it is acknowledged. The parent kills it at a random moment, often during recovery, opens the store
//! and compares. Small limits keep compaction and checkpoints busy. There is no test harness, because
//! it would be killed as well.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use pleach_store::{
    Commit, Expect, Key, Op, RangeQuery, Revision, Store, WatchItem,
    contract::{TestRng, block_on},
};
use pleach_store_log::{LogStore, Options};
use tempfile::TempDir;

const CHILD: &str = "PLEACH_STORE_TO_BE_KILLED";
const WRITERS: u64 = 4;
const ROUNDS: u64 = 60;

fn main() {
    if let Some(directory) = std::env::var_os(CHILD) {
        child(Path::new(&directory));
    }
    let directory = TempDir::new().expect("a directory");
    let mut written = Written::default();
    let mut rng = TestRng::new(u64::from(std::process::id()));
    let begin = Instant::now();
    for round in 0..ROUNDS {
        // Two of three are killed early, during recovery or shortly after; the others while they write.
        let end = if round % 3 == 0 { End::Writing(rng.below(120)) } else { End::Early(rng.below(25)) };
        run_and_kill(directory.path(), end, &mut written);
        written.check(directory.path(), round);
    }
    println!(
        "killed {ROUNDS} times in {:?}; {} commits acknowledged, none lost, none made up",
        begin.elapsed(),
        written.revision
    );
}

fn options() -> Options {
    Options::new().segment_bytes(20_000).checkpoint_bytes(20_000).history_commits(100)
}

/// Opens the store and writes until it is killed.
fn child(directory: &Path) -> ! {
    let store = Arc::new(options().open(directory).expect("a store"));
    for writer in 0..WRITERS {
        let store = Arc::clone(&store);
        thread::spawn(move || write_forever(&store, writer));
    }
    loop {
        thread::park();
    }
}

fn value_of(n: u64) -> Vec<u8> {
    format!("{n} {}", "x".repeat((n % 700) as usize)).into_bytes()
}

/// Each commit increments a counter under one key and adds another key; every fourth deletes one.
fn write_forever(store: &LogStore, writer: u64) {
    let counter = format!("count/{writer}");
    let found = block_on(store.get(&Key::new(counter.as_str()), None)).expect("a read");
    let text = |value: &[u8]| String::from_utf8_lossy(value).parse::<u64>().expect("a number");
    for n in found.map_or(0, |found| text(&found.value)) + 1.. {
        let mut ops = vec![
            Op::put(counter.as_str(), Expect::Anything, n.to_string().into_bytes()),
            Op::put(format!("item/{writer}/{n:08}"), Expect::Absent, value_of(n)),
        ];
        if n % 4 == 0 {
            ops.push(Op::delete(format!("item/{writer}/{:08}", n - 3), Expect::Anything));
        }
        let revision = block_on(store.commit(Commit::from_iter(ops))).expect("a commit");
        // One write, so that lines are complete.
        let line = format!("{writer} {n} {revision}\n");
        std::io::stdout().write_all(line.as_bytes()).expect("a line");
    }
}

/// The reports of the children.
#[derive(Default)]
struct Written {
    /// By writer, the last count that was acknowledged.
    counts: BTreeMap<u64, u64>,
    /// The last acknowledged revision.
    revision: Revision,
}

/// When a child is killed, in milliseconds.
#[derive(Clone, Copy)]
enum End {
    /// After it was started.
    Early(u64),
    /// After its first commit.
    Writing(u64),
}

fn run_and_kill(directory: &Path, end: End, written: &mut Written) {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .env(CHILD, directory)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let output = child.stdout.take().expect("its output");
    let (said, heard) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let numbers: Vec<u64> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
            said.send(numbers).expect("the receiver is alive");
        }
    });
    let first = match end {
        End::Early(life) => {
            thread::sleep(Duration::from_millis(life));
            None
        }
        End::Writing(life) => {
            let first = heard.recv().expect("a commit");
            thread::sleep(Duration::from_millis(life));
            Some(first)
        }
    };
    child.kill().expect("SIGKILL");
    child.wait().expect("its end");
    reader.join().expect("no panic");
    for said in first.into_iter().chain(heard) {
        let [writer, n, revision] = said[..] else { panic!("{said:?}") };
        written.counts.insert(writer, n);
        written.revision = written.revision.max(Revision(revision));
    }
}

impl Written {
    /// Everything acknowledged is there, plus at most one commit in flight per writer. The counters
    /// found become the expected ones.
    fn check(&mut self, directory: &Path, round: u64) {
        let store = options().open(directory).expect("a store");
        let current = block_on(store.revision()).expect("a revision");
        assert!(current >= self.revision, "round {round}: at {current}, {} was acknowledged", self.revision);
        for writer in 0..WRITERS {
            let acknowledged = self.counts.get(&writer).copied().unwrap_or(0);
            let found = block_on(store.get(&Key::new(format!("count/{writer}")), None)).expect("a read");
            let count = found
                .map_or(0, |found| String::from_utf8_lossy(&found.value).parse::<u64>().expect("a number"));
            assert!(
                count == acknowledged || count == acknowledged + 1,
                "round {round}: writer {writer} was told {acknowledged}, and {count} is there"
            );
            let range =
                block_on(store.range(RangeQuery::prefix(format!("item/{writer}/")))).expect("a range");
            let wanted = (1..=count).filter(|n| n % 4 != 1 || n + 3 > count);
            let wanted: Vec<String> = wanted.map(|n| format!("item/{writer}/{n:08}")).collect();
            let there: Vec<&str> = range.items.iter().map(|item| item.key.as_str()).collect();
            assert_eq!(there, wanted, "round {round}, writer {writer}");
            for item in &range.items {
                let n: u64 = item.key.as_str()[item.key.as_str().len() - 8..].parse().expect("a number");
                assert_eq!(item.value, value_of(n), "round {round}: {}", item.key);
            }
            self.counts.insert(writer, count);
        }
        // All kept history arrives once and in order.
        let mut seen = block_on(store.stats()).expect("figures").oldest;
        let mut watch = block_on(store.watch(Key::new(""), seen)).expect("a watch");
        while seen < current {
            let Some(Ok(WatchItem::Events(batch))) = block_on(watch.next()) else { panic!("an event") };
            assert_eq!(batch.revision(), seen.next(), "round {round}");
            seen = batch.revision();
        }
        self.revision = current;
    }
}
