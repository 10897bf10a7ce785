//! Where the containers of a value stand in its text.
//!
//! Who changes an object writes nearly all of it again as it was, and sends nearly all of it again as
//! it came. With a value, its text and the places of its containers at hand, what did not change is
//! copied from the text when it is written, and recognized by comparing bytes when it is read.

use crate::{Map, Phrases, Str, Value, grow_stack, write_string, write_to};

/// A container that is not empty. Those in it follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    /// From where the container begins that it is in.
    start: u32,
    /// 0 if the text is not all of the container.
    len: u32,
    /// How many there are of it and those in it; 1 also if nothing is known of those in it.
    count: u32,
}

/// The places of the containers of a value, from the outside in and from the front to the back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    all: Vec<Span>,
    /// Those that are being written: where they are in the list, and where they begin.
    open: Vec<(usize, usize)>,
}

impl Spans {
    /// A container begins here.
    pub fn begin(&mut self, at: usize) {
        self.open.push((self.all.len(), at));
        let parent = self.open.iter().rev().nth(1).map_or(0, |(_, begin)| *begin);
        self.all.push(Span { start: (at - parent) as u32, len: 0, count: 1 });
    }

    /// The container that began last ends here. `is_whole` says that what was written is all of it.
    pub fn end(&mut self, at: usize, is_whole: bool) {
        let Some((index, begin)) = self.open.pop() else { return };
        let count = self.all.len() - index;
        let span = &mut self.all[index];
        span.len = if is_whole { (at - begin) as u32 } else { 0 };
        span.count = count as u32;
    }

    /// The members of the object that began last were read in this order, which need not be that of
    /// their keys.
    pub(crate) fn sort(&mut self, members: &[(Str, Value)]) {
        if members.is_sorted_by(|a, b| a.0 < b.0) {
            return;
        }
        let Some((index, _)) = self.open.last() else { return };
        let read = self.all.split_off(index + 1);
        let mut rest = &read[..];
        let mut groups: Vec<(&Str, &[Span])> = Vec::new();
        for (key, _) in members.iter().filter(|(_, value)| has_span(value)) {
            let count = rest.first().map_or(0, |span| span.count as usize);
            let (group, others) = rest.split_at(count.min(rest.len()));
            groups.push((key, group));
            rest = others;
        }
        groups.sort_by_key(|(key, _)| *key);
        groups.iter().for_each(|(_, group)| self.all.extend_from_slice(group));
    }

    /// A container that was copied stands here.
    pub(crate) fn copied(&mut self, at: usize, piece: &Piece<'_>) {
        self.begin(at);
        self.all.extend_from_slice(&piece.spans[1..]);
        self.end(at + piece.spans[0].len as usize, true);
    }
}

/// A value whose text is at hand, or a container in it.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'p> {
    value: &'p Value,
    text: &'p [u8],
    /// Its own first; none if nothing is known of its text.
    spans: &'p [Span],
    /// Where it begins in the text.
    start: usize,
}

impl<'p> Piece<'p> {
    /// A value, its text, and the places of its containers. The value reads back as it is.
    pub fn new(value: &'p Value, text: &'p [u8], spans: &'p Spans) -> Self {
        let start = spans.all.first().map_or(0, |span| span.start as usize);
        Self { value, text, spans: &spans.all, start }
    }

    /// The value.
    pub fn value(&self) -> &'p Value {
        self.value
    }

    /// The text of a container, where it is all there is of it.
    pub(crate) fn text(&self) -> Option<&'p [u8]> {
        let len = self.spans.first().filter(|span| span.len > 0)?.len as usize;
        self.text.get(self.start..self.start + len)
    }

    /// What is in it.
    pub fn parts(self) -> Parts<'p> {
        Parts { of: self, at: 0, next: 1 }
    }
}

impl<'p> From<&'p Value> for Piece<'p> {
    fn from(value: &'p Value) -> Self {
        Self { value, text: &[], spans: &[], start: 0 }
    }
}

/// How many members are looked at one by one behind the last that was asked for.
const NEAR: usize = 8;

