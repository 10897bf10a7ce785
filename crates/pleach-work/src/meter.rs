//! Budgets, deadlines and supervision of a computation.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::Stopped;
use crate::steps::{self, SLICE};

/// Looks after long computations: consulted about every 50 microseconds of work.
pub trait Supervisor: Send + Sync {
    /// A slice of work has been done; an error ends the computation.
    ///
    /// May block, for example to let others work first.
    fn slice_ended(&self, run: &mut Run) -> Result<(), Stopped>;

    /// The computation has left the thread, whether it is done or waits for something; called if
    /// [`Supervisor::slice_ended`] was.
    fn left(&self, run: &mut Run);
}

/// One uninterrupted stretch of a computation on one thread, as its supervisor sees it.
#[derive(Debug)]
pub struct Run {
    /// About when it began: at the end of its first slice.
    pub began: Instant,
    /// When its supervisor was consulted, which is now.
    pub now: Instant,
    /// When the computation must be done.
    pub deadline: Option<Instant>,
    /// Whether the supervisor has moved it away from threads that others need. For the supervisor's use.
    pub moved: bool,
    /// When the supervisor last did something that it does from time to time. For the supervisor's use.
    pub attended: Instant,
}

impl Run {
    /// How long it has been running.
    pub fn elapsed(&self) -> Duration {
        self.now.saturating_duration_since(self.began)
    }
}

/// A budget of steps with a deadline and a supervisor, for one computation that may run in several stretches.
pub struct Meter {
    state: Option<Box<State>>,
}

/// The state of a meter; thread-local while the meter is entered.
pub(crate) struct State {
    /// Steps it may still take, counted from `entered_at` on.
    left: u64,
    /// The thread's count of steps when the meter was entered, or when `left` was last brought up to date.
    entered_at: u64,
    deadline: Option<Instant>,
    supervisor: Option<Arc<dyn Supervisor>>,
    run: Option<Run>,
}

impl State {
    pub(crate) fn first_slice(&self) -> u64 {
        SLICE.min(self.left).max(1)
    }

    /// The next slice, or why there is none. `now` is the thread's count of steps.
    pub(crate) fn slice_ended(&mut self, now: u64) -> Result<u64, Stopped> {
        self.left = self.left.saturating_sub(now - self.entered_at);
        self.entered_at = now;
        if self.left == 0 {
            return Err(Stopped::Budget);
        }
        if self.deadline.is_some() || self.supervisor.is_some() {
            let now = Instant::now();
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                return Err(Stopped::Deadline);
            }
            if let Some(supervisor) = &self.supervisor {
                let deadline = self.deadline;
                let run =
                    self.run.get_or_insert(Run { began: now, now, deadline, moved: false, attended: now });
                run.now = now;
                supervisor.slice_ended(run)?;
            }
        }
        Ok(SLICE.min(self.left))
    }

    fn leave(&mut self, now: u64) {
        self.left = self.left.saturating_sub(now - self.entered_at);
        if let Some(run) = &mut self.run
            && let Some(supervisor) = &self.supervisor
        {
            supervisor.left(run);
        }
        self.run = None;
    }
}

impl Meter {
    /// A budget of so many steps.
    pub fn new(steps: u64) -> Self {
        let state = State { left: steps, entered_at: 0, deadline: None, supervisor: None, run: None };
        Self { state: Some(Box::new(state)) }
    }

    /// No bound on steps; for work that is bounded otherwise, but has a deadline or a supervisor.
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    fn change(mut self, change: impl FnOnce(&mut State)) -> Self {
        if let Some(state) = &mut self.state {
            change(state);
        }
        self
    }

    /// When the computation must be done.
    #[must_use]
    pub fn deadline(self, at: Instant) -> Self {
        self.change(|state| state.deadline = Some(at))
    }

    /// Its supervisor.
    #[must_use]
    pub fn supervisor(self, supervisor: Arc<dyn Supervisor>) -> Self {
        self.change(|state| state.supervisor = Some(supervisor))
    }

    /// Steps it may still take.
    pub fn left(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.left)
    }

    /// Runs a stretch of the computation on this thread, under this meter.
    ///
    /// A panic passes through; the state that the closure captured is only safe to drop after an error.
    pub fn enter<R>(&mut self, work: impl FnOnce() -> R) -> Result<R, Stopped> {
        match self.enter_caught(work) {
            Ok(result) => Ok(result),
            Err(Interrupted::Stopped(stopped)) => Err(stopped),
            Err(Interrupted::Panicked(payload)) => resume_unwind(payload),
        }
    }

    fn enter_caught<R>(&mut self, work: impl FnOnce() -> R) -> Result<R, Interrupted> {
        let mut state = self.state.take();
        if let Some(state) = &mut state {
            state.entered_at = steps::now();
        }
        let surrounding = steps::install(state);
        let result = catch_unwind(AssertUnwindSafe(work));
        self.state = steps::install(surrounding);
        if let Some(state) = &mut self.state {
            state.leave(steps::now());
        }
        result.map_err(|payload| match steps::stopped(&*payload) {
            Some(stopped) => Interrupted::Stopped(stopped),
            None => Interrupted::Panicked(payload),
        })
    }
}

