//! One sentence about a rule that is too dear: which bounds would make it fit.
//!
//! A price is an estimate times how often a rule runs, and both depend on bounds: of lists, maps and
//! strings that the rule looks at, and of the lists and maps its place is in. The largest bounds that
//! bring the price under its limit are searched by pricing again, so a hint is never a guess. A bound
//! that the schema does not set is asked for before one that it does; one bound is better than two.

use crate::cost::estimate::{Estimator, Path};
use crate::cost::explain::{Bound, Explanation};
use std::fmt::Write;

/// The place of a rule, as far as its price depends on it.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Where `self` is in the object: `spec.hosts[*]`; empty for the root.
    pub place: String,
    /// The lists and maps that `self` is in, outermost first.
    pub within: Vec<Around>,
    /// How often the rule runs if one of them has no bound.
    pub unbounded: u64,
}

/// A list or map around the place of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Around {
    /// Where it is in the object.
    pub place: String,
    /// `maxItems` or `maxProperties`.
    pub keyword: &'static str,
    /// The bound, if the schema sets one.
    pub most: Option<u64>,
}

/// What can be bounded: something the rule looks at, or something around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Knob {
    Inside(usize),
    Around(usize),
}

/// So many bounds are tried.
const MOST_KNOBS: usize = 12;
/// What people bound strings by: a name, a label, a word.
const LENGTHS: [u64; 3] = [253, 63, 16];
/// A lower bound than this is asked for only if no two bounds do it together.
const ROOM: u64 = 64;
/// Two bounds lower than this are only taken if nothing else helps.
const LITTLE_ROOM: u64 = 8;

impl Explanation {
    /// The bounds that would bring the price, which is the estimate times the number of runs, down to
    /// `limit`: `set maxItems <= 64 at spec.hosts and the rule fits`, where `what` is what fits. `None`
    /// if it does already, or if no bounds do it.
    pub fn hint(&self, limit: u64, around: &Surroundings, what: &str) -> Option<String> {
        let search = Search { explanation: self, bounds: self.bounds(), around, limit };
        if search.price(&[]) <= limit {
            return None;
        }
        let chosen = search
            .single(ROOM)
            .or_else(|| search.several(LITTLE_ROOM))
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
    around: &'a Surroundings,
    limit: u64,
}

impl Search<'_> {
    /// The price with these bounds instead of the schema's.
    fn price(&self, set: &[(Knob, u64)]) -> u64 {
        let value_of = |knob: Knob| set.iter().find(|(k, _)| *k == knob).map(|(_, value)| *value);
        let overrides: Vec<(Path, u64)> = self
            .bounds
            .iter()
            .enumerate()
            .filter_map(|(i, bound)| Some(bound.lowered_to(value_of(Knob::Inside(i))?)))
            .collect();
        let mut runs = Some(1u64);
        for (i, around) in self.around.within.iter().enumerate() {
            let most = match (value_of(Knob::Around(i)), around.most) {
                (Some(value), Some(most)) => Some(value.min(most)),
                (value, most) => value.or(most),
            };
            runs = runs.and_then(|runs| Some(runs.saturating_mul(most?)));
        }
        let once = Estimator::new(&self.explanation.checked, &overrides).total().max;
        once.saturating_mul(runs.unwrap_or(self.around.unbounded))
    }

    /// What can be bounded, those first that the schema does not bound.
    fn knobs(&self) -> Vec<Knob> {
        let mut knobs: Vec<Knob> = (0..self.around.within.len())
            .map(Knob::Around)
            .chain((0..self.bounds.len()).map(Knob::Inside))
            .collect();
        knobs.sort_by_key(|knob| !self.is_unbounded(*knob));
        knobs.truncate(MOST_KNOBS);
        knobs
    }

    fn is_unbounded(&self, knob: Knob) -> bool {
        match knob {
            Knob::Inside(i) => self.bounds[i].implied,
            Knob::Around(i) => self.around.within[i].most.is_none(),
        }
    }

    fn is_length(&self, knob: Knob) -> bool {
        matches!(knob, Knob::Inside(i) if self.bounds[i].keyword == "maxLength")
    }

    fn largest(&self, knob: Knob) -> u64 {
        match knob {
            Knob::Inside(i) => self.bounds[i].value,
            Knob::Around(i) => self.around.within[i].most.unwrap_or(self.around.unbounded),
        }
    }

    /// One bound that is enough and not below `least`: the one that leaves most room, asked for where
    /// there is none yet if that is possible.
    fn single(&self, least: u64) -> Option<Vec<(Knob, u64)>> {
        let mut best: Option<(bool, u64, Knob)> = None;
        for knob in self.knobs() {
            let most = self.search(self.largest(knob), |value| vec![(knob, value)]);
            let Some(most) = most.filter(|most| *most >= least) else { continue };
            let candidate = (self.is_unbounded(knob), most, knob);
            if best.is_none_or(|(unbounded, most, _)| (candidate.0, candidate.1) > (unbounded, most)) {
                best = Some(candidate);
            }
        }
        best.map(|(_, most, knob)| vec![(knob, most)])
    }

    /// Several bounds together: lengths that people use, and the largest common bound of the rest. All
    /// that the schema does not bound, or everything if that is not enough.
    fn several(&self, least: u64) -> Option<Vec<(Knob, u64)>> {
        let knobs = self.knobs();
        let unbounded: Vec<Knob> = knobs.iter().copied().filter(|knob| self.is_unbounded(*knob)).collect();
        for knobs in [unbounded, knobs] {
            for length in LENGTHS {
                let set = |value: u64| -> Vec<(Knob, u64)> {
                    let of = |knob: &Knob| if self.is_length(*knob) { length } else { value };
                    knobs.iter().map(|knob| (*knob, of(knob).min(self.largest(*knob)))).collect()
                };
                let largest = knobs.iter().map(|knob| self.largest(*knob)).max().unwrap_or(0);
                if let Some(most) = self.search(largest, set).filter(|most| *most >= least) {
                    return Some(self.lowering(set(most)));
                }
            }
        }
        None
    }

    /// Without what is no lower than it was.
    fn lowering(&self, set: Vec<(Knob, u64)>) -> Vec<(Knob, u64)> {
        set.into_iter()
            .filter(|(knob, value)| self.is_unbounded(*knob) || *value < self.largest(*knob))
            .collect()
    }

    /// The largest value up to `largest` that fits.
    fn search(&self, largest: u64, set: impl Fn(u64) -> Vec<(Knob, u64)>) -> Option<u64> {
        let fits = |value: u64| self.price(&set(value)) <= self.limit;
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

    fn describe(&self, knob: Knob) -> (&'static str, String) {
        match knob {
            Knob::Around(i) => (self.around.within[i].keyword, self.around.within[i].place.clone()),
            Knob::Inside(i) => {
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
        let spec = Surroundings { place: "spec".into(), ..Surroundings::default() };
        let list = |most| Surroundings {
            place: "spec.rules[*]".into(),
            within: vec![Around { place: "spec.rules".into(), keyword: "maxItems", most }],
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
