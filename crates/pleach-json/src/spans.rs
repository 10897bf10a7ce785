//! Spans: the byte ranges of a value's arrays and objects in its JSON text.
//!
//! An update changes little of an object. With the earlier value, its text and its spans, the writer copies
//! the text of unchanged containers, and the parser recognizes them by comparing bytes.

use crate::{InternedObjects, Map, Str, Value, grow_stack, write_string, write_to};

/// The span of a container that is not empty; the spans of the containers in it follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    /// Offset from the start of the enclosing container.
    start: u32,
    /// 0 if members are left out of the text.
    len: u32,
    /// The number of spans of it and the containers in it; 1 also if those are not recorded.
    count: u32,
}

/// The spans of a value's containers, in document order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    all: Vec<Span>,
    /// Containers that have not ended: index in the list, and offset in the text.
    open: Vec<(usize, usize)>,
}

impl Spans {
    /// A container begins at this offset.
    pub fn begin(&mut self, at: usize) {
        self.open.push((self.all.len(), at));
        let parent = self.open.iter().rev().nth(1).map_or(0, |(_, begin)| *begin);
        self.all.push(Span { start: (at - parent) as u32, len: 0, count: 1 });
    }

    /// The innermost open container ends at this offset. `is_whole` says that no member was left out.
    pub fn end(&mut self, at: usize, is_whole: bool) {
        let Some((index, begin)) = self.open.pop() else { return };
        let count = self.all.len() - index;
        let span = &mut self.all[index];
        span.len = if is_whole { (at - begin) as u32 } else { 0 };
        span.count = count as u32;
    }

    /// Puts the spans of an object's members, which were parsed in this order, into the order of their keys.
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

    /// The text of a container was copied to this offset.
    pub(crate) fn copied(&mut self, at: usize, spanned: &SpannedValue<'_>) {
        self.begin(at);
        self.all.extend_from_slice(&spanned.spans[1..]);
        self.end(at + spanned.spans[0].len as usize, true);
    }
}

/// A value with its JSON text and spans, or a container in it.
#[derive(Clone, Copy, Debug)]
pub struct SpannedValue<'p> {
    value: &'p Value,
    text: &'p [u8],
    /// Its own first; none if its text is not known.
    spans: &'p [Span],
    /// Its offset in the text.
    start: usize,
}

impl<'p> SpannedValue<'p> {
    /// A value, its text and its spans. Parsing the text must give the value.
    pub fn new(value: &'p Value, text: &'p [u8], spans: &'p Spans) -> Self {
        let start = spans.all.first().map_or(0, |span| span.start as usize);
        Self { value, text, spans: &spans.all, start }
    }

    /// The value.
    pub fn value(&self) -> &'p Value {
        self.value
    }

    /// The text of a container, unless members are left out of it.
    pub(crate) fn text(&self) -> Option<&'p [u8]> {
        let len = self.spans.first().filter(|span| span.len > 0)?.len as usize;
        self.text.get(self.start..self.start + len)
    }

    /// Its items or members.
    pub fn children(self) -> SpannedChildren<'p> {
        SpannedChildren { of: self, at: 0, next: 1 }
    }
}

impl<'p> From<&'p Value> for SpannedValue<'p> {
    fn from(value: &'p Value) -> Self {
        Self { value, text: &[], spans: &[], start: 0 }
    }
}

/// How many members after the last one found are compared before a binary search.
const NEAR: usize = 8;

/// The items or members of a [`SpannedValue`]; fast when asked for in order.
#[derive(Clone, Copy, Debug)]
pub struct SpannedChildren<'p> {
    of: SpannedValue<'p>,
    /// How many have been passed, and the index of the next span.
    at: usize,
    next: usize,
}

impl<'p> SpannedChildren<'p> {
    pub(crate) fn of(&self) -> &SpannedValue<'p> {
        &self.of
    }

    /// A member, probably the one at `i`.
    pub fn member(&mut self, i: usize, key: &str) -> Option<SpannedValue<'p>> {
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
    pub fn item(&mut self, i: usize) -> Option<SpannedValue<'p>> {
        let Value::Array(items) = self.of.value else { return None };
        if i < items.len() { self.part(i, |i| &items[i]) } else { None }
    }

    fn part(&mut self, i: usize, value: impl Fn(usize) -> &'p Value) -> Option<SpannedValue<'p>> {
        let found = value(i);
        if !has_span(found) {
            return None;
        }
        let unknown = SpannedValue::from(found);
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
        Some(SpannedValue {
            value: found,
            text: self.of.text,
            spans,
            start: self.of.start + span.start as usize,
        })
    }
}

