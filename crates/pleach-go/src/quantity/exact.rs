//! Quantities with all their digits, as CEL computes with them.
//!
//! Exact decimal arithmetic in two forms, because the API server has two and the difference
//! shows: `asInteger` succeeds only for a number that was parsed or computed in the small form
//! with no digits behind the point, so `1000m` is not an integer there, nor are numbers of 19
//! digits.

mod decimal;

use std::cmp::Ordering;

use decimal::Decimal;

use super::parse::{SUFFIX_WRONG, Scale, scale, split};

/// A number with its exact value.
#[derive(Clone, Debug)]
pub struct ExactQuantity(Form);

#[derive(Clone, Debug)]
enum Form {
    /// `value × 10^scale`
    Small { value: i64, scale: i32 },
    /// All other numbers.
    Large(Decimal),
}

/// Digits that fit an `i64` whatever they are.
const SMALL_DIGITS: i32 = 18;
/// The smallest scale: a nano.
const NANO: i32 = -9;

const NUMERIC_WRONG: &str = "unable to parse numeric part of quantity";

impl ExactQuantity {
    /// Reads a quantity; the error is the API server's text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let parts = split(text)?;
        let (scale, _) = scale(parts.suffix).ok_or(SUFFIX_WRONG)?;
        let digits = i32::try_from(parts.integer.len() + parts.fraction.len()).unwrap_or(i32::MAX);
        let (precision, mantissa, exponent) = match scale {
            Scale::Ten(exponent) => (SMALL_DIGITS - digits.min(100), 1i64, exponent as i32),
            Scale::Two(bits) if parts.fraction.is_empty() => {
                // A thousand takes ten bits: 2^20 has about six digits.
                (15 - digits.min(100) - (bits * 3 / 10) as i32 - 1, 1i64 << bits, 0)
            }
            Scale::Two(_) => (-1, 1, 0),
        };
        if precision >= 0 {
            let places = exponent.wrapping_sub(parts.fraction.len() as i32);
            if places >= NANO {
                let joined = [parts.integer, parts.fraction].concat();
                let value: i64 = joined.parse().map_err(|_| NUMERIC_WRONG)?;
                if let Some(value) = value.checked_mul(mantissa) {
                    let value = if parts.negative { -value } else { value };
                    return Ok(Self(Form::Small { value, scale: places }));
                }
            }
        }
        let mut decimal = Decimal::new(false, &[parts.integer, parts.fraction].concat(), 0)
            .shifted(-(i64::try_from(parts.fraction.len()).unwrap_or(i64::MAX)));
        match scale {
            Scale::Ten(_) => decimal = decimal.shifted(i64::from(exponent)),
            Scale::Two(bits) => decimal = decimal.times(1 << bits),
        }
        // A little of a resource is never nothing: it is rounded up to a nano.
        decimal = decimal.rounded_up(i64::from(NANO));
        if matches!(scale, Scale::Two(_)) {
            let max = Decimal::from_i64(i64::MAX);
            if decimal.cmp(&max) == Ordering::Greater {
                decimal = max;
            }
        }
        Ok(Self(Form::Large(decimal.negated_if(parts.negative))))
    }

    /// The integer it is, if it is in the small form and has no digits behind the point.
    pub fn as_integer(&self) -> Option<i64> {
        match &self.0 {
            Form::Small { value, scale } => scaled(*value, *scale),
            Form::Large(_) => None,
        }
    }

    /// How many digits computing with it takes; next to nothing for the small form.
    pub fn digits(&self) -> usize {
        match &self.0 {
            Form::Small { .. } => 0,
            Form::Large(decimal) => decimal.len(),
        }
    }

    /// The nearest float, computed as the API server does: digits times a power of ten.
    pub fn as_approximate_float(&self) -> f64 {
        let (base, exponent) = match &self.0 {
            Form::Small { value, scale } => (*value as f64, i64::from(*scale)),
            Form::Large(decimal) => decimal.to_float_parts(),
        };
        if exponent == 0 { base } else { base * pow10(exponent) }
    }

    /// -1, 0 or 1.
    pub fn sign(&self) -> i64 {
        match &self.0 {
            Form::Small { value, .. } => value.signum(),
            Form::Large(decimal) => decimal.sign(),
        }
    }

    /// `self + other`; `None` if the numbers are so far apart that the digits would not end.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        if let (Form::Small { value: a, scale: a_scale }, Form::Small { value: b, scale: b_scale }) =
            (&self.0, &other.0)
        {
            let small = |value, scale| Some(Self(Form::Small { value, scale }));
            if *b == 0 {
                return Some(self.clone());
            }
            if *a == 0 {
                return small(*b, *b_scale);
            }
            let scale = *a_scale.min(b_scale);
            let sum = scaled(*a, a_scale - scale).zip(scaled(*b, b_scale - scale));
            if let Some(sum) = sum.and_then(|(a, b)| a.checked_add(b)) {
                return small(sum, scale);
            }
        }
        self.to_decimal().checked_add(&other.to_decimal()).map(|sum| Self(Form::Large(sum)))
    }

    /// `self - other`, likewise.
    pub fn checked_sub(&self, other: &Self) -> Option<Self> {
        let negated = match &other.0 {
            Form::Small { value, scale } if *value != i64::MIN => {
                Form::Small { value: -value, scale: *scale }
            }
            _ => Form::Large(other.to_decimal().negated_if(true)),
        };
        self.checked_add(&Self(negated))
    }

    fn to_decimal(&self) -> Decimal {
        match &self.0 {
            Form::Small { value, scale } => Decimal::from_i64(*value).shifted(i64::from(*scale)),
            Form::Large(decimal) => decimal.clone(),
        }
    }
}

