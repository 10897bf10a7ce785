//! Finding one member in the text of an object, without reading the others.
//!
//! For text that is known to be well-formed JSON, such as stored objects. Errors in other text are not detected: the
//! result is `None` or a slice that is no JSON.

use std::ops::Range;

/// The text of an object's member, by its key. Keys with escapes are not found.
pub fn member<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let mut members = Members::of(object)?;
    members.find(|member| member.key == key.as_bytes()).and_then(|member| object.get(member.value))
}

/// Appends the text of an object without some of its members. Keys with escapes stay.
pub fn copy_without(object: &[u8], keys: &[&str], out: &mut Vec<u8>) {
    let Some(members) = Members::of(object) else { return out.extend_from_slice(object) };
    out.push(b'{');
    let mut first = true;
    for member in members.filter(|member| !keys.iter().any(|key| member.key == key.as_bytes())) {
        if !std::mem::replace(&mut first, false) {
            out.push(b',');
        }
        out.extend_from_slice(&object[member.start..member.value.end]);
    }
    out.push(b'}');
}

/// A member of an object: its key without the quotes, where it starts, and where its value is.
struct Member<'a> {
    key: &'a [u8],
    start: usize,
    value: Range<usize>,
}

/// The members of an object, as far as they can be read.
struct Members<'a> {
    object: &'a [u8],
    at: usize,
}

impl<'a> Members<'a> {
    fn of(object: &'a [u8]) -> Option<Self> {
        let start = space(object, 0);
        (object.get(start) == Some(&b'{')).then(|| Self { object, at: space(object, start + 1) })
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let (object, start) = (self.object, self.at);
        if object.get(start) != Some(&b'"') {
            return None;
        }
        let key_end = string(object, start)?;
        let key = object.get(start + 1..key_end - 1)?;
        let colon = space(object, key_end);
        if object.get(colon) != Some(&b':') {
            return None;
        }
        let at = space(object, colon + 1);
        let end = value(object, at)?;
        self.at = space(object, end);
        if object.get(self.at) == Some(&b',') {
            self.at = space(object, self.at + 1);
        }
        Some(Member { key, start, value: at..end })
    }
}

fn space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// The end of the string that starts at a quote.
fn string(text: &[u8], at: usize) -> Option<usize> {
    let mut next = at + 1;
    loop {
        match text.get(next)? {
            b'"' => return Some(next + 1),
            b'\\' => next += 2,
            _ => next += 1,
        }
    }
}

/// The end of the value that starts here.
fn value(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match text.get(at)? {
            b'"' => at = string(text, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' if depth > 0 => {
                at += 1;
                continue;
            }
            // A number or a word.
            _ => {
                let rest = text[at..].iter();
                let len = rest.take_while(|byte| !b",:]} \n\r\t".contains(byte)).count();
                if len == 0 {
                    return None;
                }
                at += len;
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found() {
        let text = br#"{"a":"x\"}","b":{"c":[1,{"d":null},"]"],"e":true} , "f" : -1.5e3,"g":[]}"#;
        for (key, want) in [
            ("a", Some(&br#""x\"}""#[..])),
            ("b", Some(br#"{"c":[1,{"d":null},"]"],"e":true}"#)),
            ("c", None),
            ("f", Some(b"-1.5e3")),
            ("g", Some(b"[]")),
            ("h", None),
        ] {
            assert_eq!(member(text, key), want, "{key}");
        }
        let below = member(text, "b").and_then(|b| member(b, "e"));
        assert_eq!(below, Some(&b"true"[..]));
    }

    #[test]
    fn members_are_left_out() {
        for (text, want) in [
            (r#"{"a":1,"b":{"a":2},"c":"x"}"#, r#"{"b":{"a":2}}"#),
            (r#"{"b":[],"d":1}"#, r#"{"b":[],"d":1}"#),
            (r#"{"a":1,"c":2}"#, "{}"),
            ("{}", "{}"),
            ("[1]", "[1]"),
        ] {
            let mut out = Vec::new();
            copy_without(text.as_bytes(), &["a", "c"], &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn other_values_have_no_members() {
        for text in
            ["", "[]", "{", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\"]1}", "{\"a\":}", "null", "{\"b\":1"]
        {
            assert_eq!(member(text.as_bytes(), "a"), None, "{text}");
        }
    }

    #[test]
    fn written_members_are_found() {
        let value = crate::json!({
            "metadata": {"labels": {"a\\b\"": "c"}, "uid": "u", "z": [[], {}, [{}]]}, "n": 1.25, "x": null,
        });
        let text = crate::to_vec(&value);
        for (key, want) in value.as_object().unwrap().iter() {
            assert_eq!(crate::parse(member(&text, key).unwrap()).unwrap(), *want, "{key}");
        }
    }
}
