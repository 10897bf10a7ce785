//! Scalar resolution: YAML 1.1 as in go-yaml.
//!
//! `yes`, `on` and `y` are true, `0777` is octal, `1_000` is a number, a date is text.

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::GeneralPurposeConfig;
use pleach_json::{Str, Value, format_float};

/// A scalar as go-yaml holds it, before it becomes JSON.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer beyond int64.
    Uint(u64),
    Float(f64),
    Text(Str),
    /// The merge key `<<`.
    Merge,
}

/// Resolves a scalar with its short tag; the error is the message.
pub(super) fn resolve(tag: Option<&str>, text: &str, plain: bool) -> Result<Scalar, String> {
    match tag {
        None if plain => Ok(untagged(text).0),
        Some("!!binary") => binary(text),
        Some(tag @ ("!!int" | "!!float" | "!!bool" | "!!null" | "!!timestamp" | "!!merge")) => {
            tagged(tag, text)
        }
        // Quoted scalars and all other tags are strings.
        _ => Ok(Scalar::Text(text.into())),
    }
}

fn tagged(tag: &str, text: &str) -> Result<Scalar, String> {
    let (scalar, found) = untagged(text);
    match (tag, &scalar) {
        ("!!float", Scalar::Int(int)) => Ok(Scalar::Float(*int as f64)),
        ("!!float", Scalar::Uint(int)) => Ok(Scalar::Float(*int as f64)),
        _ if found == tag => Ok(scalar),
        _ => Err(format!("cannot decode {found} `{text}` as a {tag}")),
    }
}

/// Decodes base64 as Go does: with padding, ignoring stray bits.
fn binary(text: &str) -> Result<Scalar, String> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    let bytes = LENIENT
        .decode(text.replace(['\n', '\r'], ""))
        .map_err(|_| "!!binary value contains invalid base64 data".to_owned())?;
    let mut repaired = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        repaired.push_str(chunk.valid());
        repaired.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(Scalar::Text(repaired.into()))
}

/// Whether an unquoted text resolves to the same string.
pub(crate) fn reads_as_text(text: &str) -> bool {
    matches!(untagged(text).1, "!!str" | "!!merge")
}

/// Resolves a plain scalar without a tag; also returns its implicit tag.
fn untagged(text: &str) -> (Scalar, &'static str) {
    let Some(&first) = text.as_bytes().first() else { return (Scalar::Null, "!!null") };
    if let Some(word) = word(first, text) {
        return word;
    }
    match first {
        b'.' => {
            if let Some(float) = float(text) {
                return (Scalar::Float(float), "!!float");
            }
        }
        b'+' | b'-' | b'0'..=b'9' => {
            if is_timestamp(text) {
                return (Scalar::Text(text.into()), "!!timestamp");
            }
            if let Some(number) = number(text) {
                return number;
            }
        }
        _ => {}
    }
    (Scalar::Text(text.into()), "!!str")
}

fn word(first: u8, text: &str) -> Option<(Scalar, &'static str)> {
    if !matches!(
        first,
        b'y' | b'Y'
            | b'n'
            | b'N'
            | b't'
            | b'T'
            | b'f'
            | b'F'
            | b'o'
            | b'O'
            | b'~'
            | b'.'
            | b'<'
            | b'+'
            | b'-'
    ) || text.len() > 5
    {
        return None;
    }
    Some(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            (Scalar::Bool(true), "!!bool")
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            (Scalar::Bool(false), "!!bool")
        }
        "~" | "null" | "Null" | "NULL" => (Scalar::Null, "!!null"),
        ".nan" | ".NaN" | ".NAN" => (Scalar::Float(f64::NAN), "!!float"),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => (Scalar::Float(f64::INFINITY), "!!float"),
        "-.inf" | "-.Inf" | "-.INF" => (Scalar::Float(f64::NEG_INFINITY), "!!float"),
        "<<" => (Scalar::Merge, "!!merge"),
        _ => return None,
    })
}

