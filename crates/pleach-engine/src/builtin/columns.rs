//! Columns of built-in kinds that no path in an object leads to.

use pleach_json::{Str, Value};
use pleach_jsonpath::JsonPath;

use crate::kind::{Cell, Column};
use crate::shape::AGE_DESCRIPTION;

const AGE: &str =
    "CreationTimestamp is a timestamp representing the server time when this object was created.";
const WEBHOOKS: &str = "Webhooks indicates the number of webhooks registered in this configuration";

/// The columns of a built-in kind, if its manifest does not say them all.
pub(super) fn of(plural: &str) -> Option<Vec<Column>> {
    let age = || column("Age", "date", AGE, 0, path(".metadata.creationTimestamp"));
    match plural {
        "configmaps" => Some(vec![
            column("Data", "string", "How many keys it has.", 0, Cell::Count(&["data", "binaryData"])),
            age(),
        ]),
        "secrets" => Some(vec![
            column("Type", "string", "What the secret is for.", 0, path(".type")),
            column("Data", "string", "How many keys it has.", 0, Cell::Count(&["data"])),
            age(),
        ]),
        "leases" => Some(vec![
            column("Holder", "string", "Who holds the lease.", 0, Cell::Text(&["spec", "holderIdentity"])),
            age(),
        ]),
        "events" => Some(events()),
        "mutatingwebhookconfigurations" | "validatingwebhookconfigurations" => Some(vec![
            column("Webhooks", "integer", WEBHOOKS, 0, Cell::Count(&["webhooks"])),
            column("Age", "string", AGE_DESCRIPTION, 0, Cell::Age),
        ]),
        _ => None,
    }
}

/// Events are shown in the words of the core group, whichever group they were asked from.
fn events() -> Vec<Column> {
    vec![
        column("Last Seen", "string", "When it was last seen.", 0, Cell::LastSeen),
        column("Type", "string", "Normal or Warning.", 0, Cell::Text(&["type"])),
        column("Reason", "string", "Why, in one word.", 0, Cell::Text(&["reason"])),
        column("Object", "string", "What it is about.", 0, Cell::Reference("involvedObject")),
        column("Subobject", "string", "Which part of it.", 1, Cell::Text(&["involvedObject", "fieldPath"])),
        column("Source", "string", "Who says so.", 1, Cell::Reporter),
        column("Message", "string", "What happened.", 0, Cell::Text(&["message"])),
        column("First Seen", "string", "When it was first seen.", 1, Cell::FirstSeen),
        column("Count", "string", "How often it was seen.", 1, Cell::Occurrences),
        column("Name", "string", "Its name.", 1, path(".metadata.name")),
    ]
}

fn column(
    name: &'static str,
    column_type: &'static str,
    description: &'static str,
    priority: i32,
    cell: Cell,
) -> Column {
    Column {
        name: name.into(),
        column_type: column_type.into(),
        format: if name == "Name" { Str::new_static("name") } else { Str::default() },
        description: description.into(),
        priority,
        cell,
    }
}

fn path(text: &str) -> Cell {
    Cell::Path(JsonPath::parse(&format!("{{{text}}}")).expect("a path of this crate is well formed"))
}

/// How many members and items some fields have together.
pub(crate) fn count(object: &Value, fields: &[&str]) -> Value {
    let size = |field: &&str| match object.get(field) {
        Some(Value::Object(members)) => members.len(),
        Some(Value::Array(items)) => items.len(),
        _ => 0,
    };
    Value::Int(fields.iter().map(size).sum::<usize>() as i64)
}

/// `kind/name` of a reference.
pub(crate) fn reference(object: &Value, field: &str) -> Value {
    let text = |key: &str| object.at(&[field, key]).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}", text("kind").to_lowercase(), text("name")).into()
}

/// When an event was last seen: as part of a series, at all, or once.
pub(crate) fn last_seen(event: &Value) -> Option<&str> {
    let paths: [&[&str]; 2] = [&["series", "lastObservedTime"], &["lastTimestamp"]];
    paths.iter().find_map(|path| time(event, path)).or_else(|| first_seen(event))
}

/// When an event was first seen.
pub(crate) fn first_seen(event: &Value) -> Option<&str> {
    time(event, &["firstTimestamp"]).or_else(|| time(event, &["eventTime"]))
}

fn time<'v>(event: &'v Value, path: &[&str]) -> Option<&'v str> {
    event.at(path)?.as_str().filter(|text| !text.is_empty())
}

/// Who reports an event, and where.
pub(crate) fn reporter(event: &Value) -> Value {
    let text = |path: &[&str]| event.at(path).and_then(Value::as_str).unwrap_or_default();
    let old = [text(&["source", "component"]), text(&["source", "host"])];
    let new = [text(&["reportingComponent"]), text(&["reportingInstance"])];
    let said = if old[0].is_empty() { new } else { old };
    said.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ").into()
}

/// How often an event was seen.
pub(crate) fn occurrences(event: &Value) -> Value {
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
    fn cells_that_are_worked_out() {
        let config = json!({"data": {"a": "1", "b": "2"}, "binaryData": {"c": ""}});
        assert_eq!(count(&config, &["data", "binaryData"]), Value::Int(3));
        assert_eq!(count(&config, &["secrets"]), Value::Int(0));
        let event = json!({"involvedObject": {"kind": "Gadget", "name": "x"}, "eventTime": "t"});
        assert_eq!(reference(&event, "involvedObject"), Value::from("gadget/x"));
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
