//! Points in time, read and written as Go does.
//!
//! A timestamp remembers the offset it was written with: `string()` gives it back. Comparisons
//! and the parts of a date (`getHours()`) do not look at it; the latter use UTC unless a zone is
//! named. Zones come from the database that is built in, so results do not depend on the host.

use crate::value::Duration;
use jiff::tz::TimeZone;
use pleach_go::strconv::atoi;
use pleach_go::time::{self, Layout, civil_from_days, days_from_civil};

/// A point in time between the years 1 and 9999.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    /// Seconds since 1970 in UTC.
    pub seconds: i64,
    /// Nanoseconds of the second.
    pub nanos: u32,
    /// The offset it was written with, in minutes east of Greenwich.
    pub offset_minutes: i16,
}

/// 0001-01-01T00:00:00Z
const MIN_SECONDS: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z
const MAX_SECONDS: i64 = 253_402_300_799;

/// The parts of a date and time in some zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// 1 to 9999, one more or less at the edges.
    pub year: i64,
    /// 1 to 12
    pub month: u8,
    /// 1 to 31
    pub day: u8,
    /// 1 to 366
    pub day_of_year: u16,
    /// 0 is Sunday.
    pub weekday: u8,
    /// 0 to 23
    pub hour: u8,
    /// 0 to 59
    pub minute: u8,
    /// 0 to 59
    pub second: u8,
}

impl Timestamp {
    /// The point in UTC; `None` outside of the years 1 to 9999.
    pub fn from_unix(seconds: i64, nanos: u32) -> Option<Self> {
        (MIN_SECONDS..=MAX_SECONDS).contains(&seconds).then_some(Self { seconds, nanos, offset_minutes: 0 })
    }

    /// Whether it lies between the years 1 and 9999.
    pub fn in_range(self) -> bool {
        (MIN_SECONDS..=MAX_SECONDS).contains(&self.seconds)
    }

