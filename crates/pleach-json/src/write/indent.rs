//! Indenting JSON text that is there already, some at a time.
//!
//! The state between two pieces of text is a few words, so that a body of any size can be indented while it
//! is sent. Lines are indented no further than [`DEEPEST`] levels: the length of the text with `n` values
//! at depth `d` would otherwise be `n * d`.

/// Lines deeper than this are indented as if they were so deep.
pub const DEEPEST: usize = 64;

/// Puts line breaks, blanks and indentation into compact JSON, as Go's `Indent` does.
#[derive(Clone, Debug)]
pub struct Indenter {
    step: usize,
    depth: usize,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Between tokens.
    Outside,
    /// Behind a bracket that opens.
    Opened,
    Text,
    /// Behind a backslash in a text.
    Escape,
}

impl Indenter {
    /// `step` blanks for each level.
    pub fn new(step: usize) -> Self {
        Self { step, depth: 0, place: Place::Outside }
    }

    /// Appends what becomes of `json`, which goes on where the last text ended, until `out` has `limit` bytes
    /// or a line more; how much of it was used. The text must be compact and well-formed.
    pub fn write(&mut self, json: &[u8], out: &mut Vec<u8>, limit: usize) -> usize {
        let mut at = 0;
        while let Some(&byte) = json.get(at)
            && out.len() < limit
        {
            match self.place {
                Place::Text => {
                    // As far as there is nothing special, and room.
                    let rest = &json[at..];
                    let rest = &rest[..rest.len().min(limit - out.len())];
                    let plain =
                        rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(rest.len());
                    out.extend_from_slice(&rest[..plain]);
                    at += plain;
                    match rest.get(plain) {
                        Some(b'"') => self.place = Place::Outside,
                        Some(_) => self.place = Place::Escape,
                        None => continue,
                    }
                    out.push(rest[plain]);
                    at += 1;
                    continue;
                }
                Place::Escape => {
                    out.push(byte);
                    self.place = Place::Text;
                    at += 1;
                    continue;
                }
                Place::Opened | Place::Outside => {}
            }
            let opened = self.place == Place::Opened;
            self.place = Place::Outside;
            match byte {
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if !opened {
                        self.line(out);
                    }
                    out.push(byte);
                }
                _ => {
                    if opened {
                        self.line(out);
                    }
                    out.push(byte);
                    match byte {
                        b'{' | b'[' => {
                            self.depth += 1;
                            self.place = Place::Opened;
                        }
                        b',' => self.line(out),
                        b':' => out.push(b' '),
                        b'"' => self.place = Place::Text,
                        _ => {}
                    }
                }
            }
            at += 1;
        }
        at
    }

    fn line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        out.resize(out.len() + self.depth.min(DEEPEST) * self.step, b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Value, json, to_string_pretty, to_vec};

    fn indented(value: &Value, limit: usize, piece: usize) -> String {
        let json = to_vec(value);
        let (mut indenter, mut all) = (Indenter::new(2), Vec::new());
        for mut part in json.chunks(piece) {
            while !part.is_empty() {
                let mut out = Vec::new();
                let used = indenter.write(part, &mut out, limit);
                assert!(
                    used > 0 && out.len() <= limit + DEEPEST * 2 + 2,
                    "{used} used, {} written",
                    out.len()
                );
                part = &part[used..];
                all.append(&mut out);
            }
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn pieces_together_are_what_is_written_at_once() {
        let value = json!({
            "a": {}, "b": [], "c": [1, [], {}, [2.5, "x"]], "d": {"e": null, "f": {"g": true}},
            "text": "\"{[:,]}\\", "": "\u{e9}\n",
        });
        for limit in [1, 2, 7, 1000] {
            for piece in [1, 2, 3, 5, 1000] {
                assert_eq!(indented(&value, limit, piece), to_string_pretty(&value, 2), "{limit} {piece}");
            }
        }
        for scalar in [json!(1), json!("x"), json!({}), json!([])] {
            assert_eq!(indented(&scalar, 10, 10), to_string_pretty(&scalar, 2));
        }
    }

    #[test]
    fn indentation_is_bounded() {
        let mut value = Value::from(vec![Value::Int(1); 10_000]);
        for _ in 0..9_000 {
            value = json!({"k": value});
        }
        let text = to_string_pretty(&value, 2);
        let lines = 10_000 + 2 * 9_001;
        assert!(text.len() < lines * (DEEPEST * 2 + 8), "{} bytes", text.len());
        assert_eq!(indented(&value, 4096, 4096), text);
        assert_eq!(crate::parse(text.as_bytes()).unwrap(), value);
    }
}
