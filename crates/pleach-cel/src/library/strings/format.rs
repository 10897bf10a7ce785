//! `format`: values into a text with `%s` and the like.
//!
//! Odd: `%f` and `%e` format numbers in the locale `en_US`, with commas between thousands and
//! superscript exponents; doubles in lists and maps are plain.

use crate::function::Call;
use crate::value::{CelValue, Fault, List, Map, double_text, quote};
use crate::work::Work;
use pleach_json::grow_stack;
use std::fmt::Write;

/// A clause of a format string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clause {
    String,
    Decimal,
    Fixed(usize),
    Scientific,
    Binary,
    Hex { upper: bool },
    Octal,
}

const DEFAULT_PRECISION: usize = 6;

pub(super) fn format<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Result<CelValue<'v>, Fault> {
    let [CelValue::String(pattern), CelValue::List(values)] = args else {
        return call.no_such_overload(args);
    };
    format_text(call.work, pattern.as_str(), values).map(CelValue::string)
}

fn format_text(work: &Work<'_>, pattern: &str, values: &List<'_>) -> Result<String, Fault> {
    work.build(pattern.len())?;
    let mut out = Text { text: String::with_capacity(pattern.len()), work };
    let mut rest = pattern;
    let mut next = 0usize;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        if rest.is_empty() {
            return Err(Fault::fixed("unexpected end of string"));
        }
        let Some(value) = values.get(next) else {
            return Err(Fault::error(format!("index {next} out of range")));
        };
        next += 1;
        let (clause, after) = parse_clause(rest)
            .map_err(|reason| Fault::error(format!("could not parse formatting clause: {reason}")))?;
        rest = after;
        let value = work.read(value)?;
        work.charge(1)?;
        write_clause(&mut out, clause, &value).map_err(|reason| {
            work.ended().unwrap_or_else(|| Fault::error(format!("error during formatting: {reason}")))
        })?;
        work.look()?;
    }
    out.text.push_str(rest);
    Ok(out.text)
}

/// A buffer within the bounds of an evaluation: at the bound it stops growing, and the evaluation ends.
struct Text<'w> {
    text: String,
    work: &'w Work<'w>,
}

impl Text<'_> {
    fn push_str(&mut self, part: &str) {
        // The next check of the work finds the error.
        if self.work.build(part.len()).is_ok() {
            self.text.push_str(part);
        }
    }

    fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }

    /// A quoted text, which may be several times as long.
    fn push_quoted(&mut self, part: &str) {
        if self.work.read_bytes(part.len()).and_then(|()| self.work.build(4 * part.len())).is_ok() {
            self.text.push_str(&quote(part));
        }
    }
}

impl Write for Text<'_> {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        self.push_str(part);
        Ok(())
    }
}

/// The clause after a `%`, and what follows it.
fn parse_clause(text: &str) -> Result<(Clause, &str), String> {
    let precision_error = |reason: String| format!("error while parsing precision: {reason}");
    let (precision, rest) = match text.strip_prefix('.') {
        None => (DEFAULT_PRECISION, text),
        Some(after) => {
            let end = after
                .find(|c: char| !c.is_ascii_digit())
                .ok_or_else(|| precision_error("could not find end of precision specifier".to_owned()))?;
            let digits = &after[..end];
            let precision = pleach_go::strconv::atoi(digits).map_err(|error| {
                precision_error(format!("error while converting precision to integer: {error}"))
            })?;
            (precision as usize, &after[end..])
        }
    };
    let letter = rest.chars().next().ok_or("unexpected end of string")?;
    let clause = match letter {
        's' => Clause::String,
        'd' => Clause::Decimal,
        'f' => Clause::Fixed(precision),
        'e' => Clause::Scientific,
        'b' => Clause::Binary,
        'x' => Clause::Hex { upper: false },
        'X' => Clause::Hex { upper: true },
        'o' => Clause::Octal,
        other => return Err(format!("unrecognized formatting clause \"{other}\"")),
    };
    Ok((clause, &rest[letter.len_utf8()..]))
}

