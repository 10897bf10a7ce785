//! `time.Parse` for the layouts of RFC 3339 and its parts, with Go's leniency and Go's errors.
//!
//! Go takes one digit for the hour, a comma before a fraction, offsets up to `+24:60`; the day is
//! checked against the month only after everything else was read.

use std::fmt::Write as _;

use super::{SECONDS_PER_DAY, Timestamp, days_from_civil};

/// A layout of `time.Parse`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `2006-01-02`
    Date,
    /// `2006-01-02T15:04:05`
    Local,
    /// `2006-01-02T15:04:05Z07:00`
    Rfc3339,
    /// `2006-01-02T15:04:05.000000Z07:00`
    Rfc3339Micro,
}

impl Layout {
    fn text(self) -> &'static str {
        match self {
            Self::Date => "2006-01-02",
            Self::Local => "2006-01-02T15:04:05",
            Self::Rfc3339 => "2006-01-02T15:04:05Z07:00",
            Self::Rfc3339Micro => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// Reads a `metav1.Time`.
pub fn parse_rfc3339(text: &str) -> Result<Timestamp, String> {
    parse(text, Layout::Rfc3339).map(|(time, _)| time)
}

/// Reads a `metav1.MicroTime`, which wants six digits after the second.
pub fn parse_rfc3339_micro(text: &str) -> Result<Timestamp, String> {
    parse(text, Layout::Rfc3339Micro).map(|(time, _)| time)
}

/// `time.Parse`: the moment, and the offset it was written with in seconds east of Greenwich.
pub fn parse(text: &str, layout: Layout) -> Result<(Timestamp, i64), String> {
    Reader { layout, whole: text, rest: text.as_bytes() }.time()
}

struct Reader<'a> {
    layout: Layout,
    whole: &'a str,
    rest: &'a [u8],
}

impl Reader<'_> {
    fn time(mut self) -> Result<(Timestamp, i64), String> {
        let year = self.digits(4, 4, "2006")?;
        self.literal(b'-')?;
        let month = self.digits(2, 2, "01")?;
        self.in_range(month, 1, 12, "month")?;
        self.literal(b'-')?;
        let day = self.digits(2, 2, "02")?;
        let (mut second_of_day, mut nanos, mut offset) = (0, 0, 0);
        if self.layout != Layout::Date {
            self.literal(b'T')?;
            (second_of_day, nanos) = self.time_of_day()?;
        }
        if matches!(self.layout, Layout::Rfc3339 | Layout::Rfc3339Micro) {
            offset = self.offset()?;
        }
        if !self.rest.is_empty() {
            return Err(format!(
                "parsing time {}: extra text: {}",
                quoted(self.whole.as_bytes()),
                quoted(self.rest)
            ));
        }
        self.in_range(day, 1, days_in(year, month), "day")?;
        let seconds = days_from_civil(year, month, day) * SECONDS_PER_DAY + second_of_day;
        Ok((Timestamp { seconds: seconds - offset, nanos }, offset))
    }

    /// The second of the day, and its nanoseconds.
    fn time_of_day(&mut self) -> Result<(i64, u32), String> {
        let hour = self.digits(1, 2, "15")?;
        self.in_range(hour, 0, 23, "hour")?;
        self.literal(b':')?;
        let minute = self.digits(2, 2, "04")?;
        self.in_range(minute, 0, 59, "minute")?;
        self.literal(b':')?;
        let second = self.digits(2, 2, "05")?;
        self.in_range(second, 0, 59, "second")?;
        let micro = self.layout == Layout::Rfc3339Micro;
        let nanos = if micro { self.six_digits()? } else { self.fraction() };
        Ok((hour * 3600 + minute * 60 + second, nanos))
    }

