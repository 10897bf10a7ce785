//! The name something is stored under.
//!
//! Keys are UTF-8 and ordered bytewise, which for UTF-8 is also the order of code points; that
//! is what lets [`Key::prefix_end`] name the end of a prefix with another key.

use std::{borrow::Borrow, fmt, sync::Arc};

/// A key: text, cheap to clone, ordered bytewise.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// A key with this text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this key lies under `prefix`. Every key lies under the empty one.
    pub fn starts_with(&self, prefix: &str) -> bool {
        self.0.as_bytes().starts_with(prefix.as_bytes())
    }

    /// The smallest key behind everything that starts with `prefix`; `None` when nothing can be
    /// behind it (the empty prefix, or one made of the last code point only).
    pub fn prefix_end(prefix: &str) -> Option<Self> {
        let mut head = prefix;
        while let Some(last) = head.chars().next_back() {
            head = &head[..head.len() - last.len_utf8()];
            // `char` ranges step over the surrogates, which have no place in UTF-8.
            if let Some(next) = (last..=char::MAX).nth(1) {
                let mut end = String::with_capacity(head.len() + next.len_utf8());
                end.push_str(head);
                end.push(next);
                return Some(Self::new(end));
            }
        }
        None
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix() {
        for (prefix, end, why) in [
            ("a/", Some("a0"), "the next byte after a slash"),
            ("", None, "everything has no end"),
            ("\u{7f}", Some("\u{80}"), "a longer encoding still sorts behind"),
            ("x\u{d7ff}", Some("x\u{e000}"), "surrogates are stepped over"),
            ("x\u{10ffff}", Some("y"), "the last code point carries over"),
            ("\u{10ffff}\u{10ffff}", None, "nothing sorts behind it"),
        ] {
            let found = Key::prefix_end(prefix);
            assert_eq!(found.as_ref().map(Key::as_str), end, "{why}");
            if let Some(found) = found {
                assert!(found.as_str() > prefix, "{why}");
                assert!(!found.starts_with(prefix), "{why}");
            }
        }
    }
}
