//! Evaluation errors and aborts.
//!
//! An error is a value in CEL: `&&`, `||` and macros may absorb it. Exceeding a limit ends the
//! evaluation. [`Fault`] is both; only logical operators and loops of the evaluator distinguish them.

use crate::value::CelValue;
use pleach_json::Str;
use std::fmt;

/// Why an evaluation has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error that `&&`, `||` and the like may absorb.
    Error(Str),
    /// The cost limit is exceeded.
    CostExceeded,
    /// Cancelled by the caller.
    Interrupted,
    /// An internal error of the API server, which is not absorbed.
    Internal(Str),
}

impl Fault {
    /// An error with a computed text.
    pub fn error(text: impl Into<Str>) -> Self {
        Self::Error(text.into())
    }

    /// An error with a fixed text.
    pub(crate) const fn fixed(text: &'static str) -> Self {
        Self::Error(Str::new_static(text))
    }

    /// "no such overload".
    pub(crate) const fn no_such_overload() -> Self {
        Self::fixed("no such overload")
    }

    /// The same, naming the function and the arguments' types.
    pub(crate) fn no_such_signature(function: &str, args: &[CelValue<'_>]) -> Self {
        let types: Vec<_> = args.iter().map(CelValue::type_name).collect();
        Self::error(format!("no such overload: {function}({})", types.join(", ")))
    }

    /// Whether logical operators may absorb it.
    pub(crate) fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error(text) | Self::Internal(text) => text,
            Self::CostExceeded => "operation cancelled: actual cost limit exceeded",
            Self::Interrupted => "operation interrupted",
        })
    }
}

impl std::error::Error for Fault {}
