//! Finding one member in the text of an object, without reading the others.
//!
//! For text that is known to be well-formed JSON, as what this program has written itself: what is
//! wrong with any other text is not found out, only never made worse than an answer of `None` or a
//! slice that is no JSON.

/// The text of an object's member, by its key. Keys with escapes are not found.
pub fn member<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let mut at = space(object, 0);
    if object.get(at) != Some(&b'{') {
        return None;
    }
    at = space(object, at + 1);
    while object.get(at) == Some(&b'"') {
        let end = string(object, at)?;
        let found = object.get(at + 1..end - 1)? == key.as_bytes();
        at = space(object, end);
        if object.get(at) != Some(&b':') {
            return None;
        }
        at = space(object, at + 1);
        let end = value(object, at)?;
        if found {
            return object.get(at..end);
        }
        at = space(object, end);
        if object.get(at) == Some(&b',') {
            at = space(object, at + 1);
        }
    }
    None
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
    fn what_is_no_object_has_no_members() {
        for text in
            ["", "[]", "{", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\"]1}", "{\"a\":}", "null", "{\"b\":1"]
        {
            assert_eq!(member(text.as_bytes(), "a"), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_found_again() {
        let value = crate::json!({
            "metadata": {"labels": {"a\\b\"": "c"}, "uid": "u", "z": [[], {}, [{}]]}, "n": 1.25, "x": null,
        });
        let text = crate::to_vec(&value);
        for (key, want) in value.as_object().unwrap().iter() {
            assert_eq!(crate::parse(member(&text, key).unwrap()).unwrap(), *want, "{key}");
        }
    }
}
