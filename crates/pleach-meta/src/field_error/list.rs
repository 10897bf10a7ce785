//! A list of field errors with a limit on their number and text.
//!
//! A request can be wrong in a hundred thousand places, and every error prints its path and often the value:
//! without a limit the answer is many times larger than the request. Whatever collects errors while it walks
//! over input collects them here and ends its walk when the list is full; what is in the list beyond the limits
//! is not reported to the client, which reads [`MORE`] instead.

use std::ops::Deref;

use pleach_json::Value;

use super::{BadValue, FieldError};

/// The most errors that a response reports.
pub const MAX_ERRORS: usize = 1_000;

/// The most bytes of text that the errors of a response have together. One error is reported however long it is.
pub const MAX_BYTES: usize = 1 << 20;

/// Reported in place of errors beyond the limits.
pub(crate) const MORE: &str = "too many errors";

/// Errors, up to a limit. The list is full when it has more than a response reports.
#[derive(Debug)]
pub struct FieldErrors {
    errors: Vec<FieldError>,
    /// The bytes of text of all errors up to each.
    ends: Vec<usize>,
    most_bytes: usize,
}

impl Default for FieldErrors {
    fn default() -> Self {
        Self::new()
    }
}

impl FieldErrors {
    /// No errors.
    pub const fn new() -> Self {
        Self { errors: Vec::new(), ends: Vec::new(), most_bytes: MAX_BYTES }
    }

    /// For the question whether there is any error: full after the first one.
    pub const fn of_any() -> Self {
        Self { errors: Vec::new(), ends: Vec::new(), most_bytes: 0 }
    }

    /// For errors of which some will be put into this list. Lists for parts of parts get ever smaller, so that
    /// all of them together stay small.
    #[must_use]
    pub fn for_a_part(&self) -> Self {
        Self { errors: Vec::new(), ends: Vec::new(), most_bytes: (self.most_bytes / 4 * 3).max(4_096) }
    }

    /// Takes an error, unless the list is full.
    pub fn push(&mut self, error: FieldError) {
        if self.is_full() {
            return;
        }
        let bytes = 1 + error.field.len() + error.detail.len() + shown_bytes(&error.bad_value);
        self.ends.push(self.bytes().saturating_add(bytes));
        self.errors.push(error);
    }

    /// Whether no more errors are taken: what collects them may end.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.bytes() > self.most_bytes || self.errors.len() > MAX_ERRORS
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// Forgets all but the first `len` errors.
    pub fn truncate(&mut self, len: usize) {
        self.errors.truncate(len);
        self.ends.truncate(len);
    }

    /// Forgets errors for which `keep` does not say so.
    pub fn retain(&mut self, keep: impl FnMut(&FieldError) -> bool) {
        let bytes = self.bytes();
        self.errors.retain(keep);
        // The room of the others stays taken.
        self.ends.truncate(self.errors.len());
        if let Some(end) = self.ends.last_mut() {
            *end = bytes;
        }
    }

    /// The errors.
    pub fn into_vec(self) -> Vec<FieldError> {
        self.errors
    }
}

/// About how many bytes a value has in a message.
fn shown_bytes(value: &BadValue) -> usize {
    match value {
        BadValue::Omitted => 0,
        BadValue::Raw(text) => text.len(),
        BadValue::Value(Value::String(text)) => text.len(),
        BadValue::Value(value) => value.extent(MAX_BYTES).bytes,
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        for error in errors {
            if self.is_full() {
                return;
            }
            self.push(error);
        }
    }
}

impl Deref for FieldErrors {
    type Target = [FieldError];
    fn deref(&self) -> &[FieldError] {
        &self.errors
    }
}

impl From<FieldErrors> for Vec<FieldError> {
    fn from(errors: FieldErrors) -> Self {
        errors.errors
    }
}

/// The bodies of the errors that are reported, the first ones, and whether they are all.
pub(crate) fn bodies(errors: &[FieldError]) -> (Vec<String>, bool) {
    let mut bodies = Vec::with_capacity(errors.len().min(MAX_ERRORS));
    let mut bytes = 0;
    for error in errors.iter().take(MAX_ERRORS) {
        if bytes > MAX_BYTES {
            break;
        }
        let body = error.body();
        bytes += error.field.len() + body.len();
        bodies.push(body);
    }
    let complete = bodies.len() == errors.len();
    (bodies, complete)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[test]
    fn a_response_reports_a_thousand_errors_and_that_there_are_more() {
        for (n, reported) in [(MAX_ERRORS, MAX_ERRORS), (MAX_ERRORS + 1, MAX_ERRORS), (50_000, MAX_ERRORS)] {
            let mut errors = FieldErrors::new();
            errors.extend((0..n).map(|i| FieldError::required(format!("spec.f{i}"), "")));
            let status = Status::invalid("g", "K", "x", &errors);
            let causes = status.details.unwrap().causes;
            assert_eq!(causes.len(), reported + usize::from(n > reported));
            assert_eq!(causes.last().is_some_and(|cause| cause.message == MORE), n > reported);
            assert_eq!(status.message.ends_with(", too many errors]"), n > reported);
            assert_eq!(status.message.matches("Required value").count(), reported);
        }
    }

    #[test]
    fn text_is_limited_but_for_one_error() {
        let long = "x".repeat(3 << 20);
        let one = [FieldError::invalid("spec", long.as_str(), "must be short")];
        let status = Status::invalid("g", "K", "x", &one);
        assert!(status.message.len() > 3 << 20 && status.message.ends_with("must be short"));
        let mut errors = FieldErrors::new();
        for i in 0..1_000 {
            errors.push(FieldError::invalid(format!("spec.f{i}"), long.as_str(), ""));
        }
        assert_eq!(errors.len(), 1, "the first takes all the room");
        let many = vec![one[0].clone(); 1_000];
        assert!(Status::invalid("g", "K", "x", &many).message.len() < 4 << 20);
        let list: Value = vec![Value::from("x".repeat(1 << 10)); 4 << 10].into();
        let mut errors = FieldErrors::new();
        errors.extend((0..1_000).map(|i| FieldError::duplicate(format!("spec.f{i}"), list.clone())));
        assert_eq!(errors.len(), 1, "lists are long too");
    }

    #[test]
    fn parts_of_parts_get_less_room() {
        let (mut list, mut total) = (FieldErrors::new(), 0);
        for _ in 0..10_000 {
            list = list.for_a_part();
            total += list.most_bytes;
        }
        assert!(total < 64 << 20, "{total}");
    }
}
