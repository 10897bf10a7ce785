//! Function declarations: names, overloads, types, versions, costs.
//!
//! A function is declared in one place: a `Function` in a table of `library/<lib>.rs`. The checker
//! reads the types, the estimator the [`StaticCost`], the evaluator the implementation and its runtime
//! cost, the documentation all of it. The environment of a version ([`crate::Environment`]) has what
//! [`crate::library::LIBRARIES`] had by then.
//!
//! Odd: an operator is a function like any other; its name cannot be written as an identifier.

use crate::types::T;
use crate::value::{CelValue, Fault};
use crate::work::Work;

/// Names of the operators, as calls in the syntax tree carry them.
pub mod operators {
    /// `c ? a : b`
    pub const CONDITIONAL: &str = "_?_:_";
    /// `a && b`
    pub const AND: &str = "_&&_";
    /// `a || b`
    pub const OR: &str = "_||_";
    /// `!a`
    pub const NOT: &str = "!_";
    /// `a == b`
    pub const EQUALS: &str = "_==_";
    /// `a != b`
    pub const NOT_EQUALS: &str = "_!=_";
    /// `a < b`
    pub const LESS: &str = "_<_";
    /// `a <= b`
    pub const LESS_EQUALS: &str = "_<=_";
    /// `a > b`
    pub const GREATER: &str = "_>_";
    /// `a >= b`
    pub const GREATER_EQUALS: &str = "_>=_";
    /// `a + b`
    pub const ADD: &str = "_+_";
    /// `a - b`
    pub const SUBTRACT: &str = "_-_";
    /// `a * b`
    pub const MULTIPLY: &str = "_*_";
    /// `a / b`
    pub const DIVIDE: &str = "_/_";
    /// `a % b`
    pub const MODULO: &str = "_%_";
    /// `-a`
    pub const NEGATE: &str = "-_";
    /// `a[b]`
    pub const INDEX: &str = "_[_]";
    /// `a in b`
    pub const IN: &str = "@in";
    /// `a.?b`; the field is a string literal argument
    pub const OPT_SELECT: &str = "_?._";
    /// `a[?b]`
    pub const OPT_INDEX: &str = "_[?_]";
    /// In comprehensions of macros: false only if the argument is false, true on errors too.
    pub const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
    /// In `transformMapEntry`: a map with entries of another added, error on a key that is there.
    pub const MAP_INSERT: &str = "cel.@mapInsert";
}

/// A library: functions that are enabled together.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// The name in the documentation.
    pub name: &'static str,
    /// Its functions.
    pub functions: &'static [Function],
}

/// A function by name.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// The name in the source, or an operator's name.
    pub name: &'static str,
    /// Its overloads. With `dyn` arguments several may apply.
    pub overloads: &'static [Overload],
    /// The implementation. `None` for operators that choose which operands to evaluate, and for
    /// functions on values that no rule can have.
    pub call: Option<Implementation>,
}

/// Computes a call from its arguments, the receiver first.
pub type Implementation = for<'v> fn(&Call<'_>, &[CelValue<'v>]) -> Result<CelValue<'v>, Fault>;

/// The context of a call.
#[derive(Debug, Clone, Copy)]
pub struct Call<'p> {
    /// The function's name, for messages.
    pub function: &'static str,
    /// The overload, if it was resolved statically.
    pub overload: Option<&'static str>,
    /// The pattern, if it is a constant: compiled with the program.
    pub regex: Option<&'p pleach_regex::Regex>,
    /// Where the work is counted.
    pub(crate) work: &'p Work<'p>,
}

impl Call<'_> {
    /// "no such overload".
    pub(crate) fn no_such_overload<T>(&self, args: &[CelValue<'_>]) -> Result<T, Fault> {
        Err(Fault::no_such_signature(self.function, args))
    }

    /// The first operand has no such operation. Odd: strings and times are asked for it all the same,
    /// and their error does not name it.
    pub(crate) fn unsupported<T>(&self, args: &[CelValue<'_>]) -> Result<T, Fault> {
        match args.first() {
            Some(CelValue::String(_) | CelValue::Timestamp(_) | CelValue::Duration(_)) => {
                Err(Fault::no_such_overload())
            }
            _ => Err(Fault::error(format!("no such overload: {}", self.function))),
        }
    }
}

/// One signature of a function.
#[derive(Debug, Clone, Copy)]
pub struct Overload {
    /// Unique among all functions.
    pub id: &'static str,
    /// Whether the first parameter is the receiver: `a.f(b)` instead of `f(a, b)`.
    pub member: bool,
    /// The parameters' types, the receiver's first.
    pub params: &'static [T],
    /// The result's type.
    pub result: T,
    /// The minor version of Kubernetes 1.x that introduced it.
    pub since: u32,
    /// The estimated cost.
    pub cost: StaticCost,
}

/// How the cost of a call is estimated, besides its arguments.
///
/// See [`crate::cost`]. "Size" is bytes of a string, elements of a list; the subject is the receiver or
/// first argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaticCost {
    /// One.
    Unit,
    /// The operands, of which the second may be skipped.
    Logical,
    /// The condition and the more expensive branch.
    Conditional,
    /// A tenth of the smaller operand.
    Compare,
    /// A tenth of both operands.
    Concat,
    /// One; the result is as long as both operands.
    ConcatList,
    /// The size of the list.
    InList,
    /// A tenth of the argument.
    Affix,
    /// A tenth of the subject times a tenth of the argument.
    Contains,
    /// A tenth of the subject times a quarter of the pattern.
    Matches,
    /// A tenth of the subject.
    Traverse,
    /// A fifth of the subject.
    TraverseTwice,
    /// A tenth of all elements and separators.
    Join,
    /// Every element compared.
    ListScan,
    /// A tenth of the subject, searched for an argument.
    StringScan,
    /// A tenth of the argument times a quarter of the format's longest pattern.
    Validate,
    /// An address compared with a block.
    ContainsIp,
    /// A block compared with a block.
    ContainsCidr,
    /// A round trip to the authorizer.
    AuthzCheck,
    /// Every element of one list compared with every element of the other.
    Sets,
    /// One; the result is the argument.
    Same,
    /// One; the result is an element.
    Index,
    /// A new list, and every pair of keys compared in both directions.
    Sort,
    /// A new list, and every pair of elements compared in both directions.
    Distinct,
    /// A new list, and a copy.
    Reverse,
    /// A new list of the elements between two constants.
    Slice,
    /// A new list, and a copy for every level.
    Flatten,
    /// A new list of as many elements as the constant says.
    Range,
}

impl Overload {
    /// `f(params) -> result`
    pub const fn new(id: &'static str, params: &'static [T], result: T) -> Self {
        Self { id, member: false, params, result, since: 0, cost: StaticCost::Unit }
    }

    /// `params[0].f(params[1..]) -> result`
    pub const fn member(id: &'static str, params: &'static [T], result: T) -> Self {
        Self { member: true, ..Self::new(id, params, result) }
    }

    /// The first minor version it may be used from.
    #[must_use]
    pub const fn since(self, minor: u32) -> Self {
        Self { since: minor, ..self }
    }

    /// How its cost is estimated.
    #[must_use]
    pub const fn cost(self, cost: StaticCost) -> Self {
        Self { cost, ..self }
    }
}

impl PartialEq for Overload {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Overload {}
