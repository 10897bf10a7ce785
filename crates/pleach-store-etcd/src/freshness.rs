//! Linearizable reads from the cache: etcd's revision, asked once for all readers that wait for it.

use std::sync::Arc;

use pleach_store::{Revision, StoreError};
use tokio::sync::{mpsc, oneshot};

use crate::client::Client;

type Answer = Result<Revision, StoreError>;

/// Asks etcd for its revision.
#[derive(Debug, Clone)]
pub(crate) struct Freshness(mpsc::UnboundedSender<oneshot::Sender<Answer>>);

impl Freshness {
    /// The sender's side, and the task that serves it.
    pub(crate) fn new(client: Arc<Client>, key: bytes::Bytes) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, mut readers) = mpsc::unbounded_channel::<oneshot::Sender<Answer>>();
        let task = async move {
            let mut waiting = Vec::new();
            while readers.recv_many(&mut waiting, usize::MAX).await > 0 {
                // Readers that come from here on wait for the next answer: this one may be older than
                // they are.
                let answer = client.revision(key.clone()).await;
                let answer =
                    answer.map(|revision| Revision(revision as u64)).map_err(|error| error.of_read());
                for reader in waiting.drain(..) {
                    let _ = reader.send(answer.clone());
                }
            }
        };
        (Self(sender), task)
    }

    /// A revision not before that of any commit acknowledged before this call.
    pub(crate) async fn revision(&self) -> Answer {
        let (sender, receiver) = oneshot::channel();
        self.0.send(sender).map_err(|_| StoreError::Closed)?;
        receiver.await.unwrap_or(Err(StoreError::Closed))
    }
}
