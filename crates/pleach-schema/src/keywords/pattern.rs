//! `pattern`: a regular expression found somewhere in a string.
//!
//! Patterns are Go's, match in linear time, and are compiled when first needed: a CRD that is only
//! stored costs no automata. Equal patterns share one compiled form across all schemas.

use std::sync::OnceLock;

use pleach_json::{Str, Value};
use pleach_meta::{FieldError, FieldErrors};
use pleach_regex::{Cache, Regex};
use pleach_work::{Constant, charge};

use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

static COMPILED: Constant<Cache> = Constant::new(Cache::new);

pub(super) struct Pattern;

impl Keyword for Pattern {
    fn name(&self) -> &'static str {
        "pattern"
    }
    fn doc(&self) -> &'static str {
        "The regular expression (RE2) is found in the string."
    }
    fn gate(&self) -> Gate {
        Gate::String
    }
    fn compile(&self, schema: &JSONSchemaProps, _: &Types) -> Option<Box<dyn Check>> {
        let text = &schema.value().pattern;
        (!text.is_empty())
            .then(|| Box::new(Matches { text: text.clone(), regex: OnceLock::new() }) as Box<dyn Check>)
    }
}

struct Matches {
    text: Str,
    regex: OnceLock<Result<Regex, String>>,
}

impl Matches {
    fn regex(&self) -> &Result<Regex, String> {
        self.regex.get_or_init(|| COMPILED.get(&self.text).map_err(|error| error.to_string()))
    }
}

/// Steps that no budget has: a search that takes more ends its request.
const MOST_STEPS: u64 = 1 << 40;

/// Searches and charges for it. Where nothing is bounded the search goes to its end.
fn is_match(regex: &Regex, text: &str) -> bool {
    const MOST_AT_ONCE: u64 = 100_000_000;
    let mut left = MOST_AT_ONCE;
    if let Ok(found) = regex.is_match_within(text, &mut left) {
        // A step of a search is some twenty nanoseconds.
        charge(1 + 2 * (MOST_AT_ONCE - left));
        return found;
    }
    charge(MOST_STEPS);
    regex.is_match(text)
}

impl Check for Matches {
    fn accepts(&self, value: &Value) -> bool {
        value.as_str().is_none_or(|text| self.regex().as_ref().is_ok_and(|regex| is_match(regex, text)))
    }
    fn explain(&self, value: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        let pattern = match self.regex() {
            Ok(_) => self.text.to_string(),
            Err(error) => format!("{}, but pattern is invalid: {error}", self.text),
        };
        let detail = format!("{} in body should match '{pattern}'", at.name());
        errors.push(FieldError::invalid(at.field(), value.clone(), detail));
    }
    fn argument(&self) -> Argument<'_> {
        Argument::Text(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use crate::keywords::tests::check;

    #[test]
    fn pattern() {
        for (why, pattern, text, fine) in [
            ("found anywhere", "b", "abc", true),
            ("anchors are explicit", "^b", "abc", false),
            ("a dot is no line feed", "^a.b$", "a\nb", false),
            ("unless asked", "(?s)^a.b$", "a\nb", true),
            ("the end is the very end", "^x$", "x\n", false),
            ("digits are ASCII", r"^\d+$", "\u{663}", false),
            ("quotes stand as they are in the message", "^'\"\\\\%s$", "no", false),
        ] {
            let want = format!(
                "f: Invalid value: {}: f in body should match '{pattern}'",
                pleach_go::strconv::quote(text)
            );
            let schema = json!({"type": "string", "pattern": pattern});
            check(why, &schema, &json!(text), if fine { "" } else { &want });
        }
    }

    #[test]
    fn a_pattern_that_does_not_compile_matches_nothing() {
        check(
            "old CRDs may have one",
            &json!({"type": "string", "pattern": "("}),
            &json!("x"),
            "f: Invalid value: \"x\": f in body should match '(, but pattern is invalid: error parsing regexp: missing closing ): `(`'",
        );
    }
}
