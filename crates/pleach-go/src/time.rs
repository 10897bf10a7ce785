//! Go's `time`: RFC 3339 timestamps (`metav1.Time`, `metav1.MicroTime`) and durations, parsed with
//! Go's leniency and Go's error messages. No clock.

mod duration;
mod parse;

use std::fmt::{self, Write as _};

pub use duration::{format_duration, parse_duration, parse_std_duration};
pub use parse::{Layout, parse, parse_rfc3339, parse_rfc3339_micro};

/// A moment: seconds and nanoseconds since 1970, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Whole seconds since 1970-01-01T00:00:00Z; negative before.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
}

/// `0001-01-01T00:00:00Z`, which Go takes for "no time".
const GO_ZERO_SECONDS: i64 = -62_135_596_800;
const SECONDS_PER_DAY: i64 = 86_400;

impl Timestamp {
    /// A whole second.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self { seconds, nanos: 0 }
    }

    /// Whether Go takes it for "no time".
    pub const fn is_zero(self) -> bool {
        self.seconds == GO_ZERO_SECONDS && self.nanos == 0
    }

    /// As `metav1.Time` is written: whole seconds, `2020-01-02T03:04:05Z`.
    pub fn to_rfc3339(self) -> String {
        format!("{}Z", self.civil())
    }

    /// As `metav1.MicroTime` is written: `2020-01-02T03:04:05.000006Z`.
    pub fn to_rfc3339_micro(self) -> String {
        format!("{}.{:06}Z", self.civil(), self.nanos / 1000)
    }

    /// As `time.RFC3339Nano` writes it at an offset in seconds east of Greenwich: as many digits as needed.
    pub fn to_rfc3339_nano(self, offset: i64) -> String {
        let mut out = Self::from_seconds(self.seconds.saturating_add(offset)).civil().to_string();
        if self.nanos > 0 {
            let digits = format!("{:09}", self.nanos);
            out.push('.');
            out.push_str(digits.trim_end_matches('0'));
        }
        let minutes = (offset / 60).unsigned_abs();
        if minutes == 0 {
            out.push('Z');
        } else {
            let sign = if offset < 0 { '-' } else { '+' };
            _ = write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
        }
        out
    }

    fn civil(self) -> Civil {
        let days = self.seconds.div_euclid(SECONDS_PER_DAY);
        let second_of_day = self.seconds.rem_euclid(SECONDS_PER_DAY);
        let (year, month, day) = civil_from_days(days);
        Civil { year, month, day, second_of_day }
    }
}

struct Civil {
    year: i64,
    month: i64,
    day: i64,
    second_of_day: i64,
}

impl fmt::Display for Civil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.second_of_day;
        let sign = if self.year < 0 { "-" } else { "" };
        write!(
            f,
            "{sign}{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            self.year.abs(),
            self.month,
            self.day,
            s / 3600,
            s / 60 % 60,
            s % 60
        )
    }
}

/// Days since 1970 of a date in the Gregorian calendar, extended to all years. The year is taken
/// to start in March, so that the leap day is its last.
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The year, month and day of so many days after 1970-01-01: the inverse of [`days_from_civil`].
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Whether `text` is exactly how [`Timestamp::to_rfc3339`] writes a time of the years 2 to 9999;
/// such a text need not be rewritten.
pub fn is_normal_rfc3339(text: &str) -> bool {
    const SHAPE: &[u8; 20] = b"0000-00-00T00:00:00Z";
    let bytes = text.as_bytes();
    bytes.len() == SHAPE.len()
        && bytes.iter().zip(SHAPE).all(|(b, s)| if *s == b'0' { b.is_ascii_digit() } else { b == s })
        && &bytes[..4] > b"0001"
        && parse_rfc3339(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        for (seconds, want) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_582_934_399, "2020-02-28T23:59:59Z"),
            (1_582_934_400, "2020-02-29T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (GO_ZERO_SECONDS, "0001-01-01T00:00:00Z"),
            (GO_ZERO_SECONDS - 366 * SECONDS_PER_DAY - 1, "-0001-12-31T23:59:59Z"),
            (253_402_300_800, "10000-01-01T00:00:00Z"),
        ] {
            assert_eq!(Timestamp::from_seconds(seconds).to_rfc3339(), want);
        }
        let micro = Timestamp { seconds: 1, nanos: 2_345_678 };
        assert_eq!(micro.to_rfc3339_micro(), "1970-01-01T00:00:01.002345Z");
    }

    #[test]
    fn only_what_needs_no_rewriting_is_normal() {
        for (text, want) in [
            ("2020-02-29T00:00:00Z", true),
            ("2019-02-29T00:00:00Z", false),
            ("2020-02-29T00:00:00.5Z", false),
            ("2020-02-29T0:00:00Z", false),
            ("0001-01-01T00:00:00Z", false),
        ] {
            assert_eq!(is_normal_rfc3339(text), want, "{text}");
        }
    }
}
