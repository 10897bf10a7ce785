//! Cost of requests to a server.
//!
//! `cargo build --release && cargo run --release -p bench-load` starts the built server on an empty
//! directory and a bare HTTPS server beside it that sends the same bytes, and prints what each
//! operation costs in CPU time. Other servers of the same API are measured in turns with it:
//!
//! ```text
//! cargo run --release -p bench-load -- --other kube=https://127.0.0.1:6443 --token T --pids kube=123+124
//! ```
//!
//! Wall time says little on a shared machine, so every figure is CPU time of the server's processes
//! per operation, as the kernel counts it, and bars are ratios or differences within one run. The
//! bare server pays for HTTP and TLS, the store's own commits (measured in a process of their own)
//! for durability; what is left is what the API costs. `cargo run --release -p bench-load -- engine`
//! measures just that, the writes of the engine without a server around it; `-- etcd` compares a server on etcd with
//! one that has its objects in a data directory.

mod bare;
mod client;
mod crds;
mod engine;
mod etcd;
mod fairness;
mod kinds;
mod objects;
mod operations;
mod policies;
mod process;
mod start;
mod store;
mod watches;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use client::Server;
use operations::{Figures, Operation};

/// The server's allocator, since the engine is measured in this process too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures what requests cost.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    part: Option<Part>,
    /// The server to start; the one built beside this program if not given.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Another server of the same API: NAME=URL. Needs --token, and --pids for CPU time.
    #[arg(long, value_name = "NAME=URL")]
    other: Option<String>,
    /// The token for the other server.
    #[arg(long, default_value = "")]
    token: String,
    /// The other server's processes: PID+PID+…
    #[arg(long, value_name = "PIDS", default_value = "")]
    pids: String,
    /// Connections, each with one request under way.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Requests of each kind in one turn.
    #[arg(long, default_value_t = 6_000)]
    requests: usize,
    /// Turns; the middle figure counts.
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Only these operations.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// How many CRDs to install for the last part; 0 leaves it out.
    #[arg(long, default_value_t = 2_000)]
    crds: usize,
}

#[derive(Subcommand)]
enum Part {
    /// The bare server, in a process of its own.
    #[command(hide = true)]
    Bare,
    /// The cost of writes in the engine alone, without HTTP, TLS and a disk.
    Engine {
        /// Objects that are changed in turn.
        #[arg(long, default_value_t = 64)]
        objects: usize,
        /// Batches of 64 writes; the fastest counts.
        #[arg(long, default_value_t = 200)]
        batches: usize,
        /// Only these operations.
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
    },
    /// How long one user's requests take while another floods the server, beside how long they take alone.
    Fairness {
        /// Requests of the user who is measured.
        #[arg(long, default_value_t = 1_000)]
        samples: usize,
    },
    /// A server on etcd beside one on a data directory, and beside another server of the API if one is given.
    Etcd {
        /// Objects to fill both with, and to start again with; 0 leaves it out.
        #[arg(long, default_value_t = 100_000)]
        objects: usize,
        /// Watchers of every event.
        #[arg(long, default_value_t = 200)]
        watchers: usize,
    },
    /// The cost that admission policies add to a write in the engine.
    Policies {
        /// Batches of 64 writes; the fastest counts.
        #[arg(long, default_value_t = 200)]
        batches: usize,
    },
    /// The cost of the built-in kinds while they are not used: time to start and idle memory.
    Kinds {
        /// Starts of each server.
        #[arg(long, default_value_t = 9)]
        turns: usize,
    },
    /// The cost and the delay of events that many watchers get, beside a bare server that streams the same bytes.
    Watches {
        /// Watchers, each on a connection of its own.
        #[arg(long, default_value_t = 500)]
        watchers: usize,
        /// Writers at full speed.
        #[arg(long, default_value_t = 8)]
        writers: usize,
        /// Updates at full speed, in one turn.
        #[arg(long, default_value_t = 400)]
        updates: usize,
    },
    /// The store's commits alone, in a process of their own.
    #[command(hide = true)]
    Store {
        /// Where to keep the log.
        directory: PathBuf,
        /// Writers at once.
        writers: usize,
        /// Commits in all.
        commits: usize,
    },
}

