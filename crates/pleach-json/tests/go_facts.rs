//! Results of Go's decoders and encoder for some three hundred texts.
//!
//! Each row of `go-facts.json` has the text (`in`, bytes as Latin-1), the standard library's error
//! (`std`), the error of `sigs.k8s.io/json` (`sigs`) or the document written again (`out`), and the
//! duplicate fields that its strict mode reports (`strict`).

use pleach_json::{Value, parse, parse_strict, to_string};

fn text(row: &Value, key: &str) -> String {
    row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[test]
fn every_text_is_read_as_go_reads_it() {
    let rows = parse(include_bytes!("go-facts.json")).expect("the table is JSON");
    let rows = rows.as_array().expect("the table is a list");
    assert!(rows.len() > 200, "the table is short: {}", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        let bytes: Vec<u8> = text(row, "in").chars().map(|c| c as u8).collect();
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        match parse_strict(&bytes) {
            Ok(parsed) => {
                let strict: Vec<_> =
                    parsed.duplicates.iter().map(|path| format!("duplicate field {path:?}")).collect();
                let expected: Vec<_> = row
                    .get("strict")
                    .and_then(Value::as_array)
                    .map(|all| all.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                    .unwrap_or_default();
                if to_string(&parsed.value) != text(row, "out") || strict != expected {
                    wrong.push(format!("{shown:?}: {} {strict:?}, want {row:?}", to_string(&parsed.value)));
                }
                if parse(&bytes).as_ref() != Ok(&parsed.value) {
                    wrong.push(format!("{shown:?}: strict and plain differ"));
                }
            }
            Err(error) => {
                if error.sigs().to_string() != text(row, "sigs") {
                    wrong.push(format!("{shown:?}: sigs {}, want {row:?}", error.sigs()));
                }
                // The API server has the standard library look for the kind only: it sees no numbers.
                if !error.is_out_of_range() && error.to_string() != text(row, "std") {
                    wrong.push(format!("{shown:?}: std {error}, want {row:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
