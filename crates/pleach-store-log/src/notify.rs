//! A thread notification: a condition variable that remembers one notification.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

/// Notifications before a wait count as one.
#[derive(Debug, Default)]
pub(crate) struct Notify {
    notified: Mutex<bool>,
    changed: Condvar,
}

impl Notify {
    pub(crate) fn notify(&self) {
        let mut notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *notified, true) {
            self.changed.notify_one();
        }
    }

    /// Returns once notified since the last wait, or after the timeout.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        let mut notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        match timeout {
            None => {
                while !*notified {
                    notified = self.changed.wait(notified).unwrap_or_else(PoisonError::into_inner);
                }
            }
            Some(timeout) => {
                let waited = self.changed.wait_timeout_while(notified, timeout, |notified| !*notified);
                notified = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        *notified = false;
    }
}