    /// Between `least` and `most` digits, as many as there are.
    fn digits(&mut self, least: usize, most: usize, layout_part: &str) -> Result<i64, String> {
        let count = self.rest.iter().take(most).take_while(|b| b.is_ascii_digit()).count();
        if count < least {
            return Err(self.unparsable(layout_part));
        }
        let number = number(&self.rest[..count]);
        self.rest = &self.rest[count..];
        Ok(number)
    }

    fn literal(&mut self, byte: u8) -> Result<(), String> {
        match self.rest.split_first() {
            Some((&first, rest)) if first == byte => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(self.unparsable(char::from(byte).encode_utf8(&mut [0; 4]))),
        }
    }

    /// A fraction of the second that the layout does not ask for.
    fn fraction(&mut self) -> u32 {
        let [b'.' | b',', digits @ ..] = self.rest else { return 0 };
        let count = digits.iter().take_while(|b| b.is_ascii_digit()).count();
        if count == 0 {
            return 0;
        }
        self.rest = &digits[count..];
        let shown = count.min(9);
        (number(&digits[..shown]) * 10_i64.pow(9 - shown as u32)) as u32
    }

    fn six_digits(&mut self) -> Result<u32, String> {
        match self.rest {
            [b'.' | b',', digits @ ..] if digits.len() >= 6 && digits[..6].iter().all(u8::is_ascii_digit) => {
                self.rest = &digits[6..];
                Ok((number(&digits[..6]) * 1000) as u32)
            }
            _ => Err(self.unparsable(".000000")),
        }
    }

    /// Seconds east of Greenwich.
    fn offset(&mut self) -> Result<i64, String> {
        if let [b'Z', rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(0);
        }
        let &[sign @ (b'+' | b'-'), h1, h2, b':', m1, m2, ref rest @ ..] = self.rest else {
            return Err(self.unparsable("Z07:00"));
        };
        if ![h1, h2, m1, m2].iter().all(u8::is_ascii_digit) {
            return Err(self.unparsable("Z07:00"));
        }
        let (hours, minutes) = (number(&[h1, h2]), number(&[m1, m2]));
        self.in_range(hours, 0, 24, "time zone offset hour")?;
        self.in_range(minutes, 0, 60, "time zone offset minute")?;
        self.rest = rest;
        let seconds = hours * 3600 + minutes * 60;
        Ok(if sign == b'-' { -seconds } else { seconds })
    }

    fn in_range(&self, value: i64, least: i64, most: i64, what: &str) -> Result<(), String> {
        if (least..=most).contains(&value) {
            Ok(())
        } else {
            Err(format!("parsing time {}: {what} out of range", quoted(self.whole.as_bytes())))
        }
    }

    fn unparsable(&self, layout_part: &str) -> String {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quoted(self.whole.as_bytes()),
            quoted(self.layout.text().as_bytes()),
            quoted(self.rest),
            quoted(layout_part.as_bytes())
        )
    }
}

