//! A parsed template.

use pleach_json::{Str, Value};

/// The top-level parts of a template.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Text between actions, a string.
    Text(Value),
    /// The expression between braces.
    Action(Vec<Step>),
}

/// A step of an action: maps values to values.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Field(Str),
    Wildcard,
    Recursive,
    Slice(Slice),
    Union(Vec<Vec<Step>>),
    Filter(Box<Filter>),
    /// A quoted string: one value, whatever the input.
    Text(Value),
    /// A number or boolean: once per input value.
    Literal(Value),
    /// `range`, `end`, or an unknown word.
    Identifier(String),
}

/// `[start:end:step]`, also for a single index.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slice {
    pub(crate) start: Option<i64>,
    pub(crate) end: Option<i64>,
    /// Whether the end follows from the start, since only one index was given.
    pub(crate) single: bool,
    pub(crate) step: Option<i64>,
}

/// `[?(left op right)]`; without an operator `left` must exist.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) left: Vec<Step>,
    pub(crate) comparison: Option<(String, Vec<Step>)>,
}
