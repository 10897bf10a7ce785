//! The cost of servers for tests.
//!
//! `cargo run --release -p bench-testserver` prints figures of one run, each beside what is asked of it; times also as
//! multiples of starting `true`, the cheapest process there is. With `--kube-apiserver PATH --etcd PATH` the start of a
//! real control plane is measured in turn with Pleach's, both driven as envtest drives them.

mod control_plane;
mod worlds;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The cost of servers for tests.
#[derive(Debug, Parser)]
struct Options {
    /// The binary that is measured.
    #[arg(long, default_value = "target/release/pleach", value_name = "PATH")]
    pleach: PathBuf,
    /// A real kube-apiserver, for a comparison.
    #[arg(long, requires = "etcd", value_name = "PATH")]
    kube_apiserver: Option<PathBuf>,
    /// A real etcd.
    #[arg(long, requires = "kube_apiserver", value_name = "PATH")]
    etcd: Option<PathBuf>,
    /// How often each start is measured; medians are printed.
    #[arg(long, default_value_t = 5, value_name = "N")]
    turns: usize,
}

fn main() {
    let options = Options::parse();
    let cheapest = median(20, || timed(|| drop(Command::new("true").status())));
    println!("starting `true`: {:.2} ms, the unit of the multiples below", ms(cheapest));
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime starts")
        .block_on(worlds::measure(cheapest));
    if !options.pleach.exists() {
        println!("{} is not built: no figures of processes", options.pleach.display());
        return;
    }
    let process = median(options.turns, || control_plane::serve_in_memory(&options.pleach));
    report("a process, start to the first answer", process, cheapest, "asked: 25 ms");
    let ours = control_plane::Assets::of_pleach(&options.pleach);
    let theirs = options.kube_apiserver.zip(options.etcd);
    let theirs = theirs.map(|(server, etcd)| control_plane::Assets::of_paths(server, etcd));
    let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
    for _ in 0..options.turns {
        of_ours.push(ours.start());
        of_theirs.extend(theirs.as_ref().map(control_plane::Assets::start));
    }
    let ours = middle(of_ours);
    report("envtest's control plane, start to the namespace default", ours, cheapest, "");
    if theirs.is_some() {
        let theirs = middle(of_theirs);
        report("the same with kube-apiserver and etcd", theirs, cheapest, "");
        println!(
            "Pleach takes {:.1} % of that (asked: 10 %)",
            100.0 * ours.as_secs_f64() / theirs.as_secs_f64()
        );
    }
}

/// Prints a time, also as a multiple of starting a process.
fn report(what: &str, time: Duration, cheapest: Duration, asked: &str) {
    let multiple = time.as_secs_f64() / cheapest.as_secs_f64();
    let asked = if asked.is_empty() { String::new() } else { format!(" ({asked})") };
    println!("{what}: {:.2} ms, {multiple:.2} times `true`{asked}", ms(time));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

fn median(turns: usize, measure: impl FnMut() -> Duration) -> Duration {
    middle(std::iter::repeat_with(measure).take(turns).collect())
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A command without output.
fn quiet(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null())
}
