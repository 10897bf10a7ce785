//! `email`: one address as Go's `mail.ParseAddress` reads it (RFC 5322 with a few liberties).
//!
//! A display name may stand before the address in angle brackets, comments in parentheses may
//! follow, and a group is accepted when it holds exactly one address.

use pleach_json::grow_stack;

use super::Format;

/// An e-mail address.
pub(super) struct Email;

impl Format for Email {
    fn name(&self) -> &'static str {
        "email"
    }
    fn doc(&self) -> &'static str {
        "an e-mail address; a display name before it is accepted"
    }
    fn accepts(&self, text: &str) -> bool {
        let mut reader = Reader { rest: text };
        reader.address(true) == Some(1) && reader.skip_comments() && reader.rest.is_empty()
    }
}

/// The rest of the text.
#[derive(Clone, Copy)]
struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn take(&mut self, c: char) -> bool {
        let after = self.rest.strip_prefix(c);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// White space and comments; false when a comment does not end.
    fn skip_comments(&mut self) -> bool {
        self.skip_space();
        while self.rest.starts_with('(') {
            if !self.comment() {
                return false;
            }
            self.skip_space();
        }
        true
    }

    /// A comment in parentheses, which nest.
    fn comment(&mut self) -> bool {
        let mut depth = 0usize;
        let mut chars = self.rest.char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '\\' if chars.next().is_none() => return false,
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.rest = &self.rest[i + c.len_utf8()..];
                return true;
            }
        }
        false
    }

    /// How many addresses there are: one, or those of a group.
    fn address(&mut self, may_be_group: bool) -> Option<usize> {
        self.skip_space();
        if self.rest.is_empty() {
            return None;
        }
        let mut bare = *self;
        if bare.addr_spec() {
            *self = bare;
            self.skip_space();
            return (!self.rest.starts_with('(') || self.comment()).then_some(1);
        }
        if !self.rest.starts_with('<') && !self.phrase() {
            return None;
        }
        self.skip_space();
        if may_be_group && self.take(':') {
            return self.group();
        }
        (self.take('<') && self.addr_spec() && self.take('>')).then_some(1)
    }

    fn group(&mut self) -> Option<usize> {
        self.skip_space();
        if self.take(';') {
            return self.skip_comments().then_some(0);
        }
        let mut members = 0;
        loop {
            self.skip_space();
            members += grow_stack(|| self.address(false))?;
            if !self.skip_comments() {
                return None;
            }
            if self.take(';') {
                return self.skip_comments().then_some(members);
            }
            if !self.take(',') {
                return None;
            }
        }
    }

    /// `local@domain`
    fn addr_spec(&mut self) -> bool {
        self.skip_space();
        let local = if self.rest.starts_with('"') {
            self.quoted_string().is_some_and(|length| length > 0)
        } else {
            self.atom(false)
        };
        if !local || !self.take('@') {
            return false;
        }
        self.skip_space();
        if self.rest.starts_with('[') { self.domain_literal() } else { self.atom(false) }
    }

    /// `[127.0.0.1]`
    fn domain_literal(&mut self) -> bool {
        let Some(inner) = self.rest.strip_prefix('[') else { return false };
        let Some(end) = inner.find(']') else { return false };
        let text = &inner[..end];
        self.rest = &inner[end + 1..];
        let address = text.strip_prefix("IPv6:").unwrap_or(text);
        address.parse::<std::net::IpAddr>().is_ok()
    }

    /// The length of a quoted string's content.
    fn quoted_string(&mut self) -> Option<usize> {
        let mut length = 0;
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[i + 1..];
                    return Some(length);
                }
                '\\' => {
                    let (_, escaped) = chars.next()?;
                    if !is_visible(escaped) && !matches!(escaped, ' ' | '\t') {
                        return None;
                    }
                }
                c if is_visible(c) || matches!(c, ' ' | '\t') => {}
                _ => return None,
            }
            length += 1;
        }
        None
    }

    /// A run of atom characters and dots; `loose` lets the dots stand anywhere.
    fn atom(&mut self, loose: bool) -> bool {
        let end = self.rest.find(|c| !is_atom_char(c)).unwrap_or(self.rest.len());
        let (atom, rest) = self.rest.split_at(end);
        if atom.is_empty()
            || (!loose && (atom.starts_with('.') || atom.ends_with('.') || atom.contains("..")))
        {
            return false;
        }
        self.rest = rest;
        true
    }

    /// One or more words; what follows the last good one is left.
    fn phrase(&mut self) -> bool {
        let mut words = 0;
        loop {
            // Between words, and after the first, comments may stand.
            if words > 0 && !self.skip_comments() {
                return false;
            }
            self.skip_space();
            let word =
                if self.rest.starts_with('"') { self.quoted_string().is_some() } else { self.atom(true) };
            if !word {
                return words > 0;
            }
            words += 1;
        }
    }
}

fn is_visible(c: char) -> bool {
    ('!'..='~').contains(&c) || c as u32 >= 0x80
}

fn is_atom_char(c: char) -> bool {
    is_visible(c) && !matches!(c, '(' | ')' | '<' | '>' | '[' | ']' | ':' | ';' | '@' | '\\' | ',' | '"')
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn one_address() {
        check(
            &Email,
            &[
                "+a@b.com",
                "+first.last+tag@example.co",
                "+Name <a@b.com>",
                "+\"quoted name\" <a@b>",
                "+a@b.com (comment)",
                "+\"a b\"@c.d",
                "+a@[127.0.0.1]",
                "+group: a@b;",
                "+\u{fc}@b.de",
                "+<a@b>",
                "-a",
                "-a@",
                "-@b.com",
                "-a b@c.d",
                "-",
                "-a@b, c@d",
                "-.a@b",
                "-a..b@c",
                "-a.@b",
                "-group:;",
                "-group: a@b, c@d;",
                "-\"\"@b",
                "-Name <a@b.com",
                "-a@b.com (open",
                "-a@b@c",
            ],
        );
    }

    #[test]
    fn a_long_comment_needs_no_stack() {
        let deep = format!("a@b {}{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(Email.accepts(&deep));
    }
}
