//! Three etcd members, two servers with a proxy to each member, and the faults of them.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, RwLock};
use std::time::Duration;
use std::{path::PathBuf, thread::sleep};

use pleach_clients::binary;
use pleach_clients::proxy::Proxy;
use pleach_conformance::etcd::Etcd;
use pleach_conformance::{Endpoint, TestServer};
use serde_json::Value;
use tempfile::TempDir;

use super::PATIENCE;

/// How many servers there are.
pub(crate) const SERVERS: usize = 2;
const MEMBERS: usize = 3;

pub(crate) struct Cluster {
    etcd: Mutex<Etcd>,
    credentials: PathBuf,
    /// For kubeconfigs.
    home: TempDir,
    /// Of each server to each member.
    proxies: Vec<Vec<Proxy>>,
    servers: Vec<RwLock<Option<TestServer>>>,
    /// Which members, and servers behind them, have a fault.
    faulty: [Mutex<()>; MEMBERS + SERVERS],
    under_way: AtomicU64,
    /// How many faults began while another one lasted.
    pub(crate) overlapping: AtomicU64,
    pub(crate) over: AtomicBool,
    random: AtomicU64,
}

fn signal(pid: Option<u32>, signal: &str) {
    if let Some(pid) = pid {
        let _ = Command::new("kill").args([signal, &pid.to_string()]).status();
    }
}

impl Cluster {
    pub(crate) fn start() -> Self {
        let etcd = Etcd::start(MEMBERS);
        let to_each = || etcd.members.iter().map(|member| Proxy::start(member.address())).collect();
        let cluster = Self {
            proxies: (0..SERVERS).map(|_| to_each()).collect(),
            credentials: etcd.credentials(&binary()).unwrap(),
            etcd: Mutex::new(etcd),
            home: tempfile::tempdir().unwrap(),
            servers: (0..SERVERS).map(|_| RwLock::new(None)).collect(),
            faulty: Default::default(),
            under_way: AtomicU64::new(0),
            overlapping: AtomicU64::new(0),
            over: AtomicBool::new(false),
            random: AtomicU64::new(1),
        };
        (0..SERVERS).for_each(|number| cluster.start_server(number));
        cluster
    }

    fn start_server(&self, number: usize) {
        let proxies = self.proxies[number].iter();
        let urls: Vec<String> = proxies.map(|proxy| format!("http://127.0.0.1:{}", proxy.port)).collect();
        let (urls, kubeconfig) = (urls.join(","), self.home.path().join(format!("kubeconfig-{number}")));
        let (data, kubeconfig) = (self.credentials.to_str().unwrap(), kubeconfig.to_str().unwrap());
        let arguments = ["--etcd-servers", &urls, "--data-dir", data, "--kubeconfig", kubeconfig];
        for _ in 0..20 {
            match TestServer::start(&binary(), &arguments) {
                Ok(server) => {
                    *self.servers[number].write().unwrap() = Some(server);
                    return;
                }
                // Without a quorum it does not start.
                Err(_) => sleep(Duration::from_secs(1)),
            }
        }
        panic!("a server does not start");
    }

    pub(crate) fn random(&self, below: u64) -> u64 {
        let mut x = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % below
    }

    pub(crate) fn endpoint(&self, number: usize) -> Option<Endpoint> {
        self.servers[number].read().unwrap().as_ref().map(|server| server.endpoint.clone())
    }

    pub(crate) fn send(
        &self,
        server: usize,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Option<(u16, Value)> {
        let endpoint = self.endpoint(server)?;
        let body = body.map(Value::to_string);
        let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let headers = [("Content-Type".to_owned(), content.to_owned())];
        let answer = endpoint.send(method, path, &headers, body.as_deref(), PATIENCE).ok()?;
        let status = answer.status;
        Some((status, serde_json::from_slice(&answer.body().ok()?).ok()?))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Does one fault and heals it. Several may be under way, each of another member or server.
    pub(crate) fn fault(&self) -> &'static str {
        let (place, _faulty) = self.healthy();
        if self.under_way.fetch_add(1, Ordering::Relaxed) > 0 {
            self.overlapping.fetch_add(1, Ordering::Relaxed);
        }
        let name = match place.checked_sub(MEMBERS) {
            None => self.fault_of_member(place),
            Some(server) => self.fault_of_server(server),
        };
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        name
    }

    /// A member or server without a fault.
    fn healthy(&self) -> (usize, MutexGuard<'_, ()>) {
        loop {
            let place = self.random(self.faulty.len() as u64) as usize;
            if let Ok(guard) = self.faulty[place].try_lock() {
                return (place, guard);
            }
        }
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(500 + self.random(2500))
    }

    fn fault_of_member(&self, member: usize) -> &'static str {
        let pid = self.etcd.lock().unwrap().members[member].pid();
        match self.random(3) {
            0 => {
                self.etcd.lock().unwrap().members[member].kill();
                sleep(self.pause());
                self.etcd.lock().unwrap().members[member].start();
                "etcd member killed"
            }
            1 => {
                signal(pid, "-STOP");
                sleep(self.pause());
                signal(pid, "-CONT");
                "etcd member paused"
            }
            _ => {
                self.proxies.iter().for_each(|proxies| proxies[member].cut());
                sleep(self.pause());
                self.proxies.iter().for_each(|proxies| proxies[member].heal());
                "etcd member cut off"
            }
        }
    }

    fn fault_of_server(&self, server: usize) -> &'static str {
        let pid = self.servers[server].read().unwrap().as_ref().map(TestServer::pid);
        match self.random(4) {
            0 => {
                signal(pid, "-STOP");
                sleep(self.pause());
                signal(pid, "-CONT");
                "server paused"
            }
            1 => {
                self.proxies[server].iter().for_each(Proxy::cut);
                sleep(self.pause());
                self.proxies[server].iter().for_each(Proxy::heal);
                "server cut off"
            }
            2 => {
                // Longer than the server waits for a sign of life.
                self.proxies[server].iter().for_each(Proxy::stop);
                sleep(self.pause() * 4);
                self.proxies[server].iter().for_each(Proxy::heal);
                "server partitioned"
            }
            _ => {
                drop(self.servers[server].write().unwrap().take());
                sleep(self.pause());
                self.start_server(server);
                "server killed"
            }
        }
    }
}
