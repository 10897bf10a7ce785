//! Field selectors: `metadata.name=x,spec.color!=red`.
//!
//! Which fields a kind supports is the caller's decision. A field that is missing or null
//! counts as the empty text.

use std::borrow::Cow;
use std::fmt;

use pleach_json::{Str, Value};

use pleach_go::fmt::float_v;

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRequirement {
    /// `metadata.name`
    pub field: Str,
    /// Whether the field shall have the value, or shall not.
    pub equals: bool,
    /// The value.
    pub value: Str,
}

/// Conditions on fields, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

impl FieldSelector {
    /// Reads the text form; the error is the API server's.
    pub fn parse(text: &str) -> Result<Self, String> {
        pleach_work::charge(text.len() as u64);
        let mut requirements = Vec::new();
        for term in terms(text) {
            if term.is_empty() {
                continue;
            }
            let Some((field, equals, value)) = split_term(term) else {
                return Err(format!("invalid selector: '{text}'; can't understand '{term}'"));
            };
            requirements.push(FieldRequirement { field: field.into(), equals, value: unescape(value)? });
        }
        Ok(Self { requirements })
    }

    /// The conditions, as they were written.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// Whether every object is selected.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether only fields are named that the kind supports; if not, the API server's error.
    pub fn check(&self, supported: impl Fn(&str) -> bool) -> Result<(), String> {
        match self.requirements.iter().find(|r| !supported(&r.field)) {
            Some(r) => Err(format!("field label not supported: {}", r.field)),
            None => Ok(()),
        }
    }

    /// The only value of `field` that can be selected, if there is one.
    pub fn requires_exact_match(&self, field: &str) -> Option<&str> {
        self.requirements.iter().find(|r| r.equals && r.field == field).map(|r| r.value.as_str())
    }

    /// Whether an object is selected whose fields have these values.
    pub fn matches<'a>(&self, value_of: impl Fn(&str) -> Option<&'a Value>) -> bool {
        self.requirements.iter().all(|r| (field_text(value_of(&r.field)) == r.value.as_str()) == r.equals)
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, r) in self.requirements.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            let operator = if r.equals { "=" } else { "!=" };
            write!(f, "{comma}{}{operator}{}", r.field, escape(&r.value))?;
        }
        Ok(())
    }
}

/// A field's value as selectors compare it.
pub fn field_text(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        None | Some(Value::Null) => "".into(),
        Some(Value::String(text)) => text.as_str().into(),
        Some(Value::Bool(b)) => (if *b { "true" } else { "false" }).into(),
        Some(Value::Int(i)) => i.to_string().into(),
        Some(Value::Float(f)) => float_v(*f).into(),
        Some(other) => pleach_json::to_string(other).into(),
    }
}

/// The parts between commas; a backslash keeps a comma from being one.
fn terms(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, b) in text.bytes().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                out.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(&text[start..]);
    out
}

/// Field, whether it shall be equal, and the value, which is escaped still.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let at = term.find('=')?;
    let (before, after) = (&term[..at], &term[at + 1..]);
    match before.strip_suffix('!') {
        Some(field) => Some((field, false, after)),
        None => Some((before, true, after.strip_prefix('=').unwrap_or(after))),
    }
}

fn unescape(value: &str) -> Result<Str, String> {
    if !value.contains(['\\', ',', '=']) {
        return Ok(value.into());
    }
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next @ ('\\' | ',' | '=')) => out.push(next),
                Some(next) => {
                    return Err(format!("invalid field selector: invalid escape sequence: \\{next}"));
                }
                None => return Err("invalid field selector: invalid escape sequence: \\".to_owned()),
            },
            ',' | '=' => {
                return Err(format!("invalid field selector: unescaped character in value: {}", c as u32));
            }
            _ => out.push(c),
        }
    }
    Ok(out.into())
}

fn escape(value: &str) -> Cow<'_, str> {
    if value.contains(['\\', ',', '=']) {
        value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=").into()
    } else {
        value.into()
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn texts_select_what_they_say() {
        let objects = [json!({}), json!({"a": "b"}), json!({"a": ""}), json!({"a": 5}), json!({"a": true})];
        for (text, printed, want) in [
            ("", "", [true; 5]),
            ("a=b", "a=b", [false, true, false, false, false]),
            ("a==b,", "a=b", [false, true, false, false, false]),
            ("a!=b", "a!=b", [true, false, true, true, true]),
            ("a=", "a=", [true, false, true, false, false]),
            ("a=5", "a=5", [false, false, false, true, false]),
            ("a=true", "a=true", [false, false, false, false, true]),
            (r"a=\,\=\\", r"a=\,\=\\", [false; 5]),
            ("a=!b", "a=!b", [false; 5]),
        ] {
            let selector = FieldSelector::parse(text).unwrap();
            assert_eq!(selector.to_string(), printed);
            assert_eq!(objects.each_ref().map(|o| selector.matches(|f| o.get(f))), want, "{text}");
        }
    }

    #[test]
    fn errors_read_as_upstream() {
        for (text, want) in [
            ("a", "invalid selector: 'a'; can't understand 'a'"),
            ("a=b,é>c", "invalid selector: 'a=b,é>c'; can't understand 'é>c'"),
            ("a=b=c", "invalid field selector: unescaped character in value: 61"),
            (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
            (r"a=b\", r"invalid field selector: invalid escape sequence: \"),
        ] {
            assert_eq!(FieldSelector::parse(text).unwrap_err(), want, "{text}");
        }
        let selector = FieldSelector::parse("metadata.name=x,spec.x=1").unwrap();
        assert_eq!(
            selector.check(|f| f == "metadata.name").unwrap_err(),
            "field label not supported: spec.x"
        );
        assert_eq!(selector.requires_exact_match("metadata.name"), Some("x"));
        assert_eq!(selector.requires_exact_match("metadata.namespace"), None);
    }
}
