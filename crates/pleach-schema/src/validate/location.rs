//! The location of a value in validation errors: the field of the cause, and the name inside the text.
//!
//! They are the same but for where the validation started. On the status endpoint the field is
//! `status.x` and the text has `x`; errors about the value itself carry the start alone, which is
//! the literal `<nil>` when a whole object is validated.

use pleach_meta::Path;

use crate::field_path::DottedMapKeys;

/// A value that is being validated.
#[derive(Clone, Copy)]
pub(crate) struct Location<'a> {
    start: Option<&'a str>,
    path: Path<'a>,
}

/// How a path that does not exist prints.
pub(crate) const NO_PATH: &str = "<nil>";

impl<'a> Location<'a> {
    /// The value that validation starts with; `start` is its field, if it has one.
    pub(crate) const fn root(start: Option<&'a str>) -> Self {
        Self { start, path: Path::ROOT }
    }

    /// The member `key`.
    pub(crate) const fn key<'b>(&'b self, key: &'b str) -> Location<'b>
    where
        'a: 'b,
    {
        Location { start: self.start, path: self.path.child(key) }
    }

    /// The member `key` that no property names. Odd: in the name of a map's own member the dot
    /// stands before it.
    pub(crate) const fn map_key<'b>(&'b self, key: &'b str) -> Location<'b>
    where
        'a: 'b,
    {
        Location { start: self.start, path: self.path.key(key) }
    }

    /// The item at `index`.
    pub(crate) const fn index<'b>(&'b self, index: usize) -> Location<'b>
    where
        'a: 'b,
    {
        Location { start: self.start, path: self.path.index(index) }
    }

    /// The name inside messages; empty for the value that validation started with.
    pub(crate) fn name(&self) -> String {
        DottedMapKeys(&self.path).to_string()
    }

    /// The field of a cause about this value.
    pub(crate) fn field(&self) -> String {
        let name = DottedMapKeys(&self.path).to_string();
        match (self.start, name.as_str()) {
            (_, "") => self.start_field().to_owned(),
            (None, _) => name.strip_prefix('.').map(str::to_owned).unwrap_or(name),
            (Some(start), _) if name.starts_with('.') => format!("{start}{name}"),
            (Some(start), _) => format!("{start}.{name}"),
        }
    }

    /// The field of causes that carry no path of their own: where validation started.
    pub(crate) fn start_field(&self) -> &'a str {
        self.start.unwrap_or(NO_PATH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_includes_the_start_and_the_name_does_not() {
        let status = Location::root(Some("status"));
        let a = status.key("a");
        assert_eq!((a.field().as_str(), a.name().as_str()), ("status.a", "a"));
        assert_eq!((status.field().as_str(), status.name().as_str()), ("status", ""));
        let member = status.map_key("k");
        assert_eq!((member.field().as_str(), member.name().as_str()), ("status.k", ".k"));
        assert_eq!(a.map_key("k").name(), "a.k");
        let object = Location::root(None);
        assert_eq!((object.field().as_str(), object.key("spec").field().as_str()), ("<nil>", "spec"));
    }
}
