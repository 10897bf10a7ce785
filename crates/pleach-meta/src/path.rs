//! A path into an object, as field errors print it: `spec.ports[0].name`, `metadata.labels[app]`.
//!
//! A path is a chain of borrowed segments on the stack. Walking down allocates nothing; the text is
//! made only when an error needs it.

use std::fmt;

/// A place in an object, relative to some root.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: Segment<'a>,
}

/// One step of a [`Path`].
#[derive(Clone, Copy, Debug)]
pub enum Segment<'a> {
    /// The start; prints as nothing.
    Root,
    /// `.name`
    Name(&'a str),
    /// `[key]`
    Key(&'a str),
    /// `[3]`
    Index(usize),
}

impl Path<'static> {
    /// The empty path.
    pub const ROOT: Path<'static> = Path { parent: None, segment: Segment::Root };
}

impl<'a> Path<'a> {
    /// A path that starts with `name`, which may itself be a dotted text: `Path::new("spec.versions")`.
    pub const fn new(name: &'a str) -> Self {
        Self { parent: None, segment: Segment::Name(name) }
    }

    /// `.name` below this one; no dot at the root.
    pub const fn child<'b>(&'b self, name: &'b str) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: Some(self), segment: Segment::Name(name) }
    }

    /// `[key]` below this one.
    pub const fn key<'b>(&'b self, key: &'b str) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: Some(self), segment: Segment::Key(key) }
    }

    /// `[index]` below this one.
    pub const fn index<'b>(&'b self, index: usize) -> Path<'b>
    where
        'a: 'b,
    {
        Path { parent: Some(self), segment: Segment::Index(index) }
    }

    /// The last step.
    pub const fn segment(&self) -> Segment<'a> {
        self.segment
    }

    /// The path without its last step.
    pub const fn parent(&self) -> Option<&'a Path<'a>> {
        self.parent
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Collected first, so that a path of ten thousand steps needs no deep stack.
        let mut steps = Vec::new();
        let mut at = Some(self);
        while let Some(path) = at {
            steps.push(path.segment);
            at = path.parent;
        }
        pleach_work::charge(steps.len() as u64);
        let mut first = true;
        for step in steps.into_iter().rev() {
            match step {
                Segment::Root => continue,
                Segment::Name(name) if first => f.write_str(name)?,
                Segment::Name(name) => write!(f, ".{name}")?,
                Segment::Key(key) => write!(f, "[{key}]")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
            first = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_like_a_field_error() {
        let root = Path::ROOT;
        let spec = root.child("spec");
        let list = spec.child("list");
        let item = list.index(3);
        assert_eq!(item.key("a.b").to_string(), "spec.list[3][a.b]");
        assert_eq!(root.index(0).to_string(), "[0]");
        assert_eq!(Path::new("spec.versions").index(1).child("name").to_string(), "spec.versions[1].name");
        assert_eq!(root.to_string(), "");
    }
}
