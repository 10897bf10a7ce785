//! `minimum` and `exclusiveMinimum`: a lower bound on numbers.

use pleach_json::Value;
use pleach_meta::{FieldError, FieldErrors};

use super::number::{Operand, Pair};
use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

pub(super) struct Minimum;

impl Keyword for Minimum {
    fn name(&self) -> &'static str {
        "minimum"
    }
    fn doc(&self) -> &'static str {
        "The number is at least this; with exclusiveMinimum not the bound itself."
    }
    fn gate(&self) -> Gate {
        Gate::Number
    }
    fn compile(&self, schema: &JSONSchemaProps, types: &Types) -> Option<Box<dyn Check>> {
        let bound = Operand::new(schema.value().minimum?, types);
        Some(Box::new(AtLeast { bound, exclusive: schema.value().exclusive_minimum }))
    }
}

struct AtLeast {
    bound: Operand,
    exclusive: bool,
}

impl AtLeast {
    fn holds(&self, pair: &Pair) -> bool {
        !match (pair, self.exclusive) {
            (Pair::Ints(value, bound), false) => value < bound,
            (Pair::Ints(value, bound), true) => value <= bound,
            (Pair::Floats(value, bound), false) => value < bound,
            (Pair::Floats(value, bound), true) => value <= bound,
        }
    }
}

impl Check for AtLeast {
    fn accepts(&self, value: &Value) -> bool {
        self.bound.int.is_some() && self.bound.pair(value).is_none_or(|pair| self.holds(&pair))
    }
    fn explain(&self, value: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        errors.extend(self.bound.misfit("Minimum boundary", at));
        if let Some(pair) = self.bound.pair(value).filter(|pair| !self.holds(pair)) {
            let than = if self.exclusive { "greater than" } else { "greater than or equal to" };
            let detail = format!("{} in body should be {than} {}", at.name(), pair.operand_text());
            errors.push(FieldError::invalid(at.field(), pair.value(), detail));
        }
    }
    fn argument(&self) -> Argument<'_> {
        Argument::Bound(self.bound.float, self.exclusive)
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use crate::keywords::tests::check;

    #[test]
    fn minimum() {
        let integer = json!({"type": "integer", "minimum": 2});
        let exclusive = json!({"type": "number", "minimum": 0, "exclusiveMinimum": true});
        let fraction = json!({"type": "number", "minimum": 0.5});
        let misfit = json!({"type": "integer", "minimum": 1.5});
        for (why, schema, value, want) in [
            ("the bound itself", &integer, json!(2), ""),
            (
                "one under",
                &integer,
                json!(1),
                "f: Invalid value: 1: f in body should be greater than or equal to 2",
            ),
            (
                "the bound is excluded",
                &exclusive,
                json!(0),
                "f: Invalid value: 0: f in body should be greater than 0",
            ),
            ("just above", &exclusive, json!(0.0001), ""),
            ("integers see the bound truncated", &fraction, json!(0), ""),
            (
                "floats see it whole",
                &fraction,
                json!(0.25),
                "f: Invalid value: 0.25: f in body should be greater than or equal to 0.5",
            ),
            (
                "a bound that is no integer spoils an integer",
                &misfit,
                json!(2),
                "<nil>: Invalid value: \"\": Minimum boundary value must be of type integer (default format) in f",
            ),
            (
                "and is then compared as it stands",
                &misfit,
                json!(1),
                "<nil>: Invalid value: \"\": Minimum boundary value must be of type integer (default format) in f\nf: Invalid value: 1: f in body should be greater than or equal to 1.5",
            ),
        ] {
            check(why, schema, &value, want);
        }
    }
}
