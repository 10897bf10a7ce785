//! Startup: time until ready, and idle memory.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use http::Method;
use tokio::process::{Child, Command};

use crate::client::{Call, Connection, Server};
use crate::process;

const TOKEN: &str = "bench";

/// Says which program is measured.
pub(crate) fn report(binary: &Path) {
    println!("measuring {}", binary.display());
}

/// Starts the server on a directory of its own, and prints what starting costs.
pub(crate) async fn server(binary: &Path, room: &Path) -> (Server, Child) {
    server_with(binary, room, &[]).await
}

/// The same with more flags.
pub(crate) async fn server_with(binary: &Path, room: &Path, flags: &[&str]) -> (Server, Child) {
    let (server, child, ready) = named("pleach", binary, &room.join("data"), flags).await;
    let pid = server.pids[0];
    tokio::time::sleep(Duration::from_secs(1)).await;
    println!(
        "ready on an empty directory after {:.1} ms (asked: 50), {:.1} ms of CPU, {:.1} MB resident when idle (asked: 20)",
        ready.as_secs_f64() * 1e3,
        process::cpu(&server.pids) * 1e3,
        process::resident(pid)
    );
    (server, child)
}

/// Starts the server with further arguments; how long it took to be ready.
pub(crate) async fn named(
    name: &str,
    binary: &Path,
    data: &Path,
    arguments: &[&str],
) -> (Server, Child, Duration) {
    let port = free_port();
    let begin = Instant::now();
    let child = Command::new(binary)
        .arg("serve")
        .arg("--data-dir")
        .arg(data)
        .args(["--port", &port.to_string(), "--token", TOKEN, "--log-level", "warn"])
        .args(arguments)
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| panic!("{} does not start: {error}; build it first", binary.display()));
    let pid = child.id().expect("it runs");
    let server = Server::new(name, &format!("https://127.0.0.1:{port}"), TOKEN, vec![pid]);
    while tokio::net::TcpStream::connect(&server.address).await.is_err() {
        assert!(begin.elapsed() < Duration::from_mins(2), "the server does not listen");
        tokio::time::sleep(Duration::from_micros(500)).await;
    }
    let mut connection = Connection::open(&server).await;
    connection.must(&Call::new(Method::GET, "/readyz")).await;
    (server, child, begin.elapsed())
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
