//! `maximum` and `exclusiveMaximum`: an upper bound on numbers.

use pleach_json::Value;
use pleach_meta::{FieldError, FieldErrors};

use super::number::{Operand, Pair};
use super::{Argument, Check, Gate, Keyword};
use crate::JSONSchemaProps;
use crate::compile::types::Types;
use crate::validate::location::Location;

pub(super) struct Maximum;

impl Keyword for Maximum {
    fn name(&self) -> &'static str {
        "maximum"
    }
    fn doc(&self) -> &'static str {
        "The number is at most this; with exclusiveMaximum not the bound itself."
    }
    fn gate(&self) -> Gate {
        Gate::Number
    }
    fn compile(&self, schema: &JSONSchemaProps, types: &Types) -> Option<Box<dyn Check>> {
        let bound = Operand::new(schema.value().maximum?, types);
        Some(Box::new(AtMost { bound, exclusive: schema.value().exclusive_maximum }))
    }
}

struct AtMost {
    bound: Operand,
    exclusive: bool,
}

impl AtMost {
    fn holds(&self, pair: &Pair) -> bool {
        !match (pair, self.exclusive) {
            (Pair::Ints(value, bound), false) => value > bound,
            (Pair::Ints(value, bound), true) => value >= bound,
            (Pair::Floats(value, bound), false) => value > bound,
            (Pair::Floats(value, bound), true) => value >= bound,
        }
    }
}

impl Check for AtMost {
    fn accepts(&self, value: &Value) -> bool {
        self.bound.int.is_some() && self.bound.pair(value).is_none_or(|pair| self.holds(&pair))
    }
    fn explain(&self, value: &Value, at: &Location<'_>, errors: &mut FieldErrors) {
        errors.extend(self.bound.misfit("Maximum boundary", at));
        if let Some(pair) = self.bound.pair(value).filter(|pair| !self.holds(pair)) {
            let than = if self.exclusive { "less than" } else { "less than or equal to" };
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
    fn maximum() {
        let integer = json!({"type": "integer", "maximum": -1});
        let exclusive = json!({"type": "number", "maximum": 1, "exclusiveMaximum": true});
        let large = json!({"type": "integer", "maximum": 9_007_199_254_740_993_i64});
        let big = json!({"type": "number", "maximum": 1e21});
        for (why, schema, value, want) in [
            ("the bound itself", &integer, json!(-1), ""),
            (
                "one over",
                &integer,
                json!(0),
                "f: Invalid value: 0: f in body should be less than or equal to -1",
            ),
            (
                "the bound is excluded",
                &exclusive,
                json!(1),
                "f: Invalid value: 1: f in body should be less than 1",
            ),
            ("a float just under", &exclusive, json!(0.9999), ""),
            (
                "a float over",
                &exclusive,
                json!(1.5),
                "f: Invalid value: 1.5: f in body should be less than 1",
            ),
            (
                "a bound has 53 bits",
                &large,
                json!(9_007_199_254_740_993_i64),
                "f: Invalid value: 9007199254740993: f in body should be less than or equal to 9007199254740992",
            ),
            (
                "large floats print with an exponent",
                &big,
                json!(1.1e21),
                "f: Invalid value: 1.1e+21: f in body should be less than or equal to 1e+21",
            ),
        ] {
            check(why, schema, &value, want);
        }
    }
}
