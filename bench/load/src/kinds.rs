//! The cost of the built-in kinds while they are not used: servers with all of them and with few start in turns.

use std::path::Path;
use std::time::Duration;

use crate::{process, start};

/// The figures of one start.
struct Figures {
    ready: f64,
    cpu: f64,
    resident: f64,
}

/// Starts servers in turns and prints the medians and their differences.
pub(crate) async fn measure(binary: &Path, turns: usize) {
    start::report(binary);
    let mut all: [Vec<Figures>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..turns {
        for (flag, figures) in ["--builtin-kinds=minimal", "--builtin-kinds=all"].iter().zip(&mut all) {
            let room = tempfile::tempdir().expect("a directory to measure in");
            let (server, _child, ready) = start::named("pleach", binary, room.path(), &[flag]).await;
            tokio::time::sleep(Duration::from_millis(500)).await;
            let (cpu, resident) = (process::cpu(&server.pids) * 1e3, process::resident(server.pids[0]));
            figures.push(Figures { ready: ready.as_secs_f64() * 1e3, cpu, resident });
        }
    }
    let median = |figures: &[Figures], of: fn(&Figures) -> f64| {
        let mut values: Vec<f64> = figures.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    println!("{:<22} {:>10} {:>10} {:>10}", "median", "minimal", "all", "more");
    for (name, of) in [
        ("ready after ms", (|one| one.ready) as fn(&Figures) -> f64),
        ("CPU ms", |one| one.cpu),
        ("MB resident when idle", |one| one.resident),
    ] {
        let [few, many] = [median(&all[0], of), median(&all[1], of)];
        println!("{name:<22} {few:>10.1} {many:>10.1} {:>10.1}", many - few);
    }
    println!("(asked: 2 ms and 1 MB more for all kinds together)");
}
