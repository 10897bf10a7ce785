//! The columns of events and their cells, from the fields of the core group.

use pleach_json::{Str, Value};

use crate::columns::{age, column, path};
use crate::kind::{Cell, Column};

pub(super) fn columns() -> Vec<Column> {
    let wide = |column: Column| Column { priority: 1, ..column };
    let name = column("Name", "string", "Its name.", path(".metadata.name"));
    vec![
        column(
            "Last Seen",
            "string",
            "When it was last seen.",
            Cell::Computed(|e, now| age(last_seen(e), now)),
        ),
        column("Type", "string", "Normal or Warning.", Cell::Text(&["type"])),
        column("Reason", "string", "Why, in one word.", Cell::Text(&["reason"])),
        column("Object", "string", "What it is about.", Cell::Computed(|event, _| involved_object(event))),
        wide(column(
            "Subobject",
            "string",
            "Which part of it.",
            Cell::Text(&["involvedObject", "fieldPath"]),
        )),
        wide(column("Source", "string", "Who says so.", Cell::Computed(|event, _| reporter(event)))),
        column("Message", "string", "What happened.", Cell::Text(&["message"])),
        wide(column(
            "First Seen",
            "string",
            "When it was first seen.",
            Cell::Computed(|e, now| age(first_seen(e), now)),
        )),
        wide(column(
            "Count",
            "string",
            "How often it was seen.",
            Cell::Computed(|event, _| occurrences(event)),
        )),
        wide(Column { format: Str::new_static("name"), ..name }),
    ]
}

/// `kind/name` of the object that an event is about.
fn involved_object(event: &Value) -> Value {
    let text = |key: &str| event.at(&["involvedObject", key]).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}", text("kind").to_lowercase(), text("name")).into()
}

/// When an event was last seen: as part of a series, at all, or once.
fn last_seen(event: &Value) -> Option<&str> {
    let paths: [&[&str]; 2] = [&["series", "lastObservedTime"], &["lastTimestamp"]];
    paths.iter().find_map(|path| time(event, path)).or_else(|| first_seen(event))
}

/// When an event was first seen.
fn first_seen(event: &Value) -> Option<&str> {
    time(event, &["firstTimestamp"]).or_else(|| time(event, &["eventTime"]))
}

fn time<'v>(event: &'v Value, path: &[&str]) -> Option<&'v str> {
    event.at(path)?.as_str().filter(|text| !text.is_empty())
}

/// The component that reports an event, and its instance.
fn reporter(event: &Value) -> Value {
    let text = |path: &[&str]| event.at(path).and_then(Value::as_str).unwrap_or_default();
    let old = [text(&["source", "component"]), text(&["source", "host"])];
    let new = [text(&["reportingComponent"]), text(&["reportingInstance"])];
    let shown = if old[0].is_empty() { new } else { old };
    shown.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ").into()
}

/// How often an event was seen.
fn occurrences(event: &Value) -> Value {
    let of = |path: &[&str]| event.at(path).and_then(Value::as_int);
    let count = match event.get("series").filter(|series| !series.is_null()) {
        Some(_) => of(&["series", "count"]).unwrap_or_default(),
        None => of(&["count"]).filter(|count| *count != 0).unwrap_or(1),
    };
    Value::Int(count)
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn computed_cells() {
        let event = json!({"involvedObject": {"kind": "Gadget", "name": "x"}, "eventTime": "t"});
        assert_eq!(involved_object(&event), Value::from("gadget/x"));
        assert_eq!(last_seen(&event), Some("t"));
        assert_eq!(last_seen(&json!({"eventTime": null})), None);
        assert_eq!(first_seen(&json!({"eventTime": "t", "firstTimestamp": "f"})), Some("f"));
        for (event, by, count) in [
            (json!({"source": {"component": "c", "host": "h"}, "reportingComponent": "r"}), "c, h", 1),
            (
                json!({"source": {}, "reportingComponent": "r", "reportingInstance": "i", "count": 3}),
                "r, i",
                3,
            ),
            (json!({"reportingComponent": "", "reportingInstance": "", "series": {"count": 2}}), "", 2),
        ] {
            assert_eq!(reporter(&event), Value::from(by));
            assert_eq!(occurrences(&event), Value::Int(count));
        }
    }
}
