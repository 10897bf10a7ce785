//! Type conversion functions.

use crate::function::{Call, Function, Library, Overload, StaticCost};
use crate::types::T;
use crate::value::{CelValue, Duration, Fault, Timestamp, double_text};
use pleach_json::Str;

/// Functions named after types, which convert to them.
pub(super) static LIBRARY: Library = Library { name: "conversions", functions: FUNCTIONS };

static FUNCTIONS: &[Function] = &[
    Function {
        name: "bool",
        call: Some(to_bool),
        overloads: &[
            Overload::new("bool_to_bool", &[T::Bool], T::Bool),
            Overload::new("string_to_bool", &[T::String], T::Bool),
        ],
    },
    Function {
        name: "bytes",
        call: Some(to_bytes),
        overloads: &[
            Overload::new("bytes_to_bytes", &[T::Bytes], T::Bytes),
            Overload::new("string_to_bytes", &[T::String], T::Bytes).cost(StaticCost::Traverse),
        ],
    },
    Function {
        name: "double",
        call: Some(to_double),
        overloads: &[
            Overload::new("double_to_double", &[T::Double], T::Double),
            Overload::new("int64_to_double", &[T::Int], T::Double),
            Overload::new("string_to_double", &[T::String], T::Double),
            Overload::new("uint64_to_double", &[T::Uint], T::Double),
        ],
    },
    Function {
        name: "duration",
        call: Some(to_duration),
        overloads: &[
            Overload::new("duration_to_duration", &[T::Duration], T::Duration),
            Overload::new("int64_to_duration", &[T::Int], T::Duration),
            Overload::new("string_to_duration", &[T::String], T::Duration),
        ],
    },
    Function {
        name: "dyn",
        call: Some(to_dyn),
        overloads: &[Overload::new("to_dyn", &[T::Param("A")], T::Dyn).cost(StaticCost::Same)],
    },
    Function {
        name: "int",
        call: Some(to_int),
        overloads: &[
            Overload::new("int64_to_int64", &[T::Int], T::Int),
            Overload::new("double_to_int64", &[T::Double], T::Int),
            Overload::new("duration_to_int64", &[T::Duration], T::Int),
            Overload::new("string_to_int64", &[T::String], T::Int),
            Overload::new("timestamp_to_int64", &[T::Timestamp], T::Int),
            Overload::new("uint64_to_int64", &[T::Uint], T::Int),
        ],
    },
    Function {
        name: "string",
        call: Some(to_string),
        overloads: &[
            Overload::new("string_to_string", &[T::String], T::String),
            Overload::new("bool_to_string", &[T::Bool], T::String),
            Overload::new("bytes_to_string", &[T::Bytes], T::String).cost(StaticCost::Traverse),
            Overload::new("double_to_string", &[T::Double], T::String),
            Overload::new("duration_to_string", &[T::Duration], T::String),
            Overload::new("int64_to_string", &[T::Int], T::String),
            Overload::new("timestamp_to_string", &[T::Timestamp], T::String),
            Overload::new("uint64_to_string", &[T::Uint], T::String),
        ],
    },
    Function {
        name: "timestamp",
        call: Some(to_timestamp),
        overloads: &[
            Overload::new("timestamp_to_timestamp", &[T::Timestamp], T::Timestamp),
            Overload::new("int64_to_timestamp", &[T::Int], T::Timestamp),
            Overload::new("string_to_timestamp", &[T::String], T::Timestamp),
        ],
    },
    Function {
        name: "type",
        call: Some(type_of),
        overloads: &[Overload::new("type", &[T::Param("A")], T::Type(&T::Param("A")))],
    },
    Function {
        name: "uint",
        call: Some(to_uint),
        overloads: &[
            Overload::new("uint64_to_uint64", &[T::Uint], T::Uint),
            Overload::new("double_to_uint64", &[T::Double], T::Uint),
            Overload::new("int64_to_uint64", &[T::Int], T::Uint),
            Overload::new("string_to_uint64", &[T::String], T::Uint),
        ],
    },
];

type Outcome<'v> = Result<CelValue<'v>, Fault>;

const INT_OVERFLOW: Fault = Fault::fixed("integer overflow");
const UINT_OVERFLOW: Fault = Fault::fixed("unsigned integer overflow");

fn unreadable<'v>(to: &str) -> Outcome<'v> {
    Err(Fault::error(format!("type conversion error from 'string' to '{to}'")))
}

fn to_bool<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Bool(b)] => Ok(CelValue::Bool(*b)),
        [CelValue::String(text)] => match pleach_go::strconv::parse_bool(text.as_str()) {
            Some(value) => Ok(CelValue::Bool(value)),
            None => unreadable("bool"),
        },
        _ => call.no_such_overload(args),
    }
}

fn to_bytes<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Bytes(bytes)] => Ok(CelValue::Bytes(bytes.clone())),
        [CelValue::String(text)] => {
            call.work.build(text.as_str().len())?;
            Ok(CelValue::Bytes(text.as_str().as_bytes().into()))
        }
        _ => call.no_such_overload(args),
    }
}

fn to_double<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Double(d)] => Ok(CelValue::Double(*d)),
        [CelValue::Int(i)] => Ok(CelValue::Double(*i as f64)),
        [CelValue::Uint(u)] => Ok(CelValue::Double(*u as f64)),
        [CelValue::String(text)] => {
            call.work.read_bytes(text.as_str().len())?;
            match parse_double(text.as_str()) {
                Some(value) => Ok(CelValue::Double(value)),
                None => unreadable("double"),
            }
        }
        _ => call.no_such_overload(args),
    }
}

