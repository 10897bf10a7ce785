//! Excerpts of a webhook's answer for error texts.
//!
//! Errors go to clients and into the log. They say enough of an answer to recognize it, and not more: it
//! may be long, and it may not be meant for the user of the request.

use std::borrow::Cow;

/// How much of an answer an error text quotes.
pub const EXCERPT: usize = 256;

/// The bound on the texts of a webhook that the client sees: the message of a denial with its causes.
pub(super) const MESSAGE: usize = 32 << 10;

/// The start of a text, with dots if there is more of it.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    excerpt_of(text, EXCERPT)
}

/// The same, of bytes that are mostly text.
pub fn excerpt_bytes(bytes: &[u8]) -> String {
    // One character more than is shown, so that a cut text is marked as such.
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(EXCERPT + 4)]);
    excerpt(&start).into_owned()
}

/// The start of a text of at most so many bytes.
pub(crate) fn excerpt_of(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(most);
    Cow::Owned(format!("{}...", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(excerpt("short"), "short");
        assert_eq!(excerpt(&"x".repeat(256)), "x".repeat(256));
        assert_eq!(excerpt(&"x".repeat(257)), format!("{}...", "x".repeat(256)));
        assert_eq!(excerpt_of("a\u{fc}", 2), "a...");
        assert_eq!(excerpt_bytes(&vec![b'x'; 1 << 20]), format!("{}...", "x".repeat(256)));
        assert_eq!(excerpt_bytes(b"a\xff"), "a\u{fffd}");
    }
}
