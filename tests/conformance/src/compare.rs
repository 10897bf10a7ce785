//! The comparison of two servers: placeholders, order that does not matter, and the differences.

use serde_json::{Map, Value};

const PLACEHOLDERS: [&str; 8] = [
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "resourceVersion",
    "lastTransitionTime",
    "time",
    "continue",
    "storageVersionHash",
];

/// Replaces what no two servers share.
pub(crate) fn normal(value: Value, keep_managed: bool, key: Option<&str>) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .filter(|(key, _)| keep_managed || key != "managedFields")
                .map(|(key, value)| {
                    let value = normal(value, keep_managed, Some(&key));
                    (key, value)
                })
                .collect(),
        ),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| normal(item, keep_managed, None)).collect())
        }
        Value::String(text) => match key {
            Some(key) if PLACEHOLDERS.contains(&key) && !text.is_empty() => Value::String(format!("<{key}>")),
            _ => Value::String(normal_text(&text)),
        },
        // `-0` is the integer zero to the program that recorded, and a float to this JSON reader.
        Value::Number(number) if number.is_f64() && number.as_f64() == Some(0.0) => 0.into(),
        other => other,
    }
}

/// The same inside texts: uids, objects quoted in messages, made-up type names.
pub(crate) fn normal_text(text: &str) -> String {
    self_types(&embedded(&uuids(text)))
}

fn uuids(text: &str) -> String {
    const SHAPE: [usize; 5] = [8, 4, 4, 4, 12];
    let bytes = text.as_bytes();
    let is_uuid = |at: usize| {
        let mut i = at;
        for (part, length) in SHAPE.iter().enumerate() {
            if part > 0 {
                if bytes.get(i) != Some(&b'-') {
                    return false;
                }
                i += 1;
            }
            for _ in 0..*length {
                match bytes.get(i) {
                    Some(b'0'..=b'9' | b'a'..=b'f') => i += 1,
                    _ => return false,
                }
            }
        }
        true
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = 0;
    let mut at = 0;
    while at < bytes.len() {
        if is_uuid(at) {
            out.push_str(&text[rest..at]);
            out.push_str("<uid>");
            at += 36;
            rest = at;
        } else {
            at += 1;
        }
    }
    out.push_str(&text[rest..]);
    out
}

/// `"resourceVersion":"123"` inside a message, quotes escaped or not.
fn embedded(text: &str) -> String {
    const KEYS: [&str; 5] =
        ["creationTimestamp", "deletionTimestamp", "resourceVersion", "lastTransitionTime", "time"];
    let mut out = text.to_owned();
    for key in KEYS {
        let mut from = 0;
        while let Some(found) = out[from..].find(key) {
            let start = from + found;
            let end = start + key.len();
            from = end;
            let before = out[..start].ends_with('"');
            let after = out[end..].trim_start_matches('\\');
            let Some(after) = before.then_some(after).and_then(|text| text.strip_prefix("\":")) else {
                continue;
            };
            let after = after.strip_prefix(' ').unwrap_or(after).trim_start_matches('\\');
            let Some(after) = after.strip_prefix('"') else { continue };
            let value_start = out.len() - after.len();
            let length = after.find(['"', '\\']).unwrap_or(after.len());
            if length > 0 {
                out.replace_range(value_start..value_start + length, &format!("<{key}>"));
            }
        }
    }
    out
}

fn self_types(text: &str) -> String {
    const WORD: &str = "selfType";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(WORD) {
        let end = at + WORD.len();
        out.push_str(&rest[..end]);
        rest = &rest[end..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            out.push_str("<n>");
            rest = &rest[digits..];
        }
    }
    out.push_str(rest);
    out
}

/// The parts of a path: `a.b[0].c`, `["quoted"]` for a name with dots, `items["metadata.name=x"]`.
fn steps(path: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix("[\"") {
            let end = quoted.find("\"]").unwrap_or(quoted.len());
            let text: String = serde_json::from_str(&format!("\"{}\"", &quoted[..end])).unwrap_or_default();
            out.push(text);
            rest = quoted.get(end + 2..).unwrap_or_default();
        } else if rest.starts_with(['.', '[', ']']) {
            rest = &rest[1..];
        } else {
            let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
            out.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
    }
    out
}

/// The value at a path.
pub(crate) fn pointer<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    steps(path).iter().try_fold(value, |value, part| follow(value, part))
}

