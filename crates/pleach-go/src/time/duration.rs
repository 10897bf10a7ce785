//! `time.ParseDuration` and `time.Duration.String`.

use std::fmt::Write as _;
use std::time::Duration;

use super::parse::quoted;

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The largest absolute number of nanoseconds.
const MOST: u64 = 1 << 63;

/// A duration that is not negative, in the same syntax, for flags and configuration files.
pub fn parse_std_duration(text: &str) -> Result<Duration, String> {
    let nanoseconds = parse_duration(text)?;
    u64::try_from(nanoseconds).map(Duration::from_nanos).map_err(|_| "must not be negative".into())
}

/// Reads `[-+]?([0-9]*(\.[0-9]*)?[a-z]+)+` or `0`, as nanoseconds. The error is Go's.
pub fn parse_duration(text: &str) -> Result<i64, String> {
    let shown = || quoted(text.as_bytes());
    let invalid = || format!("time: invalid duration {}", shown());
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, after) = leading_digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), leading_digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let whole = match whole {
            "" => 0,
            digits => digits.parse().ok().filter(|n| *n <= MOST).ok_or_else(invalid)?,
        };
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {}", shown()));
        }
        let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            let unit = quoted(unit.as_bytes());
            return Err(format!("time: unknown unit {unit} in duration {}", shown()));
        };
        total = whole
            .checked_mul(*scale)
            .and_then(|value| value.checked_add(fraction_of(fraction, *scale)))
            .and_then(|value| value.checked_add(total))
            .filter(|total| *total <= MOST)
            .ok_or_else(invalid)?;
        rest = after;
    }
    if negative {
        // The one number that has no positive counterpart stays what it is.
        return Ok((total as i64).wrapping_neg());
    }
    i64::try_from(total).map_err(|_| invalid())
}

fn leading_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// `0.fraction` of `scale`, rounded towards zero as a float computation does.
fn fraction_of(digits: &str, scale: u64) -> u64 {
    let mut value = 0u64;
    let mut divisor = 1f64;
    for digit in digits.bytes() {
        if value > MOST / 10 {
            break;
        }
        let next = value * 10 + u64::from(digit - b'0');
        if next > MOST {
            break;
        }
        value = next;
        divisor *= 10.0;
    }
    (value as f64 * (scale as f64 / divisor)) as u64
}

/// A duration of so many nanoseconds as `time.Duration.String` prints it: `1h30m0s`, `1.5ms`.
pub fn format_duration(nanoseconds: i64) -> String {
    let nanos = nanoseconds.unsigned_abs();
    let mut out = String::from(if nanoseconds < 0 { "-" } else { "" });
    let fraction = |out: &mut String, value: u64, scale: u64, unit: &str| {
        let _ = write!(out, "{}", value / scale);
        if !value.is_multiple_of(scale) {
            let width = scale.ilog10() as usize;
            let digits = format!("{:0width$}", value % scale);
            let _ = write!(out, ".{}", digits.trim_end_matches('0'));
        }
        out.push_str(unit);
    };
    match nanos {
        0 => return "0s".to_owned(),
        1..1_000 => fraction(&mut out, nanos, 1, "ns"),
        1_000..1_000_000 => fraction(&mut out, nanos, 1_000, "µs"),
        1_000_000..1_000_000_000 => fraction(&mut out, nanos, 1_000_000, "ms"),
        _ => {
            let minutes = nanos / 60_000_000_000;
            if minutes >= 60 {
                let _ = write!(out, "{}h", minutes / 60);
            }
            if minutes > 0 {
                let _ = write!(out, "{}m", minutes % 60);
            }
            fraction(&mut out, nanos % 60_000_000_000, 1_000_000_000, "s");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_as_in_go() {
        for (why, text, want) in [
            ("a plain unit", "1h", Ok(3_600_000_000_000)),
            ("a fraction", "1.5h", Ok(5_400_000_000_000)),
            ("several, and a sign", "-1h30m5.5s", Ok(-5_405_500_000_000)),
            ("a sign that changes nothing", "+5s", Ok(5_000_000_000)),
            ("no digits before the point", ".5s", Ok(500_000_000)),
            ("no digits after the point", "1.s", Ok(1_000_000_000)),
            ("a point alone", ".s", Err(r#"time: invalid duration ".s""#)),
            ("zero needs no unit", "0", Ok(0)),
            ("a number needs one", "1", Err(r#"time: missing unit in duration "1""#)),
            ("also after others", "1h3", Err(r#"time: missing unit in duration "1h3""#)),
            ("the largest", "9223372036854775807ns", Ok(i64::MAX)),
            ("one more", "9223372036854775808ns", Err(r#"time: invalid duration "9223372036854775808ns""#)),
            ("its negative", "-9223372036854775808ns", Ok(i64::MIN)),
            ("too many hours", "9999999h", Err(r#"time: invalid duration "9999999h""#)),
            ("micro, both letters", "1\u{b5}s1\u{3bc}s", Ok(2_000)),
            ("empty", "", Err(r#"time: invalid duration """#)),
            ("a sign alone", "-", Err(r#"time: invalid duration "-""#)),
            ("no unit of Go's", "1d", Err(r#"time: unknown unit "d" in duration "1d""#)),
            ("what is not ASCII", "2\u{e9}", Err(r#"time: unknown unit "\xc3\xa9" in duration "2\xc3\xa9""#)),
        ] {
            assert_eq!(parse_duration(text), want.map_err(str::to_owned), "{why}");
        }
    }

    #[test]
    fn durations_are_printed_as_in_go() {
        for (nanoseconds, text) in [
            (0, "0s"),
            (999, "999ns"),
            (1_500, "1.5µs"),
            (2_000_000, "2ms"),
            (10_000_000_000, "10s"),
            (61_000_000_000, "1m1s"),
            (-5_400_000_000_000, "-1h30m0s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(format_duration(nanoseconds), text);
        }
    }
}
