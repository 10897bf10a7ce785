//! JSON: reading, writing, and reading with hints.

use pleach_json::{
    Hints, InternedObject, InternedObjects, Map, SpannedValue, Spans, Value, copy_without, json, member,
    parse, parse_strict, parse_strict_with, parse_with, to_string_pretty, to_vec, write_spanned, write_with,
};

use crate::bytes::{Bytes, long, seeds};

/// Any bytes: both readers agree, what is written reads back, and what serde_json reads is read the same.
pub(super) fn json(data: &[u8]) {
    let read = parse(data);
    let strict = parse_strict(data);
    let other = serde_json::from_slice::<serde_json::Value>(data);
    let value = match (read, strict) {
        (Ok(value), Ok(strict)) => {
            assert_eq!(value, strict.value);
            assert!(strict.duplicates.len() <= 100);
            value
        }
        (Err(error), Err(strict)) => {
            assert_eq!(error.to_string(), strict.to_string());
            assert!(other.is_err(), "serde_json reads it: {error}");
            return;
        }
        (read, strict) => panic!("{read:?}, strictly {strict:?}"),
    };
    if let Ok(other) = other {
        assert!(is_same(&value, &other), "{value} is not {other}");
    }
    let text = to_vec(&value);
    let again = parse(&text).expect("what was written is read");
    assert!(!value.reads_back(None) || to_vec(&again) == text);
    // Minus zero is written as Go writes it, and then is an integer.
    let text = to_vec(&again);
    assert_eq!(parse(&text).expect("what was written is read"), again);
    assert!(!value.reads_back(None) || again == value);
    let pretty = parse(to_string_pretty(&value, 2).as_bytes()).expect("what was written is read");
    assert_eq!(pretty, again);
    if let Value::Object(members) = &again {
        for (key, value) in members.iter().take(8).filter(|(key, _)| is_plain(key)) {
            let found = member(&text, key).expect("a member is found");
            assert_eq!(found, to_vec(value), "{key}");
            let (mut without, mut rest) = (Vec::new(), members.clone());
            copy_without(&text, &[key], &mut without);
            rest.remove(key);
            assert_eq!(without, to_vec(&rest.into()), "{key}");
        }
    }
}

/// Whether a key has no escapes when it is written.
fn is_plain(key: &str) -> bool {
    to_vec(&Value::from(key)).len() == key.len() + 2
}

/// Whether two readers found the same. Floats may differ in the last digit, of which serde_json is not certain.
fn is_same(value: &Value, other: &serde_json::Value) -> bool {
    use serde_json::Value as Other;
    match (value, other) {
        (Value::Null, Other::Null) => true,
        (Value::Bool(a), Other::Bool(b)) => a == b,
        (Value::Int(a), Other::Number(b)) => b.as_i64() == Some(*a) || *a == 0,
        (Value::Float(a), Other::Number(b)) => {
            b.as_f64().is_some_and(|b| (a - b).abs() <= a.abs() * 1e-14 || *a == b)
        }
        (Value::String(a), Other::String(b)) => a == b,
        (Value::Array(a), Other::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Other::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key.as_str()).is_some_and(|b| is_same(a, b)))
        }
        _ => false,
    }
}

pub(super) fn json_seeds() -> Vec<Vec<u8>> {
    let mut all = seeds(&[
        r#"{"a":1,"b":[1.0,1e3,-0.0,0.5,12345678901234567890,1e30,-1,0],"c":"text: # [x]","d":{}}"#,
        "{\n  \"a\": {\n    \"b\": [\n      \"\\n\\t\\\"\\\\\\u00e9\\ud83d\\ude00\",\n      true,\n      null\n    ]\n  }\n}\n",
        r#"{"apiVersion":"g/v1","kind":"A","metadata":{"name":"x","labels":{"a":"b"},"uid":"0"},"spec":{"a":[{"b":1},{"b":2}]}}"#,
        r"[[[[[[[[]]]]]]]]",
        r#"{"a":{"a":{"a":{"a":{}}}},"a":2,"<":">&\u2028"}"#,
        "",
        " null ",
        "\"\\ud800 half a pair\"",
    ]);
    all.push(long("{\"a\":[0", ",{\"k#\":#}", 500, "]}"));
    all.push(long("{\"a\":0", ",\"k#\":\"\\u00e9\"", 500, "}"));
    all.push(long("", "[{\"a\":", 500, ""));
    all
}

