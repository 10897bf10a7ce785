//! Kubernetes quantities: `500m`, `1.5Gi`, `1e3`, read and written as `resource.Quantity` does it.
//!
//! [`Quantity`] counts billionths in 128 bits, which is what objects need; [`ExactQuantity`] has as many digits as
//! the text, which CEL shows.

mod exact;
mod parse;

use std::cmp::Ordering;

pub use exact::ExactQuantity;
use parse::{BINARY, DECIMAL, Parts, SUFFIX_WRONG, Scale, scale, split};

/// The family of suffixes that a quantity is written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `k`, `M`, `m`
    DecimalSi,
    /// `Ki`, `Mi`
    BinarySi,
    /// `e3`
    DecimalExponent,
}

/// A quantity: an exact number of billionths, as large as 128 bits take.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

const NANO: i128 = 1_000_000_000;
const MILLI: i128 = 1_000_000;
impl Quantity {
    /// Reads a quantity; the error is upstream's. Numbers beyond 128 bits are the largest there is.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let parts = split(text)?;
        let (scale, format) = scale(parts.suffix).ok_or(SUFFIX_WRONG)?;
        Ok(Self { nanos: nanos(&parts, &scale), format })
    }

    /// A whole number.
    pub fn from_int(value: i64) -> Self {
        Self { nanos: i128::from(value) * NANO, format: Format::DecimalSi }
    }

    /// Nothing, written like `self`.
    #[must_use]
    pub fn zero_like(self) -> Self {
        Self { nanos: 0, ..self }
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// -1, 0 or 1.
    pub fn sign(self) -> i32 {
        self.nanos.signum() as i32
    }

    /// Whether it is a whole number.
    pub fn is_whole(self) -> bool {
        self.nanos % NANO == 0
    }

    /// The whole number, rounded up.
    pub fn value(self) -> i64 {
        i64::try_from(round_up(self.nanos, NANO) / NANO).unwrap_or(i64::MAX)
    }

    /// Thousandths, rounded up.
    pub fn milli_value(self) -> i64 {
        i64::try_from(round_up(self.nanos, MILLI) / MILLI).unwrap_or(i64::MAX)
    }

    /// The sum, written like `self` unless that is zero.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let format = if self.nanos == 0 { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_add(other.nanos), format }
    }

    /// The difference.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_sub(other.nanos), ..self }
    }

    /// The canonical text.
    pub fn canonical(self) -> String {
        if self.nanos == 0 {
            return "0".into();
        }
        let whole = self.nanos % NANO == 0;
        if self.format == Format::BinarySi && whole && self.nanos.abs() >= 1024 * NANO {
            let number = self.nanos / NANO;
            let found = BINARY.iter().find(|(_, bits)| number % (1_i128 << bits) == 0);
            return found
                .map_or_else(|| number.to_string(), |(suffix, bits)| format!("{}{suffix}", number >> bits));
        }
        for (at, (suffix, power)) in DECIMAL.iter().enumerate() {
            let power = if at > 6 { -i64::from(*power) } else { i64::from(*power) };
            let unit = 10_i128.pow((power + 9) as u32);
            if self.nanos % unit == 0 {
                let number = self.nanos / unit;
                return match self.format {
                    Format::DecimalExponent if power != 0 => format!("{number}e{power}"),
                    Format::DecimalExponent => number.to_string(),
                    _ => format!("{number}{suffix}"),
                };
            }
        }
        self.nanos.to_string() + "n"
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

fn round_up(nanos: i128, unit: i128) -> i128 {
    let rest = nanos.rem_euclid(unit);
    if rest == 0 { nanos } else { nanos - rest + unit }
}

fn nanos(parts: &Parts<'_>, scale: &Scale) -> i128 {
    const MOST: i128 = i128::MAX / 4;
    let digits: String = [parts.integer, parts.fraction].concat();
    let places = parts.fraction.len() as i64;
    let number = digits.trim_start_matches('0');
    let magnitude = if number.is_empty() {
        0
    } else {
        let power = match scale {
            Scale::Ten(power) => power - places + 9,
            Scale::Two(_) => 9 - places,
        };
        let number: i128 = number.parse().unwrap_or(MOST);
        let factor = match scale {
            Scale::Two(bits) => 1_i128 << bits,
            Scale::Ten(_) => 1,
        };
        let number = number.checked_mul(factor).unwrap_or(MOST);
        match u32::try_from(power) {
            Ok(power) => 10_i128.checked_pow(power).and_then(|ten| number.checked_mul(ten)).unwrap_or(MOST),
            // A little of a resource is never nothing: it is rounded up to a billionth.
            Err(_) => {
                let unit = 10_i128.checked_pow((-power).min(38) as u32).unwrap_or(MOST);
                number / unit + i128::from(number % unit != 0)
            }
        }
    };
    let magnitude = magnitude.min(MOST);
    if parts.negative { -magnitude } else { magnitude }
}

/// The text of a quantity as it is written again: as it was read if that is near enough to canonical. `None` stands
/// for the text itself. With `resource`, it is rounded up to a thousandth first.
pub fn normalized(text: &str, resource: bool) -> Result<Option<String>, &'static str> {
    let quantity = Quantity::parse(text)?;
    if resource && quantity.nanos % MILLI != 0 {
        let rounded = Quantity { nanos: round_up(quantity.nanos, MILLI), ..quantity };
        return Ok(Some(rounded.canonical()));
    }
    let parts = split(text)?;
    let digits = [parts.integer, parts.fraction].concat();
    let fits = digits.len() <= 18;
    let stays = fits
        && match scale(parts.suffix) {
            Some((Scale::Ten(power), _)) => {
                (power - parts.fraction.len() as i64) % 3 == 0
                    && !digits.starts_with('0')
                    && !digits.ends_with("000")
            }
            Some((Scale::Two(_), _)) => {
                parts.fraction.is_empty() && digits.parse::<i64>().is_ok_and(|number| number % 8 != 0)
            }
            None => false,
        };
    if stays {
        return Ok(None);
    }
    let canonical = quantity.canonical();
    Ok((canonical != text).then_some(canonical))
}

