//! `date`, `datetime` and `duration`.

use pleach_go::time::parse_duration;

use super::Format;

fn two(digits: &[u8]) -> Option<u32> {
    match digits {
        [a @ b'0'..=b'9', b @ b'0'..=b'9'] => Some(u32::from(a - b'0') * 10 + u32::from(b - b'0')),
        _ => None,
    }
}

/// `2006-01-02`, a day that exists.
fn is_date(text: &[u8]) -> bool {
    if text.len() != 10 || text[4] != b'-' || text[7] != b'-' {
        return false;
    }
    let (Some(century), Some(year), Some(month), Some(day)) =
        (two(&text[..2]), two(&text[2..4]), two(&text[5..7]), two(&text[8..]))
    else {
        return false;
    };
    let year = century * 100 + year;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// A day.
pub(super) struct Date;

impl Format for Date {
    fn name(&self) -> &'static str {
        "date"
    }
    fn doc(&self) -> &'static str {
        "a day as `2006-01-02`"
    }
    fn accepts(&self, text: &str) -> bool {
        is_date(text.as_bytes())
    }
}

/// A day and a time of day.
pub(super) struct DateTime;

/// `15:04:05`, perhaps one character and digits, then `z` or an offset.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 9 || bytes[2] != b':' || bytes[5] != b':' {
        return false;
    }
    let (Some(hour), Some(minute), Some(second)) = (two(&bytes[..2]), two(&bytes[3..5]), two(&bytes[6..8]))
    else {
        return false;
    };
    if hour > 23 || minute > 59 || second > 59 {
        return false;
    }
    let rest = &text[8..];
    let fraction = if let Some(fraction) = rest.strip_suffix('z') {
        fraction
    } else {
        let Some(cut) = rest.len().checked_sub(6).filter(|&cut| rest.is_char_boundary(cut)) else {
            return false;
        };
        let offset = &rest.as_bytes()[cut..];
        if !matches!(offset[0], b'+' | b'-')
            || two(&offset[1..3]).is_none()
            || offset[3] != b':'
            || two(&offset[4..]).is_none()
        {
            return false;
        }
        &rest[..cut]
    };
    // The separator of the fraction is any character but a line feed: upstream's dot is not escaped.
    let mut chars = fraction.chars();
    match chars.next() {
        None => true,
        Some('\n') => false,
        Some(_) => !chars.as_str().is_empty() && chars.all(|c| c.is_ascii_digit()),
    }
}

impl Format for DateTime {
    fn name(&self) -> &'static str {
        "datetime"
    }
    fn doc(&self) -> &'static str {
        "a day and a time as in RFC 3339, without leap seconds"
    }
    fn accepts(&self, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        let mut parts = lower.split('t');
        // Whatever follows a second `t` is not looked at.
        parts.next().is_some_and(|day| is_date(day.as_bytes())) && parts.next().is_some_and(is_time)
    }
}

/// A length of time.
pub(super) struct Duration;

/// The words for units; the last of each row may have any ending.
const UNITS: &[&[&str]] = &[
    &["ns", "nano"],
    &["us", "\u{b5}s", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

fn is_unit(word: &str) -> bool {
    let word = word.to_lowercase();
    UNITS.iter().any(|row| {
        row.iter()
            .enumerate()
            .any(|(i, unit)| word == **unit || (i + 1 == row.len() && word.starts_with(unit)))
    })
}

/// At least one number with a unit, anywhere in the text; a number too large for 64 bits spoils it.
fn has_spoken_duration(text: &str) -> bool {
    let space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\x0c' | '\r');
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[start..];
        let after = number.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &number[..number.len() - after.len()];
        let word_start = after.trim_start_matches(space);
        let end =
            word_start.find(|c: char| !c.is_ascii_alphabetic() && c != '\u{b5}').unwrap_or(word_start.len());
        if end == 0 {
            rest = after;
            continue;
        }
        if digits.parse::<i64>().is_err() {
            return false;
        }
        found |= is_unit(&word_start[..end]);
        rest = &word_start[end..];
    }
    found
}

impl Format for Duration {
    fn name(&self) -> &'static str {
        "duration"
    }
    fn doc(&self) -> &'static str {
        "a duration as Go writes it (`1h30m`), or numbers with units in words (`3 days`)"
    }
    fn accepts(&self, text: &str) -> bool {
        parse_duration(text).is_ok() || has_spoken_duration(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn dates() {
        check(
            &Date,
            &[
                "+2024-02-29",
                "+1970-01-01",
                "+0000-02-29",
                "-2023-02-29",
                "-2024-13-01",
                "-24-01-01",
                "-2024-1-1",
                "-2024-01-01T00:00:00Z",
                "-",
                "-2024-01-00",
                "-2024-04-31",
                "-1900-02-29",
            ],
        );
        check(
            &DateTime,
            &[
                "+2024-01-02T03:04:05Z",
                "+2024-01-02T03:04:05.123456789+02:00",
                "+2024-01-02t03:04:05z",
                "+2024-01-02T03:04:05,5Z",
                "+2024-01-02T03:04:05ü5z",
                "+2024-01-02T03:04:05Ztail",
                "-2024-01-02T03:04:05.Z",
                "-2024-01-02",
                "-2024-01-02 03:04:05Z",
                "-2024-01-02T03:04:05",
                "-2024-01-02T25:04:05Z",
                "-2024-01-02T23:59:60Z",
                "-2024-01-02T03:04:05ü",
                "-nope",
                "-",
            ],
        );
    }

    #[test]
    fn durations() {
        check(
            &Duration,
            &[
                "+1h",
                "+1.5h",
                "+100ms",
                "+2h45m",
                "+22 ns",
                "+3 days",
                "+1w",
                "+0",
                "-0 ",
                "+-1h",
                "+P1D",
                "-1",
                "-x",
                "-",
                "-1 fortnight",
                "+1.h",
                "-h",
                "+1 Week",
                "-99999999999999999999 s",
                "+1\u{b5}s",
                "+-0",
                "-+",
            ],
        );
    }
}
