//! The naming controller: which names a CRD is accepted under.
//!
//! Names are taken per group: plural, singular and short names exclude each other, and so do kinds
//! and list kinds. A [`GroupNames`] counts what the CRDs of one group have accepted, so that a
//! decision costs what the CRD's own names cost, however many CRDs there are. Its owner adds
//! and removes accepted names as CRDs change, the deciding CRD's own included.

use std::collections::HashMap;

use pleach_go::strconv::quote;
use pleach_json::Str;

use crate::types::{Crd, Names};

/// The names taken in one group.
#[derive(Clone, Debug, Default)]
pub struct GroupNames {
    resources: HashMap<Str, u32>,
    kinds: HashMap<Str, u32>,
}

/// The result of accepting names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamesOutcome {
    /// The names the CRD has from now on.
    pub accepted: Names,
    /// The last name that was taken already.
    pub conflict: Option<Conflict>,
}

/// A name that was taken already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// `KindConflict` and the like.
    pub reason: &'static str,
    /// Which name.
    pub message: String,
}

fn resource_names(names: &Names) -> impl Iterator<Item = &Str> {
    [&names.plural, &names.singular].into_iter().chain(names.short_names()).filter(|n| !n.is_empty())
}

fn kind_names(names: &Names) -> impl Iterator<Item = &Str> {
    [&names.kind, &names.list_kind].into_iter().filter(|n| !n.is_empty())
}

impl GroupNames {
    /// Takes the accepted names of a CRD.
    pub fn add(&mut self, accepted: &Names) {
        for name in resource_names(accepted) {
            *self.resources.entry(name.clone()).or_default() += 1;
        }
        for name in kind_names(accepted) {
            *self.kinds.entry(name.clone()).or_default() += 1;
        }
    }

    /// Gives the accepted names of a CRD back.
    pub fn remove(&mut self, accepted: &Names) {
        resource_names(accepted).for_each(|name| give_back(&mut self.resources, name));
        kind_names(accepted).for_each(|name| give_back(&mut self.kinds, name));
    }

    /// Whether no name is taken.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.kinds.is_empty()
    }

    /// Decides which of the wanted names the CRD gets; each is decided on its own, short names
    /// together. Nothing is decided when it has them all: a conflict reported before stays reported.
    pub fn decide(&self, crd: &Crd) -> Option<NamesOutcome> {
        let (wanted, had) = (&crd.spec.names, &crd.status.accepted_names);
        if wanted.same_as(had) {
            return None;
        }
        let mut accepted = had.clone();
        let conflicts = [
            decide_one(&self.resources, &wanted.plural, &mut accepted.plural, "PluralConflict"),
            decide_one(&self.resources, &wanted.singular, &mut accepted.singular, "SingularConflict"),
            self.decide_short_names(wanted, &mut accepted),
            decide_one(&self.kinds, &wanted.kind, &mut accepted.kind, "KindConflict"),
            decide_one(&self.kinds, &wanted.list_kind, &mut accepted.list_kind, "ListKindConflict"),
        ];
        accepted.categories.clone_from(&wanted.categories);
        Some(NamesOutcome { accepted, conflict: conflicts.into_iter().flatten().next_back() })
    }

    fn decide_short_names(&self, wanted: &Names, accepted: &mut Names) -> Option<Conflict> {
        let is_taken =
            |name: &&Str| !accepted.short_names().contains(name) && self.resources.contains_key(*name);
        let taken: Vec<String> =
            wanted.short_names().iter().filter(is_taken).map(|name| in_use(name)).collect();
        let message = match taken.as_slice() {
            [] => {
                accepted.short_names.clone_from(&wanted.short_names);
                return None;
            }
            [only] => only.clone(),
            _ => format!("[{}]", taken.join(", ")),
        };
        Some(Conflict { reason: "ShortNamesConflict", message })
    }
}

/// Gives one name if it is free, or was this CRD's in this place before.
fn decide_one(
    taken: &HashMap<Str, u32>,
    wanted: &Str,
    has: &mut Str,
    reason: &'static str,
) -> Option<Conflict> {
    if wanted != has && taken.contains_key(wanted) {
        return Some(Conflict { reason, message: in_use(wanted) });
    }
    has.clone_from(wanted);
    None
}

fn in_use(name: &str) -> String {
    format!("{} is already in use", quote(name))
}

fn give_back(names: &mut HashMap<Str, u32>, name: &Str) {
    if let Some(count) = names.get_mut(name) {
        *count -= 1;
        if *count == 0 {
            names.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(plural: &str, singular: &str, short: &[&str], kind: &str, list_kind: &str) -> Names {
        Names {
            plural: plural.into(),
            singular: singular.into(),
            short_names: (!short.is_empty()).then(|| short.iter().map(|s| Str::from(*s)).collect()),
            kind: kind.into(),
            list_kind: list_kind.into(),
            categories: None,
        }
    }

    fn crd(wanted: Names, had: Names) -> Crd {
        let mut crd = Crd::default();
        crd.spec.names = wanted;
        crd.status.accepted_names = had;
        crd
    }

    #[test]
    fn each_name_is_decided_on_its_own() {
        let mut group = GroupNames::default();
        group.add(&names("foos", "foo", &["fo", "f2"], "Foo", "FooList"));
        let rows = [
            (
                names("foxes", "fox", &["fx"], "Fox", "FoxList"),
                names("foxes", "fox", &["fx"], "Fox", "FoxList"),
                None,
            ),
            (
                names("foxes", "fox", &[], "Foo", "FoxList"),
                names("foxes", "fox", &[], "", "FoxList"),
                Some(("KindConflict", "\"Foo\" is already in use")),
            ),
            (
                names("foxes", "foos", &[], "Fox", "FoxList"),
                names("foxes", "", &[], "Fox", "FoxList"),
                Some(("SingularConflict", "\"foos\" is already in use")),
            ),
            (
                names("foxes", "fox", &["fx", "fo", "f2"], "Fox", "FoxList"),
                names("foxes", "fox", &[], "Fox", "FoxList"),
                Some(("ShortNamesConflict", "[\"fo\" is already in use, \"f2\" is already in use]")),
            ),
            (
                names("foxes", "foo", &["fo"], "Foo", "FooList"),
                names("foxes", "", &[], "", ""),
                Some(("ListKindConflict", "\"FooList\" is already in use")),
            ),
            (names("foxes", "fox", &[], "foos", "fo"), names("foxes", "fox", &[], "foos", "fo"), None),
        ];
        for (wanted, accepted, conflict) in rows {
            let outcome = group.decide(&crd(wanted, Names::default())).unwrap();
            assert_eq!(outcome.accepted, accepted);
            assert_eq!(outcome.conflict.as_ref().map(|c| (c.reason, c.message.as_str())), conflict);
        }
    }

    #[test]
    fn one_s_own_names_are_no_conflict_where_they_stand() {
        let had = names("foos", "foo", &["fo"], "Foo", "FooList");
        let mut group = GroupNames::default();
        group.add(&had);
        assert_eq!(group.decide(&crd(had.clone(), had.clone())), None, "nothing to decide");
        let more = names("foos", "foo", &["fo", "f2"], "Foo", "FooList");
        assert_eq!(group.decide(&crd(more.clone(), had.clone())).unwrap().accepted, more);
        let swapped = names("foos", "foos", &["fo"], "Foo", "FooList");
        let outcome = group.decide(&crd(swapped, had.clone())).unwrap();
        assert_eq!(outcome.conflict.unwrap().reason, "SingularConflict", "the own plural is taken too");
        group.remove(&had);
        assert!(group.is_empty());
    }
}