/// A decimal number with underscores between digits, `inf` or `nan` in any case; `None` if it is too
/// large.
fn parse_double(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let misplaced = |(at, b): (usize, &u8)| *b == b'_' && !(digit(at.checked_sub(1)) && digit(Some(at + 1)));
    if bytes.iter().enumerate().any(misplaced) {
        return None;
    }
    let (negative, unsigned) = match bytes.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if let Some(hex) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        return parse_hex(hex).map(|value| if negative { -value } else { value });
    }
    let value: f64 = text.replace('_', "").parse().ok()?;
    let named = text.trim_start_matches(['+', '-']).starts_with(['i', 'I']);
    (named || !value.is_infinite()).then_some(value)
}

/// `1.8p1`: hexadecimal digits and a power of two, which must be there.
fn parse_hex(text: &str) -> Option<f64> {
    let (digits, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut exponent: i64 = exponent.parse().ok()?;
    let mut mantissa = 0u64;
    for digit in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
        } else {
            exponent = exponent.saturating_add(4);
        }
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let exponent = exponent.saturating_sub(4 * fraction.len() as i64).clamp(-2_000, 2_000);
    let value = mantissa as f64 * 2f64.powi(exponent as i32);
    value.is_finite().then_some(value)
}

fn to_duration<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Duration(d)] => Ok(CelValue::Duration(*d)),
        [CelValue::Int(nanos)] => Ok(CelValue::Duration(Duration(*nanos))),
        [CelValue::String(text)] => match Duration::parse(text.as_str()) {
            Some(duration) => Ok(CelValue::Duration(duration)),
            None => unreadable("google.protobuf.Duration"),
        },
        _ => call.no_such_overload(args),
    }
}

fn to_dyn<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [value] => Ok(value.clone()),
        _ => call.no_such_overload(args),
    }
}

fn to_int<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Int(i)] => Ok(CelValue::Int(*i)),
        [CelValue::Uint(u)] => i64::try_from(*u).map(CelValue::Int).map_err(|_| INT_OVERFLOW),
        // The bounds are excluded: as floats they may stand for larger integers.
        [CelValue::Double(d)] if *d > -9_223_372_036_854_775_808.0 && *d < 9_223_372_036_854_775_808.0 => {
            Ok(CelValue::Int(*d as i64))
        }
        [CelValue::Double(_)] => Err(INT_OVERFLOW),
        [CelValue::Duration(d)] => Ok(CelValue::Int(d.0)),
        [CelValue::Timestamp(t)] => Ok(CelValue::Int(t.seconds)),
        [CelValue::String(text)] => match text.as_str().parse() {
            Ok(value) => Ok(CelValue::Int(value)),
            Err(_) => unreadable("int"),
        },
        _ => call.no_such_overload(args),
    }
}

fn to_uint<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [CelValue::Uint(u)] => Ok(CelValue::Uint(*u)),
        [CelValue::Int(i)] => u64::try_from(*i).map(CelValue::Uint).map_err(|_| UINT_OVERFLOW),
        [CelValue::Double(d)] if *d >= 0.0 && *d < 18_446_744_073_709_551_616.0 => {
            Ok(CelValue::Uint(*d as u64))
        }
        [CelValue::Double(_)] => Err(UINT_OVERFLOW),
        // Unlike for integers, Go takes no sign here.
        [CelValue::String(text)] => match text.as_str().parse() {
            Ok(value) if !text.as_str().starts_with('+') => Ok(CelValue::Uint(value)),
            _ => unreadable("uint"),
        },
        _ => call.no_such_overload(args),
    }
}

fn to_string<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    Ok(match args {
        [CelValue::String(text)] => CelValue::String(text.clone()),
        [CelValue::Bool(b)] => CelValue::string(if *b { "true" } else { "false" }),
        [CelValue::Int(i)] => CelValue::string(i.to_string()),
        [CelValue::Uint(u)] => CelValue::string(u.to_string()),
        [CelValue::Double(d)] => CelValue::string(double_text(*d)),
        [CelValue::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => {
                call.work.build(text.len())?;
                CelValue::string(text)
            }
            Err(_) => return Err(Fault::fixed("invalid UTF-8 in bytes, cannot convert to string")),
        },
        [CelValue::Timestamp(t)] => CelValue::string(t.to_text()),
        [CelValue::Duration(d)] => CelValue::string(d.to_seconds_text()),
        _ => return call.no_such_overload(args),
    })
}

fn to_timestamp<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    let overflow = || Fault::fixed("timestamp overflow");
    match args {
        [CelValue::Timestamp(t)] => Ok(CelValue::Timestamp(*t)),
        [CelValue::Int(seconds)] => {
            Timestamp::from_unix(*seconds, 0).map(CelValue::Timestamp).ok_or_else(overflow)
        }
        [CelValue::String(text)] => match Timestamp::parse(text.as_str()) {
            Ok(t) if t.in_range() => Ok(CelValue::Timestamp(t)),
            Ok(_) => Err(overflow()),
            Err(_) => unreadable("google.protobuf.Timestamp"),
        },
        _ => call.no_such_overload(args),
    }
}

fn type_of<'v>(call: &Call<'_>, args: &[CelValue<'v>]) -> Outcome<'v> {
    match args {
        [value] => Ok(CelValue::Type(Str::new_static(value.type_name()))),
        _ => call.no_such_overload(args),
    }
}
