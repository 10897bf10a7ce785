//! Spans of time, read and written as Go does.
//!
//! Two notations are read: Go's (`1h30m`), which `duration('…')` takes, and on top of it the
//! looser one of `format: duration` in schemas (`2 days`).

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(pub i64);

/// Units of `format: duration`: the last name of a row may be continued (`secs`, `seconds`).
const LOOSE_UNITS: [(&[&str], i64); 8] = [
    (&["ns", "nano"], 1),
    (&["us", "µs", "micro"], 1_000),
    (&["ms", "milli"], 1_000_000),
    (&["s", "sec"], 1_000_000_000),
    (&["m", "min"], 60_000_000_000),
    (&["h", "hr", "hour"], 3_600_000_000_000),
    (&["d", "day"], 86_400_000_000_000),
    (&["w", "wk", "week"], 604_800_000_000_000),
];

impl Duration {
    /// Reads Go's notation.
    pub fn parse(text: &str) -> Option<Self> {
        pleach_go::time::parse_duration(text).ok().map(Self)
    }

    /// Reads what `format: duration` allows: Go's notation, or numbers with units anywhere in the
    /// text. The error is the text the API server gives as a reason.
    pub fn parse_loose(text: &str) -> Result<Self, String> {
        if let Some(duration) = Self::parse(text) {
            return Ok(duration);
        }
        let mut total = 0i64;
        let mut found = false;
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let (digits, after) = leading_digits(&rest[start..]);
            let unit_text = after.trim_start_matches(['\t', '\n', '\x0c', '\r', ' ']);
            let end =
                unit_text.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(unit_text.len());
            if end == 0 {
                rest = after;
                continue;
            }
            let count = pleach_go::strconv::atoi(digits)?;
            let unit = unit_text[..end].to_lowercase();
            for (names, scale) in LOOSE_UNITS {
                let last = names.len() - 1;
                for (i, name) in names.iter().enumerate() {
                    if (i == last && unit.starts_with(name)) || unit == *name {
                        found = true;
                        total = total.wrapping_add(count.wrapping_mul(scale));
                    }
                }
            }
            rest = &unit_text[end..];
        }
        if found { Ok(Self(total)) } else { Err(format!("unable to parse {text} as duration")) }
    }

    /// The seconds as a decimal with an `s`: what `string(duration)` gives.
    pub fn to_seconds_text(self) -> String {
        let seconds = (self.0 / 1_000_000_000) as f64 + (self.0 % 1_000_000_000) as f64 / 1e9;
        format!("{seconds}s")
    }

    /// Go's own notation: `1h30m0s`, `1.5ms`.
    pub fn to_go_text(self) -> String {
        pleach_go::time::format_duration(self.0)
    }
}

fn leading_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_print() {
        for (why, text, want) in [
            ("a plain unit", "1h", Some("1h0m0s")),
            ("a fraction", "1.5h", Some("1h30m0s")),
            ("all units", "-1h30m5.5s", Some("-1h30m5.5s")),
            ("no digits before the point", ".5s", Some("500ms")),
            ("no digits after the point", "1.s", Some("1s")),
            ("a point alone", ".s", None),
            ("zero needs no unit", "0", Some("0s")),
            ("a number needs one", "1", None),
            ("the largest", "9223372036854775807ns", Some("2562047h47m16.854775807s")),
            ("one more", "9223372036854775808ns", None),
            ("micro, both letters", "1µs1μs", Some("2µs")),
            ("empty", "", None),
            ("a sign alone", "-", None),
            ("days are not Go's", "1d", None),
        ] {
            assert_eq!(Duration::parse(text).map(Duration::to_go_text).as_deref(), want, "{why}");
        }
    }

    #[test]
    fn schemas_allow_more_notations() {
        for (why, text, want) in [
            ("days", "2 days", Ok("48h0m0s")),
            ("several with words between", "1 week and 3hours", Ok("171h0m0s")),
            ("m is minutes, ms is not", "5m3ms", Ok("5m0.003s")),
            ("nothing known", "abc", Err("unable to parse abc as duration")),
            ("an unknown unit", "3 parsecs", Err("unable to parse 3 parsecs as duration")),
        ] {
            let got = Duration::parse_loose(text).map(Duration::to_go_text);
            assert_eq!(got.as_deref().map_err(String::as_str), want, "{why}");
        }
    }

    #[test]
    fn seconds_text() {
        for (nanos, want) in [
            (3_600_000_000_000, "3600s"),
            (1_500_000_000, "1.5s"),
            (1, "0.000000001s"),
            (-1_500_000_000, "-1.5s"),
        ] {
            assert_eq!(Duration(nanos).to_seconds_text(), want);
        }
    }
}
