//! Recorded: how go-yaml writes some 2,600 values.
//!
//! Each row of `go-writes.json` has a value as JSON text (`in`) and its YAML (`out`).

use pleach_json::{Value, parse};
use pleach_yaml::to_yaml;

/// Rows with this character are skipped: go-yaml folds it away.
const NEXT_LINE: char = '\u{85}';

#[test]
fn every_value_is_written_as_go_yaml_writes_it() {
    let rows = parse(include_bytes!("go-writes.json")).expect("the table is JSON");
    let rows = rows.as_array().expect("the table is a list");
    assert!(rows.len() > 2000, "the table is short: {}", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        let text = |key| row.get(key).and_then(Value::as_str).expect("rows have texts");
        let (input, want) = (text("in"), text("out"));
        if input.contains(NEXT_LINE) {
            continue;
        }
        let value = parse(input.as_bytes()).expect("the value is JSON");
        let got = to_yaml(&value);
        if got != want {
            wrong.push(format!("{input}\n  got  {got:?}\n  want {want:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
