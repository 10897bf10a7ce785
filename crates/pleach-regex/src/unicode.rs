//! Unicode classes and case folding.
//!
//! The tables are of Go's Unicode version, not of `regex-syntax`'s, which may be newer. Names are
//! compared as in Go, ignoring case, spaces, `_` and `-`.

#[allow(clippy::unreadable_literal, reason = "code points are written as Unicode writes them")]
mod categories;
mod folding;
#[allow(clippy::unreadable_literal, reason = "code points are written as Unicode writes them")]
mod scripts;

use crate::class::ClassBuilder;

/// Every `step`th code point from `first` to `last`: `(first, last, step)`.
type Rows = &'static [(u32, u32, u32)];

/// The class `\p{name}`; with case folds if `ignore_case`.
pub(crate) fn class_named(name: &str, ignore_case: bool) -> Option<ClassBuilder> {
    let name: String =
        name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    let mut class = ClassBuilder::default();
    match name.as_str() {
        "any" => class.push(0, 0x10_ffff),
        "ascii" => class.push(0, 0x7f),
        "assigned" => {
            push_assigned(&mut class);
            class.canonicalize();
        }
        _ => class = category(&name).or_else(|| script(&name))?,
    }
    // Go has no folding for this one category.
    if ignore_case && category_name(&name) != "lc" {
        fold(&mut class);
    }
    Some(class)
}

/// The short name of a category.
fn category_name(name: &str) -> &str {
    find(categories::ALIASES, name).unwrap_or(name)
}

fn category(name: &str) -> Option<ClassBuilder> {
    let name = category_name(name);
    let mut class = ClassBuilder::default();
    match name {
        "cn" => {
            push_assigned(&mut class);
            class.canonicalize();
            class.negate();
        }
        "lc" => {
            for part in ["ll", "lt", "lu"] {
                class.push_rows(find(categories::CATEGORIES, part)?);
            }
        }
        _ if name.len() == 1 => {
            let mut known = false;
            for (category, rows) in categories::CATEGORIES {
                if category.starts_with(name) {
                    known = true;
                    class.push_rows(rows);
                }
            }
            if !known {
                return None;
            }
            if name == "c" {
                class.push_class(&category("cn")?);
            }
        }
        _ => class.push_rows(find(categories::CATEGORIES, name)?),
    }
    class.canonicalize();
    Some(class)
}

fn script(name: &str) -> Option<ClassBuilder> {
    let mut class = ClassBuilder::default();
    class.push_rows(find(scripts::SCRIPTS, name)?);
    class.canonicalize();
    Some(class)
}

fn push_assigned(class: &mut ClassBuilder) {
    for (_, rows) in categories::CATEGORIES {
        class.push_rows(rows);
    }
}

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.binary_search_by(|(known, _)| (*known).cmp(name)).ok().map(|at| table[at].1)
}

/// Adds the case folds of all members to a canonical class.
pub(crate) fn fold(class: &mut ClassBuilder) {
    if class.ranges().last().is_none_or(|range| range.1 < 0x80) {
        fold_ascii(class);
        return;
    }
    // Each pair links a code point to the smallest of its fold orbit: once down, then once up.
    let mut down = Vec::new();
    for &(first, last, step, delta) in folding::PAIRS {
        class.intersect((first + delta, last + delta, step), |c| down.push(c - delta));
    }
    if !down.is_empty() {
        class.push_points(&down);
        class.canonicalize();
    }
    let mut up = Vec::new();
    for &(first, last, step, delta) in folding::PAIRS {
        class.intersect((first, last, step), |c| up.push(c + delta));
    }
    if !up.is_empty() {
        class.push_points(&up);
        class.canonicalize();
    }
}

/// `fold` for ASCII, the usual case: letters at a distance of 32, plus the Kelvin sign and the long s.
fn fold_ascii(class: &mut ClassBuilder) {
    let mut equals = Vec::new();
    class.intersect((0x41, 0x5a, 1), |c| equals.push(c + 0x20));
    class.intersect((0x61, 0x7a, 1), |c| equals.push(c - 0x20));
    class.intersect((0x4b, 0x6b, 0x20), |_| equals.push(0x212a));
    class.intersect((0x53, 0x73, 0x20), |_| equals.push(0x17f));
    if !equals.is_empty() {
        class.push_points(&equals);
        class.canonicalize();
    }
}

/// Whether a code point has a case fold.
pub(crate) fn has_case(point: u32) -> bool {
    if point < 0x80 {
        return (point | 0x20).wrapping_sub(u32::from(b'a')) < 26;
    }
    let within = |first: u32, last: u32, step: u32| {
        (first..=last).contains(&point) && (point - first).is_multiple_of(step)
    };
    folding::PAIRS.iter().any(|&(first, last, step, delta)| {
        within(first, last, step) || within(first + delta, last + delta, step)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_go_finds_them() {
        for (why, name, found) in [
            ("a category", "Lu", true),
            ("one letter", "L", true),
            ("any case, and what is ignored", " g-R_e eK ", true),
            ("a long category name", "Uppercase_Letter", true),
            ("made of others", "LC", true),
            ("two words, which Go does not find", "Old_Italic", false),
            ("not a category", "Is", false),
            ("properties are not known", "Script=Greek", false),
            ("empty", "", false),
            ("no such first letter", "x", false),
        ] {
            assert_eq!(class_named(name, false).is_some(), found, "{why}: {name:?}");
        }
    }

    #[test]
    fn folding_reaches_the_whole_ring() {
        for (why, start) in [("from ASCII", 'K'), ("from lower case", 'k'), ("from the sign", '\u{212a}')] {
            let mut class = ClassBuilder::default();
            class.push(u32::from(start), u32::from(start));
            fold(&mut class);
            assert_eq!(class.ranges(), [(0x4b, 0x4b), (0x6b, 0x6b), (0x212a, 0x212a)], "{why}");
            assert!(has_case(u32::from(start)), "{why}");
        }
        assert!(!has_case(u32::from('1')));
        assert!(!has_case(u32::from('[')));
    }

    #[test]
    fn tables_are_sorted_for_the_search() {
        assert!(categories::CATEGORIES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(categories::ALIASES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(scripts::SCRIPTS.is_sorted_by(|a, b| a.0 < b.0));
    }
}
