//! A TCP proxy that can be cut, for tests of networks that fail.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A proxy in front of one address.
pub struct Proxy {
    /// Its port on loopback.
    pub port: u16,
    state: Arc<State>,
}

struct State {
    to: String,
    is_cut: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Forwards connections to an address such as `127.0.0.1:2379`.
    pub fn start(to: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
        let port = listener.local_addr().expect("a listener has an address").port();
        let state = State { to: to.to_owned(), is_cut: AtomicBool::new(false), open: Mutex::default() };
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

    /// Takes connections again.
    pub fn heal(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
    }
}

impl State {
    fn forward(&self, client: &TcpStream) {
        if self.is_cut.load(Ordering::SeqCst) {
            return;
        }
        let Ok(server) = TcpStream::connect(&self.to) else { return };
        let _ = self.pipe(client, &server);
    }

    fn pipe(&self, client: &TcpStream, server: &TcpStream) -> io::Result<()> {
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.extend([client.try_clone()?, server.try_clone()?]);
        }
        let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
        let back = std::thread::spawn(move || {
            let _ = io::copy(&mut from_server, &mut to_client);
            let _ = to_client.shutdown(Shutdown::Both);
            let _ = from_server.shutdown(Shutdown::Both);
        });
        let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
        let _ = back.join();
        Ok(())
    }
}
