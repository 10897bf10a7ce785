//! Replacement, with `$1` and `${name}` as in Go.

use crate::regex::{Groups, Regex, width_at};

impl Regex {
    /// The text with every match replaced. In the replacement `$1` and `${1}` are groups by number,
    /// `$name` and `${name}` by name (as long a name as fits), `$$` is a dollar sign, and a group
    /// that is not there is empty.
    ///
    /// ```
    /// let regex = pleach_regex::Regex::new("(?P<key>[a-z]+)=([0-9]+)")?;
    /// assert_eq!(regex.replace_all_string("a=1, b=2", "$2:${key}"), "1:a, 2:b");
    /// assert_eq!(regex.replace_all_string("a=1", "$1x"), "", "there is no group named 1x");
    /// # Ok::<(), pleach_regex::Error>(())
    /// ```
    pub fn replace_all_string(&self, text: &str, replacement: &str) -> String {
        let mut out = String::new();
        let mut copied = 0;
        let mut from = 0;
        while from <= text.len() {
            let groups = self.groups_at(text, from);
            let Some(&Some((start, end))) = groups.first() else { break };
            out.push_str(&text[copied..start]);
            // Not for an empty match directly after another one.
            if end > copied || start == 0 {
                self.expand(&mut out, replacement, text, &groups);
            }
            copied = end;
            from = end.max(from + width_at(text, from).max(1));
        }
        out.push_str(&text[copied..]);
        out
    }

    fn expand(&self, out: &mut String, template: &str, text: &str, groups: &Groups) {
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                out.push('$');
                rest = after;
                continue;
            }
            let Some((name, after)) = reference(after) else {
                out.push('$');
                rest = after;
                continue;
            };
            rest = after;
            let group = match group_number(name) {
                Some(number) => groups.get(number).copied().flatten(),
                // Of groups with the same name the first that matched counts.
                None => (self.group_names().iter().zip(groups))
                    .filter(|(known, _)| known.as_deref() == Some(name))
                    .find_map(|(_, group)| *group),
            };
            if let Some((start, end)) = group {
                out.push_str(&text[start..end]);
            }
        }
        out.push_str(rest);
    }
}

/// The name after a dollar sign, and the rest.
fn reference(text: &str) -> Option<(&str, &str)> {
    let (name, braced) = match text.strip_prefix('{') {
        Some(inside) => (inside, true),
        None => (text, false),
    };
    let in_name = |c: char| c == '_' || c.is_alphanumeric();
    let end = name.find(|c| !in_name(c)).unwrap_or(name.len());
    let (name, after) = name.split_at(end);
    let after = if braced { after.strip_prefix('}')? } else { after };
    (!name.is_empty()).then_some((name, after))
}

/// A group number. With leading zeros, or from a hundred million on, it is a name.
fn group_number(name: &str) -> Option<usize> {
    let plain = name.len() <= 8 && (name.len() == 1 || !name.starts_with('0'));
    let digits = plain && name.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| name.parse().ok())?
}
