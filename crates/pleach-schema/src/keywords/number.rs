//! Shared by the number keywords: Go's conversions, and the range a declared type implies.
//!
//! Odd: a bound is itself checked against the declared type. `type: integer` with `minimum: 0.5`
//! therefore refuses every number, with an error about the bound. Integers are compared with the
//! bound truncated to an integer when the bound fits the type, as floats when it does not.

use pleach_go::fmt::float_v;
use pleach_json::{Str, Value};
use pleach_meta::FieldError;

use crate::compile::types::Types;
use crate::validate::location::Location;

/// Whether Kubernetes takes a float for an integer: whole, or a hair above, and within 53 bits.
///
/// Kept out of line: inlined into the walk, the compiler computes it ahead for every value, and a
/// division of bits that are no float costs more than all the rest.
#[inline(never)]
pub(crate) fn is_json_integer(f: f64) -> bool {
    const MAX: f64 = 9_007_199_254_740_991.0;
    if !(-MAX..=MAX).contains(&f) {
        return false;
    }
    if f == f.trunc() {
        return true;
    }
    let whole = f.trunc();
    // A negative float has no unsigned integer near it, and next to nothing is near zero.
    f > 0.0 && whole != 0.0 && (f - whole) / (f + whole) < 1e-9
}

/// A float as an `int64`, as Go converts it on amd64: towards zero, and the least one when it does not fit.
pub(crate) fn go_int64(f: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&f) { f as i64 } else { i64::MIN }
}

/// The declared type and format, as far as they restrict numbers.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    integer: bool,
    format: Option<Str>,
    limit: Limit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    None,
    Int32,
    Int64,
    Float32,
}

impl Domain {
    /// The domain of a node. Only a single declared type restricts numbers.
    pub(crate) fn of(types: &Types) -> Self {
        let format = types.format().cloned();
        let integer = types.single() == Some("integer");
        let limit = match (integer, format.as_deref()) {
            (true, Some("int32")) => Limit::Int32,
            (true, _) => Limit::Int64,
            (false, Some("float")) => Limit::Float32,
            (false, _) => Limit::None,
        };
        Self { integer, format, limit }
    }

    /// Whether there is anything to check.
    pub(crate) fn restricts(&self) -> bool {
        self.limit != Limit::None
    }

    /// Whether an integer lies in it.
    fn has_int(&self, i: i64) -> bool {
        self.limit != Limit::Int32 || i32::try_from(i).is_ok()
    }

    /// Whether a float lies in it. Upstream prints the float in full and reads the text back.
    pub(crate) fn has_float(&self, f: f64) -> bool {
        const BEYOND: f64 = 9_223_372_036_854_775_808.0;
        match self.limit {
            Limit::None => true,
            Limit::Int32 => f == f.trunc() && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&f),
            Limit::Int64 => f == f.trunc() && -BEYOND < f && f < BEYOND,
            Limit::Float32 => (f as f32).is_finite(),
        }
    }

    /// Whether a number lies in it.
    pub(crate) fn has(&self, value: &Value) -> bool {
        match value {
            Value::Int(i) => self.has_int(*i),
            Value::Float(f) => self.has_float(*f),
            _ => true,
        }
    }

    /// The error for `what` (`Checked`, `Minimum boundary`, …) lying outside.
    pub(crate) fn error(&self, what: &str, at: &Location<'_>) -> FieldError {
        let type_name = if self.integer { "integer" } else { "number" };
        let format = match &self.format {
            Some(format) => format!("with format {format}"),
            None => "(default format)".to_owned(),
        };
        let detail = format!("{what} value must be of type {type_name} {format} in {}", at.name());
        FieldError::invalid(at.start_field(), "", detail)
    }
}

/// A bound or factor together with the domain it should lie in.
#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) float: f64,
    /// The bound as integers see it; none when it lies outside the domain.
    pub(crate) int: Option<i64>,
    domain: Domain,
}

/// A value and an operand brought to a common type.
pub(crate) enum Pair {
    Ints(i64, i64),
    Floats(f64, f64),
}

impl Operand {
    pub(crate) fn new(float: f64, types: &Types) -> Self {
        let domain = Domain::of(types);
        let int = domain.has_float(float).then(|| go_int64(float));
        Self { float, int, domain }
    }

    /// The value and this operand, ready to compare; `None` when the value is no number.
    pub(crate) fn pair(&self, value: &Value) -> Option<Pair> {
        match (value, self.int) {
            (Value::Int(i), Some(int)) => Some(Pair::Ints(*i, int)),
            (Value::Int(i), None) => Some(Pair::Floats(*i as f64, self.float)),
            (Value::Float(f), _) => Some(Pair::Floats(*f, self.float)),
            _ => None,
        }
    }

    /// The error for an operand outside its domain, if it is.
    pub(crate) fn misfit(&self, what: &str, at: &Location<'_>) -> Option<FieldError> {
        self.int.is_none().then(|| self.domain.error(what, at))
    }
}

impl Pair {
    /// The value as errors show it.
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Ints(value, _) => Value::Int(*value),
            Self::Floats(value, _) => Value::Float(*value),
        }
    }

    /// The operand as errors show it.
    pub(crate) fn operand(&self) -> Value {
        match self {
            Self::Ints(_, operand) => Value::Int(*operand),
            Self::Floats(_, operand) => Value::Float(*operand),
        }
    }

    /// The operand as Go's `%v` prints it.
    pub(crate) fn operand_text(&self) -> String {
        match self {
            Self::Ints(_, operand) => operand.to_string(),
            Self::Floats(_, operand) => float_v(*operand),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_that_pass_for_integers() {
        for (f, want) in [
            (0.0, true),
            (-0.0, true),
            (1.0, true),
            (-3.0, true),
            (9_007_199_254_740_991.0, true),
            (9_007_199_254_740_992.0, false),
            (1.5, false),
            (110.000_000_000_000_01, true),
            (434.999_999_999_999_94, false),
            (-110.000_000_000_000_01, false),
            (1e-300, false),
            (f64::INFINITY, false),
            (1_000_000.001, true),
        ] {
            assert_eq!(is_json_integer(f), want, "{f}");
        }
    }

    #[test]
    fn go_converts_what_does_not_fit_to_the_least() {
        assert_eq!(go_int64(-1.9), -1);
        assert_eq!(go_int64(1e19), i64::MIN);
        assert_eq!(go_int64(-1e19), i64::MIN);
        assert_eq!(go_int64(f64::NAN), i64::MIN);
    }
}
