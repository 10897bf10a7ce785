//! The text of a JSON patch: the order of keys, and whether values are in canonical form.
//!
//! Upstream compares a tested value with the document by the bytes of their scalars. The document
//! was written by Go, so `"<"` in a patch never equals the `"\u003c"` there, nor `1.50` the `1.5`.
//! And strict reading reports members in the order in which they are written.

use pleach_json::{Str, parse, to_vec};

/// How one operation is written.
#[derive(Debug, PartialEq)]
pub(super) struct Written {
    /// Its keys in order, as often as they are there.
    pub(super) keys: Vec<Str>,
    /// Every scalar of its `value` is written as Go writes it.
    pub(super) canonical: bool,
}

/// How each operation of a patch is written. The patch must have been read without error.
pub(super) fn operations(bytes: &[u8]) -> Vec<Written> {
    let mut all: Vec<Written> = Vec::new();
    let mut depth = 0_usize;
    let mut expect_key = false;
    let mut in_value = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                if depth == 2 {
                    all.push(Written { keys: Vec::new(), canonical: true });
                    expect_key = byte == b'{';
                    in_value = false;
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            b',' => {
                at += 1;
                if depth == 2 {
                    expect_key = true;
                    in_value = false;
                }
            }
            b':' | b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            _ => {
                let token = scalar(&bytes[at..]);
                at += token.len().max(1);
                match all.last_mut() {
                    // `null` in place of an operation.
                    _ if depth == 1 => all.push(Written { keys: Vec::new(), canonical: true }),
                    Some(operation) if depth == 2 && expect_key => {
                        expect_key = false;
                        let key = parse(token).unwrap_or_default();
                        let key = key.as_str().unwrap_or_default();
                        in_value = key == "value";
                        // Of a member set twice the last one counts.
                        operation.canonical |= in_value;
                        operation.keys.push(key.into());
                    }
                    Some(operation) if in_value => operation.canonical &= is_canonical(token),
                    _ => {}
                }
            }
        }
    }
    all
}

/// The scalar that starts here.
fn scalar(bytes: &[u8]) -> &[u8] {
    if bytes.first() == Some(&b'"') {
        let mut at = 1;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'\\' => at += 2,
                b'"' => return &bytes[..=at],
                _ => at += 1,
            }
        }
        return bytes;
    }
    let end = bytes.iter().position(|byte| b",:[]{} \t\r\n".contains(byte));
    &bytes[..end.unwrap_or(bytes.len())]
}

fn is_canonical(token: &[u8]) -> bool {
    parse(token).is_ok_and(|value| to_vec(&value) == token)
}
