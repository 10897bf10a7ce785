//! Label selectors: `a=b,c in (d,e),!f,g>1`, or the same as a `LabelSelector` object.

mod parse;
mod validate;

use std::fmt;

use pleach_json::{Map, Str, Value};

use crate::field_error::{BadValue, FieldError, aggregate};
use crate::names::{check_label_value, check_qualified_name};
use crate::path::Path;
use pleach_go::strconv::quote;
pub use validate::validate_label_selector;

/// How a requirement compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `!key`
    DoesNotExist,
    /// `key=value`
    Equals,
    /// `key==value`
    DoubleEquals,
    /// `key in (a,b)`
    In,
    /// `key!=value`
    NotEquals,
    /// `key notin (a,b)`
    NotIn,
    /// `key`
    Exists,
    /// `key>1`
    GreaterThan,
    /// `key<1`
    LessThan,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: Str,
    operator: Operator,
    /// Sorted, each once.
    values: Vec<Str>,
    /// The number of a `>` or `<`.
    bound: i64,
}

impl Requirement {
    /// A requirement, or all that is wrong with it in one text. A key has no path, so that its errors
    /// are about `<nil>`, as upstream prints them.
    pub fn new(key: &str, operator: Operator, mut values: Vec<Str>) -> Result<Self, String> {
        values.sort_unstable();
        values.dedup();
        let list = || Value::from(values.iter().map(|v| Value::from(v.clone())).collect::<Vec<_>>());
        let mut errors = key_errors(key);
        let mut bound = 0;
        let path = Path::new("values");
        match operator {
            Operator::In | Operator::NotIn => {
                if values.is_empty() {
                    let detail = "for 'in', 'notin' operators, values set can't be empty";
                    errors.push(FieldError::invalid(path, list(), detail));
                }
            }
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals => {
                if values.len() != 1 {
                    let detail = "exact-match compatibility requires one single value";
                    errors.push(FieldError::invalid(path, list(), detail));
                }
            }
            Operator::Exists | Operator::DoesNotExist => {
                if !values.is_empty() {
                    let detail = "values set must be empty for exists and does not exist";
                    errors.push(FieldError::invalid(path, list(), detail));
                }
            }
            Operator::GreaterThan | Operator::LessThan => {
                if values.len() != 1 {
                    let detail = "for 'Gt', 'Lt' operators, exactly one value is required";
                    errors.push(FieldError::invalid(path, list(), detail));
                }
                for (i, value) in values.iter().enumerate() {
                    if let Ok(number) = value.parse() {
                        bound = number;
                    } else {
                        let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                        errors.push(FieldError::invalid(path.index(i), value.clone(), detail));
                    }
                }
            }
        }
        for (i, value) in values.iter().enumerate() {
            let path = path.index(i);
            let messages = check_label_value(value);
            if !messages.is_empty() {
                errors.push(FieldError::invalid(path.key(key), value.clone(), messages.join("; ")));
            }
        }
        if errors.is_empty() {
            Ok(Self { key: key.into(), operator, values, bound })
        } else {
            Err(aggregate(&errors))
        }
    }

    /// The label it is about.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How it compares.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values, sorted.
    pub fn values(&self) -> &[Str] {
        &self.values
    }

    /// Whether an object with these labels fulfils it.
    pub fn matches(&self, labels: Option<&Map>) -> bool {
        let found = labels.and_then(|labels| labels.get_str(&self.key));
        let listed = |text: &str| self.values.binary_search_by(|v| v.as_str().cmp(text)).is_ok();
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => found.is_some_and(listed),
            Operator::NotIn | Operator::NotEquals => !found.is_some_and(listed),
            Operator::Exists => found.is_some(),
            Operator::DoesNotExist => found.is_none(),
            Operator::GreaterThan => {
                found.and_then(|text| text.parse::<i64>().ok()).is_some_and(|n| n > self.bound)
            }
            Operator::LessThan => {
                found.and_then(|text| text.parse::<i64>().ok()).is_some_and(|n| n < self.bound)
            }
        }
    }
}

fn key_errors(key: &str) -> Vec<FieldError> {
    let messages = check_qualified_name(key);
    if messages.is_empty() {
        return Vec::new();
    }
    vec![FieldError::invalid("<nil>", BadValue::from(key), messages.join("; "))]
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match self.operator {
            Operator::DoesNotExist => return write!(f, "!{}", self.key),
            Operator::Exists => return f.write_str(&self.key),
            Operator::In => return write!(f, "{} in ({})", self.key, self.values.join(",")),
            Operator::NotIn => return write!(f, "{} notin ({})", self.key, self.values.join(",")),
            Operator::Equals => "=",
            Operator::DoubleEquals => "==",
            Operator::NotEquals => "!=",
            Operator::GreaterThan => ">",
            Operator::LessThan => "<",
        };
        write!(f, "{}{operator}{}", self.key, self.values.join(","))
    }
}

/// Conditions on labels, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
    nothing: bool,
}

impl LabelSelector {
    /// The selector that holds for every object.
    pub const fn everything() -> Self {
        Self { requirements: Vec::new(), nothing: false }
    }

    /// The selector that holds for none.
    pub const fn nothing() -> Self {
        Self { requirements: Vec::new(), nothing: true }
    }

    /// Reads the text form; the error is the API server's.
    pub fn parse(text: &str) -> Result<Self, String> {
        // A NUL ends the text, as it does for the scanner of the API server.
        let text = text.split('\0').next().unwrap_or_default();
        pleach_work::charge(text.len() as u64);
        let mut requirements = parse::parse(text)?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements, nothing: false })
    }

    /// Reads the object form, `matchLabels` and `matchExpressions`. No object at all selects nothing.
    pub fn from_object(selector: Option<&Value>) -> Result<Self, String> {
        let Some(selector) = selector.filter(|s| !s.is_null()) else { return Ok(Self::nothing()) };
        let mut requirements = Vec::new();
        for (key, value) in
            selector.get("matchLabels").and_then(Value::as_object).into_iter().flat_map(Map::iter)
        {
            let value = value.as_str().unwrap_or_default();
            requirements.push(Requirement::new(key, Operator::Equals, vec![value.into()])?);
        }
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        for expression in expressions.into_iter().flatten() {
            let text = |key: &str| expression.get(key).and_then(Value::as_str).unwrap_or_default();
            let operator = match text("operator") {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(format!("{} is not a valid label selector operator", quote(other))),
            };
            let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
            let values = values.filter_map(Value::as_str).map(Str::from).collect();
            requirements.push(Requirement::new(text("key"), operator, values)?);
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements, nothing: false })
    }

    /// The conditions, sorted by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Whether every object is selected.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty() && !self.nothing
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: Option<&Map>) -> bool {
        !self.nothing && self.requirements.iter().all(|r| r.matches(labels))
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
