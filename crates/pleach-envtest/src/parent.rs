//! Ends the process when its parent ends, so that a killed test leaves no servers behind.

/// Sends SIGTERM to this process when its parent has ended. A process started by init has nothing to wait for.
#[cfg(target_os = "linux")]
pub fn end_with_parent() {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{PidfdFlags, Signal, getpid, getppid, kill_process, pidfd_open};

    let Some(parent) = getppid().filter(|parent| !parent.is_init()) else { return };
    // A parent that ended before it was looked at cannot be waited for; its child has another parent already.
    let opened = pidfd_open(parent, PidfdFlags::empty()).ok().filter(|_| getppid() == Some(parent));
    let wait = move || {
        if let Some(parent) = opened {
            while poll(&mut [PollFd::new(&parent, PollFlags::IN)], None).is_err() {}
        }
        let _ = kill_process(getpid(), Signal::TERM);
        // The signal is handled in an orderly way; a process that cannot do so ends all the same.
        std::thread::sleep(std::time::Duration::from_secs(10));
        std::process::exit(1);
    };
    let _ = std::thread::Builder::new().name("parent".into()).spawn(wait);
}

/// Ends this process when its parent has ended.
#[cfg(not(target_os = "linux"))]
pub fn end_with_parent() {
    let parent = std::os::unix::process::parent_id();
    if parent <= 1 {
        return;
    }
    let wait = move || {
        while std::os::unix::process::parent_id() == parent {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
        std::process::exit(0);
    };
    let _ = std::thread::Builder::new().name("parent".into()).spawn(wait);
}
