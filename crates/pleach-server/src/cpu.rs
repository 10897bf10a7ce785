//! Long computations leave the I/O threads, take turns, and end with their request.
//!
//! A request is computed where its connection is served, which is cheapest for the many that take some
//! microseconds. The supervisor of a request (see `pleach_work`) sees it after each slice of work. One that has
//! computed for a millisecond hands its worker of the runtime to another thread, so that I/O goes
//! on, and from then on shares a few *lanes* with the other long computations: each may compute for a while,
//! and then lets the one go first that has waited longest. From time to time it looks whether the client is
//! still there.

use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pleach_work::{Run, Stopped, Supervisor};
use tokio::runtime::{Handle, RuntimeFlavor};

/// How long a request may compute on a thread that does I/O.
const SHORT: Duration = Duration::from_millis(1);
/// How long a computation has a lane while another one waits.
const TURN: Duration = Duration::from_millis(20);
/// How often a computation that waits looks at its deadline and its client.
const WAITING: Duration = Duration::from_millis(50);

/// The lanes that all long computations share.
#[derive(Debug)]
pub struct CpuLanes {
    lanes: Mutex<Lanes>,
    freed: Condvar,
    closed: AtomicBool,
}

#[derive(Debug)]
struct Lanes {
    free: usize,
    /// Computations that wait for a lane, by ticket number; the first is next.
    queue: VecDeque<u64>,
    next_number: u64,
}

impl CpuLanes {
    /// So many long computations may run at once.
    pub fn new(lanes: usize) -> Self {
        let lanes = Lanes { free: lanes.max(1), queue: VecDeque::new(), next_number: 0 };
        Self { lanes: Mutex::new(lanes), freed: Condvar::new(), closed: AtomicBool::new(false) }
    }

    /// As many lanes as there are processors, but for one, which is left to short requests.
    pub fn of_this_machine() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1)))
    }

    /// Ends all long computations: the process is about to end.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.freed.notify_all();
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a lane; `may_wait` is checked from time to time.
    fn take(&self, may_wait: impl Fn() -> Result<(), Stopped>) -> Result<(), Stopped> {
        let mut lanes = self.lock();
        let number = lanes.next_number;
        lanes.next_number += 1;
        lanes.queue.push_back(number);
        loop {
            if lanes.free > 0 && lanes.queue.front() == Some(&number) {
                lanes.free -= 1;
                lanes.queue.pop_front();
                if lanes.free > 0 {
                    self.freed.notify_all();
                }
                return Ok(());
            }
            lanes = self.freed.wait_timeout(lanes, WAITING).unwrap_or_else(PoisonError::into_inner).0;
            if let Err(stopped) = may_wait() {
                lanes.queue.retain(|waiting| *waiting != number);
                self.freed.notify_all();
                return Err(stopped);
            }
        }
    }

    fn give_back(&self) {
        self.lock().free += 1;
        self.freed.notify_all();
    }

    fn has_waiters(&self) -> bool {
        !self.lock().queue.is_empty()
    }
}

/// The supervisor of the requests of one connection.
#[derive(Debug)]
pub struct CpuGuard {
    lanes: Arc<CpuLanes>,
    /// The connection's socket, which stays open while a request of it is computed.
    socket: Option<RawFd>,
}

impl CpuGuard {
    /// For a connection on a socket.
    pub fn new(lanes: Arc<CpuLanes>, socket: Option<RawFd>) -> Self {
        Self { lanes, socket }
    }

    /// The same lanes for work that must be done although the client has gone.
    pub fn detached(&self) -> Arc<Self> {
        Arc::new(Self::new(self.lanes.clone(), None))
    }

    fn may_go_on(&self, deadline: Option<Instant>) -> Result<(), Stopped> {
        if self.lanes.is_closed() {
            return Err(Stopped::Shutdown);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Stopped::Deadline);
        }
        if self.socket.is_some_and(has_hung_up) {
            return Err(Stopped::Disconnected);
        }
        Ok(())
    }

    /// Waits for a lane. The first time, another thread becomes the runtime's worker in place of this one.
    fn enter_lane(&self, run: &Run) -> Result<(), Stopped> {
        let wait = || self.lanes.take(|| self.may_go_on(run.deadline));
        if !Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
        {
            return wait();
        }
        if run.moved {
            return wait();
        }
        tokio::task::block_in_place(|| {
            wait_for_another_worker(|| self.may_go_on(run.deadline))?;
            wait()
        })
    }
}

