//! Recorded: what go-yaml reads from some 1,300 texts.
//!
//! Each row of `go-reads.json` has the text (`in`, bytes as Latin-1) and either the JSON that it
//! became (`out`) or the error (`err`); `strict` is the error of strict reading where that differs.

use pleach_json::{Value, parse, to_string};
use pleach_yaml::parse_strict;

/// Texts that are read differently from go-yaml. The list may only shrink.
const KNOWN: &[(&str, &str)] = &[
    ("&a: v\n", "an anchor that ends at a colon"),
    ("[: v\n", "which of two faults is named"),
    ("{: v\n", "which of two faults is named"),
    ("...", "a document end without a document"),
    ("a: \"x\"# c", "a comment right behind a quote"),
    ("{\"a\":1}}", "what follows the first document is looked at"),
    ("a: 1\n... b", "what follows the first document is looked at"),
    ("{a\n:\n1}", "a key and its colon on different lines of a flow mapping"),
    ("{\"a\"\n:1}", "a key and its colon on different lines of a flow mapping"),
    ("[-]", "an indicator as an item"),
    ("[?]", "an indicator as an item"),
    ("[::]", "an indicator as an item"),
    ("[a:]", "a colon before a bracket is part of the text"),
    ("{a:}", "a colon before a bracket is part of the text"),
    ("\"a\" b: 1", "which of two faults is named"),
    ("|\nx", "a block scalar at the root without indentation"),
    (">\nx\ny", "a block scalar at the root without indentation"),
    ("--- |\nx\n", "a block scalar at the root without indentation"),
    ("a: |\n  \tx", "a tab after the indentation of a block scalar"),
    ("a: |\n  é\u{2028}x\n", "line breaks beyond ASCII"),
    ("a: é\u{85}b", "line breaks beyond ASCII"),
    ("a: \u{2028}", "line breaks beyond ASCII"),
    ("a: x\u{2029}y", "line breaks beyond ASCII"),
    ("a: \u{85}", "line breaks beyond ASCII"),
    ("\t{\"a\": 1}", "a tab before a document in flow style"),
];

fn text(row: &Value, key: &str) -> String {
    row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[test]
fn every_text_is_read_as_go_yaml_reads_it() {
    let rows = parse(include_bytes!("go-reads.json")).expect("the table is JSON");
    let rows = rows.as_array().expect("the table is a list");
    assert!(rows.len() > 1000, "the table is short: {}", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        let bytes: Vec<u8> = text(row, "in").chars().map(|c| c as u8).collect();
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let (got, want) = match parse_strict(&bytes) {
            Ok(parsed) => {
                let strict =
                    if parsed.duplicates.is_empty() { String::new() } else { parsed.duplicates.to_string() };
                // The table has Go's JSON, in which floats keep their form.
                let want = match parse(text(row, "out").as_bytes()) {
                    Ok(value) => to_string(&value),
                    Err(_) => text(row, "err"),
                };
                (format!("{} {strict}", to_string(&parsed.value)), format!("{want} {}", text(row, "strict")))
            }
            Err(error) => (error.to_string(), text(row, "err") + &text(row, "out")),
        };
        let known = KNOWN.iter().any(|(text, _)| *text == shown);
        if known == (got == want) {
            wrong.push(format!("{shown:?}\n    got  {got}\n    want {want}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
