//! Columns of tables: those of built-in kinds, and the values of cells.

use pleach_go::time::parse_rfc3339;
use pleach_json::{Str, Value};
use pleach_jsonpath::JsonPath;
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::time::human_duration;

use crate::kind::{Cell, Column};

/// The description of the age column in most kinds.
pub const AGE_DESCRIPTION: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// A column that is always shown.
pub(crate) fn column(
    name: &'static str,
    column_type: &'static str,
    description: &'static str,
    cell: Cell,
) -> Column {
    Column {
        name: name.into(),
        column_type: column_type.into(),
        format: Str::default(),
        description: description.into(),
        priority: 0,
        cell,
    }
}

/// The columns of kinds that have none of their own.
pub(crate) fn generic() -> Vec<Column> {
    let created = |object: &Value, _| ObjectMeta::of(object).creation_timestamp().map(Value::from).into();
    vec![column("Created At", "date", AGE_DESCRIPTION, Cell::Computed(created))]
}

/// The age as kinds with columns of their own show it: a text.
pub(crate) fn age_text() -> Column {
    column("Age", "string", AGE_DESCRIPTION, Cell::Age)
}

/// A column that is computed.
pub(crate) fn computed(
    name: &'static str,
    column_type: &'static str,
    cell: fn(&Value, i64) -> Value,
) -> Column {
    column(name, column_type, "", Cell::Computed(cell))
}

/// A column that is shown with `-o wide`.
pub(crate) fn wide(mut column: Column) -> Column {
    column.priority = 1;
    column
}

/// The cell of a JSONPath.
pub(crate) fn path(text: &str) -> Cell {
    Cell::Path(JsonPath::parse(&format!("{{{text}}}")).expect("a path of this crate is well formed"))
}

/// The value of a column's cell. `now` is in seconds since 1970.
pub fn cell(column: &Column, object: &Value, now: i64) -> Value {
    let path = match &column.cell {
        Cell::Path(path) => path,
        Cell::Text(field) => return object.at(field).and_then(Value::as_str).unwrap_or_default().into(),
        Cell::Count(fields) => return count(object, fields),
        Cell::Age => return age(ObjectMeta::of(object).creation_timestamp(), now),
        Cell::Computed(compute) => return compute(object, now),
    };
    let Some(found) = path.first(object) else { return Value::Null };
    match (column.column_type.as_str(), found) {
        ("string", Value::String(text)) => Value::String(text.clone()),
        ("string", Value::Null) => "<no value>".into(),
        ("string", other) => pleach_jsonpath::print_value(other).into(),
        ("integer", Value::Int(i)) => Value::Int(*i),
        ("integer", Value::Float(f)) => Value::Int(*f as i64),
        ("number", Value::Int(i)) => Value::Float(*i as f64),
        ("number", Value::Float(f)) => Value::Float(*f),
        ("boolean", Value::Bool(b)) => Value::Bool(*b),
        ("date", Value::String(text)) => age(Some(text), now),
        _ => Value::Null,
    }
}

/// How long ago a time is, as kubectl shows it.
pub fn age(timestamp: Option<&str>, now: i64) -> Value {
    match timestamp {
        None | Some("") => "<unknown>".into(),
        Some(text) => match parse_rfc3339(text) {
            Ok(then) => human_duration(now - then.seconds).into(),
            Err(_) => "<invalid>".into(),
        },
    }
}

/// The number of members and items of some fields together.
fn count(object: &Value, fields: &[&str]) -> Value {
    let size = |field: &&str| match object.get(field) {
        Some(Value::Object(members)) => members.len(),
        Some(Value::Array(items)) => items.len(),
        _ => 0,
    };
    Value::Int(fields.iter().map(size).sum::<usize>() as i64)
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn cells_by_type() {
        let object = json!({
            "metadata": {"creationTimestamp": "1970-01-01T00:00:00Z"},
            "data": {"a": "1", "b": "2"}, "binaryData": {"c": ""}, "n": 2, "f": 1.5, "t": "x", "b": true,
        });
        for (column_type, cell_of, want) in [
            ("string", Cell::Count(&["data", "binaryData"]), Value::Int(3)),
            ("string", Cell::Count(&["items"]), Value::Int(0)),
            ("string", Cell::Text(&["t"]), "x".into()),
            ("string", Cell::Text(&["missing"]), "".into()),
            ("string", Cell::Age, "60s".into()),
            ("string", Cell::Computed(|_, now| Value::Int(now)), Value::Int(60)),
            ("string", path(".t"), "x".into()),
            ("integer", path(".n"), Value::Int(2)),
            ("integer", path(".f"), Value::Int(1)),
            ("number", path(".n"), Value::Float(2.0)),
            ("boolean", path(".b"), true.into()),
            ("boolean", path(".t"), Value::Null),
            ("date", path(".metadata.creationTimestamp"), "60s".into()),
            ("date", path(".t"), "<invalid>".into()),
            ("date", path(".missing"), Value::Null),
        ] {
            let name = format!("{cell_of:?}");
            assert_eq!(
                cell(&column("C", column_type, "", cell_of), &object, 60),
                want,
                "{column_type} {name}"
            );
        }
    }
}
