//! Field paths as schema messages print them: `spec.list[0].key`.
//!
//! The text of a [`Path`] in field errors has map keys in brackets. Pruning, defaulting and value
//! validation join every key with a dot instead, also that of a map, and quote nothing.

use std::fmt;

use pleach_meta::Path;
use pleach_meta::path::Segment;

/// A path with all keys joined by dots: unknown fields, dropped nulls, defaults.
pub(crate) struct Dotted<'a>(pub(crate) &'a Path<'a>);

impl fmt::Display for Dotted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dotted(self.0, false, f)
    }
}

/// The same in messages of value validation: the dot before a map key is there even if nothing precedes it.
pub(crate) struct DottedMapKeys<'a>(pub(crate) &'a Path<'a>);

impl fmt::Display for DottedMapKeys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dotted(self.0, true, f)
    }
}

fn write_dotted(path: &Path<'_>, map_key_has_dot: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // Collected first, so that ten thousand segments need no deep stack.
    let mut segments = Vec::new();
    let mut at = Some(path);
    while let Some(path) = at {
        segments.push(path.segment());
        at = path.parent();
    }
    pleach_work::charge(segments.len() as u64);
    // Nothing has been printed yet: also after a first key that is empty.
    let mut empty = true;
    for segment in segments.into_iter().rev() {
        match segment {
            Segment::Root => {}
            Segment::Key(key) if map_key_has_dot => {
                write!(f, ".{key}")?;
                empty = false;
            }
            Segment::Name(key) | Segment::Key(key) => {
                if !empty {
                    f.write_str(".")?;
                }
                f.write_str(key)?;
                empty &= key.is_empty();
            }
            Segment::Index(index) => {
                write!(f, "[{index}]")?;
                empty = false;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_joined_by_dots_and_not_quoted() {
        let root = Path::ROOT;
        let spec = root.child("spec");
        let list = spec.child("l");
        let item = list.index(3);
        for (path, dotted, map_keys) in [
            (root, "", ""),
            (item.child("a.b"), "spec.l[3].a.b", "spec.l[3].a.b"),
            (item.key("a.b"), "spec.l[3].a.b", "spec.l[3].a.b"),
            (spec.child(""), "spec.", "spec."),
            (root.child(""), "", ""),
            (root.key("k"), "k", ".k"),
        ] {
            assert_eq!(Dotted(&path).to_string(), dotted);
            assert_eq!(DottedMapKeys(&path).to_string(), map_keys);
        }
    }
}
