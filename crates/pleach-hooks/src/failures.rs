//! Failures of calls on demand, for fault rules of test servers.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use pleach_engine::webhooks::caller::{Address, CallError};

use crate::answer;
use crate::errors::{self, DEADLINE};
use crate::target::{Target, seconds};

/// The webhook answers an error, with a `Status` as its body.
pub fn refused(code: u16, body: Bytes) -> CallError {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let json = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let checked = answer::check(status, &HeaderMap::from_iter([json]), body);
    CallError::Failed(checked.err().unwrap_or_else(|| format!("the webhook answers {code}")))
}

/// The connection is cut before there is an answer.
pub fn cut(address: &Address, timeout: Duration) -> CallError {
    failed(address, timeout, "EOF")
}

/// There is no answer within the time.
pub fn timed_out(address: &Address, timeout: Duration) -> CallError {
    failed(address, timeout, DEADLINE)
}

fn failed(address: &Address, timeout: Duration, why: &str) -> CallError {
    CallError::Failed(match Target::of(&address.place, seconds(timeout)) {
        Ok(target) => errors::post(&target.text, why),
        Err(error) => error,
    })
}

#[cfg(test)]
mod tests {
    use pleach_engine::webhooks::caller::Place;

    use super::*;

    #[test]
    fn failures_have_the_words_of_real_ones() {
        let address = Address { place: Place::Url("https://h:1/a".into()), ca_bundle: Bytes::new() };
        let second = Duration::from_secs(1);
        for (error, words) in [
            (cut(&address, second), "Post \"https://h:1/a?timeout=1s\": EOF"),
            (timed_out(&address, second), "Post \"https://h:1/a?timeout=1s\": context deadline exceeded"),
            (refused(503, Bytes::new()), "the server is currently unable to handle the request"),
        ] {
            assert_eq!(error, CallError::Failed(words.to_owned()));
        }
    }
}
