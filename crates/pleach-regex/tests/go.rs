//! Recorded: Go's results for a table of patterns.
//!
//! A row has a pattern `p` and either Go's error text `e`, or for each text in `i` the spans of
//! all matches and their groups in `m`, as `FindAllStringSubmatchIndex` gives them. Where there is
//! a replacement `r`, `o` is what `ReplaceAllString` makes of each text; `n` has the group names.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use pleach_regex::Regex;
use serde_json::Value;

/// Enough steps for every search of the table.
const ENOUGH: u64 = 100_000_000;

fn rows() -> impl Iterator<Item = Value> {
    include_str!("data/go.jsonl").lines().map(|line| serde_json::from_str(line).unwrap())
}

fn text<'v>(row: &'v Value, field: &str) -> Option<&'v str> {
    row.get(field).and_then(Value::as_str)
}

fn list<'v>(row: &'v Value, field: &str) -> &'v [Value] {
    row.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[test]
fn accepts_and_refuses_as_go() {
    let mut wrong = Vec::new();
    for row in rows() {
        let pattern = text(&row, "p").unwrap();
        let ours = Regex::new(pattern).err().map(|error| error.to_string());
        if ours.as_deref() != text(&row, "e") {
            wrong.push(format!("{pattern:?}\n  ours {ours:?}\n  Go   {:?}", text(&row, "e")));
        }
    }
    assert!(wrong.is_empty(), "{} patterns differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn matches_what_go_matches() {
    let mut wrong = Vec::new();
    for row in rows() {
        let pattern = text(&row, "p").unwrap();
        let Ok(regex) = Regex::new(pattern) else { continue };
        let lightweight = Regex::lightweight(pattern).unwrap();
        let names: Vec<&str> = regex.group_names().iter().map(|n| n.as_deref().unwrap_or("")).collect();
        if !list(&row, "n").is_empty() && list(&row, "n") != names {
            wrong.push(format!("{pattern:?}: names {names:?}"));
        }
        for (at, input) in list(&row, "i").iter().enumerate() {
            let input = input.as_str().unwrap();
            let want = list(&row, "m")[at].as_array().unwrap();
            let flat = |groups: &Vec<Option<std::ops::Range<usize>>>| -> Vec<i64> {
                let ends = |group: &Option<std::ops::Range<usize>>| match group {
                    Some(span) => [span.start as i64, span.end as i64],
                    None => [-1, -1],
                };
                groups.iter().flat_map(ends).collect()
            };
            let ours: Vec<Vec<i64>> = regex.captures_all(input, None).iter().map(flat).collect();
            let same = serde_json::to_value(&ours).unwrap() == list(&row, "m")[at];
            let whole: Vec<_> = ours.iter().map(|g| g[0] as usize..g[1] as usize).collect();
            if !same
                || regex.is_match(input) == want.is_empty()
                || regex.find_all(input, None) != whole
                || regex.find(input).as_ref() != whole.first()
                || regex.is_match_within(input, &mut { ENOUGH }) != Ok(!want.is_empty())
                || lightweight.is_match_within(input, &mut { ENOUGH }) != Ok(!want.is_empty())
                || regex.find_all_within(input, None, &mut { ENOUGH }) != Ok(whole)
            {
                wrong.push(format!(
                    "{pattern:?} on {input:?}: is_match {}\n  ours {ours:?}\n  Go   {}",
                    regex.is_match(input),
                    list(&row, "m")[at]
                ));
            }
            if let Some(replacement) = text(&row, "r") {
                let ours = regex.replace_all_string(input, replacement);
                if list(&row, "o")[at] != ours.as_str() {
                    let go = &list(&row, "o")[at];
                    wrong.push(format!("{pattern:?} on {input:?} by {replacement:?}: {ours:?}, Go {go}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
}
