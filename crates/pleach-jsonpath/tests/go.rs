//! Recorded: upstream's results for a table of templates.
//!
//! A row has a template `t`, an object `d` and whether missing keys are allowed `a`; then either
//! the parse error `p`, the error `e`, or the results `r` and the printed text `o`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use pleach_json::Value;
use pleach_jsonpath::JsonPath;

fn answer(row: &Value) -> Result<(), String> {
    let text = |field| row.get(field).and_then(Value::as_str);
    let path = match JsonPath::parse(text("t").unwrap()) {
        Ok(path) => path,
        Err(error) if Some(error.to_string().as_str()) == text("p") => return Ok(()),
        Err(error) => return Err(format!("parse error {error}")),
    };
    if text("p").is_some() {
        return Err("parses".to_owned());
    }
    let data = row.get("d").unwrap();
    let allow = row.get("a").is_some();
    let results = match path.find_results(data, allow) {
        Ok(results) => results,
        Err(error) if Some(error.to_string().as_str()) == text("e") => return Ok(()),
        Err(error) => return Err(format!("error {error}")),
    };
    let owned = |items: Vec<&Value>| Value::from(items.into_iter().cloned().collect::<Vec<_>>());
    let results = Value::from(results.into_iter().map(owned).collect::<Vec<_>>());
    // Compared as text: an integral float is printed like an integer.
    if text("e").is_some() || row.get("r").unwrap().to_string() != results.to_string() {
        return Err(format!("results {results}"));
    }
    let printed = path.print(data, allow).unwrap();
    if text("o") == Some(printed.as_str()) { Ok(()) } else { Err(format!("printed {printed:?}")) }
}

#[test]
fn answers_as_upstream() {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in include_str!("data/go.jsonl").lines() {
        let row = pleach_json::parse(line.as_bytes()).unwrap();
        rows += 1;
        if let Err(ours) = answer(&row) {
            let upstream: Vec<_> =
                ["p", "e", "r", "o"].iter().filter_map(|f| Some((f, row.get(f)?.to_string()))).collect();
            wrong.push(format!(
                "{} ({})\n  ours {ours}\n  Go   {upstream:?}",
                row.get("t").unwrap(),
                row.get("a").is_some()
            ));
        }
    }
    assert!(rows > 500, "the table has {rows} rows");
    assert!(wrong.is_empty(), "{} of {rows} differ:\n{}", wrong.len(), wrong.join("\n"));
}
