//! A progress bar on standard error, on a terminal and for long runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::terminal::Terminal;

/// The time after which progress is shown.
const SHOWN_AFTER: Duration = Duration::from_millis(400);
/// How often the bar is drawn.
const TICK: Duration = Duration::from_millis(100);
const WIDTH: usize = 30;

/// Runs `work` and shows how far it is; `work` counts up to `total`.
pub(crate) fn watch<T: Send>(
    what: &str,
    total: usize,
    terminal: &mut Terminal<'_>,
    work: impl FnOnce(&AtomicUsize) -> T + Send,
) -> T {
    let done = AtomicUsize::new(0);
    if !terminal.interactive {
        return work(&done);
    }
    let (finished, is_finished) = channel::<()>();
    let err = &mut *terminal.err;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let is_finished = is_finished;
            let mut wait = SHOWN_AFTER;
            let mut drawn = false;
            // The other end is dropped when the work is done, or has panicked.
            while is_finished.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = TICK;
                drawn = true;
                let line = bar(what, done.load(Ordering::Relaxed), total);
                let _ = write!(err, "\r{line}").and_then(|()| err.flush());
            }
            if drawn {
                let _ = write!(err, "\r\u{1b}[K").and_then(|()| err.flush());
            }
        });
        let result = work(&done);
        drop(finished);
        result
    })
}

fn bar(what: &str, done: usize, total: usize) -> String {
    let filled = (done * WIDTH).checked_div(total).unwrap_or(WIDTH).min(WIDTH);
    format!("{what} [{}{}] {done} of {total}", "#".repeat(filled), "-".repeat(WIDTH - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(interactive: bool, takes: Duration) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut terminal = Terminal {
            input: &mut std::io::empty(),
            out: &mut out,
            err: &mut err,
            color: false,
            interactive,
        };
        let result = watch("reading", 10, &mut terminal, |done| {
            done.store(5, Ordering::Relaxed);
            std::thread::sleep(takes);
            7
        });
        assert_eq!(result, 7);
        assert!(out.is_empty());
        String::from_utf8(err).expect("text")
    }

    #[test]
    fn progress_is_shown_after_a_while() {
        let long = SHOWN_AFTER + TICK * 3;
        let shown = watched(true, long);
        assert!(shown.starts_with("\rreading [###############---------------] 5 of 10"), "{shown:?}");
        assert!(shown.ends_with("\r\u{1b}[K"), "{shown:?}");
        assert_eq!(watched(true, Duration::ZERO), "", "over before anybody wonders");
        assert_eq!(watched(false, long), "", "nobody watches");
    }

    #[test]
    fn nothing_to_do_is_done() {
        assert!(bar("x", 0, 0).contains(&"#".repeat(WIDTH)));
    }
}
