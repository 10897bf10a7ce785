//! `type`, `nullable` and what `format` does to them: which kinds of value a node accepts.
//!
//! Computed once, as a set of kinds. Odd, and kept: a recognised format lets any
//! string *or array* pass for a type that is not a number, and it takes the place of the type
//! in the message for all other kinds.

use pleach_json::{Str, Value};
use pleach_meta::FieldError;

use crate::JSONSchemaProps;
use crate::compile::SchemaOptions;
use crate::formats::is_recognised;
use crate::keywords::number::is_json_integer;
use crate::validate::location::Location;

const NULL: u8 = 1;
const BOOL: u8 = 1 << 1;
const INT: u8 = 1 << 2;
const FLOAT: u8 = 1 << 3;
/// Floats that pass for integers.
const WHOLE: u8 = 1 << 4;
const STRING: u8 = 1 << 5;
const ARRAY: u8 = 1 << 6;
const OBJECT: u8 = 1 << 7;

/// The declared type of a node, as an enum: comparing texts at every value would be most of the cost of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// No type, or more than one.
    Nothing,
    /// `object`
    Object,
    /// `array`
    Array,
    /// `integer` or `number`
    Number,
    /// `boolean`
    Boolean,
    /// `string`, but for the formats of [`Self::AnyScalar`].
    String,
    /// `string` of format `date-time` or `int-or-string`, or a type there is not.
    AnyScalar,
}

/// The types a node declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Types {
    /// The declared types joined by commas, as messages print them; empty for none.
    text: Str,
    /// Whether more than one type is declared.
    several: bool,
    /// The format, if it counts.
    format: Option<Str>,
    accepted: u8,
    /// The type as an enum.
    declared: Declared,
}

impl Types {
    pub(crate) fn of(schema: &JSONSchemaProps, options: SchemaOptions) -> Self {
        let widened = schema.x_int_or_string && options.widen_int_or_string;
        let text = if widened { Str::new_static("integer,string") } else { schema.type_.clone() };
        let format = &schema.value().format;
        let counts = !format.is_empty()
            && options
                .formats
                .is_none_or(|compat| is_recognised(&schema.type_, schema.x_int_or_string, format, compat));
        let format = counts.then(|| format.clone());
        let accepted = accepted(&text, schema.nullable, format.as_deref());
        let declared = if widened { Declared::Nothing } else { declared(&text, format.as_deref()) };
        Self { text, several: widened, format, accepted, declared }
    }

    /// The declared type of values.
    #[inline]
    pub fn declared(&self) -> Declared {
        self.declared
    }

    /// The declared type; none when there is none or more than one.
    pub fn single(&self) -> Option<&str> {
        (!self.several && !self.text.is_empty()).then_some(self.text.as_str())
    }

    /// The declared types joined by commas; empty for none.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The format, if it counts.
    pub fn format(&self) -> Option<&Str> {
        self.format.as_ref()
    }

    /// Whether there is a type check at all.
    pub(crate) fn is_checked(&self) -> bool {
        !self.text.is_empty() || self.format.is_some()
    }

    /// Whether the value is of a declared type.
    #[inline]
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        let kind = match value {
            Value::Null => NULL,
            Value::Bool(_) => BOOL,
            Value::Int(_) => INT,
            Value::Float(f) => {
                return self.accepted & FLOAT != 0 || (self.accepted & WHOLE != 0 && is_json_integer(*f));
            }
            Value::String(_) => STRING,
            Value::Array(_) => ARRAY,
            Value::Object(_) => OBJECT,
        };
        self.accepted & kind != 0
    }

    /// The error about a value that was not accepted.
    pub(crate) fn error(&self, value: &Value, at: &Location<'_>) -> FieldError {
        let (wanted, found) = match (&self.format, value) {
            (Some(format), Value::Int(_)) => (format, "int64"),
            (Some(format), Value::Float(_)) => (format, "float64"),
            (Some(format), Value::Bool(_) | Value::Object(_)) => (format, ""),
            _ => (&self.text, value.kind().as_str()),
        };
        let detail = format!("{} in body must be of type {wanted}: \"{found}\"", at.name());
        FieldError::type_invalid(at.field(), found, detail)
    }
}

fn declared(type_: &str, format: Option<&str>) -> Declared {
    match type_ {
        "" => Declared::Nothing,
        "object" => Declared::Object,
        "array" => Declared::Array,
        "integer" | "number" => Declared::Number,
        "boolean" => Declared::Boolean,
        "string" if !matches!(format, Some("date-time" | "int-or-string")) => Declared::String,
        _ => Declared::AnyScalar,
    }
}

fn accepted(types: &str, nullable: bool, format: Option<&str>) -> u8 {
    let mut accepted = 0;
    for name in types.split(',') {
        accepted |= match name {
            "boolean" => BOOL,
            "integer" => INT | WHOLE,
            "number" => INT | FLOAT,
            "string" => STRING,
            "array" => ARRAY,
            "object" => OBJECT,
            _ => 0,
        };
    }
    if types.is_empty() {
        accepted = match format {
            None => u8::MAX,
            // A format alone: strings and arrays pass, other kinds only by the name Go has for them.
            Some("int64") => NULL | INT,
            Some("float64") => NULL | FLOAT,
            Some(_) => NULL,
        };
    }
    if nullable {
        accepted |= NULL;
    }
    if format.is_some() && accepted & (INT | FLOAT) == 0 {
        accepted |= STRING | ARRAY;
    }
    accepted
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use crate::keywords::tests::check;

    #[test]
    fn types() {
        let text = |found: &str, wanted: &str| {
            format!("f: Invalid value: \"{found}\": f in body must be of type {wanted}: \"{found}\"")
        };
        for (why, schema, value, want) in [
            ("an integer is a number", json!({"type": "number"}), json!(1), String::new()),
            ("a whole float is an integer", json!({"type": "integer"}), json!(1.0), String::new()),
            ("null is of no type", json!({"type": "string"}), json!(null), text("null", "string")),
            ("unless nullable", json!({"type": "string", "nullable": true}), json!(null), String::new()),
            (
                "without a type anything goes",
                json!({"x-kubernetes-preserve-unknown-fields": true}),
                json!(null),
                String::new(),
            ),
            (
                "int-or-string",
                json!({"x-kubernetes-int-or-string": true}),
                json!(1.5),
                text("number", "integer,string"),
            ),
            (
                "the wider type wins over a given one",
                json!({"type": "string", "x-kubernetes-int-or-string": true}),
                json!(1),
                String::new(),
            ),
            (
                "a format stands in for the type",
                json!({"type": "string", "format": "date"}),
                json!({}),
                "f: Invalid value: \"\": f in body must be of type date: \"\"".into(),
            ),
            (
                "but not beside a number for strings",
                json!({"type": "number", "format": "double"}),
                json!("x"),
                text("string", "number"),
            ),
            (
                "and not for null",
                json!({"type": "string", "format": "date"}),
                json!(null),
                text("null", "string"),
            ),
            ("a format alone lets strings pass", json!({"format": "password"}), json!("x"), String::new()),
        ] {
            check(why, &schema, &value, &want);
        }
    }
}
