//! [`Key`]: a key of the store.
//!
//! Keys are UTF-8 and ordered bytewise, which is also the order of code points, so that
//! [`Key::prefix_end`] is itself a key.

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

    /// Whether this key has the prefix.
    pub fn starts_with(&self, prefix: &str) -> bool {
        self.0.as_bytes().starts_with(prefix.as_bytes())
    }

    /// The smallest key after all keys with this prefix; `None` when there is none (the empty prefix,
    /// or one of only the last code point).
    pub fn prefix_end(prefix: &str) -> Option<Self> {
        let mut head = prefix;
        while let Some(last) = head.chars().next_back() {
            head = &head[..head.len() - last.len_utf8()];
            // `char` ranges skip the surrogates.
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
