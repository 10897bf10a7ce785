//! Whether the background controllers have done everything that follows from the commits so far: for servers in tests,
//! whose answers must not depend on how fast the controllers are.

use std::sync::Arc;

use pleach_store::Revision;
use tokio::sync::watch;

use crate::engine::Engine;
use crate::rejection::Rejection;

/// The revision up to which there is nothing left to do; `None` while the controllers work.
pub(crate) struct Settled(watch::Sender<Option<Revision>>);

impl Default for Settled {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Settled {
    /// Nothing is left to do of what was committed up to a revision.
    pub(crate) fn at(revision: Revision) -> Self {
        Self(watch::Sender::new(Some(revision)))
    }

    /// Says up to which revision there is nothing left to do, or that the controllers work.
    pub(super) fn publish(&self, revision: Option<Revision>) {
        self.0.send_if_modified(|before| std::mem::replace(before, revision) != revision);
    }
}

/// Says, when controllers are dropped, that they will do nothing more: their runtime may end before the engine.
pub(super) struct StoppedOnDrop(pub(super) Arc<Engine>);

impl Drop for StoppedOnDrop {
    fn drop(&mut self) {
        self.0.settled.publish(Some(Revision(u64::MAX)));
    }
}

impl Engine {
    /// Has the background controllers work in an order that does not depend on chance, and makes
    /// [`Engine::controllers_settled`] possible. Under load one controller may then hold up another.
    #[must_use]
    pub fn with_controllers_in_order(mut self) -> Self {
        self.controllers_in_order = true;
        self
    }

    /// Waits until the background controllers have done what follows from all commits so far. Work that has been tried
    /// in vain several times is not waited for: a finalizer or a webhook may be in its way. Never ends
    /// before [`Engine::run_controllers`] was called.
    pub async fn controllers_settled(&self) -> Result<(), Rejection> {
        let mut settled = self.settled.0.subscribe();
        loop {
            // In this order: work is taken from the queue after it has been said that the controllers work.
            let queued = !self.work.is_empty();
            let settled_at = *settled.borrow_and_update();
            let now = self.store.revision().await.map_err(Rejection::from_store)?;
            if !queued && settled_at.is_some_and(|at| at >= now) {
                return Ok(());
            }
            // The engine has the sender.
            let _ = settled.changed().await;
        }
    }
}