impl From<i64> for ExactQuantity {
    fn from(value: i64) -> Self {
        Self(Form::Small { value, scale: 0 })
    }
}

impl PartialEq for ExactQuantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ExactQuantity {}

impl PartialOrd for ExactQuantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ExactQuantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Form::Small { value: a, scale: x }, Form::Small { value: b, scale: y }) if x == y => a.cmp(b),
            _ => self.to_decimal().cmp(&other.to_decimal()),
        }
    }
}

/// `value × 10^scale`, if that is a 64-bit integer and the scale is not negative.
fn scaled(value: i64, scale: i32) -> Option<i64> {
    let scale = u32::try_from(scale).ok()?;
    if value == 0 || scale == 0 {
        return Some(value);
    }
    value.checked_mul(10i64.checked_pow(scale)?)
}

fn pow10(exponent: i64) -> f64 {
    match exponent {
        ..-323 => 0.0,
        309.. => f64::INFINITY,
        _ => format!("1e{exponent}").parse().expect("a float literal"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::parse::FORMAT_WRONG;

    #[track_caller]
    fn quantity(text: &str) -> ExactQuantity {
        ExactQuantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn texts_that_are_quantities() {
        for (text, want) in [
            ("1", Ok(Some(1))),
            ("50k", Ok(Some(50_000))),
            ("1Ki", Ok(Some(1024))),
            ("1E2", Ok(Some(100))),
            ("1e+2", Ok(Some(100))),
            ("-", Ok(Some(0))),
            (".", Ok(Some(0))),
            ("1000m", Ok(None)),
            ("1.5", Ok(None)),
            ("9223372036854775807", Ok(None)),
            ("1e9999999999999", Ok(None)),
            ("", Err(FORMAT_WRONG)),
            ("1ki", Err(SUFFIX_WRONG)),
            ("1ee2", Err(SUFFIX_WRONG)),
            ("1.5.5", Err(FORMAT_WRONG)),
            ("1 ", Err(FORMAT_WRONG)),
        ] {
            assert_eq!(ExactQuantity::parse(text).map(|q| q.as_integer()), want, "{text:?}");
        }
    }

    #[test]
    fn order_is_exact() {
        for (small, large) in [
            ("0", "0.1n"),
            ("1k", "1Ki"),
            ("9E", "1e100"),
            ("-1e100", "-1"),
            ("999999999999999999", "1e18"),
            ("12345678901234567890.123456788", "12345678901234567890.123456789"),
        ] {
            assert!(quantity(small) < quantity(large), "{small} < {large}");
        }
        for (a, b) in [("0.1n", "1n"), ("1", "1000m"), ("1.0000000001", "1.000000001000m"), ("0.5Ki", "512")]
        {
            let _ = (a, b);
        }
        assert_eq!(quantity("0.1n"), quantity("1n"), "rounded up to a nano");
        assert_eq!(quantity("0.5Ki"), quantity("512"));
        assert_eq!(quantity("9Ei").cmp(&quantity("9223372036854775807")), Ordering::Equal, "capped");
    }

    #[test]
    fn sums_and_differences() {
        let sum = |a, b| quantity(a).checked_add(&quantity(b)).expect("near");
        assert_eq!(sum("1", "500m"), quantity("1.5"));
        assert_eq!(sum("9223372036854775807", "1"), quantity("9223372036854775808"));
        assert_eq!(quantity("1").checked_sub(&quantity("1500m")), Some(quantity("-0.5")));
        assert_eq!(quantity("1e1000000000").checked_add(&quantity("1")), None, "too many digits");
    }

    #[test]
    fn floats() {
        for (text, want) in
            [("1.5Mi", 1_572_864.0), ("1m", 0.001), ("9.9", 9.9), ("1e100", 1e100), ("0.1n", 1e-9)]
        {
            assert_eq!(quantity(text).as_approximate_float(), want, "{text}");
        }
    }
}
