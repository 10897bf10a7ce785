//! A TCP proxy that can be cut.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};

/// A proxy in front of one address.
pub(super) struct Proxy {
    port: u16,
    state: Arc<State>,
}

struct State {
    to: String,
    is_cut: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    pub(super) fn start(to: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State { to: to.into(), is_cut: AtomicBool::new(false), open: Mutex::default() });
        let forwarding = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&forwarding);
                thread::spawn(move || state.forward(&client));
            }
        });
        Self { port, state }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// How many connections were made.
    pub(super) fn connections(&self) -> usize {
        self.state.open.lock().unwrap().len() / 2
    }

    /// Breaks all connections, and takes no new ones until it is healed.
    pub(super) fn cut(&self) {
        self.state.is_cut.store(true, SeqCst);
        for stream in self.state.open.lock().unwrap().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(super) fn heal(&self) {
        self.state.is_cut.store(false, SeqCst);
    }
}

impl State {
    fn forward(&self, client: &TcpStream) {
        if self.is_cut.load(SeqCst) {
            return;
        }
        let Ok(server) = TcpStream::connect(&self.to) else { return };
        let copy = |stream: &TcpStream| stream.try_clone().unwrap();
        self.open.lock().unwrap().extend([copy(client), copy(&server)]);
        let pipe = |mut from: TcpStream, mut to: TcpStream| {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        };
        let (from, to) = (copy(&server), copy(client));
        thread::spawn(move || pipe(from, to));
        pipe(copy(client), server);
    }
}
