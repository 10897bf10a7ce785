//! Whether a text is JSON in the one form that this crate writes, without reading it into a value.
//!
//! In such a text a member whose key and value need no escapes stands as `"key":"value"` and can be looked for as bytes.
//! The answer errs to one side: some texts of the form are not recognized (deep nesting, exponents), but of no other
//! text is it said that it has the form, and each that has it can be parsed.

use crate::parse::plain_run;

/// Longer numbers might not fit a float.
const LONGEST_NUMBER: usize = 300;

/// Whether this is certainly a text as [`to_vec`](crate::to_vec) writes it, but for the order of keys.
pub fn is_canonical(text: &[u8]) -> bool {
    // Reading would replace other bytes.
    std::str::from_utf8(text).is_ok() && document(text) == Some(text.len())
}

/// The containers that are open: a bit for each, set for objects, below a bit that is always set.
struct Open(u64);

impl Open {
    fn push(&mut self, is_object: bool) -> Option<()> {
        if self.0 >> 63 == 1 {
            return None;
        }
        self.0 = self.0 << 1 | u64::from(is_object);
        Some(())
    }

    fn is_empty(&self) -> bool {
        self.0 == 1
    }

    fn is_object(&self) -> bool {
        self.0 & 1 == 1
    }
}

/// The end of the document that starts a text.
fn document(text: &[u8]) -> Option<usize> {
    let (mut open, mut at) = (Open(1), 0);
    loop {
        at = match text.get(at)? {
            b'"' => string(text, at)?,
            b'{' if text.get(at + 1) == Some(&b'}') => at + 2,
            b'[' if text.get(at + 1) == Some(&b']') => at + 2,
            b'{' => {
                open.push(true)?;
                at = key(text, at + 1)?;
                continue;
            }
            b'[' => {
                open.push(false)?;
                at += 1;
                continue;
            }
            b'-' | b'0'..=b'9' => number(text, at)?,
            _ => word(text, at)?,
        };
        loop {
            if open.is_empty() {
                return Some(at);
            }
            match (text.get(at)?, open.is_object()) {
                (b',', is_object) => {
                    at = if is_object { key(text, at + 1)? } else { at + 1 };
                    break;
                }
                (b'}', true) | (b']', false) => {
                    open.0 >>= 1;
                    at += 1;
                }
                _ => return None,
            }
        }
    }
}

/// Behind a key and its colon.
fn key(text: &[u8], at: usize) -> Option<usize> {
    let end = if text.get(at) == Some(&b'"') { string(text, at)? } else { return None };
    (text.get(end) == Some(&b':')).then_some(end + 1)
}

/// The end of the string that starts at a quote.
fn string(text: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += plain_run(text, at);
        match (text.get(at)?, text.get(at + 1)) {
            (b'"', _) => return Some(at + 1),
            (b'\\', Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't')) => at += 2,
            (b'\\', Some(b'u')) => {
                // Of control characters those that have no short escape.
                let (b"003c"
                | b"003e"
                | b"0026"
                | b"2028"
                | b"2029"
                | [b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f']
                | [b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f']) = text.get(at + 2..at + 6)?
                else {
                    return None;
                };
                at += 6;
            }
            _ => return None,
        }
    }
}

/// The end of a number without an exponent.
fn number(text: &[u8], start: usize) -> Option<usize> {
    let digits = |at: usize| at + text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let first = start + usize::from(text[start] == b'-');
    let mut at = digits(first);
    if at == first || (text[first] == b'0' && at > first + 1) {
        return None;
    }
    if text.get(at) == Some(&b'.') {
        let fraction = at + 1;
        at = digits(fraction);
        if at == fraction {
            return None;
        }
    }
    (at - start <= LONGEST_NUMBER).then_some(at)
}

fn word(text: &[u8], at: usize) -> Option<usize> {
    let word = ["null", "true", "false"].into_iter().find(|word| text[at..].starts_with(word.as_bytes()))?;
    Some(at + word.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Value, json, parse, to_vec};

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e6..1e6).prop_map(Value::from),
            "[a-c\\\\\"<\\n\\x01\u{2028}é/]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("[a-c\"/<]{0,3}", inner, 0..5).prop_map(|members| {
                    let mut map = crate::Map::new();
                    for (key, value) in members {
                        map.insert(key, value);
                    }
                    Value::from(map)
                }),
            ]
        })
    }

    /// Every member whose value is a string, at any depth.
    fn members(value: &Value, found: &mut Vec<(String, String)>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| members(item, found)),
            Value::Object(map) => {
                for (key, value) in map.iter() {
                    if let Some(text) = value.as_str() {
                        found.push((key.to_string(), text.to_owned()));
                    }
                    members(value, found);
                }
            }
            _ => {}
        }
    }

    fn check(text: &[u8]) -> Result<(), TestCaseError> {
        if !is_canonical(text) {
            return Ok(());
        }
        let parsed = parse(text);
        prop_assert!(parsed.is_ok(), "{}", String::from_utf8_lossy(text));
        let (parsed, mut found) = (parsed.unwrap(), Vec::new());
        members(&parsed, &mut found);
        for (key, value) in found {
            let (mut member, value) = (to_vec(&Value::from(key)), to_vec(&Value::from(value)));
            member.push(b':');
            member.extend_from_slice(&value);
            let found = text.windows(member.len()).any(|window| window == member);
            prop_assert!(found, "{} in {}", String::from_utf8_lossy(&member), String::from_utf8_lossy(text));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn written_texts_are_canonical(value in value()) {
            let text = to_vec(&value);
            prop_assert!(is_canonical(&text), "{}", String::from_utf8_lossy(&text));
            check(&text)?;
        }

        #[test]
        fn damaged_texts_are_recognized_only_if_they_can_be_parsed(
            value in value(), at in any::<prop::sample::Index>(), byte in any::<u8>(), ascii in "[ \\-0-9a-u{}\\[\\],:.\"\\\\]",
        ) {
            let text = to_vec(&value);
            let at = at.index(text.len());
            for byte in [Some(byte), Some(ascii.as_bytes()[0]), None] {
                let mut changed = text.clone();
                match byte {
                    Some(byte) => changed[at] = byte,
                    None => drop(changed.remove(at)),
                }
                check(&changed)?;
                if let Some(byte) = byte {
                    let mut longer = text.clone();
                    longer.insert(at, byte);
                    check(&longer)?;
                }
                check(&text[..at])?;
            }
        }
    }

    #[test]
    fn other_spellings_are_not_canonical() {
        for text in [
            "",
            " {}",
            "{} ",
            "{\"a\": 1}",
            "[1, 2]",
            "{\"a\"}",
            "{\"a\":}",
            "[1,]",
            "{,}",
            "[}",
            "\"\\/\"",
            "\"\\u0061\"",
            "\"\\u000a\"",
            "\"\\u001F\"",
            "\"\\x\"",
            "\"a",
            "01",
            "-",
            "1.",
            "1e400",
            "nul",
            "\"\n\"",
            "[1]]",
        ] {
            assert!(!is_canonical(text.as_bytes()), "{text}");
        }
        assert!(!is_canonical(b"\"\xff\""));
        let mut deep = json!(1);
        for depth in 1..100 {
            deep = Value::from(vec![deep]);
            assert_eq!(is_canonical(&to_vec(&deep)), depth < 64, "{depth}");
        }
        assert!(is_canonical(br#"{"a":"\u003c\u2028\u001f\n\\\"","b":[-0.5,10,true,false,null,{},[]]}"#));
    }
}