fn has_span(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    }
}

/// Appends a value as JSON text and records its spans. The text of containers shared with `earlier` is
/// copied.
pub fn write_spanned(
    value: &Value,
    earlier: Option<SpannedValue<'_>>,
    interned: &InternedObjects,
    spans: &mut Spans,
    out: &mut Vec<u8>,
) {
    if !has_span(value) {
        return write_to(value, out);
    }
    let at = out.len();
    if let Some(spanned) = earlier.filter(|spanned| spanned.value.is_same(value))
        && let Some(text) = spanned.text()
    {
        out.extend_from_slice(text);
        return spans.copied(at, &spanned);
    }
    spans.begin(at);
    match value {
        Value::Object(members) => match interned.text_of(members) {
            Some(text) => out.extend_from_slice(text),
            None if members.values().any(has_span) => {
                grow_stack(|| write_members(members, earlier, interned, spans, out));
            }
            None => write_to(value, out),
        },
        Value::Array(items) if items.iter().any(has_span) => {
            let mut children = earlier.map(SpannedValue::children);
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                let part = children.as_mut().and_then(|children| children.item(i));
                grow_stack(|| write_spanned(item, part, interned, spans, out));
            }
            out.push(b']');
        }
        _ => write_to(value, out),
    }
    spans.end(out.len(), true);
}

