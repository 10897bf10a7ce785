//! Comparison of two values of one type: added, modified and removed fields.
//!
//! Added and removed fields include containers; a modified field is reported where it is owned.

use pleach_json::{Map, Str, Value, grow_stack};
use pleach_work::charge;

use crate::element::PathElement;
use crate::fits::fits;
use crate::items::{Item, grouped_by_key};
use crate::same::{asks_first, same};
use crate::set::Set;
use crate::shape::{ListShape, MapShape, Relation, Shape, Type};

/// The differences between two values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Fields of the second value only.
    pub added: Set,
    /// Fields of both, with different values.
    pub modified: Set,
    /// Fields of the first value only.
    pub removed: Set,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// The differences with old and new exchanged.
    #[must_use]
    pub(crate) fn reversed(self) -> Self {
        Self { added: self.removed, modified: self.modified, removed: self.added }
    }

    /// Without these fields and all below them.
    #[must_use]
    pub fn without(&self, fields: &Set) -> Self {
        Self {
            added: self.added.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            removed: self.removed.recursive_difference(fields),
        }
    }

    /// Whether [`Self::without`] these fields something is missing, or may be.
    pub(crate) fn touches(&self, fields: &Set) -> bool {
        let begins = |set: &Set| fields.nodes().iter().any(|node| set.node(&node.element).is_some());
        begins(&self.added) || begins(&self.modified) || begins(&self.removed)
    }

    fn push(&mut self, element: impl Fn() -> PathElement, marks: Marks, below: Self) {
        let put = |set: &mut Set, mark: bool, below: Set| {
            if mark || !below.is_empty() {
                set.push(element(), mark, below);
            }
        };
        put(&mut self.added, marks.added, below.added);
        put(&mut self.modified, marks.modified, below.modified);
        put(&mut self.removed, marks.removed, below.removed);
    }

    fn union(&mut self, other: &Self) {
        self.added = self.added.union(&other.added);
        self.modified = self.modified.union(&other.modified);
        self.removed = self.removed.union(&other.removed);
    }
}

/// Which sets a value itself belongs to.
#[derive(Clone, Copy, Default)]
struct Marks {
    added: bool,
    modified: bool,
    removed: bool,
}

/// Compares two values.
pub fn compare(old: &Value, new: &Value, of: Type<'_>) -> Comparison {
    Walk { checks: false, fits: true }.visit(Some(old), Some(new), of, 0).1
}

/// Compares two values, and says whether the first fits the type, given that the second does. Only what differs
/// is checked.
pub(crate) fn compare_and_check(old: &Value, new: &Value, of: Type<'_>) -> (Comparison, bool) {
    let mut walk = Walk { checks: true, fits: true };
    let comparison = walk.visit(Some(old), Some(new), of, 0).1;
    (comparison, walk.fits)
}

struct Walk {
    /// Whether it matters that the first value fits its type.
    checks: bool,
    /// Whether all that was seen of it does.
    fits: bool,
}

impl Walk {
    fn check(&mut self, old: Option<&Value>, of: Type<'_>) {
        self.fits = self.fits && (!self.checks || old.is_none_or(|old| fits(old, of, false)));
    }

    fn visit(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        of: Type<'_>,
        depth: usize,
    ) -> (Marks, Comparison) {
        let (mut marks, below) = match (old, new) {
            (None, None) => return Default::default(),
            (Some(old_value), None) => self.inside(old, new, of, of.shape(Some(old_value)), depth),
            (None, Some(new_value)) => self.inside(old, new, of, of.shape(Some(new_value)), depth),
            (Some(old_value), Some(new_value)) => {
                let (was, is) = (of.shape(Some(old_value)), of.shape(Some(new_value)));
                if was.is_like(&is) {
                    self.inside(old, new, of, is, depth)
                } else {
                    let (marks, mut below) = self.inside(old, new, of, was, depth);
                    let (more, rest) = self.inside(old, new, of, is, depth);
                    below.union(&rest);
                    let marks = Marks {
                        added: marks.added || more.added,
                        modified: marks.modified || more.modified,
                        removed: marks.removed || more.removed,
                    };
                    (marks, below)
                }
            }
        };
        marks.added |= old.is_none();
        marks.removed |= new.is_none();
        (marks, below)
    }

