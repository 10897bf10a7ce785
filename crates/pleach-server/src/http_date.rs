//! The `Date` header of responses, written once a second on each thread.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderValue;

thread_local! {
    /// A second and how it is written.
    static LAST: RefCell<(u64, Option<HeaderValue>)> = const { RefCell::new((0, None)) };
}

/// The present time; none with a clock before 1970, or beyond the year 9999.
pub(crate) fn now() -> Option<HeaderValue> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    LAST.with_borrow_mut(|(last, value)| {
        if *last != seconds {
            (*last, *value) =
                (seconds, HeaderValue::from_str(&text(UNIX_EPOCH + Duration::from_secs(seconds))).ok());
        }
        value.clone()
    })
}

/// A time as HTTP writes it.
pub(crate) fn text(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time)
        .ok()
        .and_then(|stamp| jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&stamp).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_http() {
        assert_eq!(text(UNIX_EPOCH + Duration::from_secs(784_111_777)), "Sun, 06 Nov 1994 08:49:37 GMT");
        let before = now().unwrap();
        assert!(before.to_str().unwrap().ends_with(" GMT"), "{before:?}");
    }
}