/// What is in a piece, best asked for in order.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'p> {
    of: Piece<'p>,
    /// How many parts have been passed, and where the next place is.
    at: usize,
    next: usize,
}

impl<'p> Parts<'p> {
    pub(crate) fn of(&self) -> &Piece<'p> {
        &self.of
    }

    /// A member, which is probably the one at `i`.
    pub fn member(&mut self, i: usize, key: &str) -> Option<Piece<'p>> {
        let Value::Object(members) = self.of.value else { return None };
        let entries = members.entries();
        let is = |(name, _): &(Str, Value)| name == key;
        let i = if entries.get(i).is_some_and(is) {
            i
        } else if let Some(ahead) = entries[self.at.min(entries.len())..].iter().take(NEAR).position(is) {
            self.at + ahead
        } else {
            members.position(key).ok()?
        };
        self.part(i, |i| &entries[i].1)
    }

    /// An item.
    pub fn item(&mut self, i: usize) -> Option<Piece<'p>> {
        let Value::Array(items) = self.of.value else { return None };
        if i < items.len() { self.part(i, |i| &items[i]) } else { None }
    }

    fn part(&mut self, i: usize, value: impl Fn(usize) -> &'p Value) -> Option<Piece<'p>> {
        let found = value(i);
        if !has_span(found) {
            return None;
        }
        let unknown = Piece::from(found);
        if self.of.spans.len() <= 1 {
            return Some(unknown);
        }
        if i < self.at {
            (self.at, self.next) = (0, 1);
        }
        while self.at < i {
            if has_span(value(self.at)) {
                self.next += self.of.spans.get(self.next).map_or(1, |span| span.count as usize);
            }
            self.at += 1;
        }
        let Some(span) = self.of.spans.get(self.next) else { return Some(unknown) };
        let spans = self.of.spans.get(self.next..self.next + span.count as usize).unwrap_or_default();
        Some(Piece { value: found, text: self.of.text, spans, start: self.of.start + span.start as usize })
    }
}

fn has_span(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    }
}

/// Appends a value as JSON text and tells where its containers are. What it shares with a piece is
/// copied from there.
pub fn write_beside(
    value: &Value,
    earlier: Option<Piece<'_>>,
    phrases: &Phrases,
    spans: &mut Spans,
    out: &mut Vec<u8>,
) {
    if !has_span(value) {
        return write_to(value, out);
    }
    let at = out.len();
    if let Some(piece) = earlier.filter(|piece| piece.value.is_same(value))
        && let Some(text) = piece.text()
    {
        out.extend_from_slice(text);
        return spans.copied(at, &piece);
    }
    spans.begin(at);
    match value {
        Value::Object(members) => match phrases.text_of(members) {
            Some(text) => out.extend_from_slice(text),
            None if members.values().any(has_span) => {
                grow_stack(|| write_members(members, earlier, phrases, spans, out));
            }
            None => write_to(value, out),
        },
        Value::Array(items) if items.iter().any(has_span) => {
            let mut parts = earlier.map(Piece::parts);
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                let part = parts.as_mut().and_then(|parts| parts.item(i));
                grow_stack(|| write_beside(item, part, phrases, spans, out));
            }
            out.push(b']');
        }
        _ => write_to(value, out),
    }
    spans.end(out.len(), true);
}

fn write_members(
    members: &Map,
    earlier: Option<Piece<'_>>,
    phrases: &Phrases,
    spans: &mut Spans,
    out: &mut Vec<u8>,
) {
    let mut parts = earlier.map(Piece::parts);
    out.push(b'{');
    for (i, (key, value)) in members.entries().iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_key(key, out);
        let part = parts.as_mut().filter(|_| has_span(value)).and_then(|parts| parts.member(i, key));
        write_beside(value, part, phrases, spans, out);
    }
    out.push(b'}');
}