fn main() {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match &cli.part {
        Some(Part::Bare) => runtime.block_on(bare::serve()),
        Some(Part::Engine { objects, batches, only }) => {
            let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
            runtime.block_on(engine::measure((*objects).max(1), (*batches).max(1), &wanted));
        }
        Some(Part::Fairness { samples }) => {
            let binary = cli.binary.clone().unwrap_or_else(beside_this_program);
            runtime.block_on(fairness::measure(&binary, cli.connections, *samples));
        }
        Some(Part::Etcd { objects, watchers }) => runtime.block_on(etcd::measure(&cli, *objects, *watchers)),
        Some(Part::Kinds { turns }) => {
            let binary = cli.binary.clone().unwrap_or_else(beside_this_program);
            runtime.block_on(kinds::measure(&binary, (*turns).max(1)));
        }
        Some(Part::Policies { batches }) => runtime.block_on(policies::measure((*batches).max(1))),
        Some(Part::Watches { watchers, writers, updates }) => {
            let plan =
                watches::Plan { watchers: *watchers, writers: *writers, updates: *updates, turns: cli.turns };
            runtime.block_on(watches::measure(&cli, plan));
        }
        Some(Part::Store { directory, writers, commits }) => {
            runtime.block_on(store::commit(directory, *writers, *commits));
        }
        None => runtime.block_on(measure(&cli)),
    }
}

async fn measure(cli: &Cli) {
    let binary = binary(cli);
    start::report(&binary);
    let room = tempfile::tempdir().expect("a directory to measure in");
    let (ours, child) = start::server(&binary, room.path()).await;
    let (bare, _bare) = bare::start().await;
    let other = cli.other.as_deref().map(|text| other(text, cli));
    let mut servers = vec![ours];
    servers.extend(other);
    for server in &servers {
        objects::install(server).await;
    }
    println!(
        "\n{:<10} {:<10} {:>9} {:>9} {:>9} {:>12}",
        "operation", "server", "per s", "p50 ms", "p99 ms", "CPU µs each"
    );
    let plan = operations::Plan { connections: cli.connections, requests: cli.requests, turns: cli.turns };
    let commit = store::cost(room.path(), cli.connections, cli.requests * 3);
    let wanted = |name: &str| cli.only.is_empty() || cli.only.iter().any(|only| only == name);
    for operation in Operation::ALL.into_iter().filter(|operation| wanted(operation.name())) {
        let figures = operations::run(operation, &servers, &bare, plan).await;
        summary(operation, &figures, commit);
    }
    if cli.crds > 0 && wanted("crds") {
        drop(child);
        let room = tempfile::tempdir().expect("a directory to measure in");
        let (fresh, _child) = start::server(&binary, room.path()).await;
        crds::measure(&fresh, cli.crds).await;
    }
}

/// The cost of an operation beyond HTTP, TLS and the store.
fn summary(operation: Operation, figures: &[Figures], commit: f64) {
    let (ours, bare) = (&figures[0], figures.last().expect("the bare server is the last"));
    if operation.is_read() {
        let share = bare.cpu / ours.cpu * 100.0;
        println!("{:<10} {share:.0} % of the bare server's requests per CPU-second", "");
    } else {
        let added = ours.cpu - bare.cpu - commit;
        println!("{:<10} {added:.0} µs beyond the bare server and a commit ({commit:.0} µs)", "");
    }
}

/// The program to measure.
fn binary(cli: &Cli) -> PathBuf {
    cli.binary.clone().unwrap_or_else(beside_this_program)
}

fn beside_this_program() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    own.with_file_name("pleach")
}

fn other(text: &str, cli: &Cli) -> Server {
    let (name, url) = text.split_once('=').unwrap_or(("other", text));
    let pids = cli.pids.split('+').filter_map(|pid| pid.parse().ok()).collect();
    Server::new(name, url, &cli.token, pids)
}