impl Supervisor for CpuGuard {
    fn slice_ended(&self, run: &mut Run) -> Result<(), Stopped> {
        if !run.moved {
            if run.elapsed() < SHORT {
                return Ok(());
            }
            self.enter_lane(run)?;
            run.moved = true;
            run.attended = Instant::now();
            return Ok(());
        }
        if run.now.saturating_duration_since(run.attended) < TURN {
            return Ok(());
        }
        self.may_go_on(run.deadline)?;
        if self.lanes.has_waiters() {
            self.lanes.give_back();
            // Without a lane there is none to give back when this stretch ends.
            run.moved = false;
            self.lanes.take(|| self.may_go_on(run.deadline))?;
            run.moved = true;
        }
        run.attended = Instant::now();
        Ok(())
    }

    fn left(&self, run: &mut Run) {
        if run.moved {
            self.lanes.give_back();
        }
    }
}

/// Waits until a task of the runtime ran, that is, until some worker is free. While a thread is
/// inside of `block_in_place`, the runtime starts another worker in its place; returning before that one has
/// begun, which may take a while on a busy machine, would take the place back.
fn wait_for_another_worker(may_wait: impl Fn() -> Result<(), Stopped>) -> Result<(), Stopped> {
    let begun = Arc::new((Mutex::new(false), Condvar::new()));
    tokio::spawn({
        let begun = begun.clone();
        async move {
            *begun.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            begun.1.notify_all();
        }
    });
    let mut has_begun = begun.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !*has_begun {
        has_begun = begun.1.wait_timeout(has_begun, WAITING).unwrap_or_else(PoisonError::into_inner).0;
        may_wait()?;
    }
    Ok(())
}

/// Whether the peer of a socket of this process has closed its side; `false` where that cannot be found out.
#[cfg(target_os = "linux")]
fn has_hung_up(socket: RawFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let Ok(process) = pidfd_open(getpid(), PidfdFlags::empty()) else { return false };
    // A descriptor of its own: by number alone, the socket cannot be used without `unsafe`.
    let Ok(socket) = pidfd_getfd(&process, socket, PidfdGetfdFlags::empty()) else { return false };
    let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    let mut polled = [PollFd::new(&socket, PollFlags::RDHUP)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&at_once)).is_ok_and(|ready| ready > 0 && polled[0].revents().intersects(gone))
}

#[cfg(not(target_os = "linux"))]
fn has_hung_up(_socket: RawFd) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd as _;
    use std::sync::atomic::AtomicUsize;

    use pleach_work::{Meter, charge, run_metered};

    use super::*;

    fn endless() {
        loop {
            charge(1);
            std::hint::black_box(0);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_closed_peer_is_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        assert!(!has_hung_up(server.as_raw_fd()));
        drop(client);
        assert_eq!(server.read(&mut [0; 1]).unwrap(), 0);
        assert!(has_hung_up(server.as_raw_fd()));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn endless_computations_leave_the_only_worker_free() {
        let lanes = Arc::new(CpuLanes::new(1));
        let computing: Vec<_> = (0..4)
            .map(|_| {
                let guard = Arc::new(CpuGuard::new(lanes.clone(), None));
                let meter = Meter::unlimited().supervisor(guard);
                tokio::spawn(async move { run_metered(meter, async { endless() }).await.is_err() })
            })
            .collect();
        // Every one of these needs a worker.
        for _ in 0..100 {
            tokio::spawn(tokio::task::yield_now()).await.unwrap();
        }
        lanes.close();
        for computation in computing {
            assert!(computation.await.unwrap(), "it was stopped");
        }
        assert_eq!(lanes.lock().free, 1);
    }

    #[test]
    fn lanes_are_taken_in_turns() {
        let lanes = Arc::new(CpuLanes::new(1));
        let most_at_once = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (lanes, at_once) = (lanes.clone(), most_at_once.clone());
                std::thread::spawn(move || {
                    for _ in 0..50 {
                        lanes.take(|| Ok(())).unwrap();
                        let now = at_once.0.fetch_add(1, Ordering::SeqCst) + 1;
                        at_once.1.fetch_max(now, Ordering::SeqCst);
                        at_once.0.fetch_sub(1, Ordering::SeqCst);
                        lanes.give_back();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(most_at_once.1.load(Ordering::SeqCst), 1);
        assert_eq!(lanes.lock().free, 1);
        assert!(lanes.lock().queue.is_empty());
    }

    #[test]
    fn a_computation_that_may_not_wait_leaves_the_queue() {
        let lanes = CpuLanes::new(1);
        lanes.take(|| Ok(())).unwrap();
        assert_eq!(lanes.take(|| Err(Stopped::Deadline)), Err(Stopped::Deadline));
        assert!(!lanes.has_waiters());
        lanes.give_back();
        assert_eq!(lanes.take(|| Err(Stopped::Deadline)), Ok(()));
    }
}
