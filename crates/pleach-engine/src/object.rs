//! An object on its way to a client: stored bytes that may be sent as they are, or a value.

use pleach_json::{Value, write_to};

use crate::record::Record;
use crate::rejection::Rejection;

/// An object to be served in some version.
#[derive(Clone, Debug)]
pub enum Object {
    /// Settled and in the right version as stored: no parse is needed to send it.
    Stored(Record),
    /// Anything else.
    Value(Value),
}

impl Object {
    /// Appends the object's JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Self::Stored(record) => record.write_to(out),
            Self::Value(value) => write_to(value, out),
        }
    }

    /// The object as a value; parses if it must.
    pub fn into_value(self) -> Result<Value, Rejection> {
        match self {
            Self::Stored(record) => record.parse(),
            Self::Value(value) => Ok(value),
        }
    }

    /// The object as a value; parses if it must.
    pub fn to_value(&self) -> Result<Value, Rejection> {
        self.clone().into_value()
    }
}
