//! `multipleOf`: numbers on a grid.
//!
//! Odd: the factor may be zero or negative, and then every number is refused; integers see the
//! factor truncated, so 0.5 becomes 0 and refuses them too.

use pleach_json::Value;
use pleach_meta::{FieldError, FieldErrors};

use super::number::{Operand, Pair, is_json_integer};
use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

pub(super) struct MultipleOf;

impl Keyword for MultipleOf {
    fn name(&self) -> &'static str {
        "multipleOf"
    }
    fn doc(&self) -> &'static str {
        "The number is a multiple of this one."
    }
    fn gate(&self) -> Gate {
        Gate::Number
    }
    fn compile(&self, schema: &JSONSchemaProps, types: &Types) -> Option<Box<dyn Check>> {
        Some(Box::new(Multiple(Operand::new(schema.value().multiple_of?, types))))
    }
}

struct Multiple(Operand);

enum Outcome {
    Fine,
    NotAMultiple,
    FactorNotPositive,
}

fn outcome(pair: &Pair) -> Outcome {
    let fine = match *pair {
        Pair::Ints(_, ..=0) => return Outcome::FactorNotPositive,
        Pair::Floats(_, factor) if factor <= 0.0 => return Outcome::FactorNotPositive,
        Pair::Ints(value, factor) => value % factor == 0,
        Pair::Floats(value, factor) if factor < 1.0 => is_json_integer(1.0 / factor * value),
        Pair::Floats(value, factor) => is_json_integer(value / factor),
    };
    if fine { Outcome::Fine } else { Outcome::NotAMultiple }
}

impl Check for Multiple {
    fn accepts(&self, value: &Value) -> bool {
        self.0.int.is_some() && self.0.pair(value).is_none_or(|pair| matches!(outcome(&pair), Outcome::Fine))
    }
    fn explain(&self, value: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        errors.extend(self.0.misfit("MultipleOf", at));
        let Some(pair) = self.0.pair(value) else { return };
        let factor = pair.operand_text();
        match outcome(&pair) {
            Outcome::Fine => {}
            Outcome::NotAMultiple => {
                let detail = format!("{} in body should be a multiple of {factor}", at.name());
                errors.push(FieldError::invalid(at.field(), pair.value(), detail));
            }
            Outcome::FactorNotPositive => {
                let detail =
                    format!("factor MultipleOf declared for {} must be positive: {factor}", at.name());
                errors.push(FieldError::invalid(at.field(), pair.operand(), detail));
            }
        }
    }
    fn argument(&self) -> Argument<'_> {
        Argument::Bound(self.0.float, false)
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use crate::keywords::tests::check;

    #[test]
    fn multiple_of() {
        let three = json!({"type": "integer", "multipleOf": 3});
        let half = json!({"type": "number", "multipleOf": 0.5});
        let hundredth = json!({"type": "number", "multipleOf": 0.01});
        let two_and_a_half = json!({"type": "number", "multipleOf": 2.5});
        let negative = json!({"type": "integer", "multipleOf": (-3)});
        let misfit = json!({"type": "integer", "multipleOf": 0.5});
        for (why, schema, value, want) in [
            ("zero is", &three, json!(0), ""),
            ("negative ones are", &three, json!(-6), ""),
            ("not", &three, json!(-4), "f: Invalid value: -4: f in body should be a multiple of 3"),
            ("floats divide", &half, json!(1.5), ""),
            (
                "floats that do not",
                &half,
                json!(1.25),
                "f: Invalid value: 1.25: f in body should be a multiple of 0.5",
            ),
            (
                "integers see zero",
                &half,
                json!(-2),
                "f: Invalid value: 0: factor MultipleOf declared for f must be positive: 0",
            ),
            ("a hair above counts", &hundredth, json!(1.1), ""),
            (
                "a hair below does not",
                &hundredth,
                json!(4.35),
                "f: Invalid value: 4.35: f in body should be a multiple of 0.01",
            ),
            (
                "integers see two",
                &two_and_a_half,
                json!(1),
                "f: Invalid value: 1: f in body should be a multiple of 2",
            ),
            (
                "a negative factor",
                &negative,
                json!(3),
                "f: Invalid value: -3: factor MultipleOf declared for f must be positive: -3",
            ),
            (
                "a factor that is no integer",
                &misfit,
                json!(3),
                "<nil>: Invalid value: \"\": MultipleOf value must be of type integer (default format) in f",
            ),
        ] {
            check(why, schema, &value, want);
        }
    }
}
