//! The grammar of quantities: sign, digits, suffix.

use super::Format;

pub(super) const FORMAT_WRONG: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
pub(super) const SUFFIX_WRONG: &str = "unable to parse quantity's suffix";

pub(super) const DECIMAL: [(&str, u32); 10] =
    [("E", 18), ("P", 15), ("T", 12), ("G", 9), ("M", 6), ("k", 3), ("", 0), ("m", 3), ("u", 6), ("n", 9)];
pub(super) const BINARY: [(&str, u32); 6] =
    [("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];

/// The parts of a quantity's text.
pub(super) struct Parts<'t> {
    pub(super) negative: bool,
    /// Digits before the point without leading zeros, at least one.
    pub(super) integer: &'t str,
    /// Digits behind the point.
    pub(super) fraction: &'t str,
    pub(super) suffix: &'t str,
}

pub(super) fn split(text: &str) -> Result<Parts<'_>, &'static str> {
    if text.is_empty() {
        return Err(FORMAT_WRONG);
    }
    let (negative, rest) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let rest = rest.trim_start_matches('0');
    if rest.is_empty() {
        return Ok(Parts { negative, integer: "0", fraction: "", suffix: "" });
    }
    let (integer, mut rest) = rest.split_at(digits(rest));
    let mut fraction = "";
    if let Some(after) = rest.strip_prefix('.') {
        (fraction, rest) = after.split_at(digits(after));
    }
    let suffix = rest;
    let tail = rest.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let tail = tail.strip_prefix(['-', '+']).unwrap_or(tail);
    if digits(tail) < tail.len() {
        return Err(FORMAT_WRONG);
    }
    Ok(Parts { negative, integer: if integer.is_empty() { "0" } else { integer }, fraction, suffix })
}

/// The factor of a suffix: a power of ten or of two.
pub(super) enum Scale {
    Ten(i64),
    Two(u32),
}

pub(super) fn scale(suffix: &str) -> Option<(Scale, Format)> {
    if let Some((_, bits)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((Scale::Two(*bits), Format::BinarySi));
    }
    if let Some(at) = DECIMAL.iter().position(|(name, _)| *name == suffix) {
        let power = i64::from(DECIMAL[at].1);
        return Some((Scale::Ten(if at > 6 { -power } else { power }), Format::DecimalSi));
    }
    let power: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    // Odd: only the low 32 bits of an exponent count.
    Some((Scale::Ten(i64::from(power as i32)), Format::DecimalExponent))
}
