//! A list of field errors that stays in proportion.
//!
//! A hostile schema can break a rule at each of thousands of levels, and every error prints its
//! whole path: the text would grow with the square of the input. After [`LIMIT`] bytes no more
//! errors are taken; whoever reads that far has long had enough.

use std::ops::Deref;

use pleach_meta::{BadValue, FieldError};

/// Bytes of field and detail text that are taken.
const LIMIT: usize = 4 << 20;

/// Errors, up to a limit.
#[derive(Debug)]
pub(crate) struct Report {
    errors: Vec<FieldError>,
    bytes: usize,
    limit: usize,
}

impl Default for Report {
    fn default() -> Self {
        Self { errors: Vec::new(), bytes: 0, limit: LIMIT }
    }
}

impl Report {
    /// For whoever asks only whether anything is wrong: full after the first error.
    pub(crate) fn of_any() -> Self {
        Self { limit: 0, ..Self::default() }
    }

    /// Takes an error, unless there are too many.
    pub(crate) fn push(&mut self, error: FieldError) {
        if self.is_full() {
            return;
        }
        let value = match &error.bad_value {
            BadValue::Raw(text) => text.len(),
            BadValue::Value(pleach_json::Value::Array(items)) => items.len() * 8,
            _ => 0,
        };
        self.bytes += 1 + error.field.len() + error.detail.len() + value;
        self.errors.push(error);
    }

    /// Whether no more errors are taken: the walk may end.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > self.limit
    }

    /// The errors.
    pub(crate) fn into_vec(self) -> Vec<FieldError> {
        self.errors
    }
}

impl Extend<FieldError> for Report {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        errors.into_iter().for_each(|error| self.push(error));
    }
}

impl Deref for Report {
    type Target = [FieldError];
    fn deref(&self) -> &[FieldError] {
        &self.errors
    }
}
