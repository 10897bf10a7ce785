//! A flag that is set once, and that can be awaited.

use std::sync::Arc;

use tokio::sync::watch;

/// Set once, when the kind it belongs to is replaced or removed.
#[derive(Clone, Debug)]
pub struct Retired(Arc<watch::Sender<bool>>);

impl Default for Retired {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Retired {
    /// Sets the flag and wakes all waiters.
    pub fn retire(&self) {
        self.0.send_replace(true);
    }

    /// Whether it is up.
    pub fn is_retired(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is up.
    pub async fn wait(self) {
        let mut flag = self.0.subscribe();
        // The sender lives in `self`, so this ends only when the flag is up.
        let _ = flag.wait_for(|up| *up).await;
    }
}