fn write_clause(out: &mut Text<'_>, clause: Clause, value: &CelValue<'_>) -> Result<(), String> {
    let given = value.type_name();
    match (clause, value) {
        (Clause::String, value) => return write_string(out, value),
        (Clause::Decimal, CelValue::Int(i)) => _ = write!(out, "{i}"),
        (Clause::Decimal, CelValue::Uint(u)) => _ = write!(out, "{u}"),
        (Clause::Decimal, _) => {
            return Err(format!("decimal clause can only be used on integers, was given {given}"));
        }
        (Clause::Fixed(precision), value) => match number(value) {
            Some(number) => out.push_str(&fixed(number, precision)),
            None => return Err(format!("fixed-point clause can only be used on doubles, was given {given}")),
        },
        (Clause::Scientific, value) => match number(value) {
            Some(number) => out.push_str(&scientific(number)),
            None => return Err(format!("scientific clause can only be used on doubles, was given {given}")),
        },
        (Clause::Binary, CelValue::Bool(b)) => out.push(if *b { '1' } else { '0' }),
        (Clause::Binary, value) => match integer(value) {
            Some((sign, digits)) => _ = write!(out, "{sign}{digits:b}"),
            None => {
                return Err(format!("only integers and bools can be formatted as binary, was given {given}"));
            }
        },
        (Clause::Octal, value) => match integer(value) {
            Some((sign, digits)) => _ = write!(out, "{sign}{digits:o}"),
            None => return Err(format!("octal clause can only be used on integers, was given {given}")),
        },
        (Clause::Hex { upper }, CelValue::String(text)) => hex(out, text.as_str().as_bytes(), upper),
        (Clause::Hex { upper }, CelValue::Bytes(bytes)) => hex(out, bytes, upper),
        (Clause::Hex { upper }, value) => match integer(value) {
            Some((sign, digits)) if upper => _ = write!(out, "{sign}{digits:X}"),
            Some((sign, digits)) => _ = write!(out, "{sign}{digits:x}"),
            None => {
                return Err(format!(
                    "only integers, byte buffers, and strings can be formatted as hex, was given {given}"
                ));
            }
        },
    }
    Ok(())
}

/// The sign and the digits' value of an integer.
fn integer(value: &CelValue<'_>) -> Option<(&'static str, u64)> {
    match value {
        CelValue::Int(i) => Some((if *i < 0 { "-" } else { "" }, i.unsigned_abs())),
        CelValue::Uint(u) => Some(("", *u)),
        _ => None,
    }
}

