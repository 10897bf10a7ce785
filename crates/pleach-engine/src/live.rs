//! The live object of a write: the stored object in the version of the request.

use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use pleach_json::{SpannedValue, Spans, Value};

use pleach_pipeline::Typed;

use crate::convert::Conversions;
use crate::record::Record;

/// The checks that an object's content has passed under the current form of its kind. `false` means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verified {
    /// The schema of its version finds no fault with it.
    pub(crate) valid: bool,
    /// It fits the types of its version, and its managed fields are as a write leaves them.
    pub(crate) tracked: bool,
}

/// A stored object in the version of a request.
#[derive(Debug)]
pub struct Live {
    pub(crate) value: Value,
    pub(crate) verified: Verified,
    /// Its typed form, if that is known.
    pub(crate) typed: Typed,
    /// The stored bytes, if parsing them gives the value.
    pub(crate) text: Option<StoredText>,
    /// The object and its successors in other versions, where a webhook converts.
    pub(crate) conversions: Option<Box<Conversions>>,
}

/// The stored bytes of an object, with the spans of its containers.
#[derive(Clone, Debug)]
pub(crate) struct StoredText {
    bytes: Bytes,
    spans: Arc<Spans>,
}

impl StoredText {
    pub(crate) fn new(record: &Record, spans: Spans) -> Self {
        Self { bytes: record.bytes().clone(), spans: Arc::new(spans) }
    }

    pub(crate) fn spanned<'a>(&'a self, value: &'a Value) -> SpannedValue<'a> {
        SpannedValue::new(value, &self.bytes, &self.spans)
    }
}

impl Live {
    /// The object with its text and spans, if they are cached.
    pub(crate) fn spanned(&self) -> Option<SpannedValue<'_>> {
        self.text.as_ref().map(|text| text.spanned(&self.value))
    }
}

impl From<Value> for Live {
    fn from(value: Value) -> Self {
        Self { value, verified: Verified::default(), typed: Typed::default(), text: None, conversions: None }
    }
}

impl Deref for Live {
    type Target = Value;
    fn deref(&self) -> &Value {
        &self.value
    }
}
