//! Other forms of an object: rows of a table, bare metadata.
//!
//! Last stage of a read. The forms are those of `meta.k8s.io`; which one a client wants is the
//! edge's business.

use pleach_json::{Map, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_pipeline::columns::{AGE_DESCRIPTION, age, cell};

use crate::kind::{Kind, KindVersion};

const NAME_DESCRIPTION: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
/// The object in a row of a table: `includeObject`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IncludeObject {
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
    /// None of it.
    None,
}

/// An object reduced to its metadata.
pub fn partial(object: &Value, api_version: &str) -> Value {
    let mut out = Map::new();
    out.insert("apiVersion", api_version);
    out.insert("kind", "PartialObjectMetadata");
    out.insert("metadata", object.get("metadata").cloned().unwrap_or_else(Value::object));
    out.into()
}

/// A list of objects reduced to their metadata.
pub fn partial_list(items: Vec<Value>, api_version: &str, metadata: Map) -> Value {
    let mut out = Map::new();
    out.insert("apiVersion", api_version);
    out.insert("kind", "PartialObjectMetadataList");
    out.insert("metadata", metadata);
    // A list in Go that nothing was put in.
    out.insert("items", if items.is_empty() { Value::Null } else { items.into() });
    out.into()
}

/// The columns of a kind's table.
pub fn column_definitions(kind: &Kind, version: &KindVersion) -> Value {
    let mut columns = Vec::with_capacity(version.columns.len() + 2);
    if kind.strategy.name_is_first_column() {
        columns.push(definition("Name", "string", "name", NAME_DESCRIPTION, 0));
    }
    if version.columns.is_empty() {
        columns.push(definition("Age", "date", "", AGE_DESCRIPTION, 0));
    }
    for column in &version.columns {
        columns.push(definition(
            &column.name,
            &column.column_type,
            &column.format,
            &column.description,
            column.priority,
        ));
    }
    columns.into()
}

fn definition(name: &str, column_type: &str, format: &str, description: &str, priority: i32) -> Value {
    let mut out = Map::new();
    out.insert("name", name);
    out.insert("type", column_type);
    out.insert("format", format);
    out.insert("description", description);
    out.insert("priority", priority);
    out.into()
}

/// An object as a row. `now` is in seconds since 1970.
pub fn row(
    kind: &Kind,
    version: &KindVersion,
    object: &Value,
    include: IncludeObject,
    meta_version: &str,
    now: i64,
) -> Value {
    let meta = ObjectMeta::of(object);
    let mut cells = Vec::with_capacity(version.columns.len() + 2);
    if kind.strategy.name_is_first_column() {
        cells.push(
            kind.strategy.rules().table_name(object).map_or_else(|| Value::from(meta.name()), Value::from),
        );
    }
    if version.columns.is_empty() {
        cells.push(age(meta.creation_timestamp(), now));
    }
    let shown = kind.strategy.table_object(object);
    cells.extend(version.columns.iter().map(|column| cell(column, &shown, now)));
    let included = match include {
        IncludeObject::Metadata => partial(object, meta_version),
        IncludeObject::Object => object.clone(),
        IncludeObject::None => Value::Null,
    };
    let mut out = Map::new();
    out.insert("cells", cells);
    if let Some(conditions) = kind.strategy.rules().row_conditions(object) {
        out.insert("conditions", conditions);
    }
    out.insert("object", included);
    out.into()
}

/// A table of rows.
pub fn table(columns: Value, rows: Vec<Value>, api_version: &str, metadata: Map) -> Value {
    let mut out = Map::new();
    out.insert("apiVersion", api_version);
    out.insert("kind", "Table");
    out.insert("metadata", metadata);
    out.insert("columnDefinitions", columns);
    out.insert("rows", rows);
    out.into()
}

/// A Scale as a table of one row.
pub fn scale_table(kind: &Kind, scale: Value, include: IncludeObject, api_version: &str, now: i64) -> Value {
    let meta = ObjectMeta::of(&scale);
    let number = |at: &[&str]| scale.at(at).and_then(Value::as_int).unwrap_or(0);
    let cells = vec![
        Value::from(meta.name()),
        Value::Int(number(&["spec", "replicas"])),
        Value::Int(number(&["status", "replicas"])),
        age(meta.creation_timestamp(), now),
    ];
    // Upstream's printers of built-in kinds differ in these.
    let (name_format, age_type) = if kind.is_custom() { ("name", "date") } else { ("", "string") };
    let columns = vec![
        definition("Name", "string", name_format, NAME_DESCRIPTION, 0),
        definition("Desired", "integer", "", "Number of desired replicas", 0),
        definition("Available", "integer", "", "Number of available replicas", 0),
        definition("Age", age_type, "", AGE_DESCRIPTION, 0),
    ];
    let mut metadata = Map::new();
    if let Some(version) = meta.get("resourceVersion") {
        metadata.insert("resourceVersion", version.clone());
    }
    let included = match include {
        IncludeObject::Metadata => partial(&scale, api_version),
        IncludeObject::Object => scale.clone(),
        IncludeObject::None => Value::Null,
    };
    let mut row = Map::new();
    row.insert("cells", cells);
    row.insert("object", included);
    table(columns.into(), vec![row.into()], api_version, metadata)
}