    /// Reads RFC 3339 as Go does, of any year from 0.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::parse_layout(text, Layout::Rfc3339)
    }

    /// Reads `format: date`.
    pub fn parse_date(text: &str) -> Result<Self, String> {
        Self::parse_layout(text, Layout::Date)
    }

    /// Reads `format: date-time`: RFC 3339, or the same without an offset.
    pub fn parse_date_time(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self { seconds: 0, nanos: 0, offset_minutes: 0 });
        }
        Self::parse(text).or_else(|_| Self::parse_layout(text, Layout::Local))
    }

    fn parse_layout(text: &str, layout: Layout) -> Result<Self, String> {
        let (time, offset) = time::parse(text, layout)?;
        Ok(Self { seconds: time.seconds, nanos: time.nanos, offset_minutes: (offset / 60) as i16 })
    }

    /// RFC 3339 with as many digits as needed, in the offset it was written with.
    pub fn to_text(self) -> String {
        let time = time::Timestamp { seconds: self.seconds, nanos: self.nanos };
        time.to_rfc3339_nano(i64::from(self.offset_minutes) * 60)
    }

    /// The point `duration` later; `None` outside of the years 1 to 9999.
    pub fn checked_add(self, duration: Duration) -> Option<Self> {
        let total =
            i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos) + i128::from(duration.0);
        let seconds = i64::try_from(total.div_euclid(1_000_000_000)).ok()?;
        let nanos = total.rem_euclid(1_000_000_000) as u32;
        Some(Self { seconds, nanos, ..self }).filter(|t| t.in_range())
    }

    /// The span from `earlier` to here; `None` if it does not fit.
    pub fn since(self, earlier: Self) -> Option<Duration> {
        let seconds = i128::from(self.seconds) - i128::from(earlier.seconds);
        let nanos = seconds * 1_000_000_000 + i128::from(self.nanos) - i128::from(earlier.nanos);
        i64::try_from(nanos).ok().map(Duration)
    }

    /// Its parts in UTC.
    pub fn civil_utc(self) -> Civil {
        self.civil_at(0)
    }

    /// Its parts in a zone: a name of the IANA database or an offset `[+-]hh:mm`.
    pub fn civil_in(self, zone: &str) -> Result<Civil, String> {
        if let Some((hours, minutes)) = zone.split_once(':') {
            let hours = atoi(hours)?;
            let minutes = atoi(minutes)?;
            let sign = if zone.starts_with('-') { -1 } else { 1 };
            let offset = hours.wrapping_mul(60).wrapping_add(sign * minutes).wrapping_mul(60);
            return Ok(self.civil_at(offset));
        }
        if matches!(zone, "" | "UTC" | "Local") {
            return Ok(self.civil_utc());
        }
        if zone.contains("..") || zone.starts_with(['/', '\\']) {
            return Err("time: invalid location name".to_owned());
        }
        let unknown = || format!("unknown time zone {zone}");
        let found = TimeZone::get(zone).map_err(|_| unknown())?;
        if found.iana_name() != Some(zone) {
            return Err(unknown());
        }
        let instant = jiff::Timestamp::from_second(self.seconds).map_err(|_| unknown())?;
        Ok(self.civil_at(i64::from(found.to_offset(instant).seconds())))
    }

    fn civil_at(self, offset_seconds: i64) -> Civil {
        let local = self.seconds.wrapping_add(offset_seconds);
        let (days, second_of_day) = (local.div_euclid(86_400), local.rem_euclid(86_400));
        let (year, month, day) = civil_from_days(days);
        Civil {
            year,
            month: month as u8,
            day: day as u8,
            day_of_year: (days - days_from_civil(year, 1, 1) + 1) as u16,
            weekday: (days + 4).rem_euclid(7) as u8,
            hour: (second_of_day / 3_600) as u8,
            minute: (second_of_day / 60 % 60) as u8,
            second: (second_of_day % 60) as u8,
        }
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        (self.seconds, self.nanos) == (other.seconds, other.nanos)
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_as_go_reads_it() {
        for (why, text, want) in [
            ("UTC", "2020-02-29T01:02:03Z", Ok("2020-02-29T01:02:03Z")),
            (
                "digits beyond nanoseconds are dropped",
                "2020-02-20T23:00:00.1234567890123Z",
                Ok("2020-02-20T23:00:00.123456789Z"),
            ),
            ("a comma", "2020-02-20T23:00:00,5Z", Ok("2020-02-20T23:00:00.5Z")),
            ("the offset stays", "2020-01-01T00:00:00-07:30", Ok("2020-01-01T00:00:00-07:30")),
            ("24 hours are an offset", "2020-02-20T23:00:00+24:00", Ok("2020-02-20T23:00:00+24:00")),
            ("an hour of one digit", "2020-02-20T3:00:00Z", Ok("2020-02-20T03:00:00Z")),
            ("day", "2020-02-30T00:00:00Z", Err(r#"parsing time "2020-02-30T00:00:00Z": day out of range"#)),
            (
                "month",
                "2020-13-01T00:00:00Z",
                Err(r#"parsing time "2020-13-01T00:00:00Z": month out of range"#),
            ),
            (
                "no zone",
                "2020-01-01T00:00:00",
                Err(
                    r#"parsing time "2020-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#,
                ),
            ),
            (
                "more",
                "2020-01-01T00:00:00Zx",
                Err(r#"parsing time "2020-01-01T00:00:00Zx": extra text: "x""#),
            ),
        ] {
            let got = Timestamp::parse(text).map(Timestamp::to_text);
            assert_eq!(got.as_deref().map_err(String::as_str), want, "{why}");
        }
    }

    #[test]
    fn parts_in_zones() {
        let at = Timestamp::parse("2020-03-08T22:34:56Z").expect("valid");
        assert_eq!(at.civil_utc().weekday, 0, "a Sunday");
        assert_eq!(at.civil_utc().day_of_year, 68);
        for (zone, want) in [
            ("America/New_York", Ok(18)),
            ("Asia/Tokyo", Ok(7)),
            ("+02:30", Ok(1)),
            ("-02:30", Ok(20)),
            ("america/new_york", Err("unknown time zone america/new_york")),
            ("../etc", Err("time: invalid location name")),
            ("a:b", Err(r#"strconv.Atoi: parsing "a": invalid syntax"#)),
        ] {
            let got = at.civil_in(zone).map(|civil| civil.hour);
            assert_eq!(got.as_ref().map(|h| i64::from(*h)).map_err(String::as_str), want, "{zone}");
        }
    }

    #[test]
    fn days_and_dates_agree() {
        for days in (-719_162..2_932_896).step_by(97) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
    }
}