    fn inside(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        of: Type<'_>,
        shape: Shape<'_>,
        depth: usize,
    ) -> (Marks, Comparison) {
        match shape {
            Shape::List(list) if !matches!(list.relation, Relation::Atomic) => {
                let (was, is) = (items_of(old), items_of(new));
                if !(was.is_empty() && is.is_empty()) {
                    if was.is_empty() {
                        self.check(old, of);
                    }
                    return (Marks::default(), grow_stack(|| self.items(&list, was, is, depth + 1)));
                }
            }
            Shape::Map(map) if !map.is_atomic => {
                let (was, is) = (members_of(old), members_of(new));
                if !(was.is_empty() && is.is_empty()) {
                    if was.is_empty() {
                        self.check(old, of);
                    }
                    return (Marks::default(), grow_stack(|| self.members(&map, was, is, depth + 1)));
                }
            }
            Shape::Scalar(_) | Shape::List(_) | Shape::Map(_) => {}
        }
        self.check(old, of);
        leaf(old, new)
    }

    fn members(
        &mut self,
        map: &MapShape<'_>,
        old: &[(Str, Value)],
        new: &[(Str, Value)],
        depth: usize,
    ) -> Comparison {
        charge((old.len() + new.len()) as u64);
        let (mut fields, others) = (map.fields(), map.others());
        let mut out = Comparison::default();
        pairs(old, new, |key, old, new| {
            if is_equal(old, new, depth) {
                return;
            }
            let (marks, below) = match fields.next(key).or(others) {
                Some(of) => self.visit(old, new, of, depth),
                None => {
                    self.fits &= old.is_none();
                    leaf(old, new)
                }
            };
            out.push(|| PathElement::Field(key.clone()), marks, below);
        });
        out
    }

    fn items(&mut self, list: &ListShape<'_>, old: &[Value], new: &[Value], depth: usize) -> Comparison {
        let mut out = Comparison::default();
        let all = grouped_by_key(list, old, new);
        // Items without a key are not among them.
        self.fits &= all.len() == old.len() + new.len();
        for items in all.chunk_by(Item::has_same_key) {
            let (was, is) = items.split_at(items.partition_point(|item| !item.second));
            let (first_old, first_new) =
                (was.first().map(|item| item.value), is.first().map(|item| item.value));
            if was.len() > 1 {
                was.iter().for_each(|item| self.check(Some(item.value), list.items));
            }
            // Duplicates are compared as one.
            let (marks, below) = match (was, is) {
                ([_], [_]) if is_equal(first_old, first_new, depth) => continue,
                ([] | [_], [] | [_]) => self.visit(first_old, first_new, list.items, depth),
                ([_, _, ..], [_, _, ..]) => {
                    let equal =
                        was.len() == is.len() && was.iter().zip(is).all(|(a, b)| same(a.value, b.value));
                    (Marks { modified: !equal, ..Marks::default() }, Comparison::default())
                }
                ([_, _, ..], _) => {
                    let (marks, below) = self.visit(None, first_new, list.items, depth);
                    (Marks { removed: true, ..marks }, below)
                }
                (_, _) => {
                    let (marks, below) = self.visit(first_old, None, list.items, depth);
                    (Marks { added: true, ..marks }, below)
                }
            };
            out.push(|| items[0].key.element(), marks, below);
        }
        for set in [&mut out.added, &mut out.modified, &mut out.removed] {
            set.sort();
        }
        out
    }
}

/// Whether two values are equal, where they are compared at this depth at all: most of an object is unchanged, and
/// equality needs no type.
pub(crate) fn is_equal(old: Option<&Value>, new: Option<&Value>, depth: usize) -> bool {
    match (old, new) {
        (Some(Value::Array(_) | Value::Object(_)), Some(_)) => asks_first(depth) && old == new,
        _ => old == new,
    }
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> (Marks, Comparison) {
    let modified = matches!((old, new), (Some(old), Some(new)) if !same(old, new));
    (Marks { modified, ..Marks::default() }, Comparison::default())
}

pub(crate) fn items_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], |items| items)
}

pub(crate) fn members_of(value: Option<&Value>) -> &[(Str, Value)] {
    value.and_then(Value::as_object).map_or(&[], Map::entries)
}

/// The members of two objects side by side, in key order.
pub(crate) fn pairs<'v>(
    mut old: &'v [(Str, Value)],
    mut new: &'v [(Str, Value)],
    mut each: impl FnMut(&'v Str, Option<&'v Value>, Option<&'v Value>),
) {
    while !old.is_empty() || !new.is_empty() {
        let order = match (old.first(), new.first()) {
            // Most keys are in both, and equality is a faster test than order.
            (Some((a, _)), Some((b, _))) if a == b => std::cmp::Ordering::Equal,
            (Some((a, _)), Some((b, _))) => a.as_str().cmp(b.as_str()),
            (Some(_), None) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        let (a, b) = (old.first().filter(|_| order.is_le()), new.first().filter(|_| order.is_ge()));
        if let Some((key, _)) = a.or(b) {
            each(key, a.map(|(_, value)| value), b.map(|(_, value)| value));
        }
        old = &old[usize::from(a.is_some())..];
        new = &new[usize::from(b.is_some())..];
    }
}