fn write_key(key: &Str, out: &mut Vec<u8>) {
    write_string(key, out);
    out.push(b':');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hints, json, parse, parse_with, to_vec};

    fn written(value: &Value, earlier: Option<Piece<'_>>) -> (Vec<u8>, Spans) {
        let (mut out, mut spans) = (b"before ".to_vec(), Spans::default());
        write_beside(value, earlier, &Phrases::default(), &mut spans, &mut out);
        assert_eq!(out[7..], to_vec(value), "{value}");
        (out, spans)
    }

    /// Every container is where its span says.
    fn check(piece: Piece<'_>) -> usize {
        assert_eq!(piece.text().unwrap(), to_vec(piece.value), "{}", piece.value);
        let mut parts = piece.parts();
        let inner: Vec<_> = match piece.value {
            Value::Object(members) => members
                .entries()
                .iter()
                .enumerate()
                .filter_map(|(i, (key, _))| parts.member(i, key))
                .collect(),
            Value::Array(items) => (0..items.len()).filter_map(|i| parts.item(i)).collect(),
            _ => Vec::new(),
        };
        1 + inner.into_iter().map(check).sum::<usize>()
    }

    #[test]
    fn spans_tell_where_containers_are() {
        let value = json!({
            "a": {"b": [1, {"c": "x\n"}, [], [[2], {}]], "d": {}},
            "e": "{", "f": [[{"g": {"h": null}}], 1.5], "g": {"i": {"j": 1}},
        });
        let (text, spans) = written(&value, None);
        let piece = Piece::new(&value, &text, &spans);
        assert_eq!(check(piece), 12);
        // Out of order.
        let mut parts = piece.parts();
        for key in ["g", "a", "f", "a", "e", "z"] {
            let part = parts.member(9, key).and_then(|part| part.text());
            let expected = value.get(key).filter(|value| value.is_container()).map(to_vec);
            assert_eq!(part.map(<[u8]>::to_vec), expected, "{key}");
        }

        let mut changed = value.clone();
        changed.get_mut("a").unwrap().get_mut("b").unwrap().as_array_mut().unwrap()[1] =
            json!({"c": {"y": 1}});
        changed.as_object_mut().unwrap().insert("aa", json!([{"new": 1}]));
        changed.as_object_mut().unwrap().remove("f");
        let (text, spans) = written(&changed, Some(piece));
        check(Piece::new(&changed, &text, &spans));
        let (_, alone) = written(&changed, None);
        assert_eq!(spans, alone, "what is copied has the spans it would have");
    }

    #[test]
    fn what_is_equal_is_shared_when_read() {
        let value = json!({"a": {"b": [1, {"c": "x"}]}, "d": [{"e": 1}, {"f": 2}], "g": {"h": true}});
        let (text, spans) = written(&value, None);
        let hints = Hints { like: Some(Piece::new(&value, &text, &spans)), ..Hints::default() };
        for (body, same) in [
            (r#"{"a":{"b":[1,{"c":"x"}]},"d":[{"e":1},{"f":2}],"g":{"h":true}}"#, vec!["a", "d", "g"]),
            (r#"{"g":{"h":true}, "d":[{"e":1},{"f":3}],"a":{"b":[1,{"c":"x"}]}}"#, vec!["a", "g"]),
            (r#"{"a":{"b":[1,{"c":"x"},3]},"d": [{"e":1},{"f":2}],"g":{"h":true,"i":1}}"#, vec!["d"]),
        ] {
            let parsed = parse_with(body.as_bytes(), hints).unwrap();
            assert_eq!(parsed, parse(body.as_bytes()).unwrap());
            for key in ["a", "d", "g"] {
                let is = parsed.get(key).unwrap().is_same(value.get(key).unwrap());
                assert_eq!(is, same.contains(&key), "{body} {key}");
            }
        }
    }

    /// Every container whose place is known is what its text says; how many there are comes back.
    fn read_again(piece: Piece<'_>) -> usize {
        let mut parts = piece.parts();
        let inner: Vec<_> = match piece.value {
            Value::Object(members) => {
                let each = members.entries().iter().enumerate();
                each.filter_map(|(i, (key, _))| parts.member(i, key)).collect()
            }
            Value::Array(items) => (0..items.len()).filter_map(|i| parts.item(i)).collect(),
            _ => Vec::new(),
        };
        let own = piece.text().map_or(0, |text| {
            assert_eq!(parse(text).unwrap(), *piece.value);
            1
        });
        own + inner.into_iter().map(read_again).sum::<usize>()
    }

    #[test]
    fn a_text_that_was_read_is_known_again() {
        for (text, known) in [
            (r#"{"a":{"b":[1,{"c":"x"}]},"d":[{"e":1},{"f":2}],"g":{"h":true}}"#, 8),
            (
                " { \"g\" : {\"h\": [ ] , \"i\":[1]},\n \"a\":{\"z\":{\"y\":1},\"b\":[{\"q\":[]}]}, \"e\":{} }",
                7,
            ),
            (r#"{"g":{"h":{"i":1}},"a":{"z":{"y":1},"x":{"x":[1]}},"b":[[1],[2]]}"#, 10),
            (r#"{"b":1,"a":2}"#, 1),
        ] {
            let hints = Hints { spans: true, ..Hints::default() };
            let read = crate::parse_strict_with(text.as_bytes(), hints).unwrap();
            let spans = read.spans.unwrap();
            let piece = Piece::new(&read.value, text.as_bytes(), &spans);
            assert_eq!(read_again(piece), known, "{text}");
            // What is the same in a changed text is shared, and its places are known in turn.
            let changed = text.replacen('1', "17", 1);
            let hints = Hints { like: Some(piece), spans: true, ..Hints::default() };
            let again = crate::parse_strict_with(changed.as_bytes(), hints).unwrap();
            let plain = crate::parse_strict(changed.as_bytes()).unwrap();
            assert_eq!((&again.value, &again.duplicates), (&plain.value, &plain.duplicates), "{changed}");
            let spans = again.spans.unwrap();
            assert_eq!(read_again(Piece::new(&again.value, changed.as_bytes(), &spans)), known, "{changed}");
            let same = |key: &str| match (read.value.get(key), again.value.get(key)) {
                (Some(a @ Value::Object(_)), Some(b)) => a == b && !a.is_same(b),
                _ => false,
            };
            assert!(!["a", "g"].into_iter().any(same), "{changed}: what is equal is shared");
        }
    }

    #[test]
    fn of_a_text_with_a_key_twice_nothing_is_known() {
        let text = br#"{"a":{"z":{"y":1},"z":{"x":[1]}},"b":[[1],[2]]}"#;
        let hints = Hints { spans: true, ..Hints::default() };
        assert_eq!(crate::parse_strict_with(text, hints).unwrap().spans, None);
    }

    #[test]
    fn what_is_not_all_there_is_not_taken_whole() {
        let value = json!({"m": {"extra": 1, "l": {"a": "b"}}, "s": {"x": 1}});
        let (mut text, mut spans) = (Vec::new(), Spans::default());
        spans.begin(0);
        text.extend_from_slice(b"{\"m\":");
        spans.begin(text.len());
        text.extend_from_slice(b"{\"l\":");
        write_beside(&json!({"a": "b"}), None, &Phrases::default(), &mut spans, &mut text);
        text.push(b'}');
        spans.end(text.len(), false);
        text.extend_from_slice(b",\"s\":");
        write_beside(value.get("s").unwrap(), None, &Phrases::default(), &mut spans, &mut text);
        text.push(b'}');
        spans.end(text.len(), false);
        let piece = Piece::new(&value, &text, &spans);
        assert!(piece.text().is_none());
        let mut parts = piece.parts();
        let mut m = parts.member(0, "m").unwrap().parts();
        assert!(m.of().text().is_none());
        assert_eq!(m.member(1, "l").unwrap().text(), Some(&br#"{"a":"b"}"#[..]));
        assert_eq!(parts.member(1, "s").unwrap().text(), Some(&br#"{"x":1}"#[..]));
        let hints = Hints { like: Some(piece), ..Hints::default() };
        let parsed = parse_with(&text, hints).unwrap();
        assert_eq!(parsed, json!({"m": {"l": {"a": "b"}}, "s": {"x": 1}}));
        assert!(parsed.get("s").unwrap().is_same(value.get("s").unwrap()));
    }
}