/// A number, underscores left out.
fn number(text: &str) -> Option<(Scalar, &'static str)> {
    let without;
    let digits = if text.contains('_') {
        without = text.replace('_', "");
        without.as_str()
    } else {
        text
    };
    if let Some(int) = integer(digits) {
        return Some((int, "!!int"));
    }
    if is_float(digits) {
        return float(digits).map(|float| (Scalar::Float(float), "!!float"));
    }
    None
}

/// An integer with Go's prefixes; a leading zero means octal.
fn integer(text: &str) -> Option<Scalar> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &unsigned[2..]),
        [b'0', b'o' | b'O', ..] => (8, &unsigned[2..]),
        [b'0', b'b' | b'B', ..] => (2, &unsigned[2..]),
        [b'0', _, ..] => (8, &unsigned[1..]),
        _ => (10, unsigned),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        return 0i64.checked_sub_unsigned(magnitude).map(Scalar::Int);
    }
    // Only a number without a sign may need the last bit.
    match i64::try_from(magnitude) {
        Ok(int) => Some(Scalar::Int(int)),
        Err(_) if text.starts_with('+') => None,
        Err(_) => Some(Scalar::Uint(magnitude)),
    }
}

/// Sign, digits with at most one point, exponent.
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(e) => (&text[..e], Some(&text[e + 1..])),
        None => (text, None),
    };
    let all_digits = |s: &str| s.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some((whole, fraction)) => {
            all_digits(whole) && all_digits(fraction) && !(whole.is_empty() && fraction.is_empty())
        }
        None => !mantissa.is_empty() && all_digits(mantissa),
    };
    mantissa_ok
        && exponent.is_none_or(|exponent| {
            let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !digits.is_empty() && all_digits(digits)
        })
}

fn float(text: &str) -> Option<f64> {
    text.parse().ok().filter(|float: &f64| float.is_finite())
}

/// Whether go-yaml resolves the text as a timestamp.
fn is_timestamp(text: &str) -> bool {
    let mut rest = text;
    let mut number = |digits: std::ops::RangeInclusive<usize>, after: &str| -> Option<u32> {
        let end = rest.bytes().take(*digits.end()).take_while(u8::is_ascii_digit).count();
        let tail = rest[end..].strip_prefix(after)?;
        let number = rest[..end].parse().ok().filter(|_| digits.contains(&end));
        rest = tail;
        number
    };
    let (Some(year), Some(month), Some(day)) = (number(4..=4, "-"), number(1..=2, "-"), number(1..=2, ""))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    if day == 0 || day > days {
        return false;
    }
    let Some(separator) = rest.chars().next() else { return true };
    rest = &rest[separator.len_utf8()..];
    if !matches!(separator, 'T' | 't' | ' ') {
        return false;
    }
    let mut number = |after: &str| -> Option<u32> {
        let end = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
        let number = rest[..end].parse().ok();
        rest = rest[end..].strip_prefix(after)?;
        number
    };
    let (Some(0..24), Some(0..60), Some(0..60)) = (number(":"), number(":"), number("")) else {
        return false;
    };
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return false;
        }
        rest = &fraction[digits..];
    }
    if separator == ' ' {
        return rest.is_empty();
    }
    match rest.as_bytes() {
        b"Z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|byte| byte.is_ascii_digit()),
        _ => false,
    }
}

impl Scalar {
    /// The value after conversion to JSON.
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(b) => Value::Bool(b),
            Self::Int(int) => Value::Int(int),
            Self::Uint(int) => Value::Float(int as f64),
            Self::Float(float) => float_value(float),
            Self::Text(text) => Value::String(text),
            Self::Merge => Value::from("<<"),
        }
    }
}

/// A float as it comes back from its JSON text, where `1.0` is written `1`.
pub(super) fn float_value(float: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if float.fract() != 0.0 || !float.is_finite() {
        return Value::Float(float);
    }
    if float.abs() < EXACT {
        return Value::Int(float as i64);
    }
    format_float(float).parse().map_or(Value::Float(float), Value::Int)
}
