//! Limits on the estimated cost of rules, for each and for all of a schema.

use pleach_cel::cost::{Explanation, RuleLocation};
use pleach_meta::{FieldError, FieldErrors, Path};

/// The cost limit of one expression, times the number of its runs.
pub const PER_EXPRESSION: u64 = 10_000_000;
/// The cost limit of all expressions of a schema.
const PER_SCHEMA: u64 = 100_000_000;
/// From here on an expression is named when the total is too high.
pub(super) const WORTH_NAMING: u64 = 1_000_000;
/// How many expressions are named.
const NAMED: usize = 4;

const ADVICE: &str = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where \
                      arrays, maps, and strings are declared)";

/// The cost of a schema's expressions so far, and the most expensive of them.
#[derive(Debug, Default)]
pub(crate) struct TotalCost {
    total: u64,
    /// Descending; of equal costs the earlier first.
    most_expensive: Vec<(u64, String)>,
    /// The most expensive of all, if hints are requested.
    priced: Option<(u64, Priced)>,
    /// Every expression with its cost, on request.
    pub(crate) all: Option<Vec<(String, u64)>>,
}

impl TotalCost {
    /// Adds an expression.
    pub(crate) fn add(&mut self, cost: u64, path: &Path<'_>, priced: Option<Priced>) {
        self.total = self.total.saturating_add(cost);
        if let Some(priced) = priced
            && self.priced.as_ref().is_none_or(|(most_expensive, _)| *most_expensive < cost)
        {
            self.priced = Some((cost, priced));
        }
        if let Some(all) = &mut self.all {
            all.push((path.to_string(), cost));
        }
        if cost < WORTH_NAMING
            || self.most_expensive.last().is_some_and(|l| self.most_expensive.len() == NAMED && l.0 >= cost)
        {
            return;
        }
        let at = self.most_expensive.partition_point(|(other, _)| *other >= cost);
        self.most_expensive.insert(at, (cost, path.to_string()));
        self.most_expensive.truncate(NAMED);
    }

    /// The errors if the total is too high; `path` is the schema's.
    pub(crate) fn errors(&self, path: &Path<'_>) -> Vec<FieldError> {
        if self.total <= PER_SCHEMA {
            return Vec::new();
        }
        let named = self.most_expensive.iter().map(|(_, path)| {
            FieldError::forbidden(
                path,
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
            )
        });
        let factor = factor(self.total, PER_SCHEMA);
        let whole = FieldError::forbidden(
            path,
            format!(
                "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget \
                 by factor of {factor} {ADVICE}{}",
                self.hint()
            ),
        );
        named.chain([whole]).collect()
    }
}

impl TotalCost {
    /// The bounds that make the most expensive expression cheap enough for the schema, unless an expression is
    /// too expensive by itself: that one has its own hint.
    fn hint(&self) -> String {
        let Some((most_expensive, priced)) = &self.priced else { return String::new() };
        let limit = PER_SCHEMA.checked_sub(self.total.saturating_sub(*most_expensive));
        match limit.filter(|_| *most_expensive <= PER_EXPRESSION) {
            Some(limit) => priced.hint(limit, "schema"),
            None => String::new(),
        }
    }
}

/// An expression whose estimated cost can be explained.
#[derive(Debug)]
pub(crate) struct Priced {
    pub(super) explanation: Explanation,
    pub(super) around: RuleLocation,
}

impl Priced {
    /// ` (hint: …)`, or nothing if no bounds help.
    fn hint(&self, limit: u64, what: &str) -> String {
        self.explanation
            .hint(limit, &self.around, what)
            .map_or_else(String::new, |hint| format!(" (hint: {hint})"))
    }
}

/// Reports an expression that is too dear; `what` is `rule` or `messageExpression`.
pub(crate) fn too_dear(
    what: &str,
    cost: u64,
    path: &Path<'_>,
    priced: Option<&Priced>,
    errors: &mut FieldErrors,
) {
    if cost > PER_EXPRESSION {
        let factor = factor(cost, PER_EXPRESSION);
        errors.push(FieldError::forbidden(
            path,
            format!(
                "estimated {what} cost exceeds budget by factor of {factor} {ADVICE}{}",
                priced.map_or_else(String::new, |priced| priced.hint(PER_EXPRESSION, what))
            ),
        ));
    }
}

fn factor(cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_print_as_upstream() {
        for (cost, want) in [
            (13_589_890, "1.358989x"),
            (15_000_000, "1.5x"),
            (1_000_000_000, "100.0x"),
            (1_000_000_001, "more than 100x"),
        ] {
            assert_eq!(factor(cost, PER_EXPRESSION), want);
        }
    }

    #[test]
    fn the_four_most_expensive_are_named_earlier_ones_first() {
        let mut total = TotalCost::default();
        for (i, cost) in [25, 9, 9, 9, 9, 17, 30].into_iter().enumerate() {
            total.add(cost * 1_000_000, &Path::ROOT.index(i), None);
        }
        total.add(999_999, &Path::ROOT.index(99), None);
        let errors = total.errors(&Path::new("s"));
        let fields: Vec<&str> = errors.iter().map(|e| e.field.as_str()).collect();
        assert_eq!(fields, ["[6]", "[0]", "[5]", "[1]", "s"]);
    }
}
