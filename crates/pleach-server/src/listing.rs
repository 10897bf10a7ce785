//! Lists and tables, written while they are sent.
//!
//! A list of any size costs the memory of its objects, which the store has anyway, and of one piece. Each item is
//! turned into text when its turn comes: as it is stored, as a row of a table, as bare metadata.

use bytes::{Buf as _, Bytes};
use pleach_engine::object::Object;
use pleach_engine::rejection::Rejection;
use pleach_json::{Map, Value};

use crate::chunk::{Chunk, Stored};
use crate::pieces::{PIECE, Pieces};

/// The form of the items of a list.
pub type Shown = Box<dyn FnMut(Object) -> Result<Object, Rejection> + Send>;

/// A list: its members, and its items.
pub struct List {
    /// The members before the items, in order of their keys.
    pub before: Map,
    /// The key of the items.
    pub key: &'static str,
    /// The items.
    pub items: Vec<Object>,
    /// The transformation of each item; `None` for none.
    pub shown: Option<Shown>,
    /// Members that are left out of each item.
    pub without: &'static [&'static str],
    /// The members after the items.
    pub after: Map,
}

impl List {
    /// The JSON, compact.
    pub fn json(self) -> JsonList {
        let mut head = pleach_json::to_vec(&self.before.clone().into());
        head.pop();
        if !self.before.is_empty() {
            head.push(b',');
        }
        pleach_json::write_string(self.key, &mut head);
        head.extend_from_slice(b":[");
        let mut tail = b"]".to_vec();
        if self.after.is_empty() {
            tail.push(b'}');
        } else {
            tail.push(b',');
            tail.extend_from_slice(&pleach_json::to_vec(&self.after.into())[1..]);
        }
        tail.push(b'\n');
        JsonList {
            head,
            items: Items::new(self.items, self.shown),
            without: self.without,
            tail,
            current: None,
            begun: false,
        }
    }

    /// The whole, as a value.
    pub fn into_value(self) -> Result<Value, Rejection> {
        let (mut out, mut values) = (self.before, Vec::with_capacity(self.items.len()));
        let mut items = Items::new(self.items, self.shown);
        while let Some(item) = items.next() {
            let mut value = item?.into_value()?;
            if let Some(members) = value.as_object_mut() {
                members.retain(|key, _| !self.without.contains(&key.as_str()));
            }
            values.push(value);
        }
        out.insert(self.key, values);
        for (key, value) in self.after.entries() {
            out.insert(key.clone(), value.clone());
        }
        Ok(out.into())
    }

    /// The YAML.
    pub fn yaml(self) -> YamlList {
        let mut head =
            if self.before.is_empty() { String::new() } else { pleach_yaml::to_yaml(&self.before.into()) };
        head.push_str(self.key);
        head.push_str(if self.items.is_empty() { ": []\n" } else { ":\n" });
        let tail =
            if self.after.is_empty() { String::new() } else { pleach_yaml::to_yaml(&self.after.into()) };
        YamlList {
            head,
            items: Items::new(self.items, self.shown),
            without: self.without,
            tail: Some(tail),
            current: None,
        }
    }
}

/// Items that are still to come.
struct Items {
    left: std::vec::IntoIter<Object>,
    shown: Option<Shown>,
}

impl Items {
    fn new(items: Vec<Object>, shown: Option<Shown>) -> Self {
        Self { left: items.into_iter(), shown }
    }

    fn next(&mut self) -> Option<Result<Object, Rejection>> {
        let item = self.left.next()?;
        Some(match &mut self.shown {
            Some(shown) => shown(item),
            None => Ok(item),
        })
    }

    fn held(&self) -> usize {
        self.left.len() * size_of::<Object>()
    }
}

/// A list as compact JSON.
pub struct JsonList {
    head: Vec<u8>,
    items: Items,
    without: &'static [&'static str],
    tail: Vec<u8>,
    /// The rest of the item that is being written.
    current: Option<Chunk>,
    begun: bool,
}

impl JsonList {
    /// Appends an item, or as much of it as a piece has room for.
    fn write(&mut self, item: Object, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.begun, true) {
            out.push(b',');
        }
        let mut left = match item {
            Object::Stored(record) if self.without.is_empty() => {
                if record.json().len() < PIECE {
                    return record.write_to(out);
                }
                Chunk::Stored(Stored::within(&record, b"", b""))
            }
            item if self.without.is_empty() => {
                let start = out.len();
                item.write_json(out);
                if out.len() < 2 * PIECE {
                    return;
                }
                Chunk::Whole(Bytes::from(out.split_off(start)))
            }
            item => {
                let mut whole = Vec::new();
                item.write_json(&mut whole);
                let start = out.len();
                pleach_json::copy_without(&whole, self.without, out);
                if out.len() < 2 * PIECE {
                    return;
                }
                Chunk::Whole(Bytes::from(out.split_off(start)))
            }
        };
        if !write_some(&mut left, out) {
            self.current = Some(left);
        }
    }
}

/// Appends as much as a piece has room for; whether that was the last of it.
fn write_some(item: &mut Chunk, out: &mut Vec<u8>) -> bool {
    while item.has_remaining() && out.len() < PIECE {
        let part = item.chunk();
        let part = &part[..part.len().min(PIECE - out.len())];
        out.extend_from_slice(part);
        let length = part.len();
        item.advance(length);
    }
    !item.has_remaining()
}

