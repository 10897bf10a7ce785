//! Flow collections on one line.

use pleach_json::{Map, Str, Value};

use super::{MAX_KEY, Manifests, NeedsFullParser, key_text, value_of};
use crate::read::resolve::{Scalar, resolve};

impl Manifests<'_> {
    /// A collection in brackets or braces, from the opening to the closing one.
    pub(super) fn flow(&mut self) -> Result<Value, NeedsFullParser> {
        let open = self.peek();
        self.at += 1;
        self.blanks();
        self.deeper(|this| if open == b'[' { this.flow_sequence() } else { this.flow_mapping() })
    }

    fn flow_sequence(&mut self) -> Result<Value, NeedsFullParser> {
        let mut items = Vec::new();
        if self.peek() == b']' {
            self.at += 1;
            return Ok(Value::from(items));
        }
        loop {
            let item = self.flow_node()?;
            items.push(item);
            if self.is_last(b']')? {
                return Ok(Value::from(items));
            }
        }
    }

    fn flow_mapping(&mut self) -> Result<Value, NeedsFullParser> {
        let mut members: Vec<(Str, Value)> = Vec::new();
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(Value::Object(Map::new()));
        }
        loop {
            let start = self.at;
            let quoted = matches!(self.peek(), b'"' | b'\'');
            let key = key_text(self.flow_scalar()?)?;
            // After a quoted key the value may follow the colon directly.
            let colon = self.peek() == b':' && (quoted || self.ahead(1) == b' ');
            if !colon || self.at - start > MAX_KEY {
                return Err(NeedsFullParser);
            }
            self.at += 1;
            self.blanks();
            let value = self.flow_node()?;
            members.push((key, value));
            if self.is_last(b'}')? {
                break;
            }
        }
        let count = members.len();
        let map = Map::from(members);
        if map.len() == count { Ok(Value::Object(map)) } else { Err(NeedsFullParser) }
    }

    /// Takes the comma or the closing bracket, whichever it is.
    fn is_last(&mut self, close: u8) -> Result<bool, NeedsFullParser> {
        self.blanks();
        let found = self.peek();
        self.at += 1;
        match found {
            b',' => {
                self.blanks();
                Ok(false)
            }
            found if found == close => Ok(true),
            _ => Err(NeedsFullParser),
        }
    }

    fn flow_node(&mut self) -> Result<Value, NeedsFullParser> {
        match self.peek() {
            b'[' | b'{' => self.flow(),
            _ => value_of(self.flow_scalar()?),
        }
    }

    fn flow_scalar(&mut self) -> Result<Scalar, NeedsFullParser> {
        match self.peek() {
            b'"' => self.double_quoted().map(Scalar::Text),
            b'\'' => self.single_quoted().map(Scalar::Text),
            first => {
                let sure = first.is_ascii_alphanumeric()
                    || matches!(first, b'_' | b'/' | b'.' | b'$' | b'~' | b'<')
                    || first == b'-' && self.ahead(1).is_ascii_digit();
                if !sure {
                    return Err(NeedsFullParser);
                }
                self.flow_plain()
            }
        }
    }

    /// A plain scalar up to a comma, a bracket, or a colon that makes it a key.
    fn flow_plain(&mut self) -> Result<Scalar, NeedsFullParser> {
        let start = self.at;
        let mut end = start;
        for (i, &byte) in self.bytes[start..].iter().enumerate() {
            let here = start + i;
            match byte {
                b',' | b']' | b'}' => break,
                b'\n' | b'\t' | b'[' | b'{' | b'#' | b'"' | b'\'' | b'?' => return Err(NeedsFullParser),
                b' ' => continue,
                b':' => match self.bytes.get(here + 1) {
                    Some(b' ') if end == here => break,
                    Some(b' ' | b'\n' | b',' | b'[' | b']' | b'{' | b'}') | None => {
                        return Err(NeedsFullParser);
                    }
                    Some(_) => {}
                },
                _ => {}
            }
            end = here + 1;
        }
        self.at = end;
        resolve(None, &self.text[start..end], true).map_err(|_| NeedsFullParser)
    }
}