#[cfg(test)]
mod tests {
    use super::parse::FORMAT_WRONG;
    use super::*;

    #[test]
    fn texts_as_they_are_written_again() {
        for (text, want) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1000", "1k"),
            ("1024Ki", "1Mi"),
            ("1.5Gi", "1536Mi"),
            ("1.0", "1"),
            ("1e3", "1e3"),
            ("1E3", "1E3"),
            ("+1", "+1"),
            ("010", "010"),
            ("1024", "1024"),
            ("512Mi", "512Mi"),
            ("0", "0"),
            ("100m", "100m"),
            ("1Gi", "1Gi"),
            ("0.5Ki", "512"),
            ("500u", "1m"),
        ] {
            let resource = text.ends_with('u');
            let written = normalized(text, resource).unwrap().unwrap_or_else(|| text.to_owned());
            assert_eq!(written, want, "{text}");
        }
        assert_eq!(normalized("1x", false), Err(FORMAT_WRONG));
        assert_eq!(normalized("1Kx", false), Err(FORMAT_WRONG));
        assert_eq!(normalized("1ki", false), Err(SUFFIX_WRONG));
        assert_eq!(normalized("", false), Err(FORMAT_WRONG));
    }

    #[test]
    fn sums() {
        let quantity = |text: &str| Quantity::parse(text).unwrap();
        assert_eq!(quantity("500m").plus(quantity("1")).canonical(), "1500m");
        assert_eq!(quantity("1Gi").plus(quantity("512Mi")).canonical(), "1536Mi");
        assert_eq!(quantity("1").minus(quantity("1500m")).canonical(), "-500m");
        assert!(quantity("1k") < quantity("1Ki"));
        assert_eq!(quantity("1e100"), quantity("1e101"), "both are the largest");
        assert_eq!(
            quantity("1e9223372036854775807"),
            quantity("100m"),
            "the low 32 bits of the exponent count"
        );
        for exponent in ["2147483647", "-2147483648", "9223372036854775807", "-9223372036854775808"] {
            for digits in
                ["0", "1", "-1.5", "170141183460469231731687303715884105727", "0.000000000000000000001"]
            {
                let text = format!("{digits}e{exponent}");
                let sum = quantity(&text).plus(quantity(&text)).minus(quantity("1"));
                assert!(normalized(&text, true).is_ok() && !sum.canonical().is_empty(), "{text}");
            }
        }
        let long = "170141183460469231731687303715884105727";
        assert_eq!(quantity(&format!("{long}e-47")), quantity("2n"), "rounded up");
    }
}