fn number(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0'))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The quoting of Go's `time` package, which writes every byte that is not ASCII as `\x..`.
pub(super) fn quoted(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for &b in text {
        match b {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(b));
            }
            0x20..0x80 => out.push(char::from(b)),
            _ => {
                let _ = write!(out, "\\x{b:02x}");
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_go_reads() {
        for (text, want, why) in [
            ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "the normal form"),
            ("2020-01-01T00:00:00.123456+02:00", "2019-12-31T22:00:00Z", "fraction and offset"),
            ("2020-02-10T23:59:00+23:60", "2020-02-09T23:59:00Z", "sixty minutes of offset"),
            ("2020-02-10T3:59:00Z", "2020-02-10T03:59:00Z", "one digit of the hour"),
            ("2020-02-10T03:59:00,5Z", "2020-02-10T03:59:00Z", "a comma"),
            ("0000-01-01T00:00:00+05:00", "-0001-12-31T19:00:00Z", "before the year 0"),
            ("9999-12-31T23:59:59-05:00", "10000-01-01T04:59:59Z", "after the year 9999"),
            ("2020-02-10T03:59:00-00:00", "2020-02-10T03:59:00Z", "minus nothing"),
        ] {
            assert_eq!(parse_rfc3339(text).unwrap().to_rfc3339(), want, "{why}");
        }
    }

    #[test]
    fn errors_are_those_of_go() {
        let cannot = |text: &str, rest: &str, part: &str| {
            format!(
                "parsing time \"{text}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"{rest}\" as \"{part}\""
            )
        };
        for (text, rest, part) in [
            ("", "", "2006"),
            ("20a0-", "20a0-", "2006"),
            ("2020-01-01 00:00:00Z", " 00:00:00Z", "T"),
            ("2020-02-10T23:59:00", "", "Z07:00"),
            ("2020-02-10T23:59:00+0100", "+0100", "Z07:00"),
            ("2020-2-10T23:59:00Z", "2-10T23:59:00Z", "01"),
            ("2020-02-10T03:59:00.Z", ".Z", "Z07:00"),
            ("12020-02-10T03:59:00Z", "0-02-10T03:59:00Z", "-"),
            ("2020-02-10T03:59", "", ":"),
            ("2020-02-10T03:5a:00Z", "5a:00Z", "04"),
            ("2020-02-10T03:59:7Z", "7Z", "05"),
        ] {
            assert_eq!(parse_rfc3339(text).unwrap_err(), cannot(text, rest, part));
        }
        for (text, what) in [
            ("2020-13-01T00:00:00Z", "month"),
            ("2020-02-30T00:00:00Z", "day"),
            ("2020-02-00T00:00:00Z", "day"),
            ("2020-02-30T24:00:00Z", "hour"),
            ("2020-02-10T23:60:00Z", "minute"),
            ("2020-02-10T23:59:60Z", "second"),
            ("2020-02-10T23:59:00+25:00", "time zone offset hour"),
        ] {
            assert_eq!(
                parse_rfc3339(text).unwrap_err(),
                format!("parsing time \"{text}\": {what} out of range")
            );
        }
        assert_eq!(
            parse_rfc3339("2020-02-10T23:59:00Zx").unwrap_err(),
            "parsing time \"2020-02-10T23:59:00Zx\": extra text: \"x\""
        );
        assert!(parse_rfc3339("é").unwrap_err().starts_with(r#"parsing time "\xc3\xa9" as "#));
    }

    #[test]
    fn other_layouts() {
        let seconds = |text, layout| parse(text, layout).map(|(time, offset)| (time.seconds, offset));
        assert_eq!(seconds("1970-01-02", Layout::Date), Ok((86_400, 0)));
        assert_eq!(seconds("1970-01-01T01:00:00", Layout::Local), Ok((3600, 0)));
        assert_eq!(seconds("1970-01-01T01:00:00+01:00", Layout::Rfc3339), Ok((0, 3600)));
        assert_eq!(
            seconds("1970-01-02T", Layout::Date).unwrap_err(),
            "parsing time \"1970-01-02T\": extra text: \"T\""
        );
        assert_eq!(
            seconds("1970-01-01T01:00:00Z", Layout::Local).unwrap_err(),
            "parsing time \"1970-01-01T01:00:00Z\": extra text: \"Z\""
        );
        assert_eq!(
            seconds("1970-1-02", Layout::Date).unwrap_err(),
            "parsing time \"1970-1-02\" as \"2006-01-02\": cannot parse \"1-02\" as \"01\""
        );
    }

    #[test]
    fn micro_times_want_six_digits() {
        let time = parse_rfc3339_micro("2020-01-01T00:00:00.000042Z").unwrap();
        assert_eq!(time.to_rfc3339_micro(), "2020-01-01T00:00:00.000042Z");
        assert_eq!(
            parse_rfc3339_micro("2020-01-01T00:00:00Z").unwrap_err(),
            "parsing time \"2020-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\""
        );
    }
}
