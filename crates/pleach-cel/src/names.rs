//! Escaping of property names as CEL identifiers.
//!
//! JSON names may hold characters CEL identifiers may not. Kubernetes escapes them: `my-key` is
//! selected as `my__dash__key`, the reserved word `if` as `__if__`. Keys of maps
//! (`additionalProperties`) are never escaped.

use pleach_json::Str;

/// Reserved words: never identifiers.
const KEYWORDS: [&str; 4] = ["true", "false", "null", "in"];

/// Words that cannot be variables or functions; fields may have these names.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Replacements inside a name.
const ESCAPES: [(&str, &str); 4] =
    [("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__")];

/// Whether no variable or function can have this name.
pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// Whether a text is an identifier of CEL, and no reserved word.
pub fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b == b'_' || b.is_ascii_alphabetic())
        && bytes.all(|b| b == b'_' || b.is_ascii_alphanumeric())
        && !KEYWORDS.contains(&text)
        && !is_reserved(text)
}

/// Whether a property of this name is escaped whole.
fn is_escaped_whole(name: &str) -> bool {
    KEYWORDS.contains(&name) || is_reserved(name)
}

/// The identifier that selects the property `name`; `None` if no expression can.
pub fn escape(name: &str) -> Option<Str> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'/');
    let first = *name.as_bytes().first()?;
    if first.is_ascii_digit() || !name.bytes().all(allowed) {
        return None;
    }
    if let Some(escaped) = escape_reserved(name) {
        return Some(escaped);
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let (taken, text) = ESCAPES
            .iter()
            .find(|(raw, _)| rest.starts_with(raw))
            .map_or((c.len_utf8(), &rest[..c.len_utf8()]), |(raw, text)| (raw.len(), *text));
        out.push_str(text);
        rest = &rest[taken..];
    }
    Some(out.into())
}

/// `__word__`, if `name` is a reserved word.
pub fn escape_reserved(name: &str) -> Option<Str> {
    is_escaped_whole(name).then(|| format!("__{name}__").into())
}

/// The property that `escaped` selects; `None` if [`escape`] gives it for no name.
pub fn unescape(escaped: &str) -> Option<Str> {
    let inner = escaped.strip_prefix("__").and_then(|e| e.strip_suffix("__"));
    if let Some(word) = inner.filter(|word| is_escaped_whole(word)) {
        return Some(word.into());
    }
    let mut out = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("__") {
            let (raw, text) = ESCAPES.iter().find(|(_, text)| rest.starts_with(text))?;
            out.push_str(raw);
            rest = &rest[text.len()..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_no_reserved_words() {
        for (text, want) in [
            ("a", true),
            ("_a1", true),
            ("", false),
            ("1a", false),
            ("a-b", false),
            ("in", false),
            ("var", false),
        ] {
            assert_eq!(is_identifier(text), want, "{text}");
        }
    }

    #[test]
    fn names_escape_and_come_back() {
        for (why, name, want) in [
            ("plain", "abc", Some("abc")),
            ("a reserved word", "namespace", Some("__namespace__")),
            ("reserved only when whole", "namespaces", Some("namespaces")),
            ("a dash", "my-key", Some("my__dash__key")),
            ("dots and slashes", "a.b/c", Some("a__dot__b__slash__c")),
            ("underscores pair up from the left", "a___b", Some("a__underscores___b")),
            ("a single underscore stays", "_a_", Some("_a_")),
            ("four underscores", "____", Some("__underscores____underscores__")),
            ("looks escaped already", "__if__", Some("__underscores__if__underscores__")),
            ("a leading dot is allowed", ".a", Some("__dot__a")),
            ("empty", "", None),
            ("a leading digit", "1a", None),
            ("other characters", "a b", None),
            ("beyond ASCII", "ä", None),
        ] {
            let escaped = escape(name);
            assert_eq!(escaped.as_deref(), want, "{why}");
            if let Some(escaped) = escaped {
                assert_eq!(unescape(&escaped).as_deref(), Some(name), "{why}: back");
            }
        }
        assert_eq!(unescape("a__b"), None, "two underscores must begin an escape");
    }
}
