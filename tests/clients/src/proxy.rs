//! A TCP proxy that can be cut or stopped, for tests of networks that fail.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A proxy in front of one address.
pub struct Proxy {
    /// Its port on loopback.
    pub port: u16,
    state: Arc<State>,
}

struct State {
    to: String,
    is_cut: AtomicBool,
    is_stopped: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Forwards connections to an address such as `127.0.0.1:2379`.
    pub fn start(to: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
        let port = listener.local_addr().expect("a listener has an address").port();
        let state = State {
            to: to.to_owned(),
            is_cut: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            open: Mutex::default(),
        };
        let state = Arc::new(state);
        let forwarding = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = forwarding.clone();
                std::thread::spawn(move || state.forward(&client));
            }
        });
        Self { port, state }
    }

    /// Breaks all connections, and takes no new ones.
    pub fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        let mut open = self.state.open.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Forwards nothing, on old connections and new ones, until it is healed: neither side gets an error.
    pub fn stop(&self) {
        self.state.is_stopped.store(true, Ordering::SeqCst);
    }

    /// Takes connections again, and goes on with those that were stopped.
    pub fn heal(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
        self.state.is_stopped.store(false, Ordering::SeqCst);
    }
}

impl State {
    fn forward(self: &Arc<Self>, client: &TcpStream) {
        if self.is_cut.load(Ordering::SeqCst) {
            return;
        }
        self.wait();
        let Ok(server) = TcpStream::connect(&self.to) else { return };
        let _ = self.pipe(client, &server);
    }

    /// Waits as long as nothing is forwarded.
    fn wait(&self) {
        while self.is_stopped.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn copy(&self, from: &mut TcpStream, to: &mut TcpStream) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        loop {
            let count = from.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            self.wait();
            to.write_all(&buffer[..count])?;
        }
    }

    fn pipe(self: &Arc<Self>, client: &TcpStream, server: &TcpStream) -> io::Result<()> {
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.extend([client.try_clone()?, server.try_clone()?]);
        }
        let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
        let state = self.clone();
        let back = std::thread::spawn(move || {
            let _ = state.copy(&mut from_server, &mut to_client);
            let _ = to_client.shutdown(Shutdown::Both);
            let _ = from_server.shutdown(Shutdown::Both);
        });
        let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
        let _ = self.copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
        let _ = back.join();
        Ok(())
    }
}