impl Pieces for JsonList {
    fn next(&mut self) -> Option<Result<Bytes, Rejection>> {
        let mut out = std::mem::take(&mut self.head);
        if self.begun && (self.current.is_some() || self.items.left.len() > 0) {
            // More than one piece: the rest are full, but for the last.
            out.reserve(PIECE + PIECE / 4);
        }
        while out.len() < PIECE {
            if let Some(mut current) = self.current.take() {
                if !write_some(&mut current, &mut out) {
                    self.current = Some(current);
                }
                continue;
            }
            match self.items.next() {
                Some(Ok(item)) => self.write(item, &mut out),
                Some(Err(rejection)) => return Some(Err(rejection)),
                None => {
                    out.append(&mut self.tail);
                    break;
                }
            }
        }
        (!out.is_empty()).then(|| Ok(out.into()))
    }

    fn held(&self) -> usize {
        let current = match &self.current {
            Some(Chunk::Whole(bytes)) => bytes.len(),
            _ => 0,
        };
        self.items.held() + current
    }
}

/// A list as YAML.
pub struct YamlList {
    head: String,
    items: Items,
    without: &'static [&'static str],
    tail: Option<String>,
    current: Option<pleach_yaml::Writer>,
}

impl Pieces for YamlList {
    fn next(&mut self) -> Option<Result<Bytes, Rejection>> {
        let mut out = std::mem::take(&mut self.head);
        while out.len() < PIECE {
            if let Some(mut current) = self.current.take() {
                if current.write(&mut out, PIECE) {
                    self.current = Some(current);
                }
                continue;
            }
            match self.items.next().map(|item| item.and_then(Object::into_value)) {
                Some(Ok(mut value)) => {
                    if let Some(members) = value.as_object_mut().filter(|_| !self.without.is_empty()) {
                        members.retain(|key, _| !self.without.contains(&key.as_str()));
                    }
                    self.current = Some(pleach_yaml::Writer::new(Value::from(vec![value])));
                }
                Some(Err(rejection)) => return Some(Err(rejection)),
                None => {
                    out.push_str(&self.tail.take().unwrap_or_default());
                    break;
                }
            }
        }
        (!out.is_empty()).then(|| Ok(out.into_bytes().into()))
    }

    fn held(&self) -> usize {
        // How large an open item is can be seen only by walking it.
        self.items.held() + if self.current.is_some() { PIECE * 8 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::pieces::all;

    fn list(items: Vec<Object>) -> List {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        List {
            before: map(json!({"apiVersion": "v1"})),
            key: "items",
            items,
            shown: None,
            without: &[],
            after: map(json!({"kind": "L", "metadata": {"resourceVersion": "1"}})),
        }
    }

    fn objects(count: usize, size: usize) -> Vec<Object> {
        let text = "x".repeat(size);
        (0..count as i64).map(|i| Object::Value(json!({"i": (i), "text": (text.as_str())}))).collect()
    }

    #[test]
    fn members_are_left_out_of_items() {
        let items = vec![
            Object::Value(json!({"apiVersion": "v1", "kind": "A", "x": {"kind": "B"}})),
            Object::Value(json!({"kind": "A"})),
        ];
        let of = || List { without: &["apiVersion", "kind"], ..list(items.clone()) };
        let want = json!({"apiVersion": "v1", "items": [{"x": {"kind": "B"}}, {}], "kind": "L",
                          "metadata": {"resourceVersion": "1"}});
        let json = all(of().json()).concat();
        assert_eq!(json, [pleach_json::to_vec(&want), b"\n".to_vec()].concat());
        assert_eq!(all(of().yaml()).concat(), pleach_yaml::to_yaml(&want).as_bytes());
    }

    #[test]
    fn pieces_together_are_the_list() {
        for (count, size, least) in [(0, 0, 1), (1, 10, 1), (10, 1000, 1), (1000, 1000, 30), (3, 500_000, 45)]
        {
            let want = json!({"apiVersion": "v1", "items": (
                objects(count, size).into_iter().map(|item| item.into_value().unwrap()).collect::<Vec<_>>()
            ), "kind": "L", "metadata": {"resourceVersion": "1"}});
            let json = all(list(objects(count, size)).json());
            assert!(json.len() >= least, "{count} items came in {} pieces", json.len());
            assert!(json.iter().all(|piece| piece.len() <= 2 * PIECE), "a piece is bounded");
            assert!(json.concat() == [pleach_json::to_vec(&want), b"\n".to_vec()].concat(), "{count} items");
            let yaml = all(list(objects(count, size)).yaml()).concat();
            assert!(yaml == pleach_yaml::to_yaml(&want).as_bytes(), "{count} items");
        }
    }

    #[test]
    fn items_are_shown_when_their_turn_comes() {
        let shown: Shown = Box::new(|item| {
            let value = item.into_value()?;
            if value.get("i") == Some(&Value::Int(50)) {
                return Err(Rejection::internal("cannot be shown"));
            }
            Ok(Object::Value(json!({"i": (value.get("i").cloned().unwrap_or_default())})))
        });
        let mut list = List { shown: Some(shown), ..list(objects(51, 4 * PIECE)) }.json();
        let mut last = None;
        while let Some(piece) = list.next() {
            last = Some(piece);
            if last.as_ref().is_some_and(Result::is_err) {
                break;
            }
        }
        assert!(last.unwrap().is_err(), "a failure is the end of the pieces, and no regular one");
    }
}
