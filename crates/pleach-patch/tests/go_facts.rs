//! Results of upstream's library for some two thousand patches.

use pleach_json::{Value, parse, to_string};
use pleach_patch::{
    JsonPatch, StrategicSchema, apply_json_patch, create_merge_patch, merge_patch, strategic_merge_patch,
};

fn rows(bytes: &[u8], at_least: usize) -> Vec<Value> {
    let rows = parse(bytes).expect("the table is JSON");
    let rows = rows.as_array().expect("the table is a list").clone().into_vec();
    assert!(rows.len() >= at_least, "the table is short: {}", rows.len());
    rows
}

fn text<'r>(row: &'r Value, key: &str) -> Option<&'r str> {
    row.get(key).and_then(Value::as_str)
}

/// The first row has the document for all that have none of their own. `panic` marks a patch that
/// brings upstream down: here it must be an error or do something sensible, and it must not panic.
#[test]
fn json_patches_apply_as_upstream_applies_them() {
    let rows = rows(include_bytes!("json-patch-facts.json"), 1300);
    let common = text(&rows[0], "doc").expect("a document");
    let mut wrong = Vec::new();
    for row in &rows[1..] {
        let Ok(document) = parse(text(row, "doc").unwrap_or(common).as_bytes()) else { continue };
        let patch = text(row, "patch").expect("rows have a patch");
        let want = ["out", "err", "decode"].iter().find_map(|key| text(row, key));
        let got = match JsonPatch::parse(patch.as_bytes()) {
            Err(error) => error.to_string(),
            Ok(patch) => match apply_json_patch(document, &patch) {
                Ok(value) => to_string(&value),
                Err(error) => error.to_string(),
            },
        };
        // Upstream keeps what a patch adds as it was written; the API server reads it again.
        let want = want.map(|want| parse(want.as_bytes()).map_or(want.to_owned(), |value| to_string(&value)));
        if want.as_ref().is_some_and(|want| *want != got) {
            wrong.push(format!("{patch}\n  got  {got}\n  want {}", want.unwrap_or_default()));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn merge_patches_apply_as_upstream_applies_them() {
    let mut wrong = Vec::new();
    for row in rows(include_bytes!("merge-patch-facts.json"), 400) {
        let (document, patch) = (text(&row, "doc").expect("doc"), text(&row, "patch").expect("patch"));
        let (Ok(target), Ok(change)) = (parse(document.as_bytes()), parse(patch.as_bytes())) else {
            continue;
        };
        let want = text(&row, "out").or(text(&row, "err")).expect("an outcome");
        let got = match merge_patch(target, &change) {
            Ok(value) => to_string(&value),
            Err(error) => error.to_string(),
        };
        if got != want {
            wrong.push(format!("{document} {patch}\n  got  {got}\n  want {want}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn merge_patches_are_made_as_upstream_makes_them() {
    let mut wrong = Vec::new();
    for row in rows(include_bytes!("diff-facts.json"), 200) {
        let value = |key| parse(text(&row, key).expect("a text").as_bytes()).expect("JSON");
        let (old, new) = (value("old"), value("new"));
        let got = create_merge_patch(old.as_object().expect("object"), new.as_object().expect("object"));
        let got = to_string(&Value::Object(got));
        let want = text(&row, "out").expect("an outcome");
        if got != want {
            wrong.push(format!("{} {}\n  got  {got}\n  want {want}", to_string(&old), to_string(&new)));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn strict_reading_finds_what_upstream_finds() {
    for row in rows(include_bytes!("strict-facts.json"), 30) {
        let patch = text(&row, "patch").expect("a patch");
        match JsonPatch::parse_strict(patch.as_bytes()) {
            Err(error) => assert_eq!(Some(error.to_string().as_str()), text(&row, "err"), "{patch}"),
            Ok(strict) => {
                let want = row.get("problems").and_then(Value::as_array).expect(patch);
                let want: Vec<_> = want.iter().filter_map(Value::as_str).collect();
                assert_eq!(strict.problems, want, "{patch}");
            }
        }
    }
}

/// The struct that upstream was given, as a schema. Its lists nest in themselves once, which is as
/// deep as the table goes.
fn schema() -> StrategicSchema {
    StrategicSchema::new()
        .merge_list("spec.items", "name")
        .merge_list("spec.items.subs", "name")
        .merge_set("spec.set")
        .replace_map("spec.whole")
        .merge_list("spec.kitems", "name")
        .merge_list("spec.one.subs", "name")
}

/// Errors of upstream's walk along Go types, and its numbers before they are int64.
const OF_STRUCTS: [&str; 3] = ["is not struct", "unable to find api field", "float64="];

#[test]
fn strategic_patches_apply_as_upstream_applies_them() {
    let rows = rows(include_bytes!("strategic-facts.json"), 400);
    let common = text(&rows[0], "doc").expect("a document");
    let mut wrong = Vec::new();
    for row in &rows[1..] {
        let value = |text: &str| match parse(text.as_bytes()) {
            Ok(Value::Object(map)) => map,
            other => panic!("{text}: {other:?}"),
        };
        let (document, patch) = (text(row, "doc").unwrap_or(common), text(row, "patch").expect("a patch"));
        let got = match strategic_merge_patch(value(document), &value(patch), &schema()) {
            Ok(map) => to_string(&Value::Object(map)),
            Err(error) => error.to_string(),
        };
        let want = text(row, "out").or(text(row, "err")).expect("an outcome");
        if OF_STRUCTS.iter().any(|words| want.contains(words)) {
            continue;
        }
        if got != want {
            wrong.push(format!("{document}\n  {patch}\n  got  {got}\n  want {want}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
