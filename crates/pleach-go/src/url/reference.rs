//! `URL.ResolveReference` and `path.Clean`, over text: ports and the case of hosts stay as they were written.

use std::fmt::Write as _;

/// `path.Clean` of a path from the root: without empty segments and dots, and without a slash at its end.
pub fn clean_path(path: &[u8]) -> Vec<u8> {
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in path.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    let mut out = vec![b'/'];
    out.extend(segments.join(&b'/'));
    out
}

/// The URL that a reference, such as the `Location` of a redirect, leads to from an absolute URL. Bytes that cannot
/// stand in a URL are escaped.
pub fn resolve_reference(base: &str, reference: &str) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or(("https", ""));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let path = rest[authority.len()..].split(['?', '#']).next().unwrap_or("/");
    escape_rest(&if has_scheme(reference) {
        reference.to_owned()
    } else if let Some(rest) = reference.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if reference.starts_with(['?', '#']) {
        format!("{scheme}://{authority}{path}{reference}")
    } else {
        let end = reference.find(['?', '#']).unwrap_or(reference.len());
        let (target, tail) = reference.split_at(end);
        let directory = if target.starts_with('/') { "" } else { path.rsplit_once('/').map_or("", |p| p.0) };
        let joined = remove_dots(&format!("{directory}/{}", target.strip_prefix('/').unwrap_or(target)));
        format!("{scheme}://{authority}{joined}{tail}")
    })
}

/// A path with its `.` and `..` resolved, otherwise as it was.
fn remove_dots(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    let mut is_directory = false;
    for segment in path.split('/').skip(1) {
        is_directory = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    let mut out = format!("/{}", segments.join("/"));
    if is_directory && !out.ends_with('/') {
        out.push('/');
    }
    out
}

fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// Escapes the bytes that cannot stand in a URL; escapes that are there stay.
fn escape_rest(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned() {
        for (path, want) in
            [("", "/"), ("a/b/", "/a/b"), ("/a/../b//c", "/b/c"), ("../..", "/"), ("a/./b", "/a/b")]
        {
            assert_eq!(clean_path(path.as_bytes()), want.as_bytes(), "{path}");
        }
    }

    #[test]
    fn references_are_resolved() {
        for (reference, want) in [
            ("../end?q=1#f", "https://h:1/end?q=1#f"),
            ("c", "https://h:1/a/c"),
            ("/c", "https://h:1/c"),
            ("/c/..", "https://h:1/"),
            ("//other/c", "https://other/c"),
            ("?x", "https://h:1/a/b?x"),
            ("https://127.0.0.1:1/x y", "https://127.0.0.1:1/x%20y"),
            ("/%20\u{fc}", "https://h:1/%20%C3%BC"),
        ] {
            assert_eq!(resolve_reference("https://h:1/a/b?timeout=3s", reference), want, "{reference}");
        }
    }
}
