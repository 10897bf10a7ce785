//! Requests of clients and calls of webhooks that are under way at the same time.

use std::sync::Arc;

use tokio::sync::watch;

/// How many requests and calls are under way.
pub(crate) struct UnderWay(watch::Sender<usize>);

impl Default for UnderWay {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

/// A request or call that is under way, until this is dropped.
pub(crate) struct Entered(Arc<UnderWay>);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

impl UnderWay {
    /// Begins a request or call.
    pub(crate) fn enter(self: &Arc<Self>) -> Entered {
        self.0.send_modify(|count| *count += 1);
        Entered(self.clone())
    }

    /// Waits until more than one is under way.
    pub(crate) async fn several(&self) {
        // This has the sender.
        let _ = self.0.subscribe().wait_for(|count| *count > 1).await;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn requests_are_counted_until_they_end() {
        let under_way = Arc::new(UnderWay::default());
        let several = || pin!(under_way.several()).poll(&mut Context::from_waker(Waker::noop())).is_ready();
        let first = under_way.enter();
        assert!(!several());
        let second = under_way.enter();
        assert!(several());
        drop(first);
        assert!(!several());
        drop(second);
    }
}
