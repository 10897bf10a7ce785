//! Where in an object a walk has come to, as schema messages print it: `spec.list[0].key`.
//!
//! Unlike a [`pleach_meta::Path`], every key is joined with a dot, also that of a map, and nothing
//! is quoted. A trail is a chain of borrowed steps on the stack; its text is made on demand.

use std::fmt;

/// A place in an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trail<'a> {
    parent: Option<&'a Trail<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    Key(&'a str),
    /// The key of a map: its dot is there even where nothing stands before it.
    MapKey(&'a str),
    Index(usize),
}

impl Trail<'static> {
    /// The object itself; prints as nothing.
    pub(crate) const ROOT: Self = Trail { parent: None, step: Step::Root };
}

impl<'a> Trail<'a> {
    /// The member `key` of this place.
    pub(crate) const fn key<'b>(&'b self, key: &'b str) -> Trail<'b>
    where
        'a: 'b,
    {
        Trail { parent: Some(self), step: Step::Key(key) }
    }

    /// The member `key` of this place, which no property names.
    pub(crate) const fn map_key<'b>(&'b self, key: &'b str) -> Trail<'b>
    where
        'a: 'b,
    {
        Trail { parent: Some(self), step: Step::MapKey(key) }
    }

    /// The item at `index` of this place.
    pub(crate) const fn index<'b>(&'b self, index: usize) -> Trail<'b>
    where
        'a: 'b,
    {
        Trail { parent: Some(self), step: Step::Index(index) }
    }
}

impl fmt::Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Collected first, so that ten thousand steps need no deep stack.
        let mut steps = Vec::new();
        let mut at = Some(self);
        while let Some(trail) = at {
            steps.push(trail.step);
            at = trail.parent;
        }
        pleach_work::charge(steps.len() as u64);
        let mut empty = true;
        for step in steps.into_iter().rev() {
            match step {
                Step::Root => {}
                Step::Key(key) => {
                    // Nothing has been printed yet: also after a first key that is empty.
                    if !empty {
                        f.write_str(".")?;
                    }
                    f.write_str(key)?;
                    empty &= key.is_empty();
                }
                Step::MapKey(key) => {
                    write!(f, ".{key}")?;
                    empty = false;
                }
                Step::Index(index) => {
                    write!(f, "[{index}]")?;
                    empty = false;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_joined_by_dots_whatever_they_hold() {
        let root = Trail::ROOT;
        let spec = root.key("spec");
        let list = spec.key("l");
        let item = list.index(3);
        assert_eq!(root.to_string(), "");
        assert_eq!(item.key("a.b").to_string(), "spec.l[3].a.b");
        assert_eq!(spec.key("").to_string(), "spec.");
        assert_eq!(root.key("").to_string(), "");
    }
}
