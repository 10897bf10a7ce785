//! All connections: the connection limit, and the limit on unsent response bytes of all together.
//!
//! A new connection beyond the limit evicts another one: first the oldest without an authenticated request, then
//! the one that is idle longest. So unauthenticated clients displace only each other. When unsent responses hold
//! too much memory, the connection that holds most of it and reads nothing is closed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::connection_state::ConnectionState;

/// How long a connection must have taken nothing before it is cut to make room.
const STALLED: Duration = Duration::from_secs(2);

/// All connections.
#[derive(Debug)]
pub struct Connections {
    /// The memory that unsent responses of one connection may hold before it has to wait.
    per_connection: usize,
    /// The memory that all unsent responses may hold.
    limit: usize,
    held: AtomicUsize,
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    next: u64,
    open: HashMap<u64, Arc<ConnectionState>>,
    /// The time of the last sample, and the bytes that each connection had read by then.
    last_sample: Option<(Instant, HashMap<u64, usize>)>,
}

impl Connections {
    /// None yet.
    pub fn new(per_connection: usize, limit: usize) -> Self {
        Self { per_connection, limit, held: AtomicUsize::new(0), all: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a connection, until [`Connections::remove`].
    pub fn add(&self, connection: Arc<ConnectionState>) -> u64 {
        let mut all = self.lock();
        let id = all.next;
        all.next += 1;
        all.open.insert(id, connection);
        id
    }

    /// The connection has ended.
    pub fn remove(&self, id: u64) {
        self.lock().open.remove(&id);
    }

    /// Cuts every connection.
    pub fn cut_all(&self) {
        self.lock().open.values().for_each(|connection| connection.cut());
    }

    /// Closes one connection, so that there is a place for another; whether there is one that may be closed.
    pub fn make_place(&self) -> bool {
        let all = self.lock();
        let stranger = all.open.values().filter(|one| !one.is_authenticated()).min_by_key(|one| one.opened());
        let resting = || {
            let resting = all.open.values().filter(|one| !one.is_under_way());
            resting.min_by_key(|one| one.opened() + one.idle_since())
        };
        let given_up = stranger.or_else(resting);
        given_up.inspect(|one| one.cut()).is_some()
    }

    /// The memory that unsent responses of one connection may hold.
    pub fn per_connection(&self) -> usize {
        self.per_connection
    }

    /// The memory that all unsent responses hold.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    pub(crate) fn hold(&self, bytes: usize) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether unsent answers hold as much as they may. If so, one that takes nothing is cut.
    pub fn are_full(&self) -> bool {
        if self.held() < self.limit {
            return false;
        }
        let mut all = self.lock();
        let now = Instant::now();
        let taken = |all: &All| all.open.iter().map(|(id, one)| (*id, one.taken())).collect();
        match &all.last_sample {
            Some((since, before)) if now - *since >= STALLED => {
                let stalled = all.open.iter().filter(|(id, one)| before.get(id) == Some(&one.taken()));
                if let Some((_, most)) =
                    stalled.max_by_key(|(_, one)| one.held()).filter(|(_, one)| one.held() > 0)
                {
                    tracing::warn!(
                        bytes = most.held(),
                        "connection closed: the client does not read its responses"
                    );
                    most.cut();
                }
                let recent = now - *since >= 10 * STALLED;
                if recent {
                    all.last_sample = None;
                }
            }
            Some(_) => {}
            None => all.last_sample = Some((now, taken(&all))),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{sleep, timeout};

    use super::*;

    fn connection(among: &Arc<Connections>) -> Arc<ConnectionState> {
        let one = Arc::new(ConnectionState::new(among.clone()));
        among.add(one.clone());
        one
    }

    async fn is_cut(one: &ConnectionState) -> bool {
        timeout(Duration::from_millis(1), one.is_cut()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn strangers_give_way_first_and_the_oldest_of_them() {
        let among = Arc::new(Connections::new(1, 1));
        let known = connection(&among);
        known.set_known();
        sleep(Duration::from_secs(1)).await;
        let old = connection(&among);
        sleep(Duration::from_secs(1)).await;
        let young = connection(&among);
        assert!(among.make_place());
        assert!(is_cut(&old).await && !is_cut(&young).await && !is_cut(&known).await);
        young.set_known();
        old.set_known();
        assert!(among.make_place());
        assert!(is_cut(&known).await, "it has rested longest");
    }

    #[tokio::test(start_paused = true)]
    async fn the_largest_unread_response_is_cut() {
        let among = Arc::new(Connections::new(1, 1_000));
        assert!(!among.are_full());
        among.hold(2_000);
        let one = connection(&among);
        assert!(among.are_full());
        sleep(STALLED).await;
        assert!(among.are_full());
        assert!(!is_cut(&one).await, "it holds nothing");
        among.release(2_000);
        assert!(!among.are_full());
    }
}
