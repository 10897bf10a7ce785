//! The audit webhook: batches of events, sent to a URL as an `EventList`.
//!
//! Events wait in a bounded queue; when it is full they are dropped and counted, as upstream does in batch mode. When the
//! server stops, the events that wait are sent without waiting for more.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use pleach_engine::webhooks::{Address, Caller};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

use super::MOST_WAITING;

/// How often a batch is tried, and the pause after the first time; it grows.
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How long a call may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How events are batched.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// Events that may wait.
    pub buffer: usize,
    /// Events in a batch.
    pub max_size: usize,
    /// How long a batch waits for more events.
    pub max_wait: Duration,
}

/// Sends events in the background.
pub struct AuditWebhook {
    events: Sender<Vec<u8>>,
    /// How many bytes wait.
    waiting: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
}

impl AuditWebhook {
    /// A webhook, and the task that sends. The task ends when it has sent what waits after `stop`.
    pub fn new(
        caller: Arc<dyn Caller>,
        address: Address,
        options: BatchOptions,
        stop: oneshot::Receiver<()>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (events, receiver) = channel(options.buffer.max(1));
        let (dropped, waiting) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicUsize::new(0)));
        let queue = Self { events, waiting: waiting.clone(), dropped: dropped.clone() };
        (queue, send(caller, address, options, Queue { events: receiver, waiting, stop }, dropped))
    }

    /// Sends an event, which is JSON.
    pub fn send(&self, event: Vec<u8>) {
        let length = event.len();
        let has_room = self.waiting.fetch_add(length, Ordering::AcqRel) + length <= MOST_WAITING;
        if !has_room || self.events.try_send(event).is_err() {
            self.waiting.fetch_sub(length, Ordering::AcqRel);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The events that wait.
struct Queue {
    events: Receiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    stop: oneshot::Receiver<()>,
}

impl Queue {
    /// The next event; `None` at the end.
    async fn recv(&mut self) -> Option<Vec<u8>> {
        if !self.events.is_closed() {
            tokio::select! {
                biased;
                event = self.events.recv() => return event.inspect(|event| self.taken(event)),
                _ = &mut self.stop => self.events.close(),
            }
        }
        self.events.recv().await.inspect(|event| self.taken(event))
    }

    fn taken(&self, event: &[u8]) {
        self.waiting.fetch_sub(event.len(), Ordering::AcqRel);
    }
}

async fn send(
    caller: Arc<dyn Caller>,
    address: Address,
    options: BatchOptions,
    mut events: Queue,
    dropped: Arc<AtomicU64>,
) {
    while let Some(first) = events.recv().await {
        let mut batch = vec![first];
        let deadline = tokio::time::Instant::now() + options.max_wait;
        while batch.len() < options.max_size {
            match tokio::time::timeout_at(deadline, events.recv()).await {
                Ok(Some(event)) => batch.push(event),
                Ok(None) | Err(_) => break,
            }
        }
        let body = event_list(&batch);
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=ATTEMPTS {
            match caller.call(&address, body.clone(), TIMEOUT).await {
                Ok(_) => break,
                Err(error) if attempt == ATTEMPTS => {
                    tracing::error!(?error, events = batch.len(), "audit webhook failed, events are lost");
                }
                Err(error) => {
                    tracing::warn!(?error, "audit webhook failed, will retry");
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
            }
        }
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            tracing::error!(events = lost, "audit events were dropped, the webhook is too slow");
        }
    }
}

fn event_list(batch: &[Vec<u8>]) -> Bytes {
    let mut body = br#"{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":["#.to_vec();
    for (i, event) in batch.iter().enumerate() {
        if i > 0 {
            body.push(b',');
        }
        body.extend_from_slice(event.trim_ascii_end());
    }
    body.extend_from_slice(b"]}");
    body.into()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use pleach_engine::webhooks::{CallError, CallFuture, Place};

    use super::*;

    struct Takes {
        bodies: Arc<Mutex<Vec<Bytes>>>,
        fails: Mutex<u32>,
    }

    impl Caller for Takes {
        fn call<'a>(&'a self, _: &'a Address, body: Bytes, _: Duration) -> CallFuture<'a> {
            Box::pin(async move {
                let mut fails = self.fails.lock().unwrap();
                if *fails > 0 {
                    *fails -= 1;
                    return Err(CallError::Overloaded);
                }
                self.bodies.lock().unwrap().push(body);
                Ok(Bytes::new())
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn events_are_sent_in_batches_and_again_after_a_failure() {
        let bodies: Arc<Mutex<Vec<Bytes>>> = Arc::default();
        let caller = Arc::new(Takes { bodies: bodies.clone(), fails: Mutex::new(2) });
        let address = Address { place: Place::Url("https://x".into()), ca_bundle: Bytes::new() };
        let options = BatchOptions { buffer: 5, max_size: 2, max_wait: Duration::from_secs(1) };
        let (_stop, stopped) = oneshot::channel();
        let (webhook, task) = AuditWebhook::new(caller, address, options, stopped);
        for i in 0..7 {
            webhook.send(format!("{i}\n").into_bytes());
        }
        assert_eq!(webhook.dropped.load(Ordering::Relaxed), 2, "the queue is bounded");
        drop(webhook);
        task.await;
        let bodies = bodies.lock().unwrap();
        let items =
            |body: &Bytes| pleach_json::parse(body).unwrap().get("items").unwrap().as_array().unwrap().len();
        assert_eq!(bodies.iter().map(items).collect::<Vec<_>>(), [2, 2, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn events_that_wait_are_sent_at_the_end() {
        let bodies: Arc<Mutex<Vec<Bytes>>> = Arc::default();
        let caller = Arc::new(Takes { bodies: bodies.clone(), fails: Mutex::new(0) });
        let address = Address { place: Place::Url("https://x".into()), ca_bundle: Bytes::new() };
        let options = BatchOptions { buffer: 5, max_size: 4, max_wait: Duration::from_hours(1) };
        let (stop, stopped) = oneshot::channel();
        let (webhook, task) = AuditWebhook::new(caller, address, options, stopped);
        let began = tokio::time::Instant::now();
        let task = tokio::spawn(task);
        for i in 0..3 {
            webhook.send(format!("{i}\n").into_bytes());
        }
        tokio::task::yield_now().await;
        stop.send(()).unwrap();
        task.await.unwrap();
        assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
        assert_eq!(bodies.lock().unwrap().len(), 1);
        assert!(webhook.events.is_closed() && webhook.waiting.load(Ordering::Relaxed) == 0);
    }
}
