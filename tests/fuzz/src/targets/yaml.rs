//! YAML: the fast readers beside the one that knows all of YAML, and writing.

use pleach_yaml::{documents, parse, parse_slowly, parse_strict, to_yaml};

use crate::bytes::{long, seeds};

/// Any bytes: all readers agree, and what is written reads back as the same value.
pub(super) fn yaml(data: &[u8]) {
    let read = parse(data);
    let slow = parse_slowly(data);
    match (&read, &slow) {
        (Ok(read), Ok(slow)) => assert_eq!(*read, slow.value),
        (Err(read), Err(slow)) => assert_eq!(read.to_string(), slow.to_string()),
        _ => panic!("{read:?}, slowly {slow:?}"),
    }
    // Strict reading may refuse more, and never finds another value.
    if let (Ok(read), Ok(strict)) = (&read, parse_strict(data)) {
        assert_eq!(*read, strict.value);
    }
    if let Ok(text) = std::str::from_utf8(data) {
        for document in documents(text).take(8).flatten() {
            written_reads_back(&document.value);
        }
    }
    if let Ok(value) = read {
        written_reads_back(&value);
    }
}

fn written_reads_back(value: &pleach_json::Value) {
    let text = to_yaml(value);
    match parse(text.as_bytes()) {
        Ok(again) => assert!(again == *value || !value.reads_back(None), "{value}\n{text}"),
        Err(error) => panic!("{error}\n{value}\n{text}"),
    }
}

pub(super) fn yaml_seeds() -> Vec<Vec<u8>> {
    let mut all = super::json::json_seeds();
    all.extend(seeds(&[
        "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: nightly\n  labels: {a: b, c: 'd'}\nspec:\n  cronSpec: \"0 3 * * *\"\n  list:\n  - a: 1\n    b: |\n      text\n      more\n  - - 1\n    - 2.5\n  # comment\n  empty: \n  on: yes\n  n: 0x1F\n  o: 0o17\n  t: 2024-01-01\n",
        "a: &x [1, 2]\nb: *x\nc: {<<: {d: 1}, e: 2}\n",
        "a: &a {x: y}\nb:\n  <<: *a\n  z: [*a, *a]\n",
        "--- \n---\na: 1\n...\n--- # second\n- b\n",
        "? complex\n: value\n? [a, b]\n: c\n",
        "a: >-\n  folded\n  text\n\n  more\nb: |+\n  kept\n\n",
        "%YAML 1.1\n---\n!!str 12: !!int '3'\n!foo a: !!binary aGVsbG8=\n",
        "- 'it''s'\n- \"a\\x41\\u00e9\\\n  continued\"\n- plain text\n  on two lines\n",
        "a: 1\na: 2\n",
        "\tbad\n",
        "k: .inf\nl: -.Inf\nm: .nan\nn: 1_000\no: 190:20:30\np: 1e3\nq: ~\n",
        "\u{feff}a: b\r\nc: d\r\n",
    ]));
    all.push(long("a:\n", "- k#: {v: '#'}\n", 400, ""));
    all.push(long("a: &a [x, y]\nb:\n", "- *a\n", 800, ""));
    all.push(long("a: ", "[", 500, ""));
    all.push(long("a: &a {", "k#: v, ", 200, "}\nb: [{<<: *a}, {<<: *a}, {<<: *a}]\n"));
    all
}
