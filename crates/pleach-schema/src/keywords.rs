//! The keywords that restrict values, one file each, all in one slice.
//!
//! A `Keyword` reads its argument from a schema node and gives a `Check`; the compiled node
//! runs its checks in the order of `KEYWORDS`, which is the order the API server reports in.
//! `type`, `required`, `properties`, `items`, `additionalProperties` and the junctors are not
//! here: they are fields of the compiled node and are validated by the walk (`crate::validate`).
//!
//! `accepts` runs on every value of every object and must be fast; `explain` runs only on a value that is not
//! accepted, and reports the error of the API server.
//!
//! A new keyword is a new file and one line in the slice.

mod enum_;
mod format;
mod max_items;
mod max_length;
mod max_properties;
mod maximum;
mod min_items;
mod min_length;
mod min_properties;
mod minimum;
mod multiple_of;
pub(crate) mod number;
mod pattern;
mod range;
mod unique_items;

use pleach_json::{Str, Value};
use pleach_meta::FieldErrors;

use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

/// A keyword.
pub(crate) trait Keyword: Sync {
    /// Its name in a schema; for a rule that two keywords make together, the one it acts for.
    fn name(&self) -> &'static str;
    /// Its meaning, for people.
    fn doc(&self) -> &'static str;
    /// Which values it applies to.
    fn gate(&self) -> Gate;
    /// The check for a node that has the keyword. `types` are the types of the node.
    fn compile(&self, schema: &JSONSchemaProps, types: &Types) -> Option<Box<dyn Check>>;
}

/// Which values a keyword applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Strings; the first of these that fails ends the series.
    String,
    /// Strings, as a format.
    Format,
    /// Integers and other numbers.
    Number,
    /// Arrays.
    Array,
    /// Everything, null too.
    Any,
    /// Objects.
    Object,
}

impl Gate {
    /// Whether the keyword applies to this value.
    #[inline]
    pub(crate) fn admits(self, value: &Value) -> bool {
        match self {
            Self::String | Self::Format => matches!(value, Value::String(_)),
            Self::Number => matches!(value, Value::Int(_) | Value::Float(_)),
            Self::Array => matches!(value, Value::Array(_)),
            Self::Object => matches!(value, Value::Object(_)),
            Self::Any => true,
        }
    }
}

/// A keyword with its argument, ready to run.
pub(crate) trait Check: Send + Sync {
    /// Whether a value that the keyword applies to is valid.
    fn accepts(&self, value: &Value) -> bool;
    /// Reports the errors of a value that is not accepted.
    fn explain(&self, value: &Value, at: &Location<'_>, errors: &mut FieldErrors);
    /// The argument: checks of one keyword with equal arguments and types are equal.
    fn argument(&self) -> Argument<'_>;
}

/// The argument of a keyword.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// It has none of its own.
    None,
    /// A count.
    Count(i64),
    /// A bound, and whether the bound itself is excluded.
    Bound(f64, bool),
    /// A text.
    Text(&'a Str),
    /// A list of values.
    Values(&'a [Value]),
}

impl PartialEq for Argument<'_> {
    /// Floats are compared bit by bit: `-0` and `0` print differently.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Count(a), Self::Count(b)) => a == b,
            (Self::Bound(a, x), Self::Bound(b, y)) => a.to_bits() == b.to_bits() && x == y,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Values(a), Self::Values(b)) => a == b,
            _ => false,
        }
    }
}

/// Every keyword that is a check of its own, in the order they run.
pub(crate) static KEYWORDS: &[&dyn Keyword] = &[
    &max_length::MaxLength,
    &min_length::MinLength,
    &pattern::Pattern,
    &format::Format,
    &range::Range,
    &multiple_of::MultipleOf,
    &minimum::Minimum,
    &maximum::Maximum,
    &min_items::MinItems,
    &max_items::MaxItems,
    &unique_items::UniqueItems,
    &enum_::Enum,
    &min_properties::MinProperties,
    &max_properties::MaxProperties,
];

/// The keywords that restrict values with what they mean, for help texts and documentation.
pub fn documentation() -> impl Iterator<Item = (&'static str, &'static str)> {
    KEYWORDS.iter().map(|keyword| (keyword.name(), keyword.doc()))
}

#[cfg(test)]
pub(crate) mod tests {
    use pleach_json::{Value, json};

    use crate::{Schema, SchemaOptions};

    /// Validates `value` as the member `f` and compares the errors, one per line.
    #[track_caller]
    pub(crate) fn check(why: &str, schema: &Value, value: &Value, want: &str) {
        let wrapped = json!({"type": "object", "properties": {"f": (schema.clone())}});
        let schema = Schema::from_value(&wrapped, SchemaOptions::default());
        let object = json!({"f": (value.clone())});
        let errors: Vec<String> = schema.validate_value(&object).iter().map(ToString::to_string).collect();
        assert_eq!(errors.join("\n"), want, "{why}: {value:?}");
        assert_eq!(schema.root().accepts(&object), want.is_empty(), "{why}: the fast way disagrees");
    }

    #[test]
    fn keywords_have_names_and_descriptions() {
        for (name, doc) in super::documentation() {
            assert!(!name.is_empty() && doc.ends_with('.'), "{name}");
        }
    }
}
