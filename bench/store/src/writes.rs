//! Durable writes, in turns with a plain file that is appended to and synced.

use std::{
    fs::File,
    io::Write,
    mem,
    path::Path,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use pleach_store::{Commit, Expect, Store};
use pleach_store_log::LogStore;
use tokio::{runtime::Runtime, sync::oneshot};

use crate::{cpu, median, percentile, report};

const VALUE: usize = 2048;
const WRITERS: usize = 64;
const TURN: Duration = Duration::from_millis(700);
const TURNS: usize = 7;

/// One writer, each write waited for.
pub(crate) fn one_writer(room: &Path) {
    let runtime = Runtime::new().expect("a runtime");
    let store = LogStore::open(room.join("one-writer")).expect("a store");
    let mut file = File::create(room.join("plain")).expect("a file");
    let value = vec![b'x'; VALUE];
    let (mut plain, mut stored) = (Vec::new(), Vec::new());
    // In turns, because the disk changes its mind; not one by one, because then each would pay for
    // what the other left in the file system's journal.
    for _ in 0..16 {
        for _ in 0..40 {
            let begin = Instant::now();
            file.write_all(&value).expect("a write");
            file.sync_data().expect("a sync");
            plain.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        for n in 0..40 {
            let begin = Instant::now();
            let commit = Commit::put(format!("k/{n}"), Expect::Anything, value.clone());
            runtime.block_on(store.commit(commit)).expect("a commit");
            stored.push(begin.elapsed().as_secs_f64() * 1e6);
        }
    }
    for (percent, wanted) in [(25, ""), (50, "within 1.3 times")] {
        let (plain, stored) = (percentile(&mut plain, percent), percentile(&mut stored, percent));
        let found = format!("p{percent} {:.2} times ({stored:.0} µs, {plain:.0} µs)", stored / plain);
        report("one writer, beside one append and fdatasync", &found, wanted);
    }
}

/// Many writers, who share a sync.
pub(crate) fn many_writers(room: &Path) {
    let runtime = Runtime::new().expect("a runtime");
    let store = Arc::new(LogStore::open(room.join("many-writers")).expect("a store"));
    let plain = Plain::start(&room.join("plain-group"));
    let (mut rates, mut plain_rates) = (Vec::new(), Vec::new());
    let (mut costs, mut plain_costs) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let one = Arc::clone(&plain);
        let (rate, cost) = turn(&runtime, move |_, value| {
            let waiting = one.append(value);
            async move { waiting.await.expect("an answer") }
        });
        plain_rates.push(rate);
        plain_costs.push(cost);
        let one = Arc::clone(&store);
        let (rate, cost) = turn(&runtime, move |n, value| {
            let store = Arc::clone(&one);
            let commit = Commit::put(format!("k/{}", n % 10_000), Expect::Anything, value);
            async move {
                store.commit(commit).await.expect("a commit");
            }
        });
        rates.push(rate);
        costs.push(cost);
    }
    let (rate, plain_rate) = (median(&mut rates), median(&mut plain_rates));
    let found = format!("{:.0}% ({rate:.0}/s, {plain_rate:.0}/s)", 100.0 * rate / plain_rate);
    report("64 writers of 2 KB, beside plain group commit", &found, "at least 60%");
    let found = format!("{:.1} µs, {:.1} µs", median(&mut costs), median(&mut plain_costs));
    report("processor time per write of each", &found, "");
    plain.stop();
}

/// Writes per second of many tasks, each waiting for its own, and microseconds of processor time
/// per write.
fn turn<F>(runtime: &Runtime, write: impl Fn(u64, Vec<u8>) -> F + Send + Sync + 'static) -> (f64, f64)
where
    F: Future<Output = ()> + Send,
{
    let (done, write) = (Arc::new(AtomicU64::new(0)), Arc::new(write));
    let (work, begin) = (cpu::of_process(), Instant::now());
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (done, write) = (Arc::clone(&done), Arc::clone(&write));
            runtime.spawn(async move {
                while begin.elapsed() < TURN {
                    write(done.fetch_add(1, Relaxed), vec![b'x'; VALUE]).await;
                }
            })
        })
        .collect();
    for writer in writers {
        runtime.block_on(writer).expect("no panic");
    }
    let writes = done.load(Relaxed) as f64;
    (writes / begin.elapsed().as_secs_f64(), (cpu::of_process() - work) / writes / 1e3)
}

/// The cost of a store that only writes: everything that waits is appended with
/// one write and one sync.
#[derive(Default)]
struct Plain {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<(Vec<u8>, oneshot::Sender<()>)>,
    stopped: bool,
}

impl Plain {
    fn start(path: &Path) -> Arc<Self> {
        let mut file = File::create(path).expect("a file");
        let plain = Arc::new(Self::default());
        let shared = Arc::clone(&plain);
        thread::spawn(move || {
            let mut buffer = Vec::new();
            while let Some(waiting) = shared.take() {
                buffer.clear();
                for (value, _) in &waiting {
                    buffer.extend_from_slice(value);
                }
                file.write_all(&buffer).expect("a write");
                file.sync_data().expect("a sync");
                for (_, reply) in waiting {
                    // A writer that is gone does not mind.
                    let _ = reply.send(());
                }
            }
        });
        plain
    }

    fn append(&self, value: Vec<u8>) -> oneshot::Receiver<()> {
        let (reply, waiting) = oneshot::channel();
        let mut queue = self.queue.lock().expect("no panic");
        queue.waiting.push((value, reply));
        if queue.waiting.len() == 1 {
            self.arrived.notify_one();
        }
        waiting
    }

    fn take(&self) -> Option<Vec<(Vec<u8>, oneshot::Sender<()>)>> {
        let mut queue = self.queue.lock().expect("no panic");
        while queue.waiting.is_empty() {
            if queue.stopped {
                return None;
            }
            queue = self.arrived.wait(queue).expect("no panic");
        }
        Some(mem::take(&mut queue.waiting))
    }

    fn stop(&self) {
        self.queue.lock().expect("no panic").stopped = true;
        self.arrived.notify_one();
    }
}
