//! Assertions about the requests of clients. They print the transcript of all requests when they fail.

use std::time::{Duration, Instant};

use pleach_json::Value;
use pleach_world::{LoggedRequest, RequestQuery, Selector};

use crate::server::Server;

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
                        panic!(
                            "{caller}: not within {TIMEOUT:?}: {error}\nrequests:\n{}",
                            self.transcript_of_failure()
                        )
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
                    panic!("{caller}: {}\nrequests:\n{}", wrong.line(), self.transcript_of_failure());
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
            self.transcript_of_failure()
        );
    }

    /// Checks that a controller writes at most so often per reconcile: between two writes of other clients, which are
    /// what it reacts to. Its leases and events do not count. Without other writes, the whole log is one reconcile.
    ///
    /// # Panics
    ///
    /// If it wrote more often; with all requests so far.
    #[track_caller]
    pub fn assert_writes_per_reconcile(&self, controller: &Selector, most: usize) {
        let (mut writes, mut trigger) = (0, None);
        for request in
            self.requests().iter().filter(|request| request.is_write() && !request.is_housekeeping())
        {
            if !controller.matches(request) {
                (writes, trigger) = (0, Some(request.line()));
                continue;
            }
            writes += 1;
            assert!(
                writes <= most,
                "more than {most} writes after {}\nrequests:\n{}",
                trigger.as_deref().unwrap_or("the start"),
                self.transcript_of_failure()
            );
        }
    }

    /// Checks that a controller has written nothing since its watches were sent so many events, bookmarks aside: "no
    /// write after the third event". Its leases and events do not count.
    ///
    /// # Panics
    ///
    /// If it has, or if fewer events were sent; with all requests so far.
    #[track_caller]
    pub fn assert_no_write_after_event(&self, controller: &Selector, event: usize) {
        let query = RequestQuery { selector: controller.clone(), writes: true, after_event: Some(event) };
        let problem = match query.find(&self.requests()) {
            Ok(writes) => writes.first().map(|write| format!("after event {event}: {}", write.line())),
            Err(error) => Some(error),
        };
        if let Some(problem) = problem {
            panic!("{problem}\nrequests:\n{}", self.transcript_of_failure());
        }
    }

    /// Waits until a controller has been quiet for `quiet`: neither reads nor writes, but for watches, leases and events.
    ///
    /// # Panics
    ///
    /// If it is still busy after ten seconds: it works in a hot loop.
    #[track_caller]
    pub fn assert_no_hot_loop(&self, controller: &Selector, quiet: Duration) -> impl Future<Output = ()> {
        let (caller, controller) = (std::panic::Location::caller(), controller.clone());
        async move {
            let began = Instant::now();
            let (mut seen, mut since) = (0, Instant::now());
            loop {
                let requests = self.requests();
                let busy = requests.iter().filter(|request| {
                    controller.matches(request) && request.verb != "watch" && !request.is_housekeeping()
                });
                let count = busy.count();
                if count != seen {
                    (seen, since) = (count, Instant::now());
                }
                if since.elapsed() >= quiet {
                    return;
                }
                assert!(
                    began.elapsed() <= TIMEOUT + quiet,
                    "{caller}: {count} requests, and no end\nrequests:\n{}",
                    self.transcript_of_failure()
                );
                tokio::time::sleep(POLL).await;
            }
        }
    }

    /// Checks that a scenario ends in the same state under faults as without: it runs once in a fork of this server
    /// without faults, and once in a fork for each list of rules. It starts the controller and does what a user does,
    /// and returns what keeps the controller running. The state is that of all objects but events and leases.
    ///
    /// # Panics
    ///
    /// If the state under faults is another one after ten seconds; with the first difference and all requests.
    pub async fn converges_under<G>(&self, faults: &[&str], scenario: impl AsyncFn(Server) -> G) {
        let calm = self.fork().await;
        let running = scenario(calm.clone()).await;
        calm.assert_no_hot_loop(&Selector::default(), SETTLED).await;
        let expected = calm.objects().await;
        drop(running);
        for rules in faults {
            let server = self.fork().await;
            server.add_faults(rules).unwrap_or_else(|error| panic!("{rules}: {error}"));
            let running = scenario(server.clone()).await;
            let began = Instant::now();
            loop {
                let found = server.objects().await;
                if found == expected {
                    break;
                }
                assert!(
                    began.elapsed() <= TIMEOUT,
                    "under {rules}:\n{}\nrequests:\n{}",
                    first_difference(&expected, &found),
                    server.transcript_of_failure()
                );
                tokio::time::sleep(POLL).await;
            }
            drop(running);
        }
    }
}

/// How long a server without faults must be quiet before its state counts.
const SETTLED: Duration = Duration::from_millis(100);

fn first_difference(expected: &[Value], found: &[Value]) -> String {
    let different =
        |a: &[Value], b: &[Value]| a.iter().find(|object| !b.contains(object)).map(pleach_json::to_string);
    let missing = different(expected, found).map(|object| format!("expected {object}"));
    let extra = different(found, expected).map(|object| format!("found {object}"));
    [missing, extra].into_iter().flatten().collect::<Vec<_>>().join("\n")
}
