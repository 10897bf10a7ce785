//! The parts of a v2 document.

use pleach_json::Value;

use super::{ANYS, DOCS, Entry, Object, Shape, TEXTS};

pub(crate) static SCHEMA: Shape = Shape::Object(&Object { members: SCHEMA_MEMBERS, extensions: 31 });

/// The keywords of a schema.
pub(crate) static SCHEMA_MEMBERS: &[Entry] = &[
    ("description", 4, &Shape::Text),
    ("type", 22, &TYPE),
    ("format", 2, &Shape::Text),
    ("title", 3, &Shape::Text),
    ("default", 5, &Shape::Any),
    ("maximum", 7, &Shape::Number),
    ("exclusiveMaximum", 8, &Shape::Flag),
    ("minimum", 9, &Shape::Number),
    ("exclusiveMinimum", 10, &Shape::Flag),
    ("maxLength", 11, &Shape::Int),
    ("minLength", 12, &Shape::Int),
    ("pattern", 13, &Shape::Text),
    ("maxItems", 14, &Shape::Int),
    ("minItems", 15, &Shape::Int),
    ("uniqueItems", 16, &Shape::Flag),
    ("multipleOf", 6, &Shape::Number),
    ("enum", 20, &ANYS),
    ("maxProperties", 17, &Shape::Int),
    ("minProperties", 18, &Shape::Int),
    ("required", 19, &TEXTS),
    ("items", 23, &ITEMS),
    ("properties", 25, &PROPERTIES),
    ("additionalProperties", 21, &ADDITIONAL),
    ("externalDocs", 29, &DOCS),
    ("example", 30, &Shape::Any),
    ("$ref", 1, &Shape::Text),
];

static PROPERTIES: Shape = Shape::Map(1, &SCHEMA);
static TYPE: Shape = Shape::Choice(|_| (1, &Shape::Text));
static ITEMS: Shape = Shape::Choice(|_| (1, &SCHEMA));
static ADDITIONAL: Shape = Shape::Choice(|value| match value {
    Value::Bool(_) => (2, &Shape::Flag),
    _ => (1, &SCHEMA),
});

/// A parameter where no reference may stand.
pub(crate) static PARAMETER: Shape =
    Shape::Choice(|value| if place(value) == "body" { (1, &BODY) } else { (2, &NON_BODY) });
static NON_BODY: Shape =
    Shape::Choice(|value| if place(value) == "path" { (4, &PATH_PARAMETER) } else { (3, &QUERY_PARAMETER) });
static BODY: Shape = Shape::Object(&Object {
    members: &[
        ("description", 1, &Shape::Text),
        ("name", 2, &Shape::Text),
        ("in", 3, &Shape::Text),
        ("required", 4, &Shape::Flag),
        ("schema", 5, &SCHEMA),
    ],
    extensions: 6,
});
static QUERY_PARAMETER: Shape = Shape::Object(&Object {
    members: &[
        ("uniqueItems", 20, &Shape::Flag),
        ("type", 6, &Shape::Text),
        ("description", 3, &Shape::Text),
        ("name", 4, &Shape::Text),
        ("in", 2, &Shape::Text),
        ("required", 1, &Shape::Flag),
    ],
    extensions: 23,
});
static PATH_PARAMETER: Shape = Shape::Object(&Object {
    members: &[
        ("uniqueItems", 19, &Shape::Flag),
        ("type", 5, &Shape::Text),
        ("description", 3, &Shape::Text),
        ("name", 4, &Shape::Text),
        ("in", 2, &Shape::Text),
        ("required", 1, &Shape::Flag),
    ],
    extensions: 22,
});

fn place(value: &Value) -> &str {
    value.get("in").and_then(Value::as_str).unwrap_or_default()
}

static REFERENCE: Shape = Shape::Object(&Object {
    members: &[("$ref", 1, &Shape::Text), ("description", 2, &Shape::Text)],
    extensions: 0,
});
static PARAMETERS: Shape = Shape::List(&Shape::Choice(|value| match value.get("$ref") {
    Some(_) => (2, &REFERENCE),
    None => (1, &PARAMETER),
}));

static RESPONSE: Shape = Shape::Choice(|_| (1, &RESPONSE_BODY));
static RESPONSE_BODY: Shape = Shape::Object(&Object {
    members: &[("description", 1, &Shape::Text), ("schema", 2, &RESPONSE_SCHEMA)],
    extensions: 5,
});
static RESPONSE_SCHEMA: Shape = Shape::Choice(|_| (1, &SCHEMA));
static RESPONSES: Shape = Shape::Map(1, &RESPONSE);

static OPERATION: Shape = Shape::Object(&Object {
    members: &[
        ("description", 3, &Shape::Text),
        ("consumes", 7, &TEXTS),
        ("produces", 6, &TEXTS),
        ("schemes", 10, &TEXTS),
        ("tags", 1, &TEXTS),
        ("operationId", 5, &Shape::Text),
        ("parameters", 8, &PARAMETERS),
        ("responses", 9, &RESPONSES),
    ],
    extensions: 13,
});

/// The operations of a path.
pub(crate) static PATH: Shape = Shape::Object(&Object {
    members: &[
        ("get", 2, &OPERATION),
        ("put", 3, &OPERATION),
        ("post", 4, &OPERATION),
        ("delete", 5, &OPERATION),
        ("patch", 8, &OPERATION),
        ("parameters", 9, &PARAMETERS),
    ],
    extensions: 10,
});
