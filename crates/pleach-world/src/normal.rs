//! Placeholders for values that differ between any two servers, as in recordings of conversations.

use pleach_json::Value;

/// Members whose texts are a server's own.
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

/// Puts placeholders in the place of uids, times, resource versions and continue tokens; leaves managed fields out.
pub(crate) fn normal(value: &Value) -> Value {
    walk(value, "")
}

fn walk(value: &Value, key: &str) -> Value {
    pleach_json::grow_stack(|| match value {
        Value::Object(map) => {
            let mut out = pleach_json::Map::new();
            for (name, value) in map.iter().filter(|(name, _)| name.as_str() != "managedFields") {
                out.insert(name.clone(), walk(value, name));
            }
            out.into()
        }
        Value::Array(items) => items.iter().map(|item| walk(item, "")).collect::<Vec<_>>().into(),
        Value::String(text) if PLACEHOLDERS.contains(&key) && !text.is_empty() => {
            Value::from(format!("<{key}>"))
        }
        Value::String(text) => Value::from(without_uids(text)),
        other => other.clone(),
    })
}

/// The same text with a placeholder for each uid in it.
fn without_uids(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, _)) = rest.char_indices().find(|(at, _)| is_uid(&rest.as_bytes()[*at..])) {
        out.push_str(&rest[..at]);
        out.push_str("<uid>");
        rest = &rest[at + UID..];
    }
    out.push_str(rest);
    out
}

/// The length of a uid.
const UID: usize = 36;

fn is_uid(bytes: &[u8]) -> bool {
    let Some(bytes) = bytes.get(..UID) else { return false };
    bytes.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_stand_for_what_is_a_servers_own() {
        let value = pleach_json::parse(
            br#"{"metadata":{"name":"a","uid":"x","resourceVersion":"","managedFields":[]},
                "message":"of 0a1b2c3d-0000-4000-8000-0123456789ab, gone","list":["2"]}"#,
        )
        .unwrap();
        assert_eq!(
            pleach_json::to_string(&normal(&value)).replace("\\u003c", "<").replace("\\u003e", ">"),
            r#"{"list":["2"],"message":"of <uid>, gone","metadata":{"name":"a","resourceVersion":"","uid":"<uid>"}}"#
        );
    }
}
