//! Cost hints: a sentence that names the bounds with which a rule fits its budget.
//!
//! The total cost is the estimate times the cardinality of the rule, and both depend on bounds: of
//! lists, maps and strings that the rule uses, and of the lists and maps that contain its location. The
//! largest sufficient bounds are found by estimating again, so a hint is exact. Unset bounds are
//! suggested before set ones, and one bound before two.

use crate::cost::estimate::{Estimator, Path};
use crate::cost::explain::{Bound, Explanation};
use std::fmt::Write;

/// The location of a rule, as far as its cost depends on it.
#[derive(Debug, Clone, Default)]
pub struct RuleLocation {
    /// Where `self` is in the object: `spec.hosts[*]`; empty for the root.
    pub place: String,
    /// The lists and maps that contain `self`, outermost first.
    pub within: Vec<Container>,
    /// The cardinality if one of them has no bound.
    pub unbounded: u64,
}

/// A list or map that contains the location of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Where it is in the object.
    pub place: String,
    /// `maxItems` or `maxProperties`.
    pub keyword: &'static str,
    /// The bound, if the schema sets one.
    pub most: Option<u64>,
}

/// A bound that can be lowered: of something the rule uses, or that contains it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BoundRef {
    Inside(usize),
    Container(usize),
}

/// How many bounds are tried.
const MOST_KNOBS: usize = 12;
/// Usual lengths of strings: a name, a label, a word.
const LENGTHS: [u64; 3] = [253, 63, 16];
/// A lower single bound is suggested only if no two bounds suffice.
const LEAST_SINGLE_BOUND: u64 = 64;
/// Two lower bounds are suggested only if nothing else suffices.
const LEAST_OF_TWO_BOUNDS: u64 = 8;

impl Explanation {
    /// The bounds that bring the total cost down to `limit`: `set maxItems <= 64 at spec.hosts and the
    /// rule fits`, where `what` is what fits. `None` if it fits already, or if no bounds suffice.
    pub fn hint(&self, limit: u64, around: &RuleLocation, what: &str) -> Option<String> {
        let search = Search { explanation: self, bounds: self.bounds(), around, limit };
        if search.total_cost(&[]) <= limit {
            return None;
        }
        let chosen = search
            .single(LEAST_SINGLE_BOUND)
            .or_else(|| search.several(LEAST_OF_TWO_BOUNDS))
            .or_else(|| search.single(1))
            .or_else(|| search.several(1))?;
        let mut out = String::new();
        for (i, (knob, value)) in chosen.iter().enumerate() {
            let (keyword, place) = search.describe(*knob);
            let lead = if i == 0 { "set" } else { " and" };
            _ = write!(out, "{lead} {keyword} <= {value} at {place}");
        }
        _ = write!(out, " and the {what} fits");
        Some(out)
    }
}

struct Search<'a> {
    explanation: &'a Explanation,
    bounds: Vec<Bound>,
    around: &'a RuleLocation,
    limit: u64,
}

