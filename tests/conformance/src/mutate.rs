//! Makes odd requests of recorded ones: deep, wide, of other types, cut short, with flipped bytes, other
//! media types, methods, paths and queries. The same seed makes the same requests.

use serde_json::{Map, Value, json};

use crate::session::Request;

/// A sequence of numbers that looks random (splitmix64).
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Something that is so once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of several.
    pub fn one_of<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

const METHODS: [&str; 8] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "FROB"];

const MEDIA_TYPES: [&str; 10] = [
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
    "",
    "application/json; charset=\"",
];

const ACCEPTED: [&str; 10] = [
    "*/*",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/json;as=Table;g=meta.k8s.io;v=v1beta1,application/json",
    "application/yaml;as=Table;g=meta.k8s.io;v=v1",
    "text/html, ;q=, application/json;q=9",
];

/// Parameters of queries, and what they may say.
const PARAMETERS: [(&str, &[&str]); 22] = [
    ("dryRun", &["All", "", "Some"]),
    ("fieldManager", &["m", "", "é\u{0}", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    ("fieldValidation", &["Strict", "Ignore", "Warn", "warn"]),
    ("force", &["true", "false", "1", "x"]),
    ("pretty", &["true", "0"]),
    ("limit", &["1", "0", "-1", "9223372036854775807", "99999999999999999999", "x"]),
    (
        "continue",
        &["x", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJcdTAwMDAifQ", "====", "é"],
    ),
    ("resourceVersion", &["0", "1", "99999999999999999999", "-1", "x"]),
    ("resourceVersionMatch", &["Exact", "NotOlderThan", "x"]),
    ("labelSelector", &["a=b", "a in (b,c)", "!a", "a notin (", "a>1", "a==b,,", "é", "a=b=c", "-a=-"]),
    ("fieldSelector", &["metadata.name=x", "metadata.namespace!=y", "spec.x=\\", "a=b=c", ",", "=="]),
    ("sendInitialEvents", &["true", "x"]),
    ("includeObject", &["Object", "None", "x"]),
    ("propagationPolicy", &["Orphan", "Foreground", "Background", "x"]),
    ("orphanDependents", &["true", "x"]),
    ("gracePeriodSeconds", &["0", "-1", "9223372036854775808"]),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", &["true", "x"]),
    ("timeout", &["1s", "0", "x", "9999999999h", "-5m", "1ns"]),
    ("uid", &["x", ""]),
    ("allowWatchBookmarks", &["true"]),
    ("%ff", &["%fe", "%"]),
    ("", &["", "&&&=;"]),
];

/// Texts that parsers of all kinds trip over: names, selectors, patterns, paths, expressions, times.
const TEXTS: [&str; 24] = [
    "",
    "\u{0}",
    "é\u{10ffff}",
    "-",
    "9223372036854775808",
    "1e999",
    ".spec[?(@.a==",
    ".a.b[*]['c']",
    "{.a}{end}{range",
    "(?i)^(a|b)*$(",
    "[[:alpha:]]{1,1000}",
    "a{1000}{1000}",
    "self.all(x, x > 0)",
    "self.a.b == [1,2,{'a': 3}][0] ? 1 : dyn(2)",
    "oldSelf.map(x, x)[99999999999999999999]",
    "'\\u00",
    "duration('9999999999999999h') - timestamp('0001-01-01T00:00:00Z')",
    "2006-01-02T15:04:05.999999999-23:59",
    "9999-12-31T23:59:60Z",
    "1Ei9",
    "::ffff:1.2.3.4/129",
    "/a/~1/~0/-/00/18446744073709551616",
    "g/v1/v2",
    "x-kubernetes-\u{202e}",
];

/// How large bodies get, about.
const LARGEST: usize = 200_000;

/// A request that is somewhat like another.
pub fn mutate(request: &Request, others: &[Request], random: &mut Random) -> Request {
    let mut out = request.clone();
    for _ in 0..=random.below(2) {
        match random.below(16) {
            0 => out.method = random.one_of(&METHODS).to_owned(),
            1 => set_header(&mut out, "Content-Type", random.one_of(&MEDIA_TYPES)),
            2 => set_header(&mut out, "Accept", random.one_of(&ACCEPTED)),
            3 => out.path = path(&out.path, random),
            4 | 5 => out.path = query(&out.path, random),
            6 => out.body.clone_from(&others[random.below(others.len())].body),
            _ => {
                if let Some(body) = &out.body {
                    out.body = Some(mutate_body(body, others, random));
                } else {
                    out.path = query(&out.path, random);
                }
            }
        }
    }
    out
}

fn set_header(request: &mut Request, name: &str, value: &str) {
    request.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    request.headers.push((name.to_owned(), value.to_owned()));
}

fn path(path: &str, random: &mut Random) -> String {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
    let at = random.below(parts.len());
    match random.below(5) {
        0 => drop(parts.remove(at)),
        1 => parts
            .insert(at, random.one_of(&["status", "scale", "finalize", "watch", "namespaces", ""]).into()),
        2 => {
            parts[at] =
                random.one_of(&["..", ".", "%2F", "%00", "%", "%ff", "é", "a%2Fb", "v1", "default"]).into();
        }
        3 => parts[at].push_str(random.one_of(&["x", "%20", "/", "//", ";a=b", "."])),
        _ => parts.push(random.one_of(&["status", "scale", "x", "log", ""]).into()),
    }
    let path = parts.join("/");
    let path = if path.starts_with('/') { path } else { format!("/{path}") };
    // A request line is ASCII; what is not would be another test's.
    let path: String = path.chars().filter(char::is_ascii).collect();
    query.map_or(path.clone(), |query| format!("{path}?{query}"))
}

fn query(path: &str, random: &mut Random) -> String {
    let (name, values) = PARAMETERS[random.below(PARAMETERS.len())];
    let value = random.one_of(values);
    let escape = |text: &str| {
        text.bytes().fold(String::new(), |mut out, byte| {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'%' | b'=' | b'&' => out.push(byte.into()),
                _ => out.push_str(&format!("%{byte:02x}")),
            }
            out
        })
    };
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}{name}={}", escape(value))
}

fn mutate_body(body: &[u8], others: &[Request], random: &mut Random) -> Vec<u8> {
    if random.once_in(6) {
        return mutate_bytes(body, random);
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else { return mutate_bytes(body, random) };
    for _ in 0..=random.below(3) {
        let places = count(&value);
        let at = random.below(places);
        mutate_value(nth(&mut value, at), others, random);
    }
    let mut text = value.to_string();
    if random.once_in(8) {
        // A number that no float holds, and a key that is there twice.
        text = text.replacen("12345678", "1e999", 1).replacen("{\"", "{\"\\u0061\":1,\"a\":2,\"", 1);
    }
    // What is deep goes in as text: the writer of these tests is recursive.
    while let Some(start) = text.find("\"@deep ") {
        let Some(end) = text[start..].find("@\"") else { break };
        let levels: usize = text[start + 7..start + end].parse().unwrap_or(1);
        // Larger bodies are refused unread, which is another test's.
        let levels = if text.len() > LARGEST { 1 } else { levels };
        let deep = if levels.is_multiple_of(2) {
            format!("{}1{}", "[".repeat(levels), "]".repeat(levels))
        } else {
            format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels))
        };
        text.replace_range(start..start + end + 2, &deep);
    }
    text.into_bytes()
}