fn follow<'a>(value: &'a Value, part: &str) -> Option<&'a Value> {
    match value {
        Value::Array(items) => match part.split_once('=') {
            Some((key, wanted)) => {
                items.iter().find(|item| pointer(item, key).and_then(Value::as_str) == Some(wanted))
            }
            None => items.get(part.parse::<usize>().ok()?),
        },
        Value::Object(members) => members.get(part),
        _ => None,
    }
}

/// Takes away what stands at a path.
pub(crate) fn remove(value: &mut Value, path: &str) {
    let parts = steps(path);
    let Some((last, parents)) = parts.split_last() else { return };
    let mut at = value;
    for part in parents {
        let next = match at {
            Value::Array(items) => part.parse::<usize>().ok().and_then(|i| items.get_mut(i)),
            Value::Object(members) => members.get_mut(part),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => return,
        }
    }
    if let Value::Object(members) = at {
        members.remove(last);
    }
}

/// Sorts what may come in any order: conditions, and a Status's causes with the parts of its message.
pub(crate) fn order_free(value: Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(order_free).collect()),
        Value::Object(members) => {
            let mut out: Map<String, Value> = Map::new();
            for (key, value) in members {
                let mut value = order_free(value);
                if key.ends_with("conditions")
                    && let Value::Array(items) = &mut value
                {
                    items.sort_by_key(ToString::to_string);
                }
                out.insert(key, value);
            }
            if out.get("kind").and_then(Value::as_str) == Some("Status") {
                sort_causes(&mut out);
            }
            Value::Object(out)
        }
        other => other,
    }
}

fn sort_causes(status: &mut Map<String, Value>) {
    let causes = status.get_mut("details").and_then(|d| d.get_mut("causes")).and_then(Value::as_array_mut);
    let Some(causes) = causes.filter(|causes| causes.len() > 1) else { return };
    causes.sort_by_key(ToString::to_string);
    let message = status.get("message").and_then(Value::as_str).unwrap_or_default();
    let mut parts: Vec<String> =
        message.split(", ").flat_map(|part| part.split(['[', ']'])).map(str::to_owned).collect();
    parts.sort();
    status.insert("message".into(), parts.into());
}

/// The differences, a line per place.
pub(crate) fn difference(expected: &Value, got: &Value, path: &str, out: &mut Vec<String>) {
    match (expected, got) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                match b.get(key) {
                    Some(other) => difference(value, other, &format!("{path}.{key}"), out),
                    None => out.push(format!("{path}.{key}: missing, expected {}", short(value))),
                }
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                out.push(format!("{path}.{key}: unexpected {}", short(value)));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (x, y)) in a.iter().zip(b).enumerate() {
                difference(x, y, &format!("{path}[{i}]"), out);
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let path = if path.is_empty() { "." } else { path };
            out.push(format!("{path}: expected {}\n        got      {}", short(a), short(b)));
        }
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(600) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_that_differ_between_servers_are_replaced() {
        let value = json!({"metadata": {"uid": "x", "managedFields": [1], "name": "n"},
            "message": "a 00000000-1111-2222-3333-444444444444 b {\"resourceVersion\":\"12\"} selfType1234"});
        let want = json!({"metadata": {"uid": "<uid>", "name": "n"},
            "message": "a <uid> b {\"resourceVersion\":\"<resourceVersion>\"} selfType<n>"});
        assert_eq!(normal(value, false, None), want);
    }

    #[test]
    fn paths_reach_items_by_index_and_by_name() {
        let value = json!({"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}, "a.b": 1}]});
        assert_eq!(pointer(&value, "items[1].metadata.name"), Some(&json!("b")));
        assert_eq!(pointer(&value, "items[\"metadata.name=b\"][\"a.b\"]"), Some(&json!(1)));
        assert_eq!(pointer(&value, "items[2]"), None);
    }

    #[test]
    fn numbers_of_different_kinds_differ() {
        let mut out = Vec::new();
        difference(&json!({"a": 1}), &json!({"a": 1.0}), "", &mut out);
        assert_eq!(out.len(), 1);
    }
}
