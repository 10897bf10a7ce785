//! An answer that is usually there at once and sometimes has to be waited for.
//!
//! Most decisions need memory only. A webhook, or a key that must be fetched, needs a future; it is boxed only
//! then.

use std::fmt;
use std::pin::Pin;

/// An answer, now or later.
pub enum Answer<'a, T> {
    /// It is there.
    Now(T),
    /// It has to be waited for.
    Later(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
}

impl<'a, T> Answer<'a, T> {
    /// An answer that has to be waited for.
    pub fn later(future: impl Future<Output = T> + Send + 'a) -> Self {
        Self::Later(Box::pin(future))
    }

    /// Waits for the answer, if that is necessary.
    pub async fn get(self) -> T {
        match self {
            Self::Now(answer) => answer,
            Self::Later(future) => future.await,
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Answer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(answer) => f.debug_tuple("Now").field(answer).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}