fn mutate_bytes(body: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = body.to_vec();
    match random.below(4) {
        0 => out.truncate(random.below(out.len())),
        1 => {
            for _ in 0..=random.below(4) {
                let at = random.below(out.len());
                if let Some(byte) = out.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
        2 => {
            let at = random.below(out.len());
            let piece =
                random.one_of::<[u8]>(&[b"\xff", b"\0", b"{", b"]", b"\"", b"\\u", b"&a *a", b"\n- "]);
            out.splice(at..at, piece.iter().copied());
        }
        _ => {
            let (from, to) = (random.below(out.len()), random.below(out.len()));
            let piece: Vec<u8> = out[from.min(to)..from.max(to)].to_vec();
            let at = random.below(out.len());
            out.splice(at..at, piece);
        }
    }
    out
}

/// How many values there are in a value, itself among them.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// One of the values in a value.
fn nth(value: &mut Value, mut at: usize) -> &mut Value {
    if at == 0 {
        return value;
    }
    at -= 1;
    let inner: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(members) => members.values_mut().collect(),
        other => return other,
    };
    for value in inner {
        let size = count(value);
        if at < size {
            return nth(value, at);
        }
        at -= size;
    }
    unreachable!("there are as many as were counted")
}

fn mutate_value(value: &mut Value, others: &[Request], random: &mut Random) {
    match random.below(10) {
        0 => {
            let levels =
                [2, 3, 100, 101, 1_000, 5_001, 9_880, 9_895, 9_900, 9_980, 9_990, 9_993, 9_995, 9_997];
            let levels = levels[random.below(levels.len())] + random.below(4);
            *value = format!("@deep {levels}@").into();
        }
        1 => {
            let width = [10, 1_000, 5_000][random.below(3)];
            *value = if random.once_in(2) {
                vec![value.clone(); width.min(200_000 / value.to_string().len().max(1))].into()
            } else {
                (0..width).map(|i| (format!("k{i}"), json!(i))).collect::<Map<_, _>>().into()
            };
        }
        2 | 3 => {
            let some = [
                json!(null),
                json!(true),
                json!(-1),
                json!(0),
                json!(1.5),
                json!(i64::MAX),
                json!(i64::MIN),
                json!(u64::MAX),
                json!(1e300),
                json!(-0.0),
                json!(12_345_678),
                json!(""),
                json!([]),
                json!({}),
                json!([null]),
                json!({"": {}}),
                json!([[], {}]),
                json!({"$ref": "#/definitions/x"}),
            ];
            *value = some[random.below(some.len())].clone();
        }
        4 => {
            // Part of another body.
            let body = others[random.below(others.len())].body.as_deref().unwrap_or_default();
            if let Ok(mut other) = serde_json::from_slice::<Value>(body) {
                let places = count(&other);
                *value = nth(&mut other, random.below(places)).take();
            }
        }
        5 => {
            if let Value::Object(members) = value
                && let Some(key) = members.keys().nth(random.below(members.len())).cloned()
            {
                let inner = members.remove(&key).unwrap_or_default();
                let keys =
                    ["", "a/b", "~1", "metadata", "kind", "x-kubernetes-validations", "default", "é", "a.b"];
                members.insert(random.one_of(&keys).to_owned(), inner);
            }
        }
        6 => {
            if let Value::Object(members) = value
                && let Some(key) = members.keys().nth(random.below(members.len())).cloned()
            {
                members.remove(&key);
            } else if let Value::Array(items) = value
                && !items.is_empty()
            {
                items.remove(random.below(items.len()));
            }
        }
        _ => match value {
            Value::String(text) => *text = mutate_text(text, random),
            Value::Number(number) => {
                let numbers =
                    [json!(0), json!(-1), json!(i64::MAX), json!(i64::MIN), json!(0.1), json!(1e19)];
                *value = number.as_i64().filter(|_| random.once_in(2)).map_or_else(
                    || numbers[random.below(numbers.len())].clone(),
                    |number| number.wrapping_mul(-3).into(),
                );
            }
            other => *other = random.one_of(&TEXTS).into(),
        },
    }
}

fn mutate_text(text: &str, random: &mut Random) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    match random.below(5) {
        0 => return random.one_of(&TEXTS).to_owned(),
        1 => return text.repeat(1 + random.below(300_000 / (text.len() + 1)).min(3_000)),
        2 => return format!("{text}{}", random.one_of(&TEXTS)),
        _ => {}
    }
    for _ in 0..=random.below(3) {
        let odd: Vec<char> = "(){}[]'\"\\.*+?|^$-/:%&!=<>,;@#~ \n0９é_".chars().collect();
        let at = random.below(characters.len() + 1);
        if random.once_in(3) && at < characters.len() {
            characters.remove(at);
        } else {
            characters.insert(at, odd[random.below(odd.len())]);
        }
    }
    characters.into_iter().collect()
}