/// A double; the three that have no literal may be given as strings.
fn number(value: &CelValue<'_>) -> Option<f64> {
    match value {
        CelValue::Double(d) => Some(*d),
        CelValue::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn hex(out: &mut Text<'_>, bytes: &[u8], upper: bool) {
    if out.work.charge(bytes.len() as u64 / 4).and_then(|()| out.work.build(2 * bytes.len())).is_err() {
        return;
    }
    for b in bytes {
        _ = if upper { write!(out.text, "{b:02X}") } else { write!(out.text, "{b:02x}") };
    }
}

fn not_finite(number: f64) -> Option<&'static str> {
    match number {
        n if n.is_nan() => Some("NaN"),
        f64::INFINITY => Some("∞"),
        f64::NEG_INFINITY => Some("-∞"),
        _ => None,
    }
}

fn fixed(number: f64, precision: usize) -> String {
    // Odd: precisions wrap at 256, and are refused in its own words beyond a million.
    if precision > 1_000_000 {
        return "%!(NOVERB)".to_owned();
    }
    if let Some(text) = not_finite(number) {
        return text.to_owned();
    }
    let plain = format!("{number:.*}", precision % 256);
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

fn scientific(number: f64) -> String {
    if let Some(text) = not_finite(number) {
        return format!("{text:>6}");
    }
    let plain = format!("{number:.DEFAULT_PRECISION$e}");
    let (digits, exponent) = plain.split_once('e').expect("Rust's {:e} always has an exponent");
    let exponent: i32 = exponent.parse().expect("Rust's {:e} exponent is an integer");
    let mut out = format!("{digits}×10{}", if exponent < 0 { "⁻" } else { "" });
    for digit in format!("{:02}", exponent.unsigned_abs()).chars() {
        let superscripts = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
        out.push(superscripts[digit.to_digit(10).expect("a digit") as usize]);
    }
    out
}

fn write_string(out: &mut Text<'_>, value: &CelValue<'_>) -> Result<(), String> {
    match value {
        CelValue::String(text) => out.push_str(text.as_str()),
        CelValue::Bytes(bytes) => {
            if out.work.build(2 * bytes.len()).is_ok() {
                out.text.push_str(&String::from_utf8_lossy(bytes));
            }
        }
        CelValue::Double(d) => out.push_str(&double_text(*d)),
        CelValue::Duration(d) => out.push_str(&d.to_seconds_text()),
        CelValue::Timestamp(t) => out.push_str(&t.to_text()),
        other => return write_nested(out, other),
    }
    Ok(())
}

/// A value inside a list or map, as a literal.
fn write_nested(out: &mut Text<'_>, value: &CelValue<'_>) -> Result<(), String> {
    out.work.charge(1).map_err(|fault| fault.to_string())?;
    match value {
        CelValue::Null => out.push_str("null"),
        CelValue::Bool(b) => _ = write!(out, "{b}"),
        CelValue::Int(i) => _ = write!(out, "{i}"),
        CelValue::Uint(u) => _ = write!(out, "{u}"),
        CelValue::Double(d) if d.is_finite() => _ = write!(out, "{d:.6}"),
        CelValue::Double(d) => out.push_str(&quote(&double_text(*d))),
        CelValue::String(text) => out.push_quoted(text.as_str()),
        CelValue::Bytes(bytes) => {
            out.push('b');
            out.push_quoted(&String::from_utf8_lossy(bytes));
        }
        CelValue::Duration(d) => _ = write!(out, "duration(\"{}\")", d.to_seconds_text()),
        CelValue::Timestamp(t) => _ = write!(out, "timestamp(\"{}\")", t.to_text()),
        CelValue::Type(name) => out.push_str(name),
        CelValue::List(list) => return grow_stack(|| write_list(out, list)),
        CelValue::Map(map) => return grow_stack(|| write_map(out, map)),
        other => {
            return Err(format!(
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                 durations, and timestamps, was given {}",
                other.type_name()
            ));
        }
    }
    Ok(())
}

fn write_list(out: &mut Text<'_>, list: &List<'_>) -> Result<(), String> {
    out.push('[');
    let work = out.work;
    for (i, item) in work.items(list).enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_nested(out, &item.map_err(|fault| fault.to_string())?)?;
    }
    out.push(']');
    Ok(())
}

/// Entries are sorted by the text of their keys.
fn write_map(out: &mut Text<'_>, map: &Map<'_>) -> Result<(), String> {
    let work = out.work;
    let fail = |fault: Fault| fault.to_string();
    map.charge_walk(work).and_then(|()| work.build_entries(map.len())).map_err(fail)?;
    let mut entries = Vec::with_capacity(map.len());
    for (key, value) in map {
        let text = || Text { text: String::new(), work };
        let (mut key_text, mut value_text) = (text(), text());
        if !matches!(key, CelValue::Bool(_) | CelValue::Int(_) | CelValue::Uint(_) | CelValue::String(_)) {
            return Err(format!("no formatting function for map key of type {}", key.type_name()));
        }
        write_nested(&mut key_text, &key)?;
        write_nested(&mut value_text, &work.read(value).map_err(fail)?)?;
        entries.push((key_text.text, value_text.text));
    }
    entries.sort();
    out.push('{');
    for (i, (key, value)) in entries.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(key);
        out.push(':');
        out.push_str(value);
    }
    out.push('}');
    Ok(())
}
