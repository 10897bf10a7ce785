//! Assertions about the requests of clients. They print the transcript of all requests when they fail.

use std::time::{Duration, Instant};

use crate::server::Server;
use pleach_world::LoggedRequest;

/// How long [`Server::eventually`] waits.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How often it looks.
const POLL: Duration = Duration::from_millis(5);

impl Server {
    /// Waits until `check` is `Ok`.
    ///
    /// # Panics
    ///
    /// If it is not within ten seconds; with its last error and all requests so far.
    #[track_caller]
    pub fn eventually<T, E: std::fmt::Display, F: Future<Output = Result<T, E>>>(
        &self,
        mut check: impl FnMut() -> F,
    ) -> impl Future<Output = T> {
        let caller = std::panic::Location::caller();
        async move {
            let began = Instant::now();
            loop {
                match check().await {
                    Ok(value) => return value,
                    Err(error) if began.elapsed() > TIMEOUT => {
                        panic!("{caller}: not within {TIMEOUT:?}: {error}\nrequests:\n{}", self.transcript())
                    }
                    Err(_) => tokio::time::sleep(POLL).await,
                }
            }
        }
    }

    /// Watches for a while that no request is one that must not be.
    ///
    /// # Panics
    ///
    /// If there is one, in the log already or within `period`.
    #[track_caller]
    pub fn never(
        &self,
        period: Duration,
        is_wrong: impl Fn(&LoggedRequest) -> bool,
    ) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let began = Instant::now();
            loop {
                if let Some(wrong) = self.requests().iter().find(|request| is_wrong(request)) {
                    panic!("{caller}: {}\nrequests:\n{}", wrong.line(), self.transcript());
                }
                if began.elapsed() >= period {
                    return;
                }
                tokio::time::sleep(POLL).await;
            }
        }
    }

    /// Checks that at most so many writes so far are of a resource (`deployments`, `crontabs/status`).
    ///
    /// # Panics
    ///
    /// If there are more; with all requests so far.
    #[track_caller]
    pub fn assert_writes_at_most(&self, resource: &str, most: usize) {
        let requests = self.requests();
        let count =
            requests.iter().filter(|request| request.is_write() && request.resource == resource).count();
        assert!(
            count <= most,
            "{count} writes of {resource}, at most {most} expected\nrequests:\n{}",
            self.transcript()
        );
    }
}