/// A text, and the same text with some bytes changed: reading the second with the first as a hint gives what reading
/// it alone gives, and what it shares with the first is written from there.
pub(super) fn json_hints(data: &[u8]) {
    let mut bytes = Bytes(data);
    let edits = usize::from(bytes.next() % 8);
    let edits: Vec<(u16, u8)> = (0..edits).map(|_| (bytes.next_u16(), bytes.next())).collect();
    let text = bytes.0;
    let Ok(first) = parse_strict_with(text, Hints { spans: true, ..Hints::default() }) else { return };
    let mut changed = text.to_vec();
    for (at, byte) in edits {
        let at = usize::from(at) % (changed.len() + 1);
        match byte {
            0x80.. => changed.insert(at, byte - 0x80),
            byte if at < changed.len() => changed[at] = byte,
            _ => {}
        }
    }
    let interned = interned();
    let alone = parse_strict(&changed);

    // As a body that is like the stored object, which was written by us.
    let (mut stored, mut spans) = (Vec::new(), Spans::default());
    write_spanned(&first.value, None, &interned, &mut spans, &mut stored);
    assert_eq!(stored, to_vec(&first.value));
    let mut with_interned = Vec::new();
    write_with(&first.value, &interned, &mut with_interned);
    assert_eq!(with_interned, stored);
    let spanned = SpannedValue::new(&first.value, &stored, &spans);
    let baseline = first.value.reads_back(None).then_some(spanned);
    agree(&changed, Hints { baseline, interned: Some(&interned), spans: true }, &alone, &interned);
    agree(&changed, Hints { baseline: Some((&first.value).into()), ..Hints::default() }, &alone, &interned);

    // As a body that is like the one before it.
    if let Some(spans) = &first.spans
        && first.value.reads_back(None)
    {
        let baseline = Some(SpannedValue::new(&first.value, text, spans));
        agree(&changed, Hints { baseline, interned: Some(&interned), spans: true }, &alone, &interned);
    }
}

fn agree(
    text: &[u8],
    hints: Hints<'_>,
    alone: &Result<pleach_json::Parsed, pleach_json::ParseError>,
    interned: &InternedObjects,
) {
    let hinted = parse_strict_with(text, hints);
    let plain = parse_with(text, hints);
    match (alone, &hinted, &plain) {
        (Ok(alone), Ok(hinted), Ok(plain)) => {
            assert_eq!(alone.value, hinted.value);
            assert_eq!(alone.value, *plain);
            assert_eq!(alone.duplicates, hinted.duplicates);
            if let Some(spans) = &hinted.spans
                && hinted.value.reads_back(None)
            {
                // A copy that shares everything is taken from the text, blanks and all.
                let (mut out, mut again) = (Vec::new(), Spans::default());
                let spanned = SpannedValue::new(&hinted.value, text, spans);
                write_spanned(&hinted.value.clone(), Some(spanned), interned, &mut again, &mut out);
                assert_eq!(parse(&out).expect("what was written is read"), hinted.value);
            }
        }
        (Err(alone), Err(hinted), Err(plain)) => {
            assert_eq!(alone.to_string(), hinted.to_string());
            assert_eq!(alone.to_string(), plain.to_string());
        }
        other => panic!("{other:?}"),
    }
}

fn interned() -> InternedObjects {
    let known = [json!({"f:a": {}, "f:b": {".": {}}}), json!({"a": 1})];
    let objects = known.into_iter().filter_map(|value| match value {
        Value::Object(members) => Some(members),
        _ => None,
    });
    InternedObjects::new("fieldsV1", objects.filter_map(|object: Map| InternedObject::new(object)).collect())
}

pub(super) fn json_hints_seeds() -> Vec<Vec<u8>> {
    let edits: [&[u8]; 4] =
        [&[0], &[1, 40, 0, b'9'], &[2, 90, 0, b' ' + 0x80, 20, 0, b','], &[1, 10, 0, 0x80 + b'[']];
    let texts = json_seeds().into_iter().chain(seeds(&[
        r#"{"metadata":{"managedFields":[{"manager":"m","fieldsV1":{"f:a":{},"f:b":{".":{}}}},{"fieldsV1":{"a":1}}]},"spec":{"z":{"y":[1,{"x":{"w":[]}}]},"a":[[1],[2,[3]]]}}"#,
        r#"{"b":{"c":[1,2]},"a":{"d":{"e":{}}},"f":[{"g":1},{"g":{"h":[[]]}}]}"#,
    ]));
    texts.flat_map(|text| edits.iter().map(move |edits| [edits, &text[..]].concat())).collect()
}