impl Search<'_> {
    /// The total cost with these bounds.
    fn total_cost(&self, set: &[(BoundRef, u64)]) -> u64 {
        let value_of = |knob: BoundRef| set.iter().find(|(k, _)| *k == knob).map(|(_, value)| *value);
        let overrides: Vec<(Path, u64)> = self
            .bounds
            .iter()
            .enumerate()
            .filter_map(|(i, bound)| Some(bound.lowered_to(value_of(BoundRef::Inside(i))?)))
            .collect();
        let mut runs = Some(1u64);
        for (i, around) in self.around.within.iter().enumerate() {
            let most = match (value_of(BoundRef::Container(i)), around.most) {
                (Some(value), Some(most)) => Some(value.min(most)),
                (value, most) => value.or(most),
            };
            runs = runs.and_then(|runs| Some(runs.saturating_mul(most?)));
        }
        let once = Estimator::new(&self.explanation.checked, &overrides).total().max;
        once.saturating_mul(runs.unwrap_or(self.around.unbounded))
    }

    /// The bounds that can be lowered, unset ones first.
    fn candidates(&self) -> Vec<BoundRef> {
        let mut candidates: Vec<BoundRef> = (0..self.around.within.len())
            .map(BoundRef::Container)
            .chain((0..self.bounds.len()).map(BoundRef::Inside))
            .collect();
        candidates.sort_by_key(|knob| !self.is_unbounded(*knob));
        candidates.truncate(MOST_KNOBS);
        candidates
    }

    fn is_unbounded(&self, knob: BoundRef) -> bool {
        match knob {
            BoundRef::Inside(i) => self.bounds[i].implied,
            BoundRef::Container(i) => self.around.within[i].most.is_none(),
        }
    }

    fn is_length(&self, knob: BoundRef) -> bool {
        matches!(knob, BoundRef::Inside(i) if self.bounds[i].keyword == "maxLength")
    }

    fn largest(&self, knob: BoundRef) -> u64 {
        match knob {
            BoundRef::Inside(i) => self.bounds[i].value,
            BoundRef::Container(i) => self.around.within[i].most.unwrap_or(self.around.unbounded),
        }
    }

    /// A single sufficient bound that is not below `least`: the largest, preferably an unset one.
    fn single(&self, least: u64) -> Option<Vec<(BoundRef, u64)>> {
        let mut best: Option<(bool, u64, BoundRef)> = None;
        for knob in self.candidates() {
            let most = self.search(self.largest(knob), |value| vec![(knob, value)]);
            let Some(most) = most.filter(|most| *most >= least) else { continue };
            let candidate = (self.is_unbounded(knob), most, knob);
            if best.is_none_or(|(unbounded, most, _)| (candidate.0, candidate.1) > (unbounded, most)) {
                best = Some(candidate);
            }
        }
        best.map(|(_, most, knob)| vec![(knob, most)])
    }

    /// Several bounds together: usual lengths, and the largest common bound of the rest. All unset
    /// ones, or all if that is not enough.
    fn several(&self, least: u64) -> Option<Vec<(BoundRef, u64)>> {
        let candidates = self.candidates();
        let unbounded: Vec<BoundRef> =
            candidates.iter().copied().filter(|knob| self.is_unbounded(*knob)).collect();
        for candidates in [unbounded, candidates] {
            for length in LENGTHS {
                let set = |value: u64| -> Vec<(BoundRef, u64)> {
                    let of = |knob: &BoundRef| if self.is_length(*knob) { length } else { value };
                    candidates.iter().map(|knob| (*knob, of(knob).min(self.largest(*knob)))).collect()
                };
                let largest = candidates.iter().map(|knob| self.largest(*knob)).max().unwrap_or(0);
                if let Some(most) = self.search(largest, set).filter(|most| *most >= least) {
                    return Some(self.lowering(set(most)));
                }
            }
        }
        None
    }

    /// Without bounds that are not lower than before.
    fn lowering(&self, set: Vec<(BoundRef, u64)>) -> Vec<(BoundRef, u64)> {
        set.into_iter()
            .filter(|(knob, value)| self.is_unbounded(*knob) || *value < self.largest(*knob))
            .collect()
    }

    /// The largest value up to `largest` that fits.
    fn search(&self, largest: u64, set: impl Fn(u64) -> Vec<(BoundRef, u64)>) -> Option<u64> {
        let fits = |value: u64| self.total_cost(&set(value)) <= self.limit;
        if fits(largest) {
            return Some(largest).filter(|largest| *largest > 0);
        }
        let (mut low, mut high) = (0, largest);
        // Invariant: `low` fits (or is 0), `high` does not.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            *(if fits(middle) { &mut low } else { &mut high }) = middle;
        }
        (low > 0).then_some(low)
    }

    fn describe(&self, knob: BoundRef) -> (&'static str, String) {
        match knob {
            BoundRef::Container(i) => (self.around.within[i].keyword, self.around.within[i].place.clone()),
            BoundRef::Inside(i) => {
                let (place, below) = (&self.around.place, self.bounds[i].location());
                let dot =
                    if place.is_empty() || below.is_empty() || below.starts_with('[') { "" } else { "." };
                (self.bounds[i].keyword, format!("{place}{dot}{below}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeclType, Declarations, Environment, ListKind, ObjectType};

    fn explain(source: &str) -> Explanation {
        let text = || DeclType::string(None, None);
        let list = |element: DeclType, most| DeclType::list(element, ListKind::Atomic, most);
        let object = ObjectType::new("selfType")
            .with_field("hosts", list(text(), None))
            .with_field("short", list(DeclType::integer(), Some(10)))
            .with_field("long-name", text())
            .with_field("labels", DeclType::map(text(), None));
        let declarations = Declarations::new().with("self", DeclType::object(object, []));
        Environment::stored().compile(source, &declarations).expect("it compiles").explain_cost()
    }

    #[test]
    fn one_sentence() {
        let spec = RuleLocation { place: "spec".into(), ..RuleLocation::default() };
        let list = |most| RuleLocation {
            place: "spec.rules[*]".into(),
            within: vec![Container { place: "spec.rules".into(), keyword: "maxItems", most }],
            unbounded: 1_000_000,
        };
        let pattern = "self.hosts.all(h, h.matches('^[a-z]{3}$'))";
        for (why, source, around, limit, want) in [
            ("it fits", "self.hosts.size() > 0", &spec, 10, None),
            (
                "a loop over a list without bound",
                "self.hosts.all(h, true)",
                &spec,
                1_000,
                Some("set maxItems <= 332 at spec.hosts and the rule fits"),
            ),
            (
                "a list and its strings",
                pattern,
                &spec,
                10_000_000,
                Some(
                    "set maxItems <= 32258 at spec.hosts and maxLength <= 253 at spec.hosts[*] and the rule fits",
                ),
            ),
            (
                "the list around is enough",
                "self.short.all(x, true)",
                &list(None),
                10_000,
                Some("set maxItems <= 303 at spec.rules and the rule fits"),
            ),
            (
                "a bound that is set is lowered only if need be",
                "self.short.all(x, true)",
                &list(Some(1_000)),
                10_000,
                Some("set maxItems <= 303 at spec.rules and the rule fits"),
            ),
            (
                "all of it",
                pattern,
                &list(None),
                10_000_000,
                Some(
                    "set maxItems <= 179 at spec.rules and maxItems <= 179 at spec.rules[*].hosts and maxLength <= \
                     253 at spec.rules[*].hosts[*] and the rule fits",
                ),
            ),
            (
                "names as in the schema",
                "self.long__dash__name.contains('aaaaaaaaaaaaaaaaaaaaaa')",
                &spec,
                100,
                Some("set maxLength <= 80 at spec.long-name and the rule fits"),
            ),
            (
                "values of a map",
                "self.labels.all(k, self.labels[k] != 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
                &spec,
                10_000,
                Some("set maxProperties <= 999 at spec.labels and the rule fits"),
            ),
            ("no bound helps", "[1, 2].all(x, x > 0)", &spec, 3, None),
        ] {
            let explanation = explain(source);
            assert_eq!(explanation.hint(limit, around, "rule").as_deref(), want, "{why}");
        }
    }
}
