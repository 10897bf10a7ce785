//! Conversion of JSON to values, by schema.
//!
//! Conversion happens on access: a value that does not fit its schema is an error of the rule that
//! accesses it. Only scalars are copied.

use crate::decl::{DeclKind, DeclType};
use crate::value::{CelValue, Duration, Fault, List, Map, Text, Timestamp};
use pleach_go::fmt::go_type;
use pleach_json::Value;

/// The value of a schema node.
#[inline]
pub(crate) fn read<'a>(value: &'a Value, decl: &'a DeclType) -> Result<CelValue<'a>, Fault> {
    Ok(match (decl.kind(), value) {
        (DeclKind::Int, Value::Int(i)) => CelValue::Int(*i),
        (DeclKind::String, Value::String(s)) => CelValue::String(Text::Borrowed(s)),
        (DeclKind::Bool, Value::Bool(b)) => CelValue::Bool(*b),
        (DeclKind::Double, Value::Int(i)) => CelValue::Double(*i as f64),
        (DeclKind::Double, Value::Float(f)) => CelValue::Double(*f),
        (DeclKind::Object(_) | DeclKind::Map(_), Value::Object(members)) => {
            CelValue::Map(Map::View { members, decl: Some(decl) })
        }
        (DeclKind::List(..), Value::Array(items)) => {
            CelValue::List(List::View { items: items.as_slice(), decl: Some(decl) })
        }
        _ => return read_special(value, decl),
    })
}

/// Formats, null, and values that do not fit.
fn read_special<'a>(value: &'a Value, decl: &'a DeclType) -> Result<CelValue<'a>, Fault> {
    if value.is_null() && !matches!(decl.kind(), DeclKind::Optional(_)) {
        if decl.is_nullable() {
            return Ok(CelValue::Null);
        }
        return Err(Fault::fixed("invalid data, got null for schema with nullable=false"));
    }
    match (decl.kind(), value) {
        (DeclKind::IntOrString, Value::String(s)) => Ok(CelValue::String(Text::Borrowed(s))),
        (DeclKind::IntOrString, Value::Int(i)) => Ok(CelValue::Int(*i)),
        (DeclKind::IntOrString, _) => {
            Err(Fault::fixed("invalid data, expected XIntOrString value to be either a string or integer"))
        }
        (DeclKind::Duration, Value::String(s)) => Duration::parse_loose(s)
            .map(CelValue::Duration)
            .map_err(|reason| Fault::error(format!("Invalid duration {s}: {reason}"))),
        (DeclKind::Date, Value::String(s)) => Timestamp::parse_date(s)
            .map(CelValue::Timestamp)
            .map_err(|reason| Fault::error(format!("Invalid date formatted string {s}: {reason}"))),
        (DeclKind::DateTime, Value::String(s)) => Timestamp::parse_date_time(s)
            .map(CelValue::Timestamp)
            .map_err(|reason| Fault::error(format!("Invalid date-time formatted string {s}: {reason}"))),
        (DeclKind::Bytes, Value::String(s)) => pleach_go::base64::decode_url(s)
            .map(|bytes| CelValue::Bytes(bytes.into()))
            .map_err(|reason| Fault::error(format!("Invalid byte formatted string {s}: {reason}"))),
        (DeclKind::Object(_) | DeclKind::Map(_), _) => {
            Err(Fault::fixed("invalid data, expected a map for the provided schema with type=object"))
        }
        (DeclKind::List(..), _) => {
            Err(Fault::fixed("invalid data, expected an array for the provided schema with type=array"))
        }
        (DeclKind::Optional(inner), value) => read(value, inner).map(CelValue::some),
        (DeclKind::Other(_), value) => Ok(read_untyped(value)),
        (kind, value) => {
            let wanted = match kind {
                DeclKind::Int => "int",
                DeclKind::Bool => "bool",
                DeclKind::Double => "float",
                _ => "string",
            };
            Err(Fault::error(format!("invalid data, expected {wanted}, got {}", go_type(value))))
        }
    }
}

/// The value as it is in JSON, without a schema.
pub(crate) fn read_untyped(value: &Value) -> CelValue<'_> {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(b) => CelValue::Bool(*b),
        Value::Int(i) => CelValue::Int(*i),
        Value::Float(f) => CelValue::Double(*f),
        Value::String(s) => CelValue::String(Text::Borrowed(s)),
        Value::Array(items) => CelValue::List(List::View { items: items.as_slice(), decl: None }),
        Value::Object(members) => CelValue::Map(Map::View { members, decl: None }),
    }
}

impl CelValue<'_> {
    /// The value without its schema.
    ///
    /// Odd: a variable that is an optional loses its schema when something is selected from it,
    /// so names are not unescaped and formats not parsed there.
    pub(crate) fn without_schema(self) -> Self {
        match self {
            CelValue::Map(Map::View { members, .. }) => CelValue::Map(Map::View { members, decl: None }),
            CelValue::List(List::View { items, .. }) => CelValue::List(List::View { items, decl: None }),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_must_fit_their_schema() {
        for (why, value, decl, want) in [
            (
                "a float is no integer",
                Value::Float(1.0),
                DeclType::integer(),
                "invalid data, expected int, got float64",
            ),
            (
                "null needs nullable",
                Value::Null,
                DeclType::integer(),
                "invalid data, got null for schema with nullable=false",
            ),
            (
                "a string is no number",
                "1".into(),
                DeclType::number(),
                "invalid data, expected float, got string",
            ),
            (
                "a list is no string",
                Value::from(vec![]),
                DeclType::string(None, None),
                "invalid data, expected string, got []interface {}",
            ),
            (
                "a format",
                "abc".into(),
                DeclType::duration(),
                "Invalid duration abc: unable to parse abc as duration",
            ),
        ] {
            assert_eq!(read(&value, &decl).unwrap_err().to_string(), want, "{why}");
        }
        assert!(matches!(read(&Value::Null, &DeclType::integer().nullable(true)), Ok(CelValue::Null)));
    }
}
