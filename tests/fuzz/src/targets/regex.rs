//! Regular expressions: a pattern, a separator and a text.

use pleach_regex::Regex;

use crate::bytes::{seeds, split_text};

/// A pattern is refused in Go's words, or all ways of matching agree.
pub(super) fn regex(data: &[u8]) {
    let (pattern, text) = split_text(data);
    let regex = match Regex::new(&pattern) {
        Ok(regex) => regex,
        Err(error) => {
            assert!(error.to_string().starts_with("error parsing regexp: "), "{error}");
            return;
        }
    };
    let first = regex.find(&text);
    assert_eq!(regex.is_match(&text), first.is_some());
    let captures = regex.captures(&text);
    assert_eq!(captures.as_ref().and_then(|groups| groups[0].clone()), first);
    for group in captures.iter().flatten().flatten() {
        assert!(text.get(group.clone()).is_some(), "{group:?}");
    }
    let all = regex.find_all(&text, Some(50));
    assert_eq!(all.first(), first.as_ref());
    assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start && pair[0] != pair[1]));
    let with_groups = regex.captures_all(&text, Some(50));
    assert_eq!(with_groups.iter().filter_map(|groups| groups[0].clone()).collect::<Vec<_>>(), all);
    assert!(first.is_some() || regex.replace_all_string(&text, "$0") == text);
}

pub(super) fn regex_seeds() -> Vec<Vec<u8>> {
    seeds(&[
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$¦my-name.example.com",
        r"(?i)(a|b)*?c{2,5}\d+\W$¦abABccc123!",
        r"(?P<name>x+)(y(z)?)*|\pL+[[:alpha:]]\x{10FFFF}¦xxyzy äöü",
        r"((((a*)*)*)*)*b¦aaaaaaaaaaaaaaaaaaaaaaaa",
        r"(a{100}){9}¦aaaa",
        r"[^\x00-\x{10FFFF}]|\bword\b|\B.\z¦a word",
        r"(?s).*?x(?m:^y$)¦line
y
x",
        r"[z-a]¦",
        r"a**¦",
        r"(¦",
        r".{0,20}.{0,20}.{0,20}x¦yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
    ])
}
