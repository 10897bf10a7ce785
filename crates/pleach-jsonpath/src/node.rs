//! A parsed template.

use pleach_json::{Str, Value};

/// What stands at the top of a template, in order.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Text between actions, a string.
    Text(Value),
    /// What is between braces.
    Action(Vec<Step>),
}

/// One step of an action: takes values, gives values.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Field(Str),
    Wildcard,
    Recursive,
    Slice(Slice),
    Union(Vec<Vec<Step>>),
    Filter(Box<Filter>),
    /// Quoted text: one value, whatever came before.
    Text(Value),
    /// A number or boolean: itself for each value before it.
    Literal(Value),
    /// `range`, `end`, or a word that means nothing.
    Identifier(String),
}

/// `[start:end:step]`, also for a single index.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slice {
    pub(crate) start: Option<i64>,
    pub(crate) end: Option<i64>,
    /// The end follows from the start because only one index was given.
    pub(crate) single: bool,
    pub(crate) step: Option<i64>,
}

/// `[?(left op right)]`; without an operator `left` must exist.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) left: Vec<Step>,
    pub(crate) comparison: Option<(String, Vec<Step>)>,
}
