//! A bell one thread waits for and others ring.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

/// Remembers one ring, however many there were, until somebody has waited for it.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    pub(crate) fn ring(&self) {
        let mut rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *rung, true) {
            self.changed.notify_one();
        }
    }

    /// Returns once the bell was rung since the last wait, or after the timeout.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        let mut rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        match timeout {
            None => {
                while !*rung {
                    rung = self.changed.wait(rung).unwrap_or_else(PoisonError::into_inner);
                }
            }
            Some(timeout) => {
                let waited = self.changed.wait_timeout_while(rung, timeout, |rung| !*rung);
                rung = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        *rung = false;
    }
}