/// Why a metered future has no result.
pub enum Interrupted {
    /// Its meter stopped it.
    Stopped(Stopped),
    /// It panicked; the payload of the panic.
    Panicked(Box<dyn Any + Send>),
}

/// Polls a future under a meter, until it is done, is stopped, or panics.
pub async fn run_metered<R>(mut meter: Meter, future: impl Future<Output = R>) -> Result<R, Interrupted> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        // Written in place: results may be large, and would be moved through every layer.
        let mut polled = Poll::Pending;
        match meter.enter_caught(|| polled = future.as_mut().poll(cx)) {
            Ok(()) => polled.map(Ok),
            Err(interrupted) => Poll::Ready(Err(interrupted)),
        }
    })
    .await
}

/// Runs a computation under a budget of its own, which is never more than is left of the surrounding one.
pub fn with_limit<R>(steps: u64, work: impl FnOnce() -> R) -> Result<R, Stopped> {
    let (left, deadline) = steps::surrounding(|outer| {
        outer.map_or((u64::MAX, None), |outer| {
            (outer.left.saturating_sub(steps::now() - outer.entered_at), outer.deadline)
        })
    });
    let mut meter = Meter::new(steps.min(left)).change(|state| state.deadline = deadline);
    meter.enter(work)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::{charge, exempt, measure};

    fn endless() {
        loop {
            charge(1);
        }
    }

    #[test]
    fn an_endless_loop_takes_just_its_budget() {
        for budget in [1, 100, SLICE, SLICE + 1, 50 * SLICE + 3] {
            let (result, steps) = measure(|| with_limit(budget, endless));
            assert_eq!(result, Err(Stopped::Budget));
            assert_eq!(steps, budget);
        }
    }

    #[test]
    fn work_within_the_budget_is_not_interrupted() {
        assert_eq!(with_limit(101, || (0..100).for_each(|_| charge(1))), Ok(()));
        assert_eq!(with_limit(1, || 7), Ok(7));
    }

    #[test]
    fn one_large_charge_ends_it_too() {
        assert_eq!(with_limit(1_000, || charge(u64::MAX / 2)), Err(Stopped::Budget));
    }

    #[test]
    fn a_budget_is_kept_over_several_stretches() {
        let mut meter = Meter::new(1_000);
        assert!(meter.enter(|| charge(600)).is_ok());
        assert_eq!(meter.left(), 400);
        assert_eq!(meter.enter(|| charge(600)), Err(Stopped::Budget));
    }

    #[test]
    fn a_nested_budget_is_within_the_outer_one() {
        let result = with_limit(1_000, || with_limit(1_000_000, endless));
        assert_eq!(result, Ok(Err(Stopped::Budget)));
        let result = with_limit(10_000, || (0..5).filter(|_| with_limit(1_000, endless).is_err()).count());
        assert_eq!(result, Ok(5), "the outer one goes on");
    }

    #[test]
    fn a_passed_deadline_ends_it() {
        let mut meter = Meter::unlimited().deadline(Instant::now());
        assert_eq!(meter.enter(endless), Err(Stopped::Deadline));
    }

    #[test]
    fn exempt_work_is_counted_but_not_ended() {
        let (result, steps) = measure(|| with_limit(1_000, || exempt(|| charge(1_000_000))));
        assert_eq!((result, steps), (Ok(()), 1_000_000));
    }

    #[test]
    fn destructors_may_charge_while_a_computation_is_unwound() {
        struct Charges;
        impl Drop for Charges {
            fn drop(&mut self) {
                charge(10 * SLICE);
            }
        }
        let result = with_limit(1_000, || {
            let _all = [Charges, Charges, Charges];
            endless();
        });
        assert_eq!(result, Err(Stopped::Budget));
    }

    struct Counting {
        slices: AtomicUsize,
        left: AtomicUsize,
        most: usize,
    }

    impl Supervisor for Counting {
        fn slice_ended(&self, _run: &mut Run) -> Result<(), Stopped> {
            let slices = self.slices.fetch_add(1, Ordering::Relaxed) + 1;
            if slices < self.most { Ok(()) } else { Err(Stopped::Disconnected) }
        }

        fn left(&self, _run: &mut Run) {
            self.left.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_supervisor_sees_every_slice_and_the_end() {
        let supervisor = Arc::new(Counting { slices: 0.into(), left: 0.into(), most: 5 });
        let mut meter = Meter::unlimited().supervisor(supervisor.clone());
        assert!(meter.enter(|| charge(1)).is_ok());
        assert_eq!(supervisor.left.load(Ordering::Relaxed), 0, "too short to be seen");
        let (result, steps) = measure(|| meter.enter(endless));
        assert_eq!(result, Err(Stopped::Disconnected));
        assert_eq!(steps, 5 * SLICE);
        assert_eq!(supervisor.left.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_panic_is_not_a_stop() {
        let caught = catch_unwind(|| with_limit(1_000, || panic!("a bug")));
        assert!(caught.is_err());
        assert_eq!(with_limit(1_000, || 1), Ok(1), "the thread is as before");
    }
}
