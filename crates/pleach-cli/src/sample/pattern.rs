//! Texts that match a regular expression.
//!
//! Walks the parsed expression and takes the shortest and most readable choices. Whether a text really
//! matches is the engine's to say: callers check.

use regex_syntax::hir::{Class, Hir, HirKind};

/// The steps of choosing a character.
const STEPS_PER_CHARACTER: u64 = 20;

/// Candidates for a text of at least `least` characters that matches; `variant` asks for other ones.
pub(super) fn texts(pattern: &str, least: usize, variant: usize) -> Vec<String> {
    // Bytes are enough for most, and need no tables; patterns with more than ASCII need characters.
    let bytes = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern);
    let Ok(hir) = bytes.or_else(|_| regex_syntax::parse(pattern)) else { return Vec::new() };
    let mut out = Vec::new();
    for more in [0, 1, 2, 3, 5, 7, least.saturating_add(1) / 2, least] {
        let mut text = String::new();
        write(&hir, more.min(4096), variant, &mut text);
        pleach_work::charge(STEPS_PER_CHARACTER * text.len() as u64);
        if !out.contains(&text) && text.len() < 1 << 16 {
            out.push(text);
        }
    }
    out
}

fn write(hir: &Hir, more: usize, variant: usize, out: &mut String) {
    // Repetitions of nothing make no text.
    pleach_work::charge(1);
    if out.len() > 1 << 16 {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => out.extend(pick(class, variant)),
        HirKind::Capture(capture) => write(&capture.sub, more, variant, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, more, variant, out)),
        HirKind::Alternation(branches) => {
            if let Some(branch) = branches.get(variant % branches.len().max(1)) {
                write(branch, more, variant, out);
            }
        }
        HirKind::Repetition(repetition) => {
            let least = repetition.min as usize;
            let most = repetition.max.map_or(usize::MAX, |max| max as usize);
            let times = least.saturating_add(more).min(most).max(least).min(8192);
            for i in 0..times {
                // The last one differs between variants, so that items of a set do.
                let variant = if i + 1 == times { variant } else { 0 };
                write(&repetition.sub, more.min(1), variant, out);
            }
        }
    }
}

fn pick(class: &Class, variant: usize) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.ranges().iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => {
            class.ranges().iter().map(|range| (char::from(range.start()), char::from(range.end()))).collect()
        }
    };
    let has = |c: char| ranges.iter().any(|(start, end)| (*start..=*end).contains(&c));
    let readable = ('a'..='z').chain('0'..='9').chain('A'..='Z').chain("-_./ ".chars());
    let usable: Vec<char> = readable.filter(|c| has(*c)).collect();
    if usable.is_empty() {
        ranges.first().map(|(start, _)| *start)
    } else {
        Some(usable[variant % usable.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match_their_pattern() {
        for pattern in [
            "^[a-z]+$",
            r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
            r"^(\d+)(s|m|h)$",
            "^(a|b){2,3}x?$",
            "^[^/]+/.+$",
        ] {
            let regex = pleach_schema::Schema::from_value(
                &pleach_json::json!({"type": "string", "pattern": pattern}),
                pleach_schema::SchemaOptions::default(),
            );
            let found = texts(pattern, 0, 0);
            assert!(
                found.iter().any(|text| regex.root().accepts(&text.as_str().into())),
                "{pattern}: {found:?}"
            );
        }
    }
}