fn write_members(
    members: &Map,
    earlier: Option<SpannedValue<'_>>,
    interned: &InternedObjects,
    spans: &mut Spans,
    out: &mut Vec<u8>,
) {
    let mut children = earlier.map(SpannedValue::children);
    out.push(b'{');
    for (i, (key, value)) in members.entries().iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_key(key, out);
        let part = children.as_mut().filter(|_| has_span(value)).and_then(|children| children.member(i, key));
        write_spanned(value, part, interned, spans, out);
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

    fn written(value: &Value, earlier: Option<SpannedValue<'_>>) -> (Vec<u8>, Spans) {
        let (mut out, mut spans) = (b"before ".to_vec(), Spans::default());
        write_spanned(value, earlier, &InternedObjects::default(), &mut spans, &mut out);
        assert_eq!(out[7..], to_vec(value), "{value}");
        (out, spans)
    }

    /// Every span is the text of its container.
    fn check(spanned: SpannedValue<'_>) -> usize {
        assert_eq!(spanned.text().unwrap(), to_vec(spanned.value), "{}", spanned.value);
        let mut children = spanned.children();
        let inner: Vec<_> = match spanned.value {
            Value::Object(members) => members
                .entries()
                .iter()
                .enumerate()
                .filter_map(|(i, (key, _))| children.member(i, key))
                .collect(),
            Value::Array(items) => (0..items.len()).filter_map(|i| children.item(i)).collect(),
            _ => Vec::new(),
        };
        1 + inner.into_iter().map(check).sum::<usize>()
    }

    #[test]
    fn spans_are_the_byte_ranges_of_containers() {
        let value = json!({
            "a": {"b": [1, {"c": "x\n"}, [], [[2], {}]], "d": {}},
            "e": "{", "f": [[{"g": {"h": null}}], 1.5], "g": {"i": {"j": 1}},
        });
        let (text, spans) = written(&value, None);
        let spanned = SpannedValue::new(&value, &text, &spans);
        assert_eq!(check(spanned), 12);
        // Out of order.
        let mut children = spanned.children();
        for key in ["g", "a", "f", "a", "e", "z"] {
            let part = children.member(9, key).and_then(|part| part.text());
            let expected = value.get(key).filter(|value| value.is_container()).map(to_vec);
            assert_eq!(part.map(<[u8]>::to_vec), expected, "{key}");
        }

        let mut changed = value.clone();
        changed.get_mut("a").unwrap().get_mut("b").unwrap().as_array_mut().unwrap()[1] =
            json!({"c": {"y": 1}});
        changed.as_object_mut().unwrap().insert("aa", json!([{"new": 1}]));
        changed.as_object_mut().unwrap().remove("f");
        let (text, spans) = written(&changed, Some(spanned));
        check(SpannedValue::new(&changed, &text, &spans));
        let (_, alone) = written(&changed, None);
        assert_eq!(spans, alone, "copied containers have the spans they would have");
    }

    #[test]
    fn unchanged_containers_are_shared_with_the_baseline() {
        let value = json!({"a": {"b": [1, {"c": "x"}]}, "d": [{"e": 1}, {"f": 2}], "g": {"h": true}});
        let (text, spans) = written(&value, None);
        let hints = Hints { baseline: Some(SpannedValue::new(&value, &text, &spans)), ..Hints::default() };
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

    /// Parses the text of every container with a span and compares; returns their number.
    fn read_again(spanned: SpannedValue<'_>) -> usize {
        let mut children = spanned.children();
        let inner: Vec<_> = match spanned.value {
            Value::Object(members) => {
                let each = members.entries().iter().enumerate();
                each.filter_map(|(i, (key, _))| children.member(i, key)).collect()
            }
            Value::Array(items) => (0..items.len()).filter_map(|i| children.item(i)).collect(),
            _ => Vec::new(),
        };
        let own = spanned.text().map_or(0, |text| {
            assert_eq!(parse(text).unwrap(), *spanned.value);
            1
        });
        own + inner.into_iter().map(read_again).sum::<usize>()
    }

    #[test]
    fn spans_of_a_parsed_text_serve_as_baseline_of_the_next() {
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
            let spanned = SpannedValue::new(&read.value, text.as_bytes(), &spans);
            assert_eq!(read_again(spanned), known, "{text}");
            // Unchanged containers of a changed text are shared, and have spans in turn.
            let changed = text.replacen('1', "17", 1);
            let hints = Hints { baseline: Some(spanned), spans: true, ..Hints::default() };
            let again = crate::parse_strict_with(changed.as_bytes(), hints).unwrap();
            let plain = crate::parse_strict(changed.as_bytes()).unwrap();
            assert_eq!((&again.value, &again.duplicates), (&plain.value, &plain.duplicates), "{changed}");
            let spans = again.spans.unwrap();
            assert_eq!(
                read_again(SpannedValue::new(&again.value, changed.as_bytes(), &spans)),
                known,
                "{changed}"
            );
            let same = |key: &str| match (read.value.get(key), again.value.get(key)) {
                (Some(a @ Value::Object(_)), Some(b)) => a == b && !a.is_same(b),
                _ => false,
            };
            assert!(!["a", "g"].into_iter().any(same), "{changed}: equal containers are shared");
        }
    }

    #[test]
    fn a_text_with_duplicate_keys_has_no_spans() {
        let text = br#"{"a":{"z":{"y":1},"z":{"x":[1]}},"b":[[1],[2]]}"#;
        let hints = Hints { spans: true, ..Hints::default() };
        assert_eq!(crate::parse_strict_with(text, hints).unwrap().spans, None);
    }

    #[test]
    fn containers_with_omitted_members_are_not_copied() {
        let value = json!({"m": {"extra": 1, "l": {"a": "b"}}, "s": {"x": 1}});
        let (mut text, mut spans) = (Vec::new(), Spans::default());
        spans.begin(0);
        text.extend_from_slice(b"{\"m\":");
        spans.begin(text.len());
        text.extend_from_slice(b"{\"l\":");
        write_spanned(&json!({"a": "b"}), None, &InternedObjects::default(), &mut spans, &mut text);
        text.push(b'}');
        spans.end(text.len(), false);
        text.extend_from_slice(b",\"s\":");
        write_spanned(value.get("s").unwrap(), None, &InternedObjects::default(), &mut spans, &mut text);
        text.push(b'}');
        spans.end(text.len(), false);
        let spanned = SpannedValue::new(&value, &text, &spans);
        assert!(spanned.text().is_none());
        let mut children = spanned.children();
        let mut m = children.member(0, "m").unwrap().children();
        assert!(m.of().text().is_none());
        assert_eq!(m.member(1, "l").unwrap().text(), Some(&br#"{"a":"b"}"#[..]));
        assert_eq!(children.member(1, "s").unwrap().text(), Some(&br#"{"x":1}"#[..]));
        let hints = Hints { baseline: Some(spanned), ..Hints::default() };
        let parsed = parse_with(&text, hints).unwrap();
        assert_eq!(parsed, json!({"m": {"l": {"a": "b"}}, "s": {"x": 1}}));
        assert!(parsed.get("s").unwrap().is_same(value.get("s").unwrap()));
    }
}
